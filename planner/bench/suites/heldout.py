"""Suite `heldout`: shipped episodes in the held-out houses."""

from pathlib import Path

from planner.bench.suite import SuitePart, shipped


def _places() -> list[Path]:
    return shipped("heldout")


SUITE = SuitePart(summary="shipped episodes in the held-out houses", places=_places)
