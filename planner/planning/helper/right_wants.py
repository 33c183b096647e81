"""What a structured goal asks of each thing, for right replies (HELPER-D48)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.evaluation.task import Predicate, TieKind
from planner.models.chat import ModelError
from planner.planning.expert.facts import Facts
from planner.planning.goal import PLACING, Goal, Subgoal
from planner.world.belief import Belief
from planner.world.house import House

Key = tuple[str, ...]
NAMED = "name"


@dataclass
class Want:
    """One thing of the goal.

    Attributes:
        key: of the thing: its name where the goal names one, else which of the tied ones it is.
        class_name: of the catalogue.
        names: that it may have.
        states: to bring about, in order.
        places: what it has to be on or in, as names that will do.
        opens: whether it has to be open, or closed; None if neither is asked.
    """

    key: Key
    class_name: str
    names: tuple[str, ...]
    states: list[tuple[str, bool]] = field(default_factory=list)
    places: list[tuple[str, ...]] = field(default_factory=list)
    opens: bool | None = None


def wants_of(goal: Goal, belief: Belief, layout: House) -> list[Want]:
    """What is left to do with each thing, in the order that the goal demands.

    Where it demands none, things that others are put onto or into come first.

    Raises:
        ModelError: for a goal that programs cannot express.
    """
    facts = Facts(belief, layout, {}, {}, {})
    found: list[Want] = []
    stages, stage_of = _stages(goal), dict[Key, int]()
    for key, subgoals in _asked(goal).items():
        left = [one for one in subgoals if not facts.holds(one)]
        if not left:
            continue
        names = subgoals[0].first
        want = Want(key, class_in_name(names[0], layout), names)
        # Of several candidates it is not known which one a state holds for.
        for one in left if key[0] == NAMED else subgoals:
            _add(want, one, layout)
        stage_of[key] = min(stages[one.index] for one in left)
        found.append(want)
    targets = {name for want in found for place in want.places for name in place}
    return sorted(
        found, key=lambda want: (stage_of[want.key], not targets.intersection(want.names))
    )


def done_of(goal: Goal, belief: Belief, layout: House) -> list[Want]:
    """The things that the goal names and of which nothing is left to do, with their places.

    Raises:
        ModelError: for a goal that programs cannot express.
    """
    facts = Facts(belief, layout, {}, {}, {})
    found: list[Want] = []
    for key, subgoals in _asked(goal).items():
        if key[0] != NAMED or not all(facts.holds(one) for one in subgoals):
            continue
        want = Want(key, class_in_name(key[1], layout), (key[1],))
        for one in subgoals:
            _add(want, one, layout)
        found.append(want)
    return found


def _asked(goal: Goal) -> Mapping[Key, Sequence[Subgoal]]:
    """What the goal asks of each thing, earlier stages first."""
    asked: dict[Key, list[Subgoal]] = {}
    for subgoal in _in_order(goal):
        for key in _keys(subgoal, goal):
            one = replace(subgoal, first=(key[1],), number=1) if key[0] == NAMED else subgoal
            asked.setdefault(key, []).append(one)
    return asked


def class_in_name(name: str, layout: House) -> str:
    """The class of an entity, which its name begins with where the layout does not have it."""
    piece = layout.furniture_by_name.get(name)
    return piece.class_name if piece is not None else name.rpartition("_")[0]


def _in_order(goal: Goal) -> list[Subgoal]:
    """Those to achieve, earlier stages first."""
    stages = _stages(goal)
    wanted = [one for one in goal.subgoals if one.index not in goal.watched]
    return sorted(wanted, key=lambda one: stages[one.index])


def _stages(goal: Goal) -> Mapping[int, int]:
    """By index, how many propositions have to come one after the other before each."""
    stages: dict[int, int] = {}

    def stage(index: int) -> int:
        if index not in stages:
            stages[index] = max((stage(one) + 1 for one in goal.before[index]), default=0)
        return stages[index]

    return {one.index: stage(one.index) for one in goal.subgoals}


def _keys(subgoal: Subgoal, goal: Goal) -> Iterable[Key]:
    if subgoal.number >= len(subgoal.first):
        return [(NAMED, name) for name in subgoal.first]
    group = _tied(subgoal.index, goal)
    word = f"tie {group}" if group is not None else f"subgoal {subgoal.index}"
    return [(word, str(number)) for number in range(subgoal.number)]


def _tied(index: int, goal: Goal) -> int | None:
    """The first proposition whose things have to be those of another one."""
    for tie in goal.ties:
        members = [proposition for proposition, argument in tie.members if argument == 0]
        if tie.kind is TieKind.SAME and index in members:
            return min(members)
    return None


def _add(want: Want, subgoal: Subgoal, layout: House) -> None:
    state = subgoal.state
    if state is not None:
        want.states.append(state)
    elif subgoal.opens is not None:
        want.opens = subgoal.opens
    elif subgoal.predicate in (Predicate.IS_ON_TOP, Predicate.IS_INSIDE):
        want.places.append(subgoal.second)
    elif subgoal.predicate == Predicate.IS_IN_ROOM:
        places = _tops(subgoal.second, layout)
        if not places:
            raise ModelError(f"no program says {subgoal}: nothing in the room has a top")
        want.places.append(places)
    else:
        kind = "place" if subgoal.predicate in PLACING else "relation"
        raise ModelError(f"no program says {subgoal}: it has no word for this {kind}")


def _tops(rooms: Sequence[str], layout: House) -> tuple[str, ...]:
    """The furniture of rooms with a top to put things on."""
    return tuple(one.name for one in layout.furniture if one.room in rooms and one.surfaces)
