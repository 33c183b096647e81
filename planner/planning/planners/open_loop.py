"""Planner `open_loop`: plans picks and places once, as DynaMem's memory is shown with."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.models.caller import Caller
    from planner.models.role import Role
    from planner.planning.open_loop import OpenLoop

    dialogue = request.dialogue
    caller = Caller(
        request.name,
        request.model,
        Role.PLANNER,
        seed=request.task.seed,
        deadline_s=dialogue.deadline_s,
        constrained=dialogue.constrained,
        parameters=request.axes.as_parameters(),
        on_call=request.on_call,
    )
    return OpenLoop(request.task, caller)


PLANNER = PlannerPart(
    summary="DynaMem's in EPM: a model plans picks and places once, carried out without feedback",
    make=_make,
    needs_model=True,
    tells_replies=True,
)
