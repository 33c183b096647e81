"""Suite `teach`: our tasks of TEACh's twelve types, given as dialogues."""

from pathlib import Path

from planner.bench.suite import SuitePart, packed


def _places() -> list[Path]:
    return packed("teach")


SUITE = SuitePart(
    summary="tasks of TEACh's twelve types, given as dialogues or in the middle of one",
    places=_places,
)
