"""PARTNR's predicates for one state, on boxes and rays (PARTNR-3.1, PARTNR-D8 to PARTNR-D13).

Each is a pure function of a scene and entity names. It is false for names that the scene lacks;
whether named entities exist is checked when an evaluation is loaded. A held object is judged by
its position (PARTNR-D13).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from planner.evaluation.edges import edge_in_room, edge_inside, edge_on
from planner.evaluation.grid import EPSILON_M
from planner.evaluation.scene import Scene
from planner.world.geometry import Box, Vec3
from planner.world.openness import is_open
from planner.world.states import default_states
from planner.world.vocabulary import floor_name

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
