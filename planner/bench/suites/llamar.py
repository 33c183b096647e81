"""Suite `llamar`: our tasks of LLaMAR's four types for teams, in single rooms and houses."""

from pathlib import Path

from planner.bench.suite import SuitePart, packed


def _places() -> list[Path]:
    return packed("llamar")


SUITE = SuitePart(
    summary="tasks of LLaMAR's four types for teams, in single rooms and houses", places=_places
)
