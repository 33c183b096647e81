"""Primitives of the graph world over time, and the nodes that their points mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from planner.world.geometry import Vec3, rounded_m, wrap_angle_rad
from planner.world.house import Furniture
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.receptacle import off_the_edge, sides_along
from planner.world.states import default_state_skills
from planner.world.vocabulary import EntityKind, Relation, floor_name, free_hand
from sim_bridge.embedded.options import Durations
from sim_bridge.graph.acting import Action, Precondition, Verb, apply, first_missing
from sim_bridge.graph.scene import Node, Place
from sim_bridge.graph.world import Agent, Course, GraphWorld
from sim_bridge.stepped import Routine, Stage

# Maps the points of primitives to nodes of a graph world, and to places on and in them.

# Maximum distance of a node from a target point, if a primitive does not say.
TOLERANCE_M = 0.3
# Tolerance above or below a surface, and outside an interior, for placing.
_ABOVE_M, _OUTSIDE_M = 0.35, 0.15
# Below this height a point is on the floor.
_FLOOR_M = 0.3
_ROUNDING_M = 1e-6
# Distance between things in one place, so that each can be selected.
_APART_M = 0.06
_BESIDE_M = 0.15


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for a thing: its relation and parent, and its position as `Start.at_m`."""

    place: Place
    at_m: Vec3


def node_at(
    world: GraphWorld, point_m: Vec3, names: Iterable[str], tolerance_m: float
) -> str | None:
    """The node that a point selects: that with the nearest box or handle, within the tolerance."""
    within_m = tolerance_m or TOLERANCE_M
    ranked = []
    for name in names:
        away_m = math.dist(world.middle_m(name), point_m)
        if away_m <= within_m + _extent_m(world, world.nodes[name]) + _ROUNDING_M:
            ranked.append((_distance_m(world, name, point_m), away_m, name))
    best = min(ranked, default=None)
    return best[2] if best is not None and best[0] <= within_m else None


def things(world: GraphWorld) -> Iterator[str]:
    """All things that are not held."""
    for name, node in world.nodes.items():
        if node.kind is EntityKind.OBJECT and world.relation_of(name) is not Relation.HELD:
            yield name


def handled(world: GraphWorld) -> Iterator[str]:
    """All things that are not held, and all furniture."""
    for name, node in world.nodes.items():
        if node.kind is EntityKind.FURNITURE:
            yield name
    yield from things(world)


def _extent_m(world: GraphWorld, node: Node) -> float:
    """At least the distance of any of a node's box and handles from its middle."""
    x, y, height = node.size_m
    # Turned, neither side of the box is longer than both together.
    box_m = math.hypot(x + y, x + y, height) / 2
    if node.piece is None or not node.piece.joints:
        return box_m
    middle_m = world.middle_m(node.name)
    return max(box_m, *(math.dist(h, middle_m) for h in node.piece.handles_m))


def _distance_m(world: GraphWorld, name: str, point_m: Vec3) -> float:
    gap_m = world.gap_to_m(point_m[:2], name)
    z = world.position_m(name)[2]
    node = world.nodes[name]
    outside_m = max(0.0, z - point_m[2], point_m[2] - z - node.size_m[2])
    to_box_m = math.hypot(gap_m, outside_m)
    handles = () if node.piece is None else node.piece.handles_m
    return min([to_box_m, *(math.dist(h, point_m) for h in handles)])


def spot_at(world: GraphWorld, point_m: Vec3, relation: Relation, thing: str) -> Spot | None:
    """Where a thing goes that is put at a point; None if there is nothing to put it on or in."""
    found = [
        (cost, name, at_m)
        for name in handled(world)
        if not world.carries(thing, name)
        for cost, at_m in _offers(world, world.nodes[name], point_m, relation, thing)
    ]
    best = min(found, default=None)
    if best is not None:
        _, name, at_m = best
        return Spot((relation, name), _apart(world, name, at_m))
    room = world.start.house.room_at(point_m[0], point_m[1])
    if relation is Relation.ON and room is not None and point_m[2] <= _FLOOR_M:
        floor = floor_name(room)
        return Spot((relation, floor), _apart(world, floor, (*point_m[:2], 0.0)))
    return None


