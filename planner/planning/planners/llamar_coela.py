"""Planner `llamar_coela`: each agent decides for itself and may send messages to the others."""

from planner.planning.llamar.options import COELA_OPTIONS, wants_pictures
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.axes import Control
    from planner.planning.llamar.asking import Asking
    from planner.planning.llamar.coela import make_coela
    from planner.planning.llamar.settings import actions_of, horizon_of

    asking = Asking.of(request, Control.DECENTRALIZED)
    return make_coela(request.task, asking, actions_of(request), horizon=horizon_of(request))


PLANNER = PlannerPart(
    summary="LLaMAR's baseline CoELA: a model for each agent, messages, choices from a list",
    make=_make,
    needs_model=True,
    tells_replies=True,
    talks=True,
    wants_pictures=wants_pictures,
    options=COELA_OPTIONS,
)
