"""Finds the shipped configuration, houses and episodes, in a checkout and when installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from planner.world.errors import PlannerError

_HERE = Path(__file__).resolve()


def config_dir() -> Path:
    """The folder `config/` of the checkout or of the installed package.

    Searched for next to the source tree, then in `share/planner/config` of every installation
    prefix.

    Raises:
        PlannerError: if it is not found.
    """
    candidates = [_HERE.parents[2] / "config"]
    candidates += [prefix / "share" / "planner" / "config" for prefix in install_prefixes()]
    for candidate in candidates:
        if (candidate / "agents.yaml").is_file():
            return candidate
    tried = ", ".join(str(c) for c in candidates)
    raise PlannerError(f"planner's config folder was not found; looked in {tried}")


def install_prefixes(module: Path = _HERE) -> Sequence[Path]:
    """Folders whose `share/` and `lib/` may have this package's files, most likely first.

    These are every ament prefix, Python's own, and the folders above the installed modules:
    `pip install` with `--user`, `--prefix` or `--target` installs outside of Python's own prefix.

    Args:
        module: file of a module of this package.
    """
    ament = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    above = []
    if (packages := module.parents[2]).name in ("site-packages", "dist-packages"):
        # PREFIX/lib/python3.11/site-packages
        above = [packages.parents[2]]
    return list(dict.fromkeys((*ament, Path(sys.prefix), *above, packages)))


def is_source_tree() -> bool:
    """Whether this package runs from a checkout, where `make setup` is available."""
    return (_HERE.parents[2] / "scripts" / "setup.sh").is_file()
