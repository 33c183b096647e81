"""Suite `partnr_test`: a thousand generated tasks in houses of their own."""

from pathlib import Path

from planner.bench.suite import SuitePart, packed


def _places() -> list[Path]:
    return packed("partnr_test")


SUITE = SuitePart(
    summary="a thousand generated tasks in houses of their own", places=_places, version=3
)
