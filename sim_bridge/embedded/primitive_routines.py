"""Primitives as routines: each advances by one step of simulated time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Vec3, rounded_m, wrap_angle_rad
from planner.world.primitive import Drive, Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.states import default_state_skills
from sim_bridge.embedded.entities import Agent, Thing
from sim_bridge.embedded.manipulation import (
    RefusalError,
    change_states,
    check_joint,
    check_pick,
    check_place,
    check_state_change,
    held_at,
)
from sim_bridge.embedded.people_acting import check_with_person, do_with_person
from sim_bridge.embedded.prediction import predicted_view
from sim_bridge.embedded.sensing import Rays
from sim_bridge.embedded.walking import Motion, nearer_to_another, place_to_stand, turn_to, walk
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.stepped import Routine

# Driving by velocities: a unicycle on the free floor, which slides along what is in its way.

# The hand's camera tilts at most straight down, and not behind the body.
MAX_TILT_RAD = math.pi / 2
# A longer piece of a step could jump over a wall.
_PIECE_M = 0.04
# So far straight ahead counts as the way of a driven body, off which idle ones step.
_AHEAD_M = 1.0


class Moved(NamedTuple):
    """Where a step ends, and whether it was free all the way."""

    x_m: float
    y_m: float
    is_free: bool


def drive_on(world: KinematicWorld, agent: Agent, drive: Drive, dt_s: float) -> bool:
    """Drives a body for `dt_s` seconds; False if something was in its way.

    It turns first and then moves, as far as the floor is free and no other agent is near. What it
    holds moves with it. Idle agents make way for it as for one that walks.
    """
    yaw = wrap_angle_rad(agent.yaw_rad + drive.turn_rad_s * dt_s)
    agent.pan_rad = wrap_angle_rad(agent.pan_rad + drive.pan_rad_s * dt_s)
    tilt = agent.tilt_rad + drive.tilt_rad_s * dt_s
    agent.tilt_rad = max(-MAX_TILT_RAD, min(MAX_TILT_RAD, tilt))
    way_m = drive.forward_m_s * dt_s
    start = (agent.x_m, agent.y_m)
    moved = slid(world.ground.grid(agent.body.radius_m), start, yaw, way_m)
    end, is_free = (moved.x_m, moved.y_m), moved.is_free
    if end != start:
        end = world.ground.stepped(agent.body.radius_m, start, end)
        if nearer_to_another(world, agent, *end):
            end, is_free = start, False
    agent.linear_m_s = math.copysign(math.dist(start, end) / dt_s, way_m)
    agent.angular_rad_s = drive.turn_rad_s
    world.move_agent(agent, *end, yaw)
    x, y = end
    ahead = (x + math.cos(yaw) * _AHEAD_M, y + math.sin(yaw) * _AHEAD_M)
    agent.remaining_path = [ahead] if way_m > 0.0 else []
    return is_free


def slid(grid: FloorGrid, start_m: tuple[float, float], yaw_rad: float, way_m: float) -> Moved:
    """Where a body gets that moves straight on; at an edge of the floor it slides along it.

    A body that does not stand on free floor may leave it, and moves within its cell.
    """
    x, y = start_m
    pieces = max(1, math.ceil(abs(way_m) / _PIECE_M))
    dx, dy = math.cos(yaw_rad) * way_m / pieces, math.sin(yaw_rad) * way_m / pieces
    is_free = True
    for _ in range(pieces):
        here = grid.cell(x, y)
        for step_x, step_y in ((dx, dy), (dx, 0.0), (0.0, dy)):
            cell = grid.cell(x + step_x, y + step_y)
            if cell is not None and (cell == here or grid.free.flat[cell]):
                x, y = x + step_x, y + step_y
                is_free &= (step_x, step_y) == (dx, dy)
                break
        else:
            return Moved(x, y, False)
    return Moved(x, y, is_free)


FACING_RAD = 0.02
_DONE = "done"


@dataclass(frozen=True, slots=True)
class RoutineContext:
    """Input of a routine: targets in the map frame, the seed of its own randomness."""

    world: KinematicWorld
    rays: Callable[[], Rays]
    agent: Agent
    primitive: Primitive
    target_m: Vec3
    reference_m: Vec3 | None
    heading_rad: float
    stream: tuple[int, ...]


def routine(context: RoutineContext) -> Routine:
    """The primitive's routine; a violated precondition is its result."""
    try:
        result = yield from _ROUTINES.get(context.primitive.name, _change_state)(context)
    except RefusalError as refusal:
        return refusal.result
    return result


def _success(text: str, position_m: Vec3 | None = None, /, **evidence: str) -> PrimitiveResult:
    return PrimitiveResult(PrimitiveCode.SUCCESS, text, evidence, position_m)