def spot_at_thing(
    world: GraphWorld, point_m: Vec3, relation: Relation, thing: str, tolerance_m: float
) -> Spot | None:
    """Where a thing goes that is put onto or into the thing at a point; None if there is none.

    Args:
        world: the current state.
        point_m: selects the nearest thing within the tolerance.
        relation: on a thing with a top, or within one with a hollow.
        thing: the thing that is put down.
        tolerance_m: more than 0.
    """
    able = (
        name
        for name in things(world)
        if (world.nodes[name].flat if relation is Relation.ON else world.nodes[name].hollow)
        and not world.carries(thing, name)
    )
    name = node_at(world, point_m, able, tolerance_m)
    if name is None:
        return None
    height_m = world.nodes[name].size_m[2] * (1.0 if relation is Relation.ON else 0.25)
    return Spot((relation, name), _apart(world, name, (0.0, 0.0, height_m)))


def _offers(
    world: GraphWorld, node: Node, point_m: Vec3, relation: Relation, thing: str
) -> Iterator[tuple[float, Vec3]]:
    """The places on or in a node that a point may select, with the point's distance from each.

    On a surface the thing does not stick out beyond the edge, if it fits.
    """
    if node.piece is not None:
        local = node.piece.pose_inverse.apply(point_m)
        if relation is Relation.ON:
            sides_m = sides_along(node.piece, world.nodes[thing].size_m)
            for surface in node.piece.surfaces:
                off_m = abs(local[2] - surface.center[2])
                half = (surface.size[0] / 2, surface.size[1] / 2)
                if off_m <= _ABOVE_M and _over(local, surface.center, half):
                    x, y = off_the_edge(local, surface, sides_m)
                    yield off_m, node.piece.pose.apply((x, y, surface.center[2]))
            return
        for hollow in node.piece.interiors:
            out = _travel(node.piece, hollow.joint) if hollow.moves else (0.0, 0.0, 0.0)
            inside = _into(local, hollow.center, hollow.size, out)
            if inside is not None:
                x, y, _ = inside
                rest_m = hollow.center[2] - hollow.size[2] / 2
                yield math.dist(local, hollow.center), node.piece.pose.apply((x, y, rest_m))
        return
    if not (node.flat if relation is Relation.ON else node.hollow):
        return
    x, y, z = world.position_m(node.name)
    top_m = z + node.size_m[2]
    off_m = abs(point_m[2] - top_m) if relation is Relation.ON else abs(point_m[2] - z)
    if off_m <= _ABOVE_M and world.gap_to_m(point_m[:2], node.name) == 0.0:
        height_m = node.size_m[2] if relation is Relation.ON else node.size_m[2] / 4
        yield off_m, (point_m[0] - x, point_m[1] - y, height_m)


def _over(point: Vec3, center: Vec3, half: tuple[float, float]) -> bool:
    return all(abs(point[i] - center[i]) <= half[i] + 1e-6 for i in range(2))


def _travel(piece: Furniture, joint: str | None) -> Vec3:
    if joint is None:
        return (0.0, 0.0, 0.0)
    record = piece.joint(joint)
    x, y, z = record.axis
    return (x * record.travel, y * record.travel, z * record.travel)


def _into(point: Vec3, center: Vec3, size: Vec3, out: Vec3) -> Vec3 | None:
    """The point moved into a closed hollow; None if it is not at the hollow."""
    moved = []
    for at, middle, side, travel in zip(point, center, size, out, strict=True):
        low, high = middle - side / 2, middle + side / 2
        if not low + min(travel, 0) - _OUTSIDE_M <= at <= high + max(travel, 0) + _OUTSIDE_M:
            return None
        moved.append(min(max(at, low + side / 10), high - side / 10))
    return (moved[0], moved[1], moved[2])


def beside(world: GraphWorld, who: Agent, reference_m: Vec3, tolerance_m: float) -> Vec3 | None:
    """A point next to the thing at a reference point; None if there is no thing."""
    name = node_at(world, reference_m, things(world), tolerance_m)
    if name is None:
        return None
    (x, y, z), size = world.position_m(name), world.nodes[name].size_m
    _, parent = world.place_of(name) or (Relation.ON, "")
    piece = world.nodes[parent].piece if parent in world.nodes else None
    # Towards the centre of its support, so as not to fall off; on the floor towards the agent.
    tx, ty = (piece.x_m, piece.y_m) if piece is not None else (who.x_m, who.y_m)
    away = math.atan2(ty - y, tx - x) if math.hypot(tx - x, ty - y) > _APART_M else 0.0
    off_m = max(size[0], size[1]) / 2 + _BESIDE_M
    return (x + off_m * math.cos(away), y + off_m * math.sin(away), z)


