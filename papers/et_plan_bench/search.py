"""The search for one thing (ETPLAN-2.3), and the true plan where everything is known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from papers.et_plan_bench.generation.categories import Category
from papers.et_plan_bench.generation.house_facts import HouseFacts, facts_of
from papers.et_plan_bench.generation.idea import Idea, Link, RelationWord
from papers.et_plan_bench.generation.least_walk import (
    LeastWalk,
    Stand,
    Walking,
    Wanted,
    least_walk,
    standing,
)
from papers.et_plan_bench.known import Calls, Known, Walk
from papers.et_plan_bench.parts import Prior
from papers.et_plan_bench.rankers import is_nested
from planner.planning.errands import Errand, Sought, Where, spelled
from planner.world.belief import BeliefNode
from planner.world.house import House, ObjectPlacement
from planner.world.skill import SkillName
from planner.world.vocabulary import EntityKind, Relation


@dataclass
class Search:
    """One search.

    Attributes:
        walk: whose knowledge it uses.
        sought: what to find; with an anchor the relation is verified.
        excluded: entities that are not meant, such as what was brought already.
        found: what was found, once the search has ended; None = nothing.
    """

    walk: Walk
    sought: Sought
    excluded: Collection[str] = ()
    found: str | None = None
    _visited: set[str] = field(default_factory=set)
    _unreachable: set[str] = field(default_factory=set)

    async def run(self) -> Calls:
        """Finds it and walks to it. What is remembered counts as in view (ETPLAN-1.3)."""
        async for call in self._reach():
            yield call
        if self._is_found() or self.walk.prior is Prior.G:
            # Who knows everything has nothing to look for.
            return
        rooms = await self._rooms()
        for room in rooms:
            async for call in self._search_room(room):
                yield call
            if self._is_found():
                return
        for room in rooms:
            async for call in self._open_what_is_closed(room):
                yield call
            if self._is_found():
                return

    async def _open_what_is_closed(self, room: str) -> Calls:
        """Another round, until the actions are used up: what nobody proposed (ETPLAN-1.4)."""
        while None in self.walk.known.hands:
            known = self.walk.known
            pieces = [node.name for node in known.seen_in(room) if known.is_large(node.name)]
            closed = [n for n in pieces if known.is_closed(n) and n not in self._visited]
            if not closed:
                return
            async for call in self._visit(closed[0]):
                yield call
            if self._is_found():
                return

    def _is_found(self) -> bool:
        return self.found is not None

    async def _rooms(self) -> tuple[str, ...]:
        walk, possible = self.walk, self.walk.known.rooms_for(self.sought)
        walk.asked["rank_rooms"] += 1
        ranked = await walk.ranker.rank_rooms(self._targets(), walk.known.rooms)
        # A room that is known to hold the anchor is searched wherever it is in the order.
        return tuple(room for room in ranked if room in possible)

    def _targets(self) -> tuple[str, ...]:
        """What is sought, and what it has to be at if that is not a room."""
        anchor, known = self.sought.anchor, self.walk.known
        if anchor is None or any(map(known.is_room, known.of_class(Sought(anchor.word)))):
            return (self.sought.word,)
        return (self.sought.word, anchor.word)

    async def _search_room(self, room: str) -> Calls:
        walk = self.walk
        if not (walk.known.room == room and walk.known.away_m(room) <= _AT_MIDDLE_M):
            yield walk.act(SkillName.NAVIGATE, room)
            if not walk.has_succeeded():
                return
        async for call in self._look_and_reach():
            yield call
        if self._is_found():
            return
        shown = False
        for name in self._undecided(room):
            shown = True
            async for call in self._visit(name, opens=False):
                yield call
            if self._is_found():
                return
        for name in self._anchors(room):
            shown = True
            async for call in self._visit(name):
                yield call
            if self._is_found():
                return
        if shown:
            return
        walk.asked["large_objects"] += 1
        view = walk.known.seen_in(room)
        proposed = await walk.ranker.large_objects(
            self._targets(), room, [node.class_name for node in view]
        )
        for class_name in proposed:
            for name in self._pieces(room, class_name):
                async for call in self._visit(name):
                    yield call
                if self._is_found():
                    return

    def _pieces(self, room: str, class_name: str) -> Iterator[str]:
        """The furniture of a class in a room that was not visited, the nearest next."""
        while True:
            known = self.walk.known
            names = [
                node.name
                for node in known.seen_in(room)
                if spelled(node.class_name) == spelled(class_name)
                and known.is_large(node.name)
                and node.name not in self._visited
            ]
            if not names:
                return
            yield names[0]

    def _undecided(self, room: str) -> list[str]:
        """What may be meant, if what it has to be close to is only in view from there."""
        known, anchor = self.walk.known, self.sought.anchor
        if anchor is None or self.sought.where not in (Where.CLOSE, Where.FACING):
            return []
        if any(known.room_of(name) == room for name in known.of_class(anchor)):
            return []
        return [
            name
            for name in known.of_class(self.sought)
            if known.room_of(name) == room and self._is_open(name)
        ]

    def _anchors(self, room: str) -> list[str]:
        """What the thing has to be at, in this room."""
        known, anchor = self.walk.known, self.sought.anchor
        if anchor is None:
            return []
        return [
            name
            for name in known.of_class(anchor)
            if known.room_of(name) == room and not known.is_room(name) and self._is_open(name)
        ]

    def _is_open(self, name: str) -> bool:
        return name not in self._visited and name not in self.excluded

    async def _visit(self, name: str, *, opens: bool = True) -> Calls:
        """Walks there and looks, also into what is closed; closes it again if that was no use."""
        walk = self.walk
        self._visited.add(name)
        yield walk.act(SkillName.NAVIGATE, name)
        if not walk.has_succeeded():
            return
        opened = opens and walk.known.is_closed(name) and None in walk.known.hands
        if opened:
            yield walk.act(SkillName.OPEN, name)
            opened = walk.has_succeeded()
        async for call in self._look_and_reach():
            yield call
        if opened and not self._is_found():
            yield walk.act(SkillName.CLOSE, name)

    async def _look_and_reach(self) -> Calls:
        if not self._hits():
            async for call in self.walk.look_round():
                yield call
        async for call in self._reach():
            yield call

    async def _reach(self) -> Calls:
        """Walks to what fits, if anything does; first opens what is known to be around it."""
        walk = self.walk
        while hits := self._hits():
            name = hits[0]
            async for call in self._way_to(name):
                yield call
            yield walk.act(SkillName.NAVIGATE, name)
            if walk.has_succeeded():
                self.found = name
                return
            self._unreachable.add(name)

    async def _way_to(self, name: str) -> Calls:
        walk = self.walk
        around = walk.known.closed_around(name)
        if walk.prior is Prior.G and walk.known.room_of(name) not in (walk.known.room, name):
            yield walk.act(SkillName.NAVIGATE, walk.known.room_of(name))
        if around is not None:
            yield walk.act(SkillName.NAVIGATE, around)
            if None in walk.known.hands:
                yield walk.act(SkillName.OPEN, around)

    def _hits(self) -> list[str]:
        return [
            name
            for name in self.walk.known.fitting(self.sought)
            if name not in self.excluded and name not in self._unreachable
        ]


# A room's middle is reached within this distance.
_AT_MIDDLE_M = 1.0


# What the agent does where everything is known: the true plan of what the words ask for.
#
# It is chosen by the code that makes the ground truth of generated tasks (ETPLAN-C39).

_WHERE: dict[Where, RelationWord] = {
    Where.INSIDE: "INSIDE",
    Where.ON: "ON",
    Where.CLOSE: "CLOSE",
    Where.FACING: "FACING",
}


def full_plan(
    walk: Walk, errands: Sequence[Errand], *, jointly: bool, arms: int, prior: Prior
) -> LeastWalk | None:
    """The plan with the least walk; None if no generated task asks for such a thing.

    Args:
        walk: whose knowledge is complete.
        errands: the parts of the task.
        jointly: whether they bring two things to one place.
        arms: how many things may be carried at a time.
        prior: FP for a plan that walks to furniture without its room first.
    """
    known = walk.known
    if known.room is None or any(known.hands):
        return None
    facts = facts_of(_house(walk.context.layout, list(known.entities.values())))
    wanted = _Words(known, facts).wanted(errands, jointly=jointly)
    if wanted is None:
        return None
    stand = Stand(known.here_m[:2], known.room)
    return least_walk(facts, Walking(facts), wanted, stand, arms, prior.value)


def _house(layout: House, nodes: Sequence[BeliefNode]) -> House:
    """The layout with the things that are known."""
    things = []
    for node in nodes:
        relation = node.relation
        if node.kind is not EntityKind.OBJECT or node.parent is None:
            continue
        if relation is not Relation.ON and relation is not Relation.WITHIN:
            continue
        x, y, z = node.position_m
        things.append(
            ObjectPlacement.model_construct(
                name=node.name,
                class_name=node.class_name,
                size_m=node.size_m,
                pose=(x, y, z - node.size_m[2] / 2, 0.0),
                parent=node.parent,
                relation=relation,
            )
        )
    return layout.model_copy(update={"objects": tuple(things)})


class _Words:
    """The names that the words of a task may stand for."""

    def __init__(self, known: Known, facts: HouseFacts) -> None:
        self._known, self._facts = known, facts

    def wanted(self, errands: Sequence[Errand], *, jointly: bool) -> Wanted | None:
        """What is wanted; None if it is none of the generator's forms."""
        if len(errands) == 1:
            return self._one(errands[0])
        if len(errands) != 2:
            return None
        first, second = errands
        if jointly and first.place == second.place:
            one, other = self._one(first), self._names(second.target)
            return None if one is None or not other else _with_second(one, other)
        if is_nested([first, second]):
            return self._nested(first, second)
        return None

    def _one(self, errand: Errand) -> Wanted | None:
        targets = self._names(errand.target)
        if not targets:
            return None
        if errand.place is None:
            return Wanted(Idea(Category.NAVIGATION, targets[0]), targets)
        places = self._names(errand.place)
        if not places:
            return None
        idea = Idea(Category.MANIPULATION, targets[0], place=self._link(places[0], errand))
        return Wanted(idea, targets, places=places)

    def _nested(self, first: Errand, second: Errand) -> Wanted | None:
        inner, outer = self._one(first), self._one(second)
        if inner is None or outer is None or inner.idea.place is None:
            return None
        idea = Idea(
            Category.TEMPORAL, inner.targets[0], nest=inner.idea.place, place=outer.idea.place
        )
        return Wanted(idea, inner.targets, nests=inner.places, places=outer.places)

    def _link(self, name: str, errand: Errand) -> Link:
        within = self._known.takes(name, errand.where) is Relation.WITHIN
        return Link("INSIDE" if within else "ON", name)

    def _names(self, sought: Sought) -> tuple[str, ...]:
        """By name, as equally far ones are chosen by name."""
        names = sorted(self._known.fitting(sought))
        if sought.where is None or sought.anchor is None:
            return tuple(names)
        others = self._known.fitting(sought.anchor)
        # What boxes say where that is more than the memory knows, as who faces whom.
        return standing(self._facts, names, _WHERE[sought.where], others) or tuple(names)


def _with_second(one: Wanted, other: tuple[str, ...]) -> Wanted:
    idea = Idea(Category.TWO_OBJECTS, one.targets[0], second=other[0], place=one.idea.place)
    return Wanted(idea, one.targets, seconds=other, places=one.places)
