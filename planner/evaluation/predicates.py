"""PARTNR's predicates and ET-Plan-Bench's relations in one state, and the propositions' truth."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum

from planner.evaluation.layout import EPSILON_M
from planner.evaluation.scene import Scene, world_box
from planner.evaluation.task import (
    ANYWHERE,
    PersonPredicate,
    Predicate,
    Proposition,
    asked_open,
    is_about_person,
)
from planner.world.geometry import Box, Vec3
from planner.world.person import TALK_M
from planner.world.receptacle import known_shape
from planner.world.state import EntityState, WorldState, chain_of
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation, floor_name, is_open

# Relations in worlds of edges: parent, relation and room, as the state has them.
#
# The counterpart of the boxes and rays in `predicates`, used for scenes with `has_edges`.

Entities = Mapping[str, EntityState]


def edge_on(entities: Entities, name: str) -> frozenset[str]:
    """What an entity is on: the floor of its room, furniture or a thing."""
    entity = entities.get(name)
    if entity is None or entity.relation is not Relation.ON or entity.parent is None:
        return frozenset()
    return frozenset({entity.parent})


def edge_inside(entities: Entities, name: str, receptacle: str) -> bool:
    """Whether an entity is in another one, or on or in something that is."""
    return any(
        entity.parent == receptacle and entity.relation is Relation.WITHIN
        for entity in chain_of(entities, name)
    )


def edge_in_room(entities: Entities, name: str, room: str) -> bool:
    """Whether an entity is anywhere in a room."""
    entity = entities.get(name)
    return entity is not None and entity.room == room


# Placeholder for the second argument of a one-argument predicate.
NO_SECOND = ""
_TRUE = frozenset({NO_SECOND})
_FALSE: frozenset[str] = frozenset()

ON_FLOOR_M = 0.04
# Length of each of the two opposing rays of is_inside (PARTNR-T6).
INSIDE_RAY_M = 1.0
# A box's corners and centre; a quarter of them must be in the room (PARTNR-T6).
KEY_POINTS = 9
IN_ROOM_SHARE = 0.25


class Variant(StrEnum):
    """How the geometry is judged; every result names it (PARTNR-D10).

    BOXES: downward rays against the boxes of a house file's parts; inside means that the centre is
    in an interior volume. PERCEIVED: the world as seen by robots, with one box for each piece of
    furniture; inside means that the centre is in that box. EDGES: no geometry; on, inside and room
    are the relations that the world itself states.
    """

    BOXES = "boxes"
    PERCEIVED = "perceived"
    EDGES = "edges"


def key_points(box: Box) -> Iterator[Vec3]:
    """The eight corners of a box and its centre."""
    for x in (box.minimum_m[0], box.maximum_m[0]):
        for y in (box.minimum_m[1], box.maximum_m[1]):
            for z in (box.minimum_m[2], box.maximum_m[2]):
                yield (x, y, z)
    yield box.center_m


def on_top_of(scene: Scene, name: str) -> frozenset[str]:
    """Everything that an entity is on top of; the floor of its room if it lies on that."""
    if scene.has_edges:
        return edge_on(scene.entities, name)
    below = scene.first_below(name)
    floor = floor_under(scene, name)
    return below if floor is None else below | {floor}


def floor_under(scene: Scene, name: str) -> str | None:
    """The floor that an entity is on, by `is_on_floor`.

    Judged by height, because rays from a cup at the edge of a table would hit the floor too. Things
    on the bottom board of a shelf or in a basket are not on the floor.
    """
    if scene.has_edges:
        return next((on for on in edge_on(scene.entities, name) if on.startswith("floor_")), None)
    box = scene.box(name)
    if box is None or not -ON_FLOOR_M - EPSILON_M <= box.minimum_m[2] <= ON_FLOOR_M + EPSILON_M:
        return None
    if scene.stands_on_furniture(name):
        return None
    x, y, _ = box.center_m
    room = scene.house.room_at(x, y)
    return None if room is None else floor_name(room)


def is_on_top(scene: Scene, name: str, receptacle: str) -> bool:
    """A ray straight down from any corner of the box hits the receptacle first (PARTNR-D9)."""
    return name != receptacle and receptacle in on_top_of(scene, name)


def is_inside(scene: Scene, name: str, receptacle: str) -> bool:
    """The centre lies in an interior of the receptacle (the box variant of PARTNR-D10).

    As with the paper's rays of 1.00 m, two opposing walls of the interior must be that close.
    Perceived furniture counts as hollow throughout. For a thing with a hollow, the middle of the
    entity's underside must be in it: then its lower corners' rays hit the walls, however far it
    sticks out.
    """
    if scene.has_edges:
        return edge_inside(scene.entities, name, receptacle)
    box = scene.box(name)
    if box is None or name == receptacle:
        return False
    if scene.is_in_hollow(name, receptacle):
        return True
    bare = scene.bare_furniture(receptacle)
    if bare is not None:
        return _is_within(box.center_m, bare)
    center: Vec3 | None = None
    for hollow, slide in scene.hollows(receptacle):
        if center is None:
            center = scene.in_frame_of(receptacle, box.center_m)
        inside, near = True, False
        for at, middle, size, out in zip(center, hollow.center, hollow.size, slide, strict=True):
            low = middle - size / 2
            if not low + min(out, 0.0) - EPSILON_M <= at <= low + size + max(out, 0.0) + EPSILON_M:
                inside = False
                break
            # In an open drawer the walls are as far away as from its middle.
            to_wall = size / 2 if out else max(at - low, low + size - at)
            near = near or to_wall <= INSIDE_RAY_M + EPSILON_M
        if inside and near:
            return True
    return False


def _is_within(point_m: Vec3, box: Box) -> bool:
    return all(
        low - EPSILON_M <= at <= high + EPSILON_M
        for at, low, high in zip(point_m, box.minimum_m, box.maximum_m, strict=True)
    ) and any(
        max(at - low, high - at) <= INSIDE_RAY_M + EPSILON_M
        for at, low, high in zip(point_m, box.minimum_m, box.maximum_m, strict=True)
    )


def is_in_room(scene: Scene, name: str, room: str) -> bool:
    """At least a quarter of the nine key points lie in the room's volume: three of them."""
    if scene.has_edges:
        return edge_in_room(scene.entities, name, room)
    box = scene.box(name)
    if box is None:
        return False
    within = sum(scene.in_room(point, room) for point in key_points(box))
    return within >= IN_ROOM_SHARE * KEY_POINTS


