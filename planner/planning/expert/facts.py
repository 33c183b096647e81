"""The structured goal of a task, and the facts that `expert` plans with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from pydantic import JsonValue

from planner.evaluation.language import read_evaluation
from planner.evaluation.task import (
    Dependency,
    Evaluation,
    Predicate,
    Proposition,
    Tie,
    asked_open,
    asked_state,
)
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue, sliced_from
from planner.world.geometry import Box, Vec3
from planner.world.house import House
from planner.world.receptacle import known_shape
from planner.world.states import default_state_skills
from planner.world.vocabulary import EntityKind, Hands, Relation, floor_name, held_things, is_open

# The structured goal of a task, for planners that read it instead of the instruction.
#
# `planner.evaluation.language` defines the format; how a goal is judged is not known here.

PLACING = frozenset(
    {Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM, Predicate.IS_ON_FLOOR}
)


@dataclass(frozen=True, slots=True)
class Subgoal:
    """One proposition: `number` of `first` must have the relation to one of `second`.

    Attributes:
        first: candidate entities; for `is_clustered` the members of all lists.
        second: candidate furniture, rooms or neighbours; empty for unary predicates.
        same_second: whether all need the same one of `second`.
        within_m: maximum horizontal gap of neighbours, metres.
        lists: for `is_clustered`: one entity of each list takes part.
    """

    index: int
    predicate: str
    first: tuple[str, ...]
    second: tuple[str, ...] = ()
    number: int = 1
    same_second: bool = False
    within_m: float = 0.5
    lists: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        words = [" or ".join(self.first)] + ([" or ".join(self.second)] if self.second else [])
        return f"{self.predicate}({', '.join(words)})"

    @property
    def state(self) -> tuple[str, bool] | None:
        """The state and value that a state predicate requires."""
        return asked_state(self.predicate)

    @property
    def opens(self) -> bool | None:
        """Whether things have to be open, or closed; None if neither is asked."""
        return asked_open(self.predicate)


@dataclass(frozen=True)
class Goal:
    """All subgoals of a task.

    Attributes:
        before: for each subgoal those that must be achieved before it.
        watched: subgoals that are only judged: what must stay, or never become, true.
    """

    subgoals: tuple[Subgoal, ...]
    before: Mapping[int, frozenset[int]]
    gates: tuple[Dependency, ...]
    ties: tuple[Tie, ...]
    terminal: frozenset[int]
    watched: frozenset[int] = frozenset()

    @cached_property
    def gates_of(self) -> dict[int, tuple[Dependency, ...]]:
        """The dependencies that gate each subgoal."""
        return {w.index: tuple(g for g in self.gates if w.index in g.gated) for w in self.subgoals}

    @cached_property
    def names(self) -> frozenset[str]:
        """Every entity in the goal."""
        return frozenset(n for w in self.subgoals for n in (*w.first, *w.second))


def read_goal(document: Mapping[str, JsonValue]) -> Goal:
    """Reads the evaluation of an episode (PARTNR-D7).

    Raises:
        FileError: naming the field and the reason.
    """
    return goal_of(read_evaluation(dict(document), "the task's goal"))


def goal_of(evaluation: Evaluation) -> Goal:
    """The goal of an evaluation."""
    count = len(evaluation.propositions)
    watched = evaluation.always | evaluation.never
    before: dict[int, set[int]] = {index: set() for index in range(count)}
    for earlier, later in evaluation.edges:
        before[later].add(earlier)
    return Goal(
        subgoals=tuple(_subgoal(i, p) for i, p in enumerate(evaluation.propositions)),
        before={index: frozenset(earlier) for index, earlier in before.items()},
        gates=evaluation.dependencies,
        ties=evaluation.ties,
        terminal=evaluation.terminal - watched,
        watched=watched,
    )


def _subgoal(index: int, p: Proposition) -> Subgoal:
    if p.predicate is Predicate.IS_CLUSTERED:
        members = tuple(dict.fromkeys(name for names in p.lists for name in names))
        return Subgoal(
            index, p.predicate, members, number=len(p.lists), within_m=p.threshold_m, lists=p.lists
        )
    second = p.lists[1] if len(p.lists) > 1 else ()
    return Subgoal(index, p.predicate, p.lists[0], second, p.number, p.is_same, p.threshold_m)


# How and where a thing rests, such as (on, table_0).
Spot = tuple[Relation, str]


def in_memory_names(goal: Goal, given: Mapping[str, str]) -> Goal:
    """Renames a goal's things to the memory's names; `given` maps the names that differ."""

    def named(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(given.get(name, name) for name in names)

    def subgoal(subgoal: Subgoal) -> Subgoal:
        lists = tuple(named(names) for names in subgoal.lists)
        return replace(
            subgoal, first=named(subgoal.first), second=named(subgoal.second), lists=lists
        )

    return replace(goal, subgoals=tuple(map(subgoal, goal.subgoals)))


def with_wholes(names: Iterable[str]) -> set[str]:
    """The names of things, and of those that the slices among them come from."""
    known = set(names)
    return known | {whole for name in known if (whole := sliced_from(name)) is not None}


class Facts:
    """Answers questions about one belief; names are those of the memory."""

    def __init__(
        self,
        belief: Belief,
        layout: House,
        beside: Mapping[frozenset[str], str],
        hands: Mapping[str, Hands],
        hand_counts: Mapping[str, int],
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Believed facts of one moment.

        Args:
            belief: of the memory.
            layout: of the house.
            beside: pairs put next to each other, from `Notes`.
            hands: what the agents hold, from `Notes`.
            hand_counts: how many hands each agent has.
            given: the memory's names of a task's things, where they differ.
        """
        self.belief, self.layout = belief, layout
        self._beside, self._hands, self._hand_counts = beside, hands, hand_counts
        self._given = given
        self._true = {node: name for name, node in given.items()}
        self._holders = {t: agent for agent, held in hands.items() for t in held_things(held)}

    def node(self, name: str) -> BeliefNode | None:
        """The believed entity with this name, or None if unknown."""
        return self.belief.nodes.get(name)

    def known(self, name: str) -> bool:
        """Whether the location is known."""
        return name in self.layout.furniture_by_name or self._placed(name)

    def _placed(self, name: str) -> bool:
        node = self.node(name)
        return node is not None and (node.parent is not None or node.kind is not EntityKind.OBJECT)

    def is_thing(self, name: str) -> bool:
        """Whether the name denotes a movable thing, as far as the layout says."""
        return (
            name not in self.layout.furniture_by_name
            and name not in self.layout.rooms_by_name
            and not name.startswith("floor_")
        )

    def spot(self, thing: str) -> Spot | None:
        """How and where a thing rests; None if it is held or unknown."""
        node = self.node(thing)
        if thing in self._holders or node is None or node.parent is None:
            return None
        if node.relation in (None, Relation.HELD):
            return None
        return (node.relation or Relation.ON, node.parent)

    def base(self, thing: str) -> str:
        """The lowest of the things that a thing is on or in; itself if it is on or in none."""
        node = self.node(thing)
        return thing if node is None else self.belief.base_of(node).name

    def base_spot(self, thing: str) -> Spot | None:
        """Where on or in furniture, or on a floor, a thing is, in or on whatever other things."""
        return self.spot(self.base(thing))

    def holders(self, thing: str) -> tuple[str, ...]:
        """What a thing is on or in, from the inside out, down to furniture or a floor."""
        found: list[str] = []
        spot = self.spot(thing)
        while spot is not None and spot[1] not in found:
            found.append(spot[1])
            spot = self.spot(spot[1]) if self.is_thing(spot[1]) else None
        return tuple(found)

    def holder(self, thing: str) -> str | None:
        """The agent holding a thing, if any."""
        node = self.node(thing)
        if thing in self._holders:
            return self._holders[thing]
        if node is not None and node.relation is Relation.HELD:
            return node.parent
        return None

    def held_by(self, agent: str) -> tuple[str, ...]:
        """The believed names of the things that an agent holds."""
        if agent in self._hands:
            return held_things(self._hands[agent])
        node = self.belief.nodes.get(agent)
        return held_things(node.hands) if node is not None else ()

    def free_hands(self, agent: str) -> int:
        """How many hands of an agent are empty."""
        return self._hand_counts.get(agent, 1) - len(self.held_by(agent))

    def position_m(self, name: str) -> Vec3:
        """A position in `map`; the centre for furniture and rooms."""
        node = self.node(name)
        if node is not None:
            return node.position_m
        piece = self.layout.furniture_by_name.get(name)
        if piece is not None:
            return (piece.x_m, piece.y_m, piece.size_m[2] / 2)
        room = self.layout.rooms_by_name[name.removeprefix("floor_")]
        middle = room.shape.representative_point()
        return (middle.x, middle.y, 0.0)

    def size_m(self, thing: str) -> Vec3:
        """The extent of a thing, from the belief or else from its class."""
        node = self.node(thing)
        if node is not None and any(node.size_m):
            return node.size_m
        word = node.class_name if node is not None else thing.rpartition("_")[0]
        cls = default_catalogue().objects.get(word)
        return cls.size_m if cls is not None else (0.15, 0.15, 0.15)

    def room_of(self, furniture: str) -> str:
        """The room of a furniture, a floor or a thing; "" if it is not known."""
        if self.is_thing(furniture):
            node = self.node(furniture)
            return (node.room if node is not None else None) or ""
        piece = self.layout.furniture_by_name.get(furniture)
        return piece.room if piece is not None else furniture.removeprefix("floor_")

    def is_closed(self, furniture: str) -> bool:
        """Whether it is believed closed; openable furniture is closed until seen open."""
        piece = self.layout.furniture_by_name.get(furniture)
        node = self.belief.nodes.get(furniture)
        shown = is_open(node.openness) if node is not None else None
        return piece is not None and bool(piece.joints) and not shown

    def state(self, name: str, state: str) -> bool | None:
        """A state of a thing or furniture; None if unknown."""
        node = self.node(name)
        if node is None:
            return True if self.is_slice_of_divided(name) and state in _by_dividing() else None
        return node.states.get(state)

    def is_slice_of_divided(self, name: str) -> bool:
        """Whether another slice of the same thing is known: all come into being at once."""
        whole = sliced_from(self._true.get(name, name))
        return whole is not None and any(
            sliced_from(self._true.get(node.name, node.name)) == whole
            for node in self.belief.of_kind(EntityKind.OBJECT)
        )

    def whole_of(self, name: str) -> str | None:
        """The memory's name of the thing that a slice comes from; None if it is no slice."""
        whole = sliced_from(self._true.get(name, name))
        return None if whole is None else self._given.get(whole, whole)

    def _stands_open(self, name: str) -> bool | None:
        node = self.node(name)
        return None if node is None else is_open(node.openness)

    def pairs(self, subgoal: Subgoal) -> list[tuple[str, str]]:
        """The (first, second) pairs that satisfy the subgoal; second is '' if there is none."""
        if subgoal.state is not None:
            state, value = subgoal.state
            return [(a, "") for a in subgoal.first if self.state(a, state) is value]
        if subgoal.opens is not None:
            return [(a, "") for a in subgoal.first if self._stands_open(a) is subgoal.opens]
        if subgoal.predicate is Predicate.IS_ON_FLOOR:
            return [(a, "") for a in subgoal.first if self._on_floor(a)]
        if subgoal.predicate is Predicate.IS_CLUSTERED:
            near = self._next_to
            return [
                (a, "")
                for a in subgoal.first
                if any(a != b and near(a, b, subgoal.within_m) for b in subgoal.first)
            ]
        return [
            (a, b)
            for a in subgoal.first
            for b in subgoal.second
            if a != b and self._is(subgoal, a, b)
        ]

    def holds(self, subgoal: Subgoal) -> bool:
        """Whether enough pairs satisfy the subgoal (PARTNR-3.2)."""
        found = self.pairs(subgoal)
        if subgoal.predicate is Predicate.IS_CLUSTERED:
            near = {a for a, _ in found}
            return all(any(name in near for name in names) for names in subgoal.lists)
        if subgoal.same_second:
            return any(
                len({a for a, b in found if b == second}) >= subgoal.number
                for second in subgoal.second
            )
        return len({a for a, _ in found}) >= subgoal.number

    def judged(self, subgoal: Subgoal) -> bool | None:
        """Whether a subgoal is satisfied; None where some of its things are not known."""
        if self.holds(subgoal):
            return True
        return False if all(self._is_known_for(subgoal, name) for name in subgoal.first) else None

    def _is_known_for(self, subgoal: Subgoal, name: str) -> bool:
        if subgoal.state is not None:
            return self.state(name, subgoal.state[0]) is not None
        if subgoal.opens is not None:
            return self._stands_open(name) is not None
        return self._placed(name)

    def _on_floor(self, thing: str) -> bool:
        spot = self.spot(thing)
        return spot is not None and spot[1].startswith("floor_")

    def _is(self, subgoal: Subgoal, a: str, b: str) -> bool:
        if subgoal.predicate is Predicate.IS_NEXT_TO:
            return self._next_to(a, b, subgoal.within_m)
        spot = self.spot(a)
        if spot is None:
            return False
        if subgoal.predicate is Predicate.IS_IN_ROOM:
            return self.room_of_spot(a, spot[1]) == b
        if subgoal.predicate is Predicate.IS_ON_TOP:
            # What is in a thing's hollow is on the thing, too (PARTNR-D10).
            return spot == (Relation.ON, b) or (spot == (Relation.WITHIN, b) and self.is_thing(b))
        return spot == (Relation.WITHIN, b)

    def room_of_spot(self, thing: str, parent: str) -> str | None:
        """The room of a thing that rests on or in `parent`."""
        node = self.node(thing)
        if node is not None and node.room is not None:
            return node.room
        return self.room_of(parent) or None

    def _next_to(self, a: str, b: str, within_m: float) -> bool:
        low, high = self._box(a), self._box(b)
        if low is None or high is None:
            return False
        apart = low.minimum_m[2] > high.maximum_m[2] or high.minimum_m[2] > low.maximum_m[2]
        if apart:
            return False
        if low.horizontal_gap_m(high) <= within_m:
            return True
        if {a, b} & self.layout.furniture_by_name.keys():
            return False
        # The belief has no headings, so the gap between two rotated boxes is uncertain. The result
        # of the skill that placed one next to the other is more reliable.
        together = self._beside.get(frozenset((a, b)))
        spots = (self.spot(a), self.spot(b))
        return together is not None and all(s is None or s[1] == together for s in spots)

    def _box(self, name: str) -> Box | None:
        piece = self.layout.furniture_by_name.get(name)
        if piece is not None:
            return piece.box
        node = self.node(name)
        if node is None or self.spot(name) is None:
            return None
        sx, sy, sz = self.size_m(name)
        # Assume the narrow side in both directions, so the distance is never underestimated.
        narrow = min(sx, sy)
        return Box.around(node.position_m, (narrow, narrow, sz))

    def surfaces_of(self, room: str) -> list[str]:
        """Furniture in a room that things can be put on, then its floor."""
        pieces = [p.name for p in self.layout.furniture if p.room == room and p.surfaces]
        return [*pieces, floor_name(room)]

    def free_fraction(self, thing: str, relation: Relation, furniture: str) -> float:
        """The fraction of a surface or inside that looks free; 0 if the thing cannot fit."""
        piece = self.layout.furniture_by_name.get(furniture)
        if piece is None and (self.layout.graph is not None or not self.is_thing(furniture)):
            return 1.0
        if not self.fits_alone(thing, relation, furniture):
            return 0.0
        width, depth, _ = self.size_m(thing)
        others = [
            node
            for node in self.belief.inside(furniture)
            if node.relation is relation and node.name != thing
        ]
        used = sum(1.3 * n.size_m[0] * n.size_m[1] for n in others)
        total = sum(s[0] * s[1] for s in self._spaces(relation, furniture))
        return max(0.0, (total - used - width * depth) / total)

    def fits_alone(self, thing: str, relation: Relation, holder: str) -> bool:
        """Whether a surface or inside of furniture, or of a thing, is large enough for a thing."""
        width, depth, height = self.size_m(thing)
        return any(
            height < s[2] and min(width, depth) <= min(s[:2]) and max(width, depth) <= max(s[:2])
            for s in self._spaces(relation, holder)
        )

    def _spaces(self, relation: Relation, holder: str) -> list[Vec3]:
        piece = self.layout.furniture_by_name.get(holder)
        if piece is None:
            return self._spaces_of_thing(relation, holder)
        if relation is Relation.ON:
            return [(s.size[0], s.size[1], s.clearance) for s in piece.surfaces]
        return [i.size for i in piece.interiors]

    def relation_on(self, name: str) -> Relation:
        """How a thing is put so that it is on another entity: into what has a hollow but no top."""
        if not self.is_thing(name) or self.layout.graph is not None:
            return Relation.ON
        node = self.node(name)
        shape = known_shape(node.class_name if node else "", self.size_m(name))
        return Relation.WITHIN if shape.top is None and shape.hollow is not None else Relation.ON

    def _spaces_of_thing(self, relation: Relation, holder: str) -> list[Vec3]:
        node = self.node(holder)
        shape = known_shape(node.class_name if node else "", self.size_m(holder))
        part = shape.hollow if relation is Relation.WITHIN else shape.top
        return [] if part is None else [(part.size[0], part.size[1], math.inf)]


