"""How far a plan leads through doors, and the plan with the least walk (ETPLAN-2.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from papers.et_plan_bench.generation.house_facts import Entity, HouseFacts, fits_at, fits_in_thing
from papers.et_plan_bench.generation.idea import Idea, Link
from papers.et_plan_bench.generation.plans import Plan, plans
from planner.world.episode import Prior
from planner.world.floor_grid import Point, Ways, length_m, stopped
from planner.world.geometry import Pose
from planner.world.receptacle import spot_at_piece
from planner.world.vocabulary import Relation

# How far a plan leads before anybody carries it out: through doors, as the graph world walks.


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a walk begins."""

    at_m: Point
    room: str


class Walking:
    """Measures walks in one house; what was measured once is kept."""

    def __init__(self, facts: HouseFacts) -> None:
        self._facts = facts
        self._ways = Ways(facts.house)
        # As the graph world has it, things have no yaw.
        self._things = {item.name: item for item in facts.house.objects}
        self._at_start: dict[str, Point] = {
            room.name: _middle(room.polygon_m) for room in facts.house.rooms
        }
        self._between: dict[tuple[str, str], float] = {}
        self._legs: dict[tuple[Point, str, str, Point], tuple[float, Point] | None] = {}

    def rough_m(self, start: Stand | str, name: str) -> float:
        """From a start, or the middle of something, to the middle of something; inf = no way."""
        if isinstance(start, Stand):
            return self._straight_m(start.at_m, start.room, name)
        key = (start, name)
        if key not in self._between:
            room = self._facts.room_of(start)
            self._between[key] = self._straight_m(self._at_m(start), room, name)
        return self._between[key]

    def sized(self, name: str) -> Entity:
        """A thing or piece with its own size, however it is turned."""
        entity = self._facts.entities[name]
        item = self._things.get(name)
        return entity if item is None else replace(entity, size_m=item.size_m)

    def plan_m(self, start: Stand, plan: Sequence[str]) -> float:
        """The length of a plan's walks, as the graph world counts it; inf without a way."""
        at, room, total = start.at_m, start.room, 0.0
        put = _Put(self)
        for call in plan:
            verb, _, rest = call.partition("[")
            if verb == "Place":
                thing, how, place = rest.split(", ")[:3]
                put.down(thing, Relation(how), place)
            if verb != "Navigate":
                continue
            name = rest[:-1]
            to_room = self._facts.room_of(put.base_of(name))
            leg = self._leg(at, room, name, to_room, put.at_m.get(name) or self._at_m(name))
            if leg is None:
                return math.inf
            (walked_m, at), room = leg, to_room
            total += walked_m
        return total

    def _leg(
        self, at: Point, room: str, name: str, to_room: str, goal: Point
    ) -> tuple[float, Point] | None:
        # What was put down again elsewhere lies at another point.
        key = (at, room, name, goal)
        if key not in self._legs:
            self._legs[key] = self._walked(at, room, name, to_room, goal)
        return self._legs[key]

    def _walked(
        self, at: Point, room: str, name: str, to_room: str, goal: Point
    ) -> tuple[float, Point] | None:
        way = self._ways.way(room, to_room, goal)
        if way is None:
            return None
        if name in self._facts.entities:
            end = stopped(way[-2] if len(way) > 1 else at, goal, self._gap_of(name, goal))
            way = (*way[:-1], end)
        return length_m(at, way), way[-1]

    def _straight_m(self, at: Point, room: str, name: str) -> float:
        way = self._ways.way(room, self._facts.room_of(name), self._at_m(name))
        return math.inf if way is None else length_m(at, way)

    def _at_m(self, name: str) -> Point:
        if name not in self._at_start:
            self._at_start[name] = self._first_m(name)
        return self._at_start[name]

    def _first_m(self, name: str) -> Point:
        """Where something is at the start: on a turned thing not where the house has it.

        In the graph world holders have no yaw, so what is on them is turned back with them.
        """
        entity = self._facts.entities[name]
        item, holder = self._things.get(name), self._things.get(entity.parent)
        if item is None or holder is None:
            return entity.middle_m[:2]
        frame = Pose.planar(*holder.pose[:2], holder.pose[3]).inverse()
        dx, dy, _ = frame.apply((*item.pose[:2], 0.0))
        x, y = self._at_m(holder.name)
        return (x + dx, y + dy)

    def _gap_of(self, name: str, at: Point) -> _Gap:
        item = self._things.get(name)
        x, y, _ = self._facts.entities[name].size_m if item is None else item.size_m
        return _Gap(*at, x / 2, y / 2)


