"""The right repair of a failed statement, by what the prompt says went wrong (HELPER-D49)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.planning.helper.diagnosis import default_failures
from planner.planning.planner import Context
from planner.planning.programs.program import (
    Correction,
    Corrective,
    DoNothing,
    Instance,
    Invocation,
    Method,
    Statement,
)
from planner.planning.programs.vocabulary import default_vocabulary
from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.vocabulary import EntityKind

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
