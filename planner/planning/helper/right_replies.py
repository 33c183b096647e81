"""The right replies of HELPER's roles, and the same with one fault (HELPER-D48)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from planner.models.chat import ModelError
from planner.models.reference import Fault, Reader, ReferenceReply
from planner.planning.goal import read_goal
from planner.planning.helper.program_record import ProgramRecord, RecordKind
from planner.planning.helper.prompts import PLAN_HEADER
from planner.planning.helper.rebinding import Unbound, first_rebound
from planner.planning.helper.right_program import right_statements
from planner.planning.helper.right_repairs import right_repair
from planner.planning.helper.right_words import statements_of_words
from planner.planning.helper.roles import (
    PLACES,
    HelperRole,
    LocatorRole,
    PlannerRole,
    RectifierRole,
)
from planner.planning.planner import Context, Task
from planner.planning.programs.program import (
    DoNothing,
    Instance,
    Invocation,
    Program,
    Statement,
    program_text,
)
from planner.planning.programs.vocabulary import default_vocabulary
from planner.world.catalogue import default_catalogue

INVENTED = "Samovar"
_DO_NOTHING = "# Nothing is left to do.\n"


@dataclass
class RightReplies:
    """A `planner.planning.helper.asking.RightReplies` for one task."""

    task: Task
    # What the program was made of: its variables are those of failed statements.
    _planned: Sequence[Statement] = field(default=(), init=False)

    async def __call__(
        self,
        role: HelperRole[object],
        context: Context,
        random: Random,
        reader: Reader,
    ) -> ReferenceReply:
        """The right reply; all readers know the goal and what the robot knows.

        One that heeds its prompt writes instead of a faulty program that of the nearest example,
        changed to the dialogue, where it can be.

        Raises:
            ModelError: for a goal that programs cannot express; without a goal, for words that do
                more than ask to find something.
        """
        match role:
            case PlannerRole():
                self._planned = self._right_statements(context)
                planning = _planning(self._planned, role.classes, random)
                return _imitating(role, planning) if reader.heeds else planning
            case RectifierRole():
                agent, planned = context.idle[0], self._planned
                repair = right_repair(role.subgoal, role.failure, planned, agent, context)
                return _repairing(repair, role.classes, random)
            case LocatorRole():
                return _locating(role, context, random)
            case _:
                raise ModelError(f"HELPER has no role {type(role).__name__}")

    def _right_statements(self, context: Context) -> tuple[Statement, ...]:
        if self.task.goal is None:
            return statements_of_words(self.task.instruction)
        return right_statements(read_goal(self.task.goal), context.belief, context.layout)


def _planning(right: Sequence[Statement], classes: Sequence[str], random: Random) -> ReferenceReply:
    faulty = faulty_programs(right, classes, random)
    return ReferenceReply(
        _text(right), {fault: _text(wrong) for fault, wrong in faulty.items()}, acts=True
    )


def _imitating(role: PlannerRole, reply: ReferenceReply) -> ReferenceReply:
    """The same where every fault is the nearest example's program, if one fits the dialogue."""
    plans = [ProgramRecord(0, RecordKind.PLAN, one.text, one.program) for one in role.examples]
    found = first_rebound(plans, role.dialogue, len(plans))
    if isinstance(found, Unbound):
        return reply
    return replace(reply, faulty=dict.fromkeys(reply.faulty, program_text(found.program)))


def _repairing(
    right: Sequence[Statement], classes: Sequence[str], random: Random
) -> ReferenceReply:
    faulty = {**faulty_programs(right, classes, random), Fault.UNNOTICED_FAILURE: (DoNothing(),)}
    explained = {fault: _explained(wrong) for fault, wrong in faulty.items()}
    # Its rates are the Corrector's, as those of LLaMAR are.
    return ReferenceReply(_explained(right), explained)


def _locating(role: LocatorRole, context: Context, random: Random) -> ReferenceReply:
    right = usual_places(role.target, context)
    there = [name for name in role.classes if name not in right]
    return ReferenceReply(
        ", ".join(right),
        {
            Fault.INVENTED_ENTITY: INVENTED,
            Fault.WRONG_ENTITY: ", ".join(random.sample(there, PLACES)),
        },
    )


def faulty_programs(
    right: Sequence[Statement], classes: Sequence[str], random: Random
) -> Mapping[Fault, Sequence[Statement]]:
    """One statement is wrong; of `EARLY_DONE` the second half is missing."""
    found: dict[Fault, Sequence[Statement]] = {}
    named = [(at, one) for at, one in enumerate(right) if isinstance(one, Instance)]
    calls = [at for at, one in enumerate(right) if isinstance(one, Invocation)]
    if named:
        at, one = random.choice(named)
        for fault, name in (
            (Fault.INVENTED_ENTITY, INVENTED),
            (Fault.WRONG_ENTITY, random.choice(classes)),
        ):
            found[fault] = [*right[:at], replace(one, class_name=name), *right[at + 1 :]]
    if calls:
        at = random.choice(calls)
        found[Fault.SKIPPED_STEP] = [*right[:at], *right[at + 1 :]]
        found[Fault.REPEATED_STEP] = [*right[: at + 1], *right[at:]]
    if len(calls) > 1:
        found[Fault.EARLY_DONE] = right[: calls[len(calls) // 2]]
    return found


def usual_places(target: str, context: Context) -> tuple[str, ...]:
    """Three categories near which the catalogue expects a thing, those of the house first."""
    vocabulary, catalogue = default_vocabulary(), default_catalogue()
    weights: dict[str, float] = {}
    for word in vocabulary.classes_of(target):
        cls = catalogue.objects.get(word)
        for place in cls.places if cls is not None else ():
            name = vocabulary.name_of(place.furniture)
            if name is not None:
                weights[name] = weights.get(name, 0.0) + place.weight
    there = {vocabulary.name_of(piece.class_name) for piece in context.layout.furniture}
    ranked = sorted(weights, key=lambda name: (name not in there, -weights[name], name))
    usual = [name for name in ("CounterTop", "DiningTable", "Cabinet") if name not in ranked]
    return tuple([*ranked, *usual][:PLACES])


def _text(statements: Sequence[Statement]) -> str:
    return program_text(Program(tuple(statements))) or _DO_NOTHING


def _explained(statements: Sequence[Statement]) -> str:
    return f"The subgoal needs this first.\n{PLAN_HEADER}\n{_text(statements)}"
