"""Suite `partnr_val`: a thousand generated tasks in the held-out and in other houses."""

from pathlib import Path

from planner.bench.suite import SuitePart, packed


def _places() -> list[Path]:
    return packed("partnr_val")


SUITE = SuitePart(
    summary="a thousand generated tasks in the held-out and in other houses",
    places=_places,
    version=3,
)
