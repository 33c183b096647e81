"""Planner `llamar`: a team that plans, acts, corrects and verifies."""

from planner.planning.llamar.options import LLAMAR_OPTIONS, reads_goal, wants_pictures
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.llamar.asking import Asking
    from planner.planning.llamar.llamar import make_llamar
    from planner.planning.llamar.settings import llamar_options, translator_of

    asking, translator = Asking.of(request), translator_of(request)
    return make_llamar(request.task, asking, translator, llamar_options(request))


PLANNER = PlannerPart(
    summary="LLaMAR: Planner, Actor, Corrector and Verifier for a team, in joint steps",
    make=_make,
    needs_model=True,
    tells_replies=True,
    wants_pictures=wants_pictures,
    reads_goal=reads_goal,
    options=LLAMAR_OPTIONS,
)