def is_on_floor(scene: Scene, name: str) -> bool:
    """The lowest point is within 0.04 m of the floor under the box's centre (PARTNR-D11)."""
    return floor_under(scene, name) is not None


def is_next_to(scene: Scene, a: str, b: str, threshold_m: float = 0.5) -> bool:
    """The boxes overlap in height, with at most this horizontal gap (PARTNR-D8)."""
    box_a, box_b = scene.box(a), scene.box(b)
    if box_a is None or box_b is None or a == b:
        return False
    low = max(box_a.minimum_m[2], box_b.minimum_m[2])
    high = min(box_a.maximum_m[2], box_b.maximum_m[2])
    return low <= high + EPSILON_M and box_a.horizontal_gap_m(box_b) <= threshold_m + EPSILON_M


def is_clustered(scene: Scene, names: Sequence[str], threshold_m: float = 0.5) -> bool:
    """Each of several different entities is next to at least one other of them."""
    return len(names) > 1 and all(
        any(j != i and is_next_to(scene, a, b, threshold_m) for j, b in enumerate(names))
        for i, a in enumerate(names)
    )


def stands_open(scene: Scene, name: str) -> bool | None:
    """Whether an entity is open; None if nothing of it opens."""
    entity = scene.entities.get(name)
    return None if entity is None else is_open(entity.openness)


def has_state(scene: Scene, predicate: str, name: str) -> bool:
    """Whether a state is as asked; without the affordance both of a pair are false."""
    states = default_states()
    state, value = states.predicates[predicate]
    entity = scene.entities.get(name)
    if entity is None or states.affordance_of[state] not in entity.affordances:
        return False
    return bool((entity.states or {}).get(state, False)) is value


# How near an agent is to a person whom it is near: as near as one talks.
NEAR_PERSON_M = TALK_M


