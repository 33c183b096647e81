"""Primitives of the graph world over time: each step yields its progress, the end is a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias

from planner.world.geometry import Vec3, rounded_m, wrap_angle_rad
from planner.world.hands import free_hand
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.state_skills import default_state_skills
from planner.world.vocabulary import EntityKind, Relation
from sim_bridge.embedded.options import Durations
from sim_bridge.graph import pointing
from sim_bridge.graph.acting import apply, first_missing
from sim_bridge.graph.actions import Action, Precondition, Verb
from sim_bridge.graph.courses import Course
from sim_bridge.graph.world import Agent, GraphWorld
from sim_bridge.stepped import Routine, Stage

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
    room = world.start.house.room_at(*goal)
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
    name = pointing.node_at(world, act.target_m, pointing.things(world), tolerance_m)
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
        near_m = pointing.beside(world, act.who, act.reference_m, act.primitive.tolerance_m)
        if near_m is None:
            return _ended(PrimitiveCode.NOTHING_THERE, "nothing is at the reference")
        point_m = (near_m[0], near_m[1], point_m[2])
    tolerance_m = act.primitive.tolerance_m
    if act.reference_m is None and tolerance_m > 0:
        spot = pointing.spot_at_thing(world, point_m, relation, thing, tolerance_m)
    else:
        spot = pointing.spot_at(world, point_m, relation, thing)
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
        for name in pointing.handled(world)
        if verb not in (Verb.OPEN, Verb.CLOSE) or _may_open(world, name)
    )
    name = pointing.node_at(world, act.target_m, candidates, act.primitive.tolerance_m)
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
