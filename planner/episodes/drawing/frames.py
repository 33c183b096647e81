"""Divides an evaluation into frames, one for each temporal group (PARTNR-4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from planner.evaluation.task import Evaluation, Predicate, Proposition, asked_state
from planner.world.catalogue import sliced_from
from planner.world.state import EntityState
from planner.world.vocabulary import Relation, floor_name

_PLACED = {Predicate.IS_ON_TOP: Relation.ON, Predicate.IS_INSIDE: Relation.WITHIN}
# Stands for the floors of all rooms.
ANY_FLOOR = "any floor"


@dataclass(frozen=True, slots=True)
class Spot:
    """What a thing is on or in; `slice_of` names the thing of which it will be a slice."""

    holder: str
    relation: Relation
    slice_of: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """A proposition as arrows: `number` of the things go to any one of the targets.

    Attributes:
        index: of the proposition.
        relation: None for targets that are rooms.
        same: all of them go to the same target.
    """

    index: int
    things: tuple[str, ...]
    targets: tuple[str, ...]
    relation: Relation | None
    number: int
    same: bool

    @property
    def is_choice(self) -> bool:
        """Whether things or targets may be chosen, which is drawn as dotted arrows."""
        return self.number < len(self.things) or len(self.targets) > 1


@dataclass(frozen=True, slots=True)
class Frame:
    """A temporal group.

    Attributes:
        title: "" if the evaluation has no order.
        indices: of its propositions.
        spots: where things are when it begins, as far as the earlier groups determine it.
        states: what the earlier groups determine of states.
        unsure: things that an earlier group may have moved, to one of several places.
        placements: its propositions that place things.
    """

    title: str
    indices: tuple[int, ...]
    spots: Mapping[str, Spot]
    states: Mapping[str, Mapping[str, bool]]
    unsure: frozenset[str]
    placements: tuple[Placement, ...]


def frames_of(evaluation: Evaluation, entities: Mapping[str, EntityState]) -> tuple[Frame, ...]:
    """The frames in order of time; what has no order, if anything has, comes last.

    Args:
        evaluation: what is to be drawn.
        entities: rooms, furniture and things at the start.
    """
    spots = {
        name: Spot(entity.parent, entity.relation)
        for name, entity in entities.items()
        if entity.parent is not None and entity.relation is not None
    }
    for name in (name for p in evaluation.propositions for part in p.lists for name in part):
        whole = sliced_from(name) if name not in spots else None
        if whole is not None and whole in spots:
            spots[name] = Spot(spots[whole].holder, spots[whole].relation, whole)
    states: dict[str, dict[str, bool]] = {}
    unsure: set[str] = set()
    ordered, free = temporal_groups(evaluation)
    found = []
    for k, group in enumerate(ordered):
        title = f"Step {k + 1} of {len(ordered)}" if len(ordered) > 1 else ""
        placements = tuple(_placements(evaluation, group))
        now = {name: dict(values) for name, values in states.items()}
        found.append(Frame(title, group, dict(spots), now, frozenset(unsure), placements))
        for placement in placements:
            after = _moved(placement, spots)
            spots.update(after)
            unsure = (unsure | set(placement.things)) - after.keys()
        for name, state, value in _changes(evaluation, group):
            states.setdefault(name, {})[state] = value
    if free:
        placements = tuple(_placements(evaluation, free))
        found.append(replace(found[0], title="At any time", indices=free, placements=placements))
    return tuple(found)


def temporal_groups(evaluation: Evaluation) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Groups of propositions, each after the one before, and those without an order."""
    level = {i: 0 for edge in evaluation.edges for i in edge}
    if not level:
        return [tuple(range(len(evaluation.propositions)))], ()
    for _ in level:
        for one, other in evaluation.edges:
            level[other] = max(level[other], level[one] + 1)
    groups = [
        tuple(sorted(i for i in level if level[i] == k)) for k in range(max(level.values()) + 1)
    ]
    return groups, tuple(i for i in range(len(evaluation.propositions)) if i not in level)


def order_is_groups(evaluation: Evaluation) -> bool:
    """Whether the order says just this: all of a group before any of the next."""
    groups, _ = temporal_groups(evaluation)
    edges = {(i, j) for one, other in pairwise(groups) for i in one for j in other}
    return edges == set(evaluation.edges)


def _placements(evaluation: Evaluation, group: Sequence[int]) -> Iterator[Placement]:
    for i in group:
        item = evaluation.propositions[i]
        things, number = item.lists[0], item.number
        if item.predicate in _PLACED:
            relation = _PLACED[Predicate(item.predicate)]
            yield Placement(i, things, item.lists[1], relation, number, item.is_same)
        elif item.predicate == Predicate.IS_IN_ROOM:
            yield Placement(i, things, item.lists[1], None, number, item.is_same)
        elif item.predicate == Predicate.IS_ON_FLOOR:
            rooms = _rooms_of(evaluation, group, item)
            floors = tuple(map(floor_name, rooms)) or (ANY_FLOOR,)
            yield Placement(i, things, floors, Relation.ON, number, same=False)


def _rooms_of(evaluation: Evaluation, group: Sequence[int], floor: Proposition) -> tuple[str, ...]:
    """The rooms that things have to be in that have to be on the floor."""
    found = (
        other.lists[1]
        for other in (evaluation.propositions[j] for j in group)
        if other.predicate == Predicate.IS_IN_ROOM and set(other.lists[0]) & set(floor.lists[0])
    )
    return next(found, ())


def _moved(placement: Placement, spots: Mapping[str, Spot]) -> dict[str, Spot]:
    """Where things are after a step, if there is only one possibility."""
    if placement.is_choice or placement.targets == (ANY_FLOOR,):
        return {}
    target, relation = placement.targets[0], placement.relation
    if relation is None:
        target, relation = floor_name(target), Relation.ON
    return {thing: Spot(target, relation) for thing in placement.things if thing in spots}


def _changes(evaluation: Evaluation, group: Sequence[int]) -> Iterator[tuple[str, str, bool]]:
    """The entity, state and value of what a step makes so, if there is no choice."""
    for item in (evaluation.propositions[i] for i in group):
        asked = asked_state(item.predicate)
        if asked is not None and item.number == len(item.lists[0]):
            yield from ((name, *asked) for name in item.lists[0])
