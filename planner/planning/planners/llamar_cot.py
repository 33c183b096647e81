"""Planner `llamar_cot`: reasons to the end of the task, then writes each next action."""

from planner.planning.llamar.options import TEAM_OPTIONS, wants_pictures
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.llamar.acting_role import Style
    from planner.planning.llamar.settings import acting_planner

    return acting_planner(Style.COT, request)


PLANNER = PlannerPart(
    summary="LLaMAR's baseline CoT: one call a joint step, all reasoning before the actions",
    make=_make,
    needs_model=True,
    tells_replies=True,
    wants_pictures=wants_pictures,
    options=TEAM_OPTIONS,
)
