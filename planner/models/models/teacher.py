"""Model `teacher`: what a flawless model would reply, with seeded faults. It reads the goal."""

from planner.models.chat import ChatModel
from planner.models.part import ModelPart, ModelRequest
from planner.models.reference import Fault
from planner.parts.option import Option


def _make(request: ModelRequest) -> ChatModel:
    from planner.models.teacher import Skill, Teacher

    shared = request.number("fault_rate") / len(Fault)
    rates = {fault: request.number(fault.value) + shared for fault in Fault}
    skill = Skill(rates, request.number("heeding"))
    return Teacher(skill, episode_id=request.episode_id, seed=request.seed)


def _check(request: ModelRequest) -> None:
    _make(request)


def _rate(name: str, meaning: str) -> Option:
    return Option(name, 0.0, meaning, min_value=0.0, max_value=1.0)


_MEANINGS = {
    Fault.INVENTED_ENTITY: "share of replies that name something that does not exist",
    Fault.WRONG_ENTITY: "share of replies that name something else than they should",
    Fault.SKIPPED_STEP: "share of replies that leave a step out",
    Fault.REPEATED_STEP: "share of replies that repeat a step",
    Fault.EARLY_DONE: "share of replies that claim that the task is complete",
    Fault.MALFORMED: "share of replies that break off",
    Fault.UNNOTICED_FAILURE: "share of replies that take a failed action for a success",
}

MODEL = ModelPart(
    summary="privileged: reads the goal and replies as a flawless model would, with seeded faults",
    make=_make,
    per_episode=True,
    reads_goal=True,
    check=_check,
    options=(
        _rate("fault_rate", "share of replies with a fault, all kinds alike"),
        *(_rate(fault.value, meaning) for fault, meaning in _MEANINGS.items()),
        _rate("heeding", "share of replies that follow what other roles wrote in the prompt"),
    ),
)
