"""Planner `partnr_finetuned`: PARTNR's, for a model trained on traces."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.partnr.finetuned import PartnrFinetuned

    return PartnrFinetuned(
        request.task, request.model, request.dialogue, request.on_call, request.axes
    )


PLANNER = PlannerPart(
    summary="PARTNR's planner for a model trained on traces: the adapter's name is the model",
    make=_make,
    needs_model=True,
    tells_replies=True,
    bare_replies=True,
)