def with_persons(scene: Scene, predicate: str, name: str, others: Sequence[str]) -> frozenset[str]:
    """Those of the second list for which a predicate about persons holds with `name`.

    For one list `NO_SECOND` if it holds. What is told is a text or its kind: `joke: Knock, knock.`
    is a joke. Three dots stand for any words.
    """
    entity = scene.entities.get(name)
    if entity is None:
        return _FALSE
    if predicate == PersonPredicate.IS_HANDED_OVER:
        held = entity.relation is Relation.HELD
        return frozenset(b for b in others if held and entity.parent == b)
    if predicate == PersonPredicate.IS_NEAR_PERSON:
        return frozenset(b for b in others if _is_near(entity, scene.entities.get(b)))
    done = () if entity.person is None else entity.person.done
    if predicate == PersonPredicate.IS_MET:
        return _TRUE if "met" in done else _FALSE
    if predicate == PersonPredicate.IS_TOLD:
        told = [deed.removeprefix("told ") for deed in done if deed.startswith("told ")]
        return frozenset(b for b in others if any(_tells(text, b) for text in told))
    verb = "guided" if predicate == PersonPredicate.IS_GUIDED else "followed"
    return frozenset(b for b in others if (verb if b == ANYWHERE else f"{verb} {b}") in done)


def _tells(told: str, wanted: str) -> bool:
    gaps = map(re.escape, wanted.split("..."))
    return told.startswith(f"{wanted}: ") or re.fullmatch(".*".join(gaps), told) is not None


def _is_near(agent: EntityState, person: EntityState | None) -> bool:
    if person is None or agent.room is None or agent.room != person.room:
        return False
    (ax, ay, _), (bx, by, _) = agent.pose.position_m, person.pose.position_m
    return math.hypot(ax - bx, ay - by) <= NEAR_PERSON_M + EPSILON_M


# ET-Plan-Bench's relations in one state (ETPLAN-3.1), on boxes and rooms.

# From one entity's centre to the other one's box, and from centre to centre; metres.
CLOSE_M = 1.5
FACING_M = 5.0
# Maximum angle, to either side of its front, between the front and what an entity faces.
_FRONT_RAD = math.pi / 2


def holds(scene: Scene, state: WorldState, relation: str, one: str, other: str) -> bool:
    """Whether a relation holds; false for names that the world lacks.

    CLOSE: less than 1.50 m horizontally from an agent's centre to the other's box, or between two
        things from either's centre, so that heights do not count; to a room: in it.
    INSIDE: as PARTNR's `is_inside`; in a thing also if the centre is in its box; for what has a top
        but no hollow it means on it; for a room, anywhere in it.
    ON: as PARTNR's `is_on_top`, which what is in a thing's hollow is too; for furniture with only
        a hollow it means in it; for a room it means on its floor, as do on or inside a floor by its
        name.
    What is in a hand is on or in nothing, wherever the hand is.
    HELD: in a hand of the other, which is an agent.
    In a world of edges, ON, INSIDE and rooms are what the edges say.
    FACING: in the same room, centres less than 5.00 m apart, and the front of furniture or agents
        is not turned away; a graph does not have the fronts of furniture.
    """
    # A floor lamp is an entity itself.
    floor = other not in state.entities and other.startswith(floor_name(""))
    other = other.removeprefix(floor_name("")) if floor else other
    a, b = state.entities.get(one), state.entities.get(other)
    if a is None or b is None or one == other:
        return False
    if relation == "HELD":
        return a.relation is Relation.HELD and a.parent == other
    if b.kind is EntityKind.ROOM:
        if relation == "ON" or (floor and relation == "INSIDE"):
            return _is_on_floor(scene, a) and _is_in(scene, a, other)
        return relation in ("CLOSE", "INSIDE") and _is_in(scene, a, other)
    if relation == "CLOSE":
        if a.kind is EntityKind.AGENT:
            return _gap_m(scene, a, b) < CLOSE_M
        if b.kind is EntityKind.AGENT:
            return _gap_m(scene, b, a) < CLOSE_M
        return _gap_m(scene, a, b) < CLOSE_M or _gap_m(scene, b, a) < CLOSE_M
    if relation in ("ON", "INSIDE") and a.relation is Relation.HELD:
        return False
    if relation == "FACING":
        return _faces(a, b, has_front=not scene.has_edges)
    if scene.has_edges and a.kind is EntityKind.FURNITURE:
        return (relation, other) in scene.house.fixed_edges.get(one, ())
    if scene.has_edges and b.kind is not EntityKind.FURNITURE:
        return (is_inside if relation == "INSIDE" else is_on_top)(scene, one, other)
    if b.kind is EntityKind.AGENT:
        return False
    hollow, top = _shape(scene, b)
    if relation == "ON":
        within = b.kind is EntityKind.FURNITURE and hollow and not top
        return (is_inside if within else is_on_top)(scene, one, other)
    if b.kind is EntityKind.OBJECT and _holds_middle(_box(scene, b), _box(scene, a).center_m):
        return True
    return (is_on_top if top and not hollow else is_inside)(scene, one, other)


