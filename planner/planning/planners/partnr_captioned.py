"""Planner `partnr_captioned`: PARTNR's, with a summary and a description of what is in view."""

from planner.planning.axes import MemorySource
from planner.planning.part import PlannerPart, PlannerRequest, always_pictures
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.partnr.captioned import PartnrCaptioned

    return PartnrCaptioned(request, MemorySource.SUMMARY)


PLANNER = PlannerPart(
    summary="PARTNR's ReAct planner with a summary and a description of its camera's picture",
    make=_make,
    needs_model=True,
    tells_replies=True,
    wants_pictures=always_pictures,
)
