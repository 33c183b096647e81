"""Planner `heuristic_expert`: PARTNR's privileged baseline."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.expert.heuristic import HeuristicExpert

    return HeuristicExpert(request.task, request.axes)


PLANNER = PlannerPart(
    summary="PARTNR's privileged baseline: plans everything before the first step; no model",
    make=_make,
    needs_goal=True,
    needs_full_memory=True,
)
