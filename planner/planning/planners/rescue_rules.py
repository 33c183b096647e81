"""Planner `rescue_rules`: puts out fires and brings lost persons in by rules; uses no model."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner
from planner.world.primitive import PrimitiveName


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.rescue.rules import RescueRules

    return RescueRules(request.task)


PLANNER = PlannerPart(
    summary="the reference of the rescue world: puts out fires, carries people; no model",
    make=_make,
    needs_goal=True,
    needs_primitives=frozenset(
        {
            PrimitiveName.SCOUT,
            PrimitiveName.TAKE_SAND,
            PrimitiveName.TAKE_WATER,
            PrimitiveName.USE_SAND,
            PrimitiveName.USE_WATER,
            PrimitiveName.DISCARD_SUPPLIES,
            PrimitiveName.CARRY,
            PrimitiveName.DROP_OFF,
        }
    ),
)
