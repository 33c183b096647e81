"""Planner `llamar_react`: thinks, then writes the next action of each agent."""

from planner.planning.llamar.options import TEAM_OPTIONS, wants_pictures
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.llamar.acting_role import Style
    from planner.planning.llamar.settings import acting_planner

    return acting_planner(Style.REACT, request)


PLANNER = PlannerPart(
    summary="LLaMAR's baseline ReAct: one call a joint step, a thought before the actions",
    make=_make,
    needs_model=True,
    tells_replies=True,
    wants_pictures=wants_pictures,
    options=TEAM_OPTIONS,
)
