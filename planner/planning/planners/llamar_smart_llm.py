"""Planner `llamar_smart_llm`: writes a program for the team once, which is then carried out."""

from planner.planning.llamar.options import EXACT_OPTIONS, wants_pictures
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.llamar.asking import Asking
    from planner.planning.llamar.settings import actions_of, horizon_of
    from planner.planning.llamar.smart_llm import make_smart_llm

    asking, options = Asking.of(request), actions_of(request)
    return make_smart_llm(request.task, asking, options, horizon=horizon_of(request))


PLANNER = PlannerPart(
    summary="LLaMAR's baseline SmartLLM: a program of functions and threads, written once",
    make=_make,
    needs_model=True,
    tells_replies=True,
    wants_pictures=wants_pictures,
    options=EXACT_OPTIONS,
)
