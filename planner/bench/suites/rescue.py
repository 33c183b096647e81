"""Suite `rescue`: the scenes of search and rescue, for two to five agents."""

from pathlib import Path

from planner.bench.suite import SuitePart
from planner.world.share import config_dir


def _places() -> list[Path]:
    return [config_dir() / "rescue" / "episodes"]


SUITE = SuitePart(summary="search and rescue, five scenes for two to five agents", places=_places)
