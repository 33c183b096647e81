"""Suite `all`: every shipped episode."""

from pathlib import Path

from planner.bench.suite import SuitePart, shipped


def _places() -> list[Path]:
    return [*shipped("heldout"), *shipped("train")]


SUITE = SuitePart(summary="every shipped episode", places=_places)
