"""Planner `helper_retrieval`: repeats what it was taught, with changes; uses no model."""

from planner.planning.helper.options import RETRIEVAL_OPTIONS
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.helper.settings import make_retrieval

    return make_retrieval(request)


PLANNER = PlannerPart(
    summary="HELPER without a model: the nearest remembered program, rebound to the request",
    make=_make,
    asks=True,
    options=RETRIEVAL_OPTIONS,
)
