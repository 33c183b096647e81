"""What a flawless model would reply to the agent's questions, and the same with one fault.

Right is what the rules of reading and the frequency table say: nothing here reads a goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from planner.models.reference import Fault, ReferenceReply
from planner.planning.et_agent.errand import Errand, Sought, TaskClass
from planner.planning.et_agent.replies import errands_text

INVENTED = "phlogiston"


def right_word(right: TaskClass, classes: Sequence[str], random: Random) -> ReferenceReply:
    """A class, or another one."""
    others = [each for each in classes if each != right.value]
    return ReferenceReply(
        right.value,
        {
            Fault.WRONG_ENTITY: random.choice(others),
            Fault.INVENTED_ENTITY: f"{INVENTED} {right.value}",
        },
    )


def right_names(right: Sequence[str], offered: Sequence[str], random: Random) -> ReferenceReply:
    """Names in their order; faulty ones lack the first, repeat one, or begin with a wrong one."""
    names = list(right)
    faulty: dict[Fault, list[str]] = {Fault.INVENTED_ENTITY: [INVENTED, *names]}
    wrong = [name for name in offered if name not in names[:1]]
    if wrong:
        first = random.choice(wrong)
        faulty[Fault.WRONG_ENTITY] = [first, *(name for name in names if name != first)]
    if names:
        faulty[Fault.SKIPPED_STEP] = names[1:]
        faulty[Fault.REPEATED_STEP] = [*names, random.choice(names)]
        faulty[Fault.EARLY_DONE] = []
    return ReferenceReply(_text(names), {fault: _text(each) for fault, each in faulty.items()})


def right_errands(right: Sequence[Errand], random: Random) -> ReferenceReply:
    """The parts of a task; faulty ones lack one, repeat one, or are about something else."""
    errands = list(right)
    if not errands:
        return ReferenceReply("")
    index = random.randrange(len(errands))
    one = errands[index]
    changed = {
        Fault.INVENTED_ENTITY: replace(one, target=Sought(INVENTED)),
        Fault.WRONG_ENTITY: replace(one, target=one.place or one.target.anchor or Sought("chair")),
    }
    faulty = {
        fault: [*errands[:index], other, *errands[index + 1 :]] for fault, other in changed.items()
    }
    faulty[Fault.REPEATED_STEP] = [*errands, one]
    if len(errands) > 1:
        faulty[Fault.SKIPPED_STEP] = [*errands[:index], *errands[index + 1 :]]
    texts = {fault: errands_text(each) for fault, each in faulty.items()}
    return ReferenceReply(errands_text(errands), texts)


def _text(names: Sequence[str]) -> str:
    return repr(list(names)) if names else "None"
