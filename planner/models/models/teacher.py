"""Model `teacher`: what a flawless model would reply, with seeded faults. It reads the goal."""

from planner.models.chat import ChatModel
from planner.models.part import ModelPart, ModelRequest
from planner.models.reference import Fault, Knows
from planner.models.role import Role
from planner.parts.option import Option
from planner.world.errors import PlannerError

# The roles of LLaMAR whose replies others read.
_JUDGES = (Role.PLANNER, Role.CORRECTOR, Role.VERIFIER)


def _make(request: ModelRequest) -> ChatModel:
    from planner.models.teacher import Skill, Teacher

    kinds = _kinds(request.text("fault_kinds"))
    shared = request.number("fault_rate") / len(kinds)
    rates = {f: request.number(f.value) + (shared if f in kinds else 0.0) for f in Fault}
    shares = {role: request.number(_share(role)) for role in _JUDGES}
    knows = Knows(request.text("teacher_knows"))
    return Teacher(Skill(rates, request.number("heeding"), knows, shares))


def _kinds(words: str) -> tuple[Fault, ...]:
    """The faults of a comma-separated list; all where it is empty."""
    named = [word.strip() for word in words.split(",") if word.strip()]
    unknown = [word for word in named if word not in [*Fault]]
    if unknown:
        known = ", ".join(Fault)
        raise PlannerError(f"fault_kinds has {unknown[0]!r}, which is not a fault: {known}")
    return tuple(fault for fault in Fault if fault in named) or tuple(Fault)


def _share(role: Role) -> str:
    return f"{role.value}_faults"


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
    reads_goal=True,
    check=_check,
    options=(
        _rate("fault_rate", "share of replies with a fault, all of fault_kinds alike"),
        Option("fault_kinds", "", "the kinds of faults that share fault_rate; empty = all"),
        *(_rate(fault.value, meaning) for fault, meaning in _MEANINGS.items()),
        *(
            Option(
                _share(role),
                1.0,
                f"part of the fault rates that holds for LLaMAR's {role.value.capitalize()}",
                min_value=0.0,
                max_value=1.0,
            )
            for role in _JUDGES
        ),
        Option(
            "teacher_knows",
            Knows.PROMPT.value,
            "what right replies follow from: the prompt, or all that the memory knows",
            choices=tuple(Knows),
        ),
        _rate(
            "heeding",
            "share of replies that follow what other roles wrote, or examples, rather than err",
        ),
    ),
)
