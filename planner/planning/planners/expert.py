"""Planner `expert`: reads the structured goal and searches for objects; uses no model."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.expert.expert import Expert

    return Expert(request.task)


PLANNER = PlannerPart(
    summary="reads the episode's structured goal; no model",
    make=_make,
    needs_goal=True,
    for_text="words",
)