def _navigate(context: RoutineContext) -> Routine:
    world, agent = context.world, context.agent
    stand = place_to_stand(
        world, context.rays(), agent, context.target_m, context.primitive.standoff_m
    )
    if stand.cell is None:
        return PrimitiveResult(PrimitiveCode.UNREACHABLE, stand.reason)
    _rest(context)
    failed = yield from walk(world, agent, stand.cell, stand.end_m)
    if failed is not None:
        return failed
    heading = context.heading_rad
    if math.isnan(heading):
        heading = _bearing(agent, context.target_m)
    yield from turn_to(world, agent, heading)
    return _success("arrived", distance_m=f"{agent.distance_m(context.target_m):.2f}")


def _bearing(agent: Agent, point_m: Vec3) -> float:
    dx, dy = point_m[0] - agent.x_m, point_m[1] - agent.y_m
    return agent.yaw_rad if math.hypot(dx, dy) < 0.05 else math.atan2(dy, dx)


def _drive(context: RoutineContext) -> Routine:
    world, agent, drive = context.world, context.agent, context.primitive.drive
    if drive is None:
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, "a drive needs velocities")
    spent, blocked_s = 0.0, 0.0
    try:
        while spent < drive.duration_s - 1e-9:
            # Each step may be cut short by something in the way, so that none is foreseen.
            passed = yield "driving", spent / drive.duration_s, 0.0
            dt = min(passed, drive.duration_s - spent)
            spent += passed
            blocked_s += 0.0 if drive_on(world, agent, drive, dt) else dt
    finally:
        agent.linear_m_s = agent.angular_rad_s = 0.0
        agent.remaining_path = []
    return _success("drove", blocked_s=f"{blocked_s:.2f}")


def _rest(context: RoutineContext) -> None:
    agent = context.agent
    if agent.pan_rad or agent.tilt_rad != agent.rest_tilt_rad:
        agent.pan_rad, agent.tilt_rad = 0.0, agent.rest_tilt_rad
        context.world.carry(agent)


def _look(context: RoutineContext) -> Routine:
    views = context.primitive.views_rad or (_view_of(context.agent, context.target_m),)
    dwell = context.world.options.durations.look_dwell
    for index, (pan, tilt) in enumerate(views):
        yield from _point_camera(context, pan, tilt, index / len(views))
        yield from _spend(context.agent, dwell, "looking", index / len(views), 1 / len(views))
    return _success("looked", views=str(len(views)))


def _view_of(agent: Agent, point_m: Vec3) -> tuple[float, float]:
    """Pan and tilt (down positive) that centre a point in the image."""
    # The camera swings around the body, so the pan is the bearing from the body's centre.
    pan = wrap_angle_rad(_bearing(agent, point_m) - agent.yaw_rad)
    mount = agent.body.cameras["hand"].position_m
    ahead = max(agent.distance_m(point_m) - math.hypot(mount[0], mount[1]), 0.05)
    return pan, math.atan2(mount[2] - point_m[2], ahead)


def _point_camera(
    context: RoutineContext, pan_rad: float, tilt_rad: float, progress: float
) -> Motion:
    agent = context.agent
    agent.points_to_rad = (pan_rad, tilt_rad)
    try:
        while (off := _off_view(agent, pan_rad, tilt_rad)) >= 1e-6:
            dt = yield "looking", progress, off / agent.body.look_speed_rad_s
            agent.pan_rad, agent.tilt_rad = predicted_view(agent, dt)
            context.world.carry(agent)
    finally:
        agent.points_to_rad = None


def _off_view(agent: Agent, pan_rad: float, tilt_rad: float) -> float:
    """The remaining rotation of the hand, about the axis with more of it."""
    return max(abs(wrap_angle_rad(pan_rad - agent.pan_rad)), abs(tilt_rad - agent.tilt_rad))


def _spend(
    agent: Agent, seconds: float, phase: str, start: float = 0.0, share: float = 1.0
) -> Motion:
    spent = 0.0
    agent.is_still = True
    try:
        # Tolerates rounding in the sum of steps.
        while spent < seconds - 1e-9:
            spent += yield phase, start + share * spent / seconds, seconds - spent
    finally:
        agent.is_still = False


def _face(context: RoutineContext, point_m: Vec3) -> Motion:
    """Turns towards the target and returns the camera to the front."""
    agent = context.agent
    heading = _bearing(agent, point_m)
    if abs(wrap_angle_rad(heading - agent.yaw_rad)) > FACING_RAD:
        yield from turn_to(context.world, agent, heading)
    yield from _point_camera(context, *_view_of(agent, point_m), progress=0.0)