def _by_dividing() -> frozenset[str]:
    """The states that things get by being divided."""
    skills = default_state_skills().values()
    return frozenset(state for skill in skills if skill.divides for state in skill.sets)


def planar_m(a: Vec3, b: Vec3) -> float:
    """Horizontal distance, metres."""
    return math.hypot(a[0] - b[0], a[1] - b[1])


def spots_of(subgoal: Subgoal, facts: Facts) -> list[Spot]:
    """Every spot where a thing would fulfil a placement subgoal."""
    if subgoal.predicate is Predicate.IS_ON_TOP:
        return [(facts.relation_on(name), name) for name in subgoal.second]
    if subgoal.predicate is Predicate.IS_INSIDE:
        return [(Relation.WITHIN, name) for name in subgoal.second]
    if subgoal.predicate is Predicate.IS_ON_FLOOR:
        return [(Relation.ON, f"floor_{room.name}") for room in facts.layout.rooms]
    if subgoal.predicate is Predicate.IS_IN_ROOM:
        return [(Relation.ON, name) for room in subgoal.second for name in facts.surfaces_of(room)]
    return []


def fulfils(spot: Spot, subgoal: Subgoal, facts: Facts) -> bool:
    """Whether a thing at this spot fulfils a placement subgoal."""
    if subgoal.predicate is Predicate.IS_IN_ROOM:
        return facts.room_of(spot[1]) in subgoal.second
    return spot in spots_of(subgoal, facts)
