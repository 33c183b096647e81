"""Planner `partnr_views`: PARTNR's, with descriptions of its camera's pictures and no summary."""

from planner.planning.axes import MemorySource
from planner.planning.part import PlannerPart, PlannerRequest, always_pictures
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.partnr.captioned import PartnrCaptioned

    return PartnrCaptioned(request, MemorySource.CAPTIONS)


PLANNER = PlannerPart(
    summary="PARTNR's ReAct planner with descriptions of its camera's pictures, no summary",
    make=_make,
    needs_model=True,
    tells_replies=True,
    wants_pictures=always_pictures,
)
