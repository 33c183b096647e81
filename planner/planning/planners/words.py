"""Planner `words`: carries out plain English with the robot's own memory."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.words.words import Words

    return Words(request.task)


PLANNER = PlannerPart(
    summary="reads plain English, asks what is unclear, needs no structured goal",
    make=_make,
    takes_model=True,
    asks=True,
)
