"""Where the shipped configuration, houses and episodes lie, in a checkout and when installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from planner.world.errors import PlannerError


def config_dir() -> Path:
    """The folder `config/` of the checkout or of the installed package.

    Looked for beside the source tree, then in `share/planner/config` of every
    ament prefix, then of Python's own prefix.

    Raises:
        PlannerError: where none of them has it.
    """
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    candidates = [Path(__file__).resolve().parents[2] / "config"]
    candidates += [p / "share" / "planner" / "config" for p in (*prefixes, Path(sys.prefix))]
    for candidate in candidates:
        if (candidate / "agents.yaml").is_file():
            return candidate
    tried = ", ".join(str(c) for c in candidates)
    raise PlannerError(f"planner's config folder was not found; looked in {tried}")
