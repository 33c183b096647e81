"""The right replies of HELPER's roles, and the right repairs of failed statements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from papers.helper.diagnosis import default_failures
from papers.helper.program_change import Unbound, first_rebound
from papers.helper.program_store import ProgramRecord, RecordKind
from papers.helper.programs.program import (
    Correction,
    Corrective,
    DoNothing,
    Instance,
    Invocation,
    Method,
    Program,
    Statement,
    default_vocabulary,
    program_text,
)
from papers.helper.right_program import right_statements, statements_of_words
from papers.helper.roles import (
    PLACES,
    PLAN_HEADER,
    HelperRole,
    LocatorRole,
    PlannerRole,
    RectifierRole,
)
from planner.models.chat import Fault, ModelError, Reader, ReferenceReply
from planner.planning.expert.facts import read_goal
from planner.planning.planner import Context, Task
from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.vocabulary import EntityKind

# The right repair of a failed statement, by what the prompt says went wrong (HELPER-D49).

_CALL = re.compile(r"(\w+)\.(\w+)\((\w*)\)")
_AGENT, _HELD, _SHUT, _PLACE = "agent", "held_thing", "closed_thing", "free_place"
_MOVES: Mapping[str, Corrective] = {
    "too_close": Corrective.MOVE_BACK,
    "too_far": Corrective.MOVE_CLOSER,
    "hidden": Corrective.MOVE_ALTERNATE_VIEWPOINT,
    "way_blocked": Corrective.MOVE_ALTERNATE_VIEWPOINT,
    "unreachable": Corrective.MOVE_ALTERNATE_VIEWPOINT,
}
_WATERS = "WateringCan"
# Sentences that say that the statement was about a thing of the wrong class, or of none.
_WRONG_THINGS = frozenset(
    {
        "unknown_object", "wrong_object", "not_sliceable", "not_switchable", "not_openable",
        "not_carried", "no_receptacle", "no_container",
    }
)  # fmt: skip


def right_repair(
    subgoal: str, sentence: str, right: Sequence[Statement], agent: str, context: Context
) -> tuple[Statement, ...]:
    """What overcomes a failure; the failed statement is tried again after it.

    Args:
        subgoal: the statement's text.
        sentence: that describes the failure.
        right: the right program, which tells what each variable should be.
        agent: the robot's name.
        context: of the decision.
    """
    found = _CALL.fullmatch(subgoal)
    cause = next((one.name for one in default_failures().failures if one.sentence == sentence), "")
    if found is None or cause == "already_so":
        return (DoNothing(),)
    variable, argument = found[1], found[3]
    meant = {one.variable: one for one in right if isinstance(one, Instance)}
    again = [
        _at_hand(meant[name], context.belief) for name in (argument, variable) if name in meant
    ]
    if cause == "target_full":
        mend = _put_elsewhere(variable, context)
    elif cause in _WRONG_THINGS:
        mend = _instead(variable, Method(found[2]), argument, meant.get(variable))
    else:
        mend = _mend(cause, variable, argument, agent, context.belief)
    if not mend:
        return (DoNothing(),)
    named = {one.variable for one in [*again, *mend] if isinstance(one, Instance)}
    return (*again, *(one for one in mend if _is_known(one, named))) or (DoNothing(),)


def _mend(cause: str, variable: str, argument: str, agent: str, belief: Belief) -> list[Statement]:
    """What helps against a cause, besides taking the right thing."""
    towards = Invocation(argument or variable, Method.GO_TO)
    if cause in _MOVES:
        return [Correction(_AGENT, _MOVES[cause]), towards]
    match cause:
        case "needs_knife":
            knife = Instance("knife", "Knife")
            take = [Invocation("knife", Method.GO_TO), Invocation("knife", Method.PICKUP)]
            return [knife, *take, towards]
        case "hand_empty":
            go, take_it = (Invocation(variable, m) for m in (Method.GO_TO, Method.PICKUP))
            return [go, take_it, towards]
        case "hand_full":
            return _put_down_held(agent, belief)
        case "shut_away":
            return _open_around(variable, belief)
        case "nothing_inside" | "needs_water" | "no_tap":
            return [Invocation(variable, Method.FILL_UP)]
        case _:
            return [towards]


def _instead(
    variable: str, method: Method, argument: str, meant: Instance | None
) -> list[Statement]:
    """The statement itself with the right things: a repair's variables are its own.

    Where a thing that something is poured from is replaced, it is filled first.
    """
    if meant is None or meant.class_name != _WATERS:
        return [Invocation(variable, Method.GO_TO), Invocation(variable, method, argument)]
    if method is not Method.POUR:
        return []
    fill = [Invocation(variable, one) for one in (Method.GO_TO, Method.PICKUP, Method.FILL_UP)]
    return [*fill, Invocation(argument, Method.GO_TO), Invocation(variable, method, argument)]


def _at_hand(instance: Instance, belief: Belief) -> Instance:
    """The thing itself; where there is no watering can, anything known that holds water."""
    vocabulary, objects = default_vocabulary(), default_catalogue().objects
    known = {node.class_name for node in belief.of_kind(EntityKind.OBJECT)}
    if instance.class_name != _WATERS or known.intersection(vocabulary.classes_of(_WATERS)):
        return instance
    holding = sorted(c for c in known if c in objects and "fillable" in objects[c].affordances)
    names = [name for name in map(vocabulary.name_of, holding) if name is not None]
    return replace(instance, class_name=names[0]) if names else instance


def _put_elsewhere(variable: str, context: Context) -> list[Statement]:
    """Puts what is in the hand onto furniture with room: taken anew it may fit where it did not."""
    classes = {piece.class_name for piece in context.layout.furniture if piece.surfaces}
    names = map(default_vocabulary().name_of, ("counter", "table"))
    there = [name for name, cls in zip(names, ("counter", "table"), strict=True) if cls in classes]
    if not there or there[0] is None:
        return []
    place = Instance(_PLACE, there[0])
    go_there = Invocation(_PLACE, Method.GO_TO)
    return [place, go_there, Invocation(variable, Method.PLACE, _PLACE)]


def _put_down_held(agent: str, belief: Belief) -> list[Statement]:
    node = belief.nodes.get(agent)
    held = belief.nodes.get((node.holding if node is not None else None) or "")
    category = default_vocabulary().name_of(held.class_name) if held is not None else None
    if category is None:
        return []
    return [Instance(_HELD, category), Invocation(_HELD, Method.PUT_DOWN)]


def _open_around(variable: str, belief: Belief) -> list[Statement]:
    """Opens the furniture that the belief has closed around anything of the variable's class."""
    for node in belief.nodes.values():
        holder = belief.nodes.get(belief.base_of(node).parent or "")
        if not node.name.startswith(variable.rstrip("_0123456789")) or holder is None:
            continue
        category = default_vocabulary().name_of(holder.class_name)
        if category is not None and holder.openness is not None and holder.openness < 0.5:
            opening = [Invocation(_SHUT, method) for method in (Method.GO_TO, Method.OPEN)]
            return [Instance(_SHUT, category), *opening, Invocation(variable, Method.GO_TO)]
    return []


def _is_known(statement: Statement, named: set[str]) -> bool:
    """Whether a repair names the variables that it uses: those of the program are not its own."""
    if isinstance(statement, Invocation):
        return {statement.variable, statement.argument or statement.variable} <= named
    return True


INVENTED = "Samovar"
_DO_NOTHING = "# Nothing is left to do.\n"


@dataclass
class RightReplies:
    """A `papers.helper.model_author.RightReplies` for one task."""

    task: Task
    # What the program was made of: its variables are those of failed statements.
    _planned: Sequence[Statement] = field(default=(), init=False)

    async def __call__(
        self, role: HelperRole[object], context: Context, random: Random, reader: Reader
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