def _box(scene: Scene, entity: EntityState) -> Box:
    # The scene does not track walking agents.
    box = None if entity.kind is EntityKind.AGENT else scene.box(entity.name)
    return world_box(entity) if box is None else box


def _is_in(scene: Scene, entity: EntityState, room: str) -> bool:
    if entity.kind is EntityKind.OBJECT:
        return is_in_room(scene, entity.name, room)
    if entity.kind is EntityKind.FURNITURE or scene.has_edges:
        return entity.room == room
    return scene.in_room(world_box(entity).center_m, room)


def _is_on_floor(scene: Scene, entity: EntityState) -> bool:
    if scene.has_edges and entity.kind is EntityKind.FURNITURE:
        # What stands on a rug also stands on the floor.
        edges = scene.house.fixed_edges.get(entity.name, ())
        return not any(other in scene.house.furniture_by_name for _, other in edges)
    return is_on_floor(scene, entity.name)


def _shape(scene: Scene, entity: EntityState) -> tuple[bool, bool]:
    """Whether an entity has hollows and tops; perceived furniture may have both."""
    if entity.kind is EntityKind.OBJECT:
        shape = known_shape(entity.class_name, entity.size_m)
        return shape.hollow is not None, shape.top is not None
    piece = scene.house.furniture_by_name.get(entity.name)
    if piece is None:
        return scene.bare_furniture(entity.name) is not None, True
    return bool(piece.interiors), bool(piece.surfaces)


def _gap_m(scene: Scene, one: EntityState, other: EntityState) -> float:
    """Horizontal distance from the centre of one entity to another one's box."""
    upright = one.kind is EntityKind.AGENT
    x, y, _ = one.pose.position_m if upright else _box(scene, one).center_m
    box = _box(scene, other)
    (x0, y0, _), (x1, y1, _) = box.minimum_m, box.maximum_m
    return math.hypot(max(0.0, x0 - x, x - x1), max(0.0, y0 - y, y - y1))


def _holds_middle(box: Box, point_m: Vec3) -> bool:
    return all(
        low - EPSILON_M <= at <= high + EPSILON_M
        for low, at, high in zip(box.minimum_m, point_m, box.maximum_m, strict=True)
    )


def _faces(a: EntityState, b: EntityState, *, has_front: bool) -> bool:
    (ax, ay, az), (bx, by, bz) = world_box(a).center_m, world_box(b).center_m
    if a.room is None or a.room != b.room or math.dist((ax, ay, az), (bx, by, bz)) >= FACING_M:
        return False
    if a.kind is EntityKind.OBJECT or (a.kind is EntityKind.FURNITURE and not has_front):
        return True
    turn = math.atan2(by - ay, bx - ax) - a.pose.yaw_rad
    return abs(math.remainder(turn, math.tau)) < _FRONT_RAD


# The truth of propositions in one state, updated with the scene (PARTNR-3.2).
#
# W = {(a, b) of A x B : a != b, P(a, b)}                                  the witnesses
# false is_same:  true if |{a : some b, (a, b) in W}| >= number
# true is_same:   true if for one b |{a : (a, b) in W}| >= number
# one list:       true if |{a of A : P(a)}| >= number