class _Put:
    """Where things are that were put down.

    Attributes:
        at_m: of those on or in furniture; what is in another thing is not walked to.
    """

    def __init__(self, walking: Walking) -> None:
        self._walking, self._number = walking, 0
        self._base: dict[str, str] = {}
        self.at_m: dict[str, Point] = {}

    def down(self, thing: str, relation: Relation, place: str) -> None:
        """One more thing is put down."""
        self._number += 1
        self._base[thing] = self.base_of(place)
        piece = self._walking.sized(place).piece
        if piece is not None:
            size_m = self._walking.sized(thing).size_m
            self.at_m[thing] = spot_at_piece(self._number, piece, relation, size_m)[:2]

    def base_of(self, name: str) -> str:
        """The furniture that something was put on or in, maybe with what it is in; else itself."""
        return self._base.get(name, name)


@dataclass(frozen=True, slots=True)
class _Gap:
    """The distance of points from a box, seen from above."""

    x_m: float
    y_m: float
    half_x_m: float
    half_y_m: float

    def __call__(self, point: Point) -> float:
        dx = abs(point[0] - self.x_m) - self.half_x_m
        dy = abs(point[1] - self.y_m) - self.half_y_m
        return math.hypot(max(dx, 0.0), max(dy, 0.0))


def _middle(polygon_m: Sequence[Point]) -> Point:
    xs, ys = [x for x, _ in polygon_m], [y for _, y in polygon_m]
    return ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)


