"""Planner `words`: carries out plain English with the robot's own memory."""

from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.models.caller import Caller
    from planner.models.role import Role
    from planner.planning.words.words import Words

    model, dialogue = request.language_model, request.dialogue
    if model is None:
        return Words(request.task)
    caller = Caller(
        request.name,
        model,
        Role.PLANNER,
        seed=request.task.seed,
        deadline_s=dialogue.deadline_s,
        constrained=dialogue.constrained,
        on_call=request.on_call,
    )
    return Words(request.task, caller)


PLANNER = PlannerPart(
    summary="reads plain English, asks what is unclear, needs no structured goal",
    make=_make,
    takes_model=True,
    asks=True,
)
