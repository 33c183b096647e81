"""Suite `train`: shipped episodes in the houses for training."""

from pathlib import Path

from planner.bench.suite import SuitePart, shipped


def _places() -> list[Path]:
    return shipped("train")


SUITE = SuitePart(summary="shipped episodes in the houses for training", places=_places)
