"""The ranker that a small model answers, which was taught on the training houses."""

from __future__ import annotations

from pathlib import Path

from planner.planning.et_agent.ranker import Ranker
from planner.world.errors import PlannerError
from planner.world.share import config_dir


def shipped_weights() -> Path:
    """Where the shipped model is, if one is shipped."""
    return config_dir() / "et_agent" / "ranker.npz"


def learned_ranker(weights: Path) -> Ranker:
    """Reads a model's file.

    Raises:
        FileError: if it cannot be read.
        PlannerError: as long as nothing can read such a file.
    """
    raise PlannerError(f"{weights}: no learned ranker is available yet: use ranker:=table")
