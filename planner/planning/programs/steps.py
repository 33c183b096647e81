"""What the interpreter answers, and what it keeps of what it did."""

from __future__ import annotations

from enum import StrEnum

from planner.planning.programs.program import (
    Correction,
    DoNothing,
    Instance,
    Invocation,
    Statement,
    statement_text,
)
from planner.world.record import record
from planner.world.skill import SkillCall, SkillCode


@record
class SkillStep:
    """A skill of ours that no method of the paper names, such as Cook in a microwave that is on."""

    variable: str
    skill: str


@record
class Aftermath:
    """What a device does to the things on and in it, once it is on or something was put there.

    `runs`: whether it was just switched on, so that a faucet's water runs.
    """

    variable: str
    runs: bool


Work = Statement | SkillStep | Aftermath
"""One entry of the interpreter's queue."""


@record
class Missing:
    """Something that the next statement needs and nobody has seen.

    Attributes:
        class_name: of the vocabulary.
        landmark: the class that the program says it is near; "" if it says none.
        classes: what it is in the catalogue.
        statement: the program's, that needs it.
    """

    class_name: str
    landmark: str
    classes: tuple[str, ...]
    statement: Statement


@record
class Failed:
    """A statement that failed; it waits for a repair, or to be skipped.

    Attributes:
        statement: the program's.
        step: what failed for it: the statement itself, or one that was put before it.
        call: the skill call that failed; None if there was none.
        code: of the result.
        text: of the result, for models.
        entities: what the step was about, by the memory's names.
    """

    statement: Statement
    step: Work
    call: SkillCall | None
    code: SkillCode
    text: str
    entities: tuple[str, ...] = ()


@record
class Finished:
    """All statements were carried out or skipped."""


Step = SkillCall | Missing | Failed | Finished


class Outcome(StrEnum):
    """What became of one step."""

    DONE = "done"
    ALREADY_TRUE = "already true"
    FAILED = "failed"
    SKIPPED = "skipped"


@record
class Executed:
    """One step that was carried out, or did not need to be.

    Attributes:
        statement: the program's, or that of a repair.
        step: the statement itself, or what was put before it.
        call: None if nothing was called.
        text: of the result; "" if there is none.
        entity: what the step was about, by the memory's name.
    """

    statement: Statement
    step: Work
    outcome: Outcome
    call: SkillCall | None = None
    text: str = ""
    entity: str = ""


def work_text(work: Work) -> str:
    """A step as text, for people and models."""
    match work:
        case SkillStep(variable, skill):
            return f"{skill}({variable})"
        case Aftermath(variable):
            return f"what {variable} does"
        case Instance() | Invocation() | Correction() | DoNothing():
            return statement_text(work)


def variables_of(work: Work) -> tuple[str, ...]:
    """The variables that a step uses: what it is called on, then its argument."""
    match work:
        case Invocation(variable, _, argument) if argument:
            return (variable, argument)
        case Invocation(variable) | SkillStep(variable) | Aftermath(variable):
            return (variable,)
        case _:
            return ()
