"""Planner `rescue_rules`: puts out fires and brings lost persons in by rules; uses no model."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.rescue.rules import RescueRules

    return RescueRules(request.task)


PLANNER = PlannerPart(
    summary="the reference of the rescue world: puts out fires, carries people; no model",
    make=_make,
    needs_goal=True,
)