def _apart(world: GraphWorld, parent: str, at_m: Vec3) -> Vec3:
    """The position or, if there is a thing already, one beside it."""
    taken = [world.offset_m(name) for name in world.contents_of(parent)]
    x, y, z = at_m
    for turn in range(24):
        away_m = _APART_M * (turn + 7) / 8 if turn else 0.0
        angle = turn * 2.399963
        spot = (x + away_m * math.cos(angle), y + away_m * math.sin(angle), z)
        if all(math.dist(spot, other) >= _APART_M / 2 for other in taken):
            return spot
    return at_m


Motion: TypeAlias = Generator[Stage, float, None]

# Default distance between base and target.
STANDOFF_M = 1.0
# Agents come this much nearer than the requested standoff.
_MARGIN_M = 0.05
_EPSILON_S = 1e-9

_CODES = {
    Precondition.EXISTS: PrimitiveCode.NOTHING_THERE,
    Precondition.REACHABLE: PrimitiveCode.UNREACHABLE,
    Precondition.NEAR: PrimitiveCode.TOO_FAR,
    Precondition.FREE_HAND: PrimitiveCode.HAND_FULL,
    Precondition.GRABBABLE: PrimitiveCode.NOTHING_THERE,
    Precondition.NOT_HELD: PrimitiveCode.HELD_BY_OTHER,
    Precondition.HELD: PrimitiveCode.HAND_EMPTY,
    Precondition.OPENABLE: PrimitiveCode.NOT_ARTICULATED,
    Precondition.CONTAINER_OPEN: PrimitiveCode.CLOSED,
    Precondition.CAN_HOLD: PrimitiveCode.NO_SPACE,
    Precondition.HAS_SWITCH: PrimitiveCode.NO_AFFORDANCE,
    Precondition.CLEANABLE: PrimitiveCode.NO_AFFORDANCE,
}
_VERBS: dict[str, Verb] = {
    PrimitiveName.OPEN: Verb.OPEN,
    PrimitiveName.CLOSE: Verb.CLOSE,
    "power_on": Verb.SWITCHON,
    "power_off": Verb.SWITCHOFF,
    "clean": Verb.WIPE,
}


@dataclass(frozen=True, slots=True)
class Act:
    """A primitive of one agent, its points and heading in `map`."""

    world: GraphWorld
    who: Agent
    primitive: Primitive
    target_m: Vec3
    reference_m: Vec3 | None
    heading_rad: float
    durations: Durations


def routine(act: Act) -> Routine:
    """The routine of a primitive that its body supports."""
    return _ROUTINES[act.primitive.name](act)


def _ended(code: PrimitiveCode, text: str, position_m: Vec3 | None = None) -> PrimitiveResult:
    where = None if position_m is None else rounded_m(position_m)
    return PrimitiveResult(code, text, position_m=where)


def _done(text: str, position_m: Vec3 | None = None) -> PrimitiveResult:
    return _ended(PrimitiveCode.SUCCESS, text, position_m)


def _lacking(action: Action, missing: Precondition) -> PrimitiveResult:
    text = f"{action.verb} {action.target}: violated precondition: {missing}"
    return PrimitiveResult(_CODES[missing], text, {"precondition": str(missing)})


def _stage(phase: str, progress: float = 0.0, steady_s: float = 0.0) -> Stage:
    return phase, progress, steady_s


def _wait(phase: str, seconds: float) -> Motion:
    passed_s = 0.0
    while passed_s < seconds - _EPSILON_S:
        passed_s += yield _stage(phase, passed_s / seconds, seconds - passed_s)


# Walking and looking


def _navigate(act: Act) -> Routine:
    world, who, goal = act.world, act.who, act.target_m[:2]
    room = _room_at(world, act.target_m)
    way = None if room is None else world.start.ways.way(who.room, room, goal)
    if way is None or room is None:
        return _ended(PrimitiveCode.UNREACHABLE, "no way leads there")
    standoff_m = act.primitive.standoff_m
    # A target on the floor is walked onto; for one above it the agent stops in front.
    near_m = 0.0 if act.target_m[2] <= 0.0 else STANDOFF_M
    if not math.isnan(standoff_m):
        near_m = max(0.0, standoff_m - _MARGIN_M)
    yield _stage("walking")
    here = (who.x_m, who.y_m)
    if math.dist(here, goal) > near_m or who.room != room:
        way = (*way[:-1], _short_of(way[-2] if len(way) > 1 else here, goal, near_m))
        yield from _walk(act, way, room)
    heading = act.heading_rad
    if math.isnan(heading):
        dx, dy = goal[0] - who.x_m, goal[1] - who.y_m
        heading = math.atan2(dy, dx) if math.hypot(dx, dy) > 1e-6 else who.yaw_rad
    yield from _turn(act, heading)
    return _done("there", (who.x_m, who.y_m, 0.0))


