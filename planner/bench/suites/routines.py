"""Suite `routines`: personal routines, each taught in full and asked for with changes."""

from pathlib import Path

from planner.bench.suite import SuitePart, packed


def _places() -> list[Path]:
    return packed("routines")


SUITE = SuitePart(
    summary="ten personal routines, taught in full and asked for with no to three changes",
    places=_places,
)
