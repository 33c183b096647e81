"""Planner `helper`: writes a program for a dialogue, runs and repairs it, learns what worked."""

from planner.planning.helper.options import HELPER_OPTIONS, wants_pictures
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.helper.settings import make_helper

    return make_helper(request)


PLANNER = PlannerPart(
    summary="HELPER: a program from a dialogue, by a model that is shown similar ones; one robot",
    make=_make,
    needs_model=True,
    tells_replies=True,
    asks=True,
    wants_pictures=wants_pictures,
    options=HELPER_OPTIONS,
)