def _room_at(world: GraphWorld, point_m: Vec3) -> str | None:
    """The room of a point; where rooms overlap, as the boxes of Unity's do, that of its node."""
    rooms = world.start.house.rooms_at(*point_m[:2])
    if len(rooms) > 1:
        name = node_at(world, point_m, handled(world), TOLERANCE_M)
        room = None if name is None else world.room_of(name)
        if room in rooms:
            return room
    return rooms[0] if rooms else None


def _short_of(
    start: tuple[float, float], goal: tuple[float, float], near_m: float
) -> tuple[float, float]:
    length_m = math.dist(start, goal)
    if length_m <= near_m:
        return start
    share = (length_m - near_m) / length_m
    return start[0] + (goal[0] - start[0]) * share, start[1] + (goal[1] - start[1]) * share


def _walk(act: Act, way: tuple[tuple[float, float], ...], room: str) -> Motion:
    world, who = act.world, act.who
    for index, point in enumerate(way):
        if math.dist((who.x_m, who.y_m), point) > 1e-9:
            yield from _turn(act, math.atan2(point[1] - who.y_m, point[0] - who.x_m))
        speed_m_s = who.body.speed_m_s
        while (left_m := math.dist((who.x_m, who.y_m), point)) > 1e-9:
            stage = _stage("walking", index / len(way), left_m / speed_m_s)
            step_m = speed_m_s * (yield from _on(who, Course(to_m=point), stage))
            share = min(1.0, step_m / left_m)
            x = who.x_m + (point[0] - who.x_m) * share
            y = who.y_m + (point[1] - who.y_m) * share
            world.walked_m[who.name] += min(step_m, left_m)
            here = world.start.house.room_at(x, y, guess=who.room)
            world.move(who, x, y, who.yaw_rad, here or who.room)
    world.move(who, who.x_m, who.y_m, who.yaw_rad, room)


def _turn(act: Act, heading_rad: float) -> Motion:
    world, who = act.world, act.who
    while abs(left_rad := math.remainder(heading_rad - who.yaw_rad, math.tau)) > 1e-9:
        speed_rad_s = who.body.turn_speed_rad_s
        stage = _stage("turning", 0.0, abs(left_rad) / speed_rad_s)
        step_rad = speed_rad_s * (yield from _on(who, Course(to_rad=heading_rad), stage))
        turn_rad = math.copysign(min(step_rad, abs(left_rad)), left_rad)
        world.move(who, who.x_m, who.y_m, wrap_angle_rad(who.yaw_rad + turn_rad), who.room)


def _on(who: Agent, course: Course, stage: Stage) -> Generator[Stage, float, float]:
    """Waits for the next step of a course; its seconds."""
    who.course = course
    try:
        return (yield stage)
    finally:
        who.course = None


def _look(act: Act) -> Routine:
    who = act.who
    yield _stage("looking")
    views = [pan for pan, _ in act.primitive.views_rad]
    dx, dy = act.target_m[0] - who.x_m, act.target_m[1] - who.y_m
    start_rad = who.yaw_rad
    headings = [start_rad + pan for pan in views] or [math.atan2(dy, dx)]
    for heading in headings:
        yield from _turn(act, heading)
        yield from _wait("looking", act.durations.look_dwell)
    return _done("looked")


# Manipulation


def _attempt(act: Act, action: Action, seconds: float, after: Callable[[], None]) -> Routine:
    """Performs a timed action whose preconditions are checked before and after the time."""
    yield _stage(act.primitive.name)
    missing = first_missing(act.world, act.who, action)
    if missing is None:
        yield from _wait(str(act.primitive.name), seconds)
        missing = first_missing(act.world, act.who, action)
    if missing is not None:
        return _lacking(action, missing)
    after()
    return _done(f"{action.verb} {action.target}", act.world.middle_m(action.target))