def _pick(context: RoutineContext) -> Routine:
    world, agent = context.world, context.agent
    arguments = (context.target_m, context.primitive.tolerance_m, context.primitive.hand)
    check_pick(world, context.rays(), agent, *arguments)
    yield from _face(context, context.target_m)
    yield from _spend(agent, world.options.durations.pick, "reaching")
    # The world may have changed while the hand was moving.
    thing, hand = check_pick(world, context.rays(), agent, *arguments)
    where = _at(thing)
    if _fails(context, world.options.noise.failed_grasps):
        return PrimitiveResult(PrimitiveCode.GRASP_FAILED, "the grasp slipped", {})
    world.take(agent, thing, hand)
    return _success("picked", where, thing=thing.name, hand=str(hand))


def _at(thing: Thing) -> Vec3:
    """Where the hand closed or opened around a thing, which a robot knows too."""
    return rounded_m(thing.center_m)


def _fails(context: RoutineContext, probability: float) -> bool:
    return probability > 0 and float(np.random.default_rng(context.stream).random()) < probability


def _place(context: RoutineContext) -> Routine:
    world, agent = context.world, context.agent
    arguments = (context.primitive, context.target_m, context.reference_m)
    spot, _ = check_place(world, context.rays(), agent, *arguments)
    yield from _face(context, spot.pose[:3])
    yield from _spend(agent, world.options.durations.place, "placing")
    spot, hand = check_place(world, context.rays(), agent, *arguments)
    if _fails(context, world.options.noise.failed_places):
        return PrimitiveResult(PrimitiveCode.GRASP_FAILED, "the thing was not released", {})
    support = spot.support
    thing = world.put(agent, support.parent, support.part, support.relation, spot.pose, hand)
    on = f"{support.parent}/{support.part}"
    return _success("placed", _at(thing), thing=thing.name, on=on)


def _joint(context: RoutineContext) -> Routine:
    world, agent, name = context.world, context.agent, context.primitive.name
    goal = 1.0 if name is PrimitiveName.OPEN else 0.0
    durations = world.options.durations
    seconds = durations.open if name is PrimitiveName.OPEN else durations.close
    piece, joint = check_joint(world, context.rays(), agent, name, context.target_m)
    where = {"furniture": piece.name, "joint": joint.name}
    if piece.opening[joint.name] == goal:
        return _success(f"already {'open' if goal else 'closed'}", **where)
    yield from _face(context, piece.handle(joint))
    start, spent = piece.opening[joint.name], 0.0
    world.opening[piece.name, joint.name] = None
    # The furniture moves; the agent that opens it stands still.
    agent.is_still = True
    try:
        while spent < seconds - 1e-9:
            spent += yield "moving", spent / seconds, seconds - spent
            share = min(1.0, spent / seconds)
            world.set_opening(piece, joint.name, start + (goal - start) * share)
    finally:
        agent.is_still = False
        world.opening.pop((piece.name, joint.name), None)
    world.set_opening(piece, joint.name, goal)
    return _success("opened" if goal else "closed", **where)


def _change_state(context: RoutineContext) -> Routine:
    world, agent = context.world, context.agent
    skill = default_state_skills()[context.primitive.name]
    # Asked before the body turns, as the hand turns with it.
    held = held_at(agent, context.target_m)
    primitive = context.primitive
    arguments = (skill, context.target_m, primitive.tolerance_m, primitive.hand, held)
    check_state_change(world, context.rays(), agent, *arguments)
    yield from _face(context, context.target_m)
    yield from _spend(agent, skill.duration_s, skill.primitive)
    entity = check_state_change(world, context.rays(), agent, *arguments)
    change_states(world, agent, skill, entity, primitive.hand)
    state, value = next(iter(skill.sets.items()))
    return _success(f"{entity.name} is {'' if value else 'not '}{state}", entity=entity.name)


def _with_person(context: RoutineContext) -> Routine:
    """Talks to a person, or a thing changes hands, with the face to the person."""
    world, agent, primitive = context.world, context.agent, context.primitive
    arguments = (world, agent, primitive, context.target_m)
    # Refused before anything moves, and again when it is done.
    person = check_with_person(*arguments)
    yield from _face(context, person.center_m)
    durations = world.options.durations
    seconds = durations.talk if primitive.name == PrimitiveName.TALK else durations.place
    yield from _spend(agent, seconds, "talking")
    check_with_person(*arguments)
    return do_with_person(world, agent, primitive, person)


_ROUTINES: dict[str, Callable[[RoutineContext], Routine]] = {
    PrimitiveName.NAVIGATE: _navigate,
    PrimitiveName.LOOK: _look,
    PrimitiveName.DRIVE: _drive,
    PrimitiveName.PICK: _pick,
    PrimitiveName.PLACE: _place,
    PrimitiveName.OPEN: _joint,
    PrimitiveName.CLOSE: _joint,
    PrimitiveName.TALK: _with_person,
    PrimitiveName.HAND_OVER: _with_person,
    PrimitiveName.TAKE_FROM: _with_person,
}
