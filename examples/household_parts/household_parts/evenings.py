"""Suite `evenings`: tasks before bedtime."""

from pathlib import Path

from planner.bench.suite import SuitePart
from planner.world.share import config_dir


def _places() -> list[Path]:
    episodes = config_dir() / "episodes"
    return sorted(episodes.rglob("night_light_*.json"))


SUITE = SuitePart(summary="lamps and bedside tables", places=_places)