def _pick(act: Act) -> Routine:
    world = act.world
    who, hand = act.who, act.primitive.hand or free_hand(act.who.hands)
    if hand is None or who.hands[hand.slot] is not None:
        return _lacking(Action(Verb.GRAB, who.holding or ""), Precondition.FREE_HAND)
    tolerance_m = act.primitive.tolerance_m
    name = node_at(world, act.target_m, things(world), tolerance_m)
    if name is None:
        return _ended(PrimitiveCode.NOTHING_THERE, "no thing is there")
    where_m = world.middle_m(name)
    action = Action(Verb.GRAB, name)
    taking = _attempt(act, action, act.durations.pick, lambda: world.take(who, name, hand))
    ended = yield from taking
    return _done(ended.text, where_m) if ended.succeeded else ended


def _place(act: Act) -> Routine:
    world, hand = act.world, act.primitive.hand
    thing = act.who.holding if hand is None else act.who.hands[hand.slot]
    if thing is None:
        return _lacking(Action(Verb.PUT), Precondition.HELD)
    relation = act.primitive.relation
    if relation not in (Relation.ON, Relation.WITHIN):
        return _ended(PrimitiveCode.BAD_TARGET, "place needs the relation on or within")
    point_m = act.target_m
    if act.reference_m is not None:
        near_m = beside(world, act.who, act.reference_m, act.primitive.tolerance_m)
        if near_m is None:
            return _ended(PrimitiveCode.NOTHING_THERE, "nothing is at the reference")
        point_m = (near_m[0], near_m[1], point_m[2])
    tolerance_m = act.primitive.tolerance_m
    if act.reference_m is None and tolerance_m > 0:
        spot = spot_at_thing(world, point_m, relation, thing, tolerance_m)
    else:
        spot = spot_at(world, point_m, relation, thing)
    if spot is None:
        return _ended(PrimitiveCode.NO_SPACE, f"nothing is there to put a thing {relation}")
    verb = Verb.PUT if relation is Relation.ON else Verb.PUTIN
    parent = spot.place[1]
    if parent not in world.nodes:
        parent = parent.removeprefix("floor_")
        if math.dist(point_m[:2], (act.who.x_m, act.who.y_m)) > act.who.body.reach_m:
            return _lacking(Action(verb, thing, parent), Precondition.NEAR)
    action = Action(verb, thing, parent)
    # In a graph, near furniture is near all of it; a house says how far a hand has to reach.
    in_house = spot.place[1] in world.nodes and world.nodes[parent].piece is not None
    if in_house and math.dist(spot.at_m[:2], (act.who.x_m, act.who.y_m)) > act.who.body.reach_m:
        return _lacking(action, Precondition.NEAR)
    return (
        yield from _attempt(
            act,
            action,
            act.durations.place,
            lambda: world.put(act.who, thing, spot.place, spot.at_m),
        )
    )


def _change(act: Act) -> Routine:
    """Opens, closes, switches or wipes what is at the point."""
    world, verb = act.world, _VERBS[act.primitive.name]
    candidates = (
        name
        for name in handled(world)
        if verb not in (Verb.OPEN, Verb.CLOSE) or _may_open(world, name)
    )
    name = node_at(world, act.target_m, candidates, act.primitive.tolerance_m)
    if name is None:
        return _ended(PrimitiveCode.NOTHING_THERE, "nothing is there")
    opening = verb in (Verb.OPEN, Verb.CLOSE) and world.nodes[name].opens
    if opening and world.is_open(name) is (verb is Verb.OPEN):
        return _done(f"{name} is {'open' if verb is Verb.OPEN else 'closed'} already")
    action = Action(verb, name)
    skill = default_state_skills().get(act.primitive.name)
    if skill is not None:
        seconds = skill.duration_s
    else:
        seconds = act.durations.open if verb is Verb.OPEN else act.durations.close
    return (yield from _attempt(act, action, seconds, lambda: apply(world, act.who, action)))


def _may_open(world: GraphWorld, name: str) -> bool:
    """Whether an opening primitive can select it: furniture, and things that open."""
    node = world.nodes[name]
    return node.kind is EntityKind.FURNITURE or node.opens


_ROUTINES: dict[str, Callable[[Act], Routine]] = {
    PrimitiveName.NAVIGATE: _navigate,
    PrimitiveName.LOOK: _look,
    PrimitiveName.PICK: _pick,
    PrimitiveName.PLACE: _place,
    **dict.fromkeys(_VERBS, _change),
}
ABLE = frozenset(_ROUTINES)