# So many readings are walked, those that are the shortest from middle to middle. Our houses have 24
# at most for a text, a large scene graph may have many thousands.
_MOST_WALKED = 500
_FACING_M = 5.0
_RELATIONS = {"ON": Relation.ON, "INSIDE": Relation.WITHIN}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What words ask for: an idea with the names that each of its letters may stand for.

    Attributes:
        idea: with its relations; its names are examples.
        targets, seconds, nests, places: names for A, A2, B (where it is a nest) and C; empty where
            the idea has no such letter.
    """

    idea: Idea
    targets: tuple[str, ...]
    seconds: tuple[str, ...] = ()
    nests: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeastWalk:
    """The shortest plan, and the idea with the names that it uses."""

    idea: Idea
    plan: Plan
    walk_m: float


def least_walk(
    facts: HouseFacts,
    walking: Walking,
    wanted: Wanted,
    start: Stand,
    arms: int = 1,
    prior: Prior = "P",
) -> LeastWalk | None:
    """The shortest plan; None if nothing fits what is wanted, or there is no way.

    Args:
        facts: of the house as it is.
        walking: in the same house.
        wanted: what to do.
        start: where the robot is.
        arms: how many things it may carry at a time.
        prior: what it knows; with a map, furniture is walked to without its room.
    """
    best: LeastWalk | None = None
    for idea in _nearly_shortest(facts, walking, wanted, start, arms):
        for plan in plans(facts, idea, start.room, arms, prior):
            # Rounded, so that what is equally far is chosen by name.
            walk_m = round(walking.plan_m(start, plan), 6)
            if walk_m == math.inf:
                continue
            if best is None or (walk_m, plan) < (best.walk_m, best.plan):
                best = LeastWalk(idea, plan, walk_m)
    return best


def _nearly_shortest(
    facts: HouseFacts, walking: Walking, wanted: Wanted, start: Stand, arms: int
) -> Iterator[Idea]:
    rough = [
        (walk_m, idea)
        for idea in _readings(wanted)
        if (walk_m := _rough_m(walking, idea, start, arms)) < math.inf
    ]
    rough.sort(key=lambda one: (one[0], tuple(one[1].letters.items())))
    fitting = (idea for _, idea in rough if _fits(facts, walking, idea))
    yield from islice(fitting, _MOST_WALKED)


def _readings(wanted: Wanted) -> Iterator[Idea]:
    """The idea with each choice of names."""
    idea = wanted.idea
    for target, second, nest, place in product(
        wanted.targets, wanted.seconds or ("",), wanted.nests or ("",), wanted.places or ("",)
    ):
        names = [name for name in (target, second, nest, place) if name]
        if len(set(names)) == len(names):
            yield replace(
                idea,
                target=target,
                second=second,
                nest=_to(idea.nest, nest),
                place=_to(idea.place, place),
            )


def _to(link: Link | None, name: str) -> Link | None:
    return None if link is None or not name else Link(link.relation, name)


def _rough_m(walking: Walking, idea: Idea, start: Stand, arms: int) -> float:
    """The least walk from middle to middle, whatever has to be opened."""
    place = idea.place.name if idea.place else ""
    if idea.nest is not None:
        return _through_m(walking, start, idea.target, idea.nest.name, place)
    if not idea.second:
        return _through_m(walking, start, idea.target, *([place] if place else []))
    one, other = idea.target, idea.second
    ways: list[tuple[str, ...]] = [(one, place, other, place)]
    if arms > 1:
        ways += [(one, other, place), (other, one, place)]
    return min(_through_m(walking, start, *way) for way in ways)


def _through_m(walking: Walking, start: Stand, *names: str) -> float:
    total, at = 0.0, start
    for name in names:
        total += walking.rough_m(at, name)
        at = name  # type: ignore[assignment]
    return total


def _fits(facts: HouseFacts, walking: Walking, idea: Idea) -> bool:
    """Whether things go where they shall: by size, and not from where they are already."""
    place, nest = idea.place, idea.nest
    if nest is not None:
        inner, holder = walking.sized(idea.target), walking.sized(nest.name)
        if not fits_in_thing(inner, holder) or facts.holds(nest.relation, idea.target, nest.name):
            return False
    if place is None:
        return True
    moved = [nest.name] if nest else [name for name in (idea.target, idea.second) if name]
    if any(facts.holds(place.relation, name, place.name) for name in moved):
        return False
    sized: tuple[Entity, ...] = tuple(walking.sized(name) for name in moved)
    return fits_at(sized, facts.entities[place.name], _RELATIONS[place.relation])


def standing(
    facts: HouseFacts, names: Iterable[str], relation: str, others: Sequence[str]
) -> tuple[str, ...]:
    """The names that stand in a relation to one of some others."""
    return tuple(
        name
        for name in names
        if any(name != other and _stands(facts, relation, name, other) for other in others)
    )


def _stands(facts: HouseFacts, relation: str, name: str, other: str) -> bool:
    if relation not in ("CLOSE", "FACING") or other in facts.room_class:
        return facts.holds(relation, name, other)
    if facts.room_of(name) != facts.room_of(other) or not facts.holds(relation, name, other):
        return False
    one, two = facts.entities[name].middle_m, facts.entities[other].middle_m
    return relation == "CLOSE" or math.dist(one[:2], two[:2]) < _FACING_M


def wanted_of(idea: Idea, facts: HouseFacts) -> Wanted:
    """An idea as its words say it: with all of a class, if they stand as it says."""
    of_class = idea.variables(facts)
    targets, places = of_class["A"], of_class.get("C", ())
    if idea.source is not None:
        targets = standing(facts, targets, idea.source.relation, of_class["B"])
    if idea.room:
        places = standing(facts, places, "INSIDE", of_class["D"])
    return Wanted(idea, targets, of_class.get("A2", ()), of_class["B"] if idea.nest else (), places)


def with_anchors(idea: Idea, facts: HouseFacts) -> Idea:
    """An idea whose B and D are the ones that A and C stand at."""
    if idea.source is not None:
        relation = idea.source.relation
        others = facts.of_class[facts.class_of(idea.source.name)]
        anchor = next(o for o in others if standing(facts, [idea.target], relation, [o]))
        idea = replace(idea, source=Link(relation, anchor))
    if idea.room and idea.place is not None:
        idea = replace(idea, room=facts.room_of(idea.place.name))
    return idea
