"""LLaMAR's suite, and search and rescue."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from planner.bench.suite import SuitePart, packed
from planner.world.share import config_dir


def _rescue() -> list[Path]:
    return [config_dir() / "rescue" / "episodes"]


SUITES: Mapping[str, SuitePart] = {
    "llamar": SuitePart(
        summary="tasks of LLaMAR's four types for teams, in single rooms and houses",
        places=partial(packed, "llamar"),
    ),
    "rescue": SuitePart(
        summary="search and rescue, five scenes for two to five agents", places=_rescue
    ),
}