class Watch:
    """One proposition and its witnesses in a scene.

    Attributes:
        proposition: what is watched.
        holds: its truth, ignoring dependencies.
        rows: for each entity of the first list, those of the second list for which the predicate
            holds (`NO_SECOND` for predicates of one list); empty for clusters.
        values: for each argument, the entities that serve as it now; restricted to second
            arguments shared by enough entities if they must be the same (PARTNR-D22).
    """

    def __init__(self, proposition: Proposition, scene: Scene) -> None:
        self.proposition = proposition
        self.rows: dict[str, frozenset[str]] = {}
        self.holds = False
        self.values: tuple[frozenset[str], ...] = ()
        self._second = frozenset(proposition.lists[1]) if len(proposition.lists) > 1 else _FALSE
        self._first = frozenset(proposition.lists[0])
        self.refresh(scene, self._first)

    @property
    def names(self) -> frozenset[str]:
        """All entities that the proposition names."""
        return frozenset(itertools.chain.from_iterable(self.proposition.lists))

    @property
    def serving(self) -> frozenset[str]:
        """The entities of the first list for which the predicate holds with any second."""
        return frozenset(a for a, row in self.rows.items() if row)

    def refresh(self, scene: Scene, changed: Set[str]) -> bool:
        """Re-evaluates what depends on the changed entities.

        Returns:
            Whether the truth or the serving arguments have changed.
        """
        before = (self.holds, self.values)
        if self.proposition.predicate is Predicate.IS_CLUSTERED:
            threshold = self.proposition.threshold_m
            self._cluster(
                {
                    a: frozenset(b for b in self.names if is_next_to(scene, a, b, threshold))
                    for a in self.names
                }
            )
        else:
            stale: Iterable[str] = self._first
            # Rooms never move, and a receptacle that moves also moves what is on it.
            if not (self._second & changed):
                stale = self._first & changed
            for name in stale:
                self.rows[name] = self._row(scene, name)
            self._count()
        return (self.holds, self.values) != before

    def _row(self, scene: Scene, name: str) -> frozenset[str]:
        proposition, predicate = self.proposition, self.proposition.predicate
        if predicate in default_states().predicates:
            return _TRUE if has_state(scene, predicate, name) else _FALSE
        opens = asked_open(predicate)
        if opens is not None:
            return _TRUE if stands_open(scene, name) is opens else _FALSE
        if predicate is Predicate.IS_ON_FLOOR:
            return _TRUE if is_on_floor(scene, name) else _FALSE
        others = proposition.lists[1] if len(proposition.lists) > 1 else ()
        if is_about_person(predicate):
            return with_persons(scene, predicate, name, others)
        if predicate is Predicate.IS_ON_TOP:
            return (on_top_of(scene, name) & self._second) - {name}
        if predicate is Predicate.IS_INSIDE:
            return frozenset(b for b in others if is_inside(scene, name, b))
        if predicate is Predicate.IS_IN_ROOM:
            return frozenset(b for b in others if is_in_room(scene, name, b))
        return frozenset(b for b in others if is_next_to(scene, name, b, proposition.threshold_m))

    def _count(self) -> None:
        number = self.proposition.number
        first = frozenset(a for a, row in self.rows.items() if row)
        second = frozenset(itertools.chain.from_iterable(self.rows[a] for a in first))
        if self.proposition.is_same:
            second = frozenset(
                b for b in second if sum(b in row for row in self.rows.values()) >= number
            )
            first = frozenset(a for a in first if self.rows[a] & second)
            self.holds = bool(second)
        else:
            self.holds = len(first) >= number
        self.values = (first, second) if len(self.proposition.lists) > 1 else (first,)

    def _cluster(self, beside: Mapping[str, frozenset[str]]) -> None:
        """One entity of each list, all different, each next to another one (PARTNR-D15)."""
        lists = self.proposition.lists
        serving: list[set[str]] = [set() for _ in lists]
        for choice in itertools.product(*lists):
            chosen = frozenset(choice)
            if len(chosen) == len(choice) and all(beside[a] & chosen for a in choice):
                for found, name in zip(serving, choice, strict=True):
                    found.add(name)
        self.values = tuple(frozenset(found) for found in serving)
        self.holds = bool(serving[0])
