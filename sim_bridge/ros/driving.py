"""Driving and looking: primitives of the backend `ros` as routines."""

from __future__ import annotations

import math
from collections.abc import Generator
from functools import partial

from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult
from sim_bridge.ros.answers import explain
from sim_bridge.ros.arm import carry
from sim_bridge.ros.options import CAMERA
from sim_bridge.ros.port import State
from sim_bridge.ros.robot import Robot, finish, finish_all, gone
from sim_bridge.ros.senses import Shot
from sim_bridge.routine import Ended, Motion, Routine, Stage, success
from sim_bridge.safety.watch import zone_at

WALKING = "walking"
PLACES_TRIED = 4
# After a head has arrived the picture still shakes; a picture must be this much younger.
STEADY_S = 0.3
PICTURE_S = 5.0
AT_REST_M_S, AT_REST_RAD_S = 0.03, 0.05
SETTLE_S = 2.0
# A goal checker may measure at another moment than we do.
ARRIVED_TIMES = 2.0


def navigate(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    """Drives to where a target is within reach, with the arm folded."""
    yield from carry(robot)
    avoided: list[tuple[float, float]] = []
    first: PrimitiveResult | None = None
    for _ in range(PLACES_TRIED):
        stand = yield from robot.compute(
            partial(_stand, robot, target_m, primitive.standoff_m, tuple(avoided))
        )
        if isinstance(stand, PrimitiveResult):
            return first or stand
        heading = primitive.heading_rad
        if math.isnan(heading):
            heading = _bearing(stand, target_m, robot.senses.base.yaw_rad)
            heading = wrap_angle_rad(heading - robot.options.arm.side_rad)
        x, y = stand
        refusal = yield from drive_to(robot, Pose.planar(x, y, heading))
        if refusal is None:
            gap = math.dist(robot.senses.base.position_m[:2], target_m[:2])
            return success("arrived", distance_m=f"{gap:.2f}")
        first = first or refusal
        avoided.append(stand)
    return first or PrimitiveResult(PrimitiveCode.UNREACHABLE, "there is no way to the target")


def _stand(
    robot: Robot, target_m: Vec3, standoff_m: float, avoided: tuple[tuple[float, float], ...]
) -> tuple[float, float] | PrimitiveResult:
    """Where to stand; with room for the arm, if there is such a place."""
    base, stand = robot.senses.base, robot.map.stand
    apart_m = robot.options.size.stand_m if math.isnan(standoff_m) else 0.0
    found = stand(base, target_m, standoff_m, avoided, apart_m)
    return (
        found
        if not isinstance(found, PrimitiveResult) or apart_m == 0
        else stand(base, target_m, standoff_m, avoided)
    )


def drive_to(robot: Robot, goal: Pose) -> Generator[Stage, None, PrimitiveResult | None]:
    """Drives to a pose of the house's map, if Nav2 knows a way; why it is not there, or None."""
    refusal = yield from _way(robot, goal)
    return refusal or (yield from _go(robot, goal))


def _bearing(stand: tuple[float, float], target_m: Vec3, otherwise_rad: float) -> float:
    dx, dy = target_m[0] - stand[0], target_m[1] - stand[1]
    return otherwise_rad if math.hypot(dx, dy) < 0.05 else math.atan2(dy, dx)


def _way(robot: Robot, goal: Pose) -> Generator[Stage, None, PrimitiveResult | None]:
    """Asks Nav2 for a way before promising one; why there is none, or None."""
    if not robot.options.navigation.path:
        return None
    in_house = robot.options.frames.in_house
    errand = robot.port.plan_way(in_house.inverse().compose(goal))
    if not (yield from finish(robot, errand, "planning a way", 20.0)):
        return PrimitiveResult(*explain(errand))
    zones = robot.safety.keep_out.zones
    for x, y in errand.way_m:
        zone = zone_at(in_house.apply((x, y, 0.0)), zones)
        if zone is not None:
            text = f"the robot's way leads through the keep-out zone {zone.name}"
            return PrimitiveResult(PrimitiveCode.UNREACHABLE, text, {"zone": zone.name})
    return None


def _go(robot: Robot, goal: Pose) -> Generator[Stage, None, PrimitiveResult | None]:
    """Drives to a pose of the house's map; why it did not arrive, or None.

    While the motion is paused its goal is withdrawn; then it is sent again.
    """
    port, options = robot.port, robot.options
    wanted = options.frames.in_house.inverse().compose(goal)
    whole_m = max(0.1, math.dist(robot.senses.base.position_m[:2], goal.position_m[:2]))
    errand = port.navigate(wanted)
    sent_s = port.now_s()
    while True:
        silent_s = options.answer_s if errand.state is State.SENT else options.silent_s
        if errand.runs and port.now_s() - max(sent_s, errand.heard_s) > silent_s:
            errand.state = State.DEAD
            errand.text = f"nothing was heard of it for {silent_s:g} s"
        if errand.recalled:
            errand = port.navigate(wanted)
            sent_s = port.now_s()
        elif not errand.runs:
            break
        left_m = errand.left_m if math.isfinite(errand.left_m) else whole_m
        yield WALKING, max(0.0, min(1.0, 1.0 - left_m / whole_m))
    if errand.state is State.DEAD:
        raise gone(errand)
    if errand.state is not State.SUCCEEDED:
        return PrimitiveResult(*explain(errand))
    yield from _stand_still(robot)
    off_m = math.dist(robot.senses.base.position_m[:2], goal.position_m[:2])
    off_rad = abs(wrap_angle_rad(robot.senses.base.yaw_rad - goal.yaw_rad))
    near = options.navigation
    if off_m > ARRIVED_TIMES * near.near_m or off_rad > ARRIVED_TIMES * near.near_rad:
        text = (
            f"{errand.server} reports success, but the robot is {off_m:.2f} m and "
            f"{math.degrees(off_rad):.0f} degrees from where it was sent"
        )
        return PrimitiveResult(PrimitiveCode.BLOCKED, text)
    return None


def _stand_still(robot: Robot) -> Motion:
    until_s = robot.port.now_s() + SETTLE_S
    while robot.port.now_s() < until_s:
        # What is heard after the goal's end.
        yield "stopping", 1.0
        now = robot.senses.heard
        if abs(now.linear_m_s) < AT_REST_M_S and abs(now.angular_rad_s) < AT_REST_RAD_S:
            return


# The head


def look(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    """Looks at a target, or in some directions one after the other."""
    points = (
        [_view_point(robot, pan, tilt) for pan, tilt in primitive.views_rad]
        if primitive.views_rad
        else [target_m]
    )
    for point in points:
        yield from gaze(robot, point)
        yield from picture(robot)
    return success("looked", views=str(len(points)))


def _view_point(robot: Robot, pan_rad: float, tilt_rad: float) -> Vec3:
    """A point two metres away, along a pan and tilt of the camera as it stands."""
    optical = robot.senses.moment.optical.get(CAMERA)
    height = robot.body.height_m if optical is None else optical.position_m[2]
    level, ahead = max(-1.4, min(1.4, tilt_rad)), 2.0
    away = ahead * math.cos(level)
    local = (away * math.cos(pan_rad), away * math.sin(pan_rad), height - ahead * math.sin(level))
    return robot.senses.base.apply(local)


def gaze(robot: Robot, point_m: Vec3) -> Motion:
    """Turns the camera, and where it has no neck the base, towards a point of the house's map."""
    head = robot.options.head
    if head is None:
        yield from face(robot, point_m)
        return
    joints = dict(robot.senses.heard.joints)
    local = robot.senses.base.inverse().apply(point_m)
    wanted = yield from robot.compute(lambda: robot.model.gaze(local, joints))
    seen = yield from robot.compute(lambda: robot.model.optical({**joints, **wanted}))
    x, y, z = seen.inverse().apply(local)
    if z <= 0 or math.hypot(x, y) / z > 0.35:
        # Further than the neck turns.
        yield from face(robot, point_m)
        joints, local = dict(robot.senses.heard.joints), robot.senses.base.inverse().apply(point_m)
        wanted = yield from robot.compute(lambda: robot.model.gaze(local, joints))
    controller = robot.options.controllers[-1]
    far = max(abs(wanted[name] - joints.get(name, 0.0)) for name in head.joints)
    if far < 0.01:
        return
    errand = robot.port.follow(controller, [(wanted, max(0.3, far / head.speed))])
    yield from finish_all(robot, [errand], "looking", 15.0)


def face(robot: Robot, point_m: Vec3, side_rad: float = 0.0) -> Motion:
    """Turns the base so that a point lies in a direction of it, ahead by default."""
    base = robot.senses.base
    heading = wrap_angle_rad(_bearing(base.position_m[:2], point_m, base.yaw_rad) - side_rad)
    if abs(wrap_angle_rad(heading - base.yaw_rad)) < robot.options.navigation.near_rad:
        return
    refusal = yield from _go(robot, Pose.planar(*base.position_m[:2], heading))
    if refusal is not None:
        raise Ended(refusal.code, refusal.text, **refusal.evidence)


def beside(robot: Robot, point_m: Vec3) -> Motion:
    """Turns the side on which the arm is to a point; nothing for an arm that reaches ahead."""
    if robot.options.arm.side_rad:
        yield from face(robot, point_m, robot.options.arm.side_rad)


def picture(robot: Robot) -> Generator[Stage, None, Shot]:
    """A picture taken after the camera has come to rest."""
    now_s = robot.port.now_s()
    while robot.port.now_s() - now_s < PICTURE_S:
        try:
            seen = robot.senses.shot(now_s + STEADY_S)
        except PlannerError as error:
            raise Ended(PrimitiveCode.BACKEND_FAULT, str(error), reason="NO_PICTURE") from None
        if seen is not None:
            return seen
        yield "looking", 0.8
    why = robot.senses.picture_fault() or "its camera sends no new picture with a known pose"
    raise Ended(PrimitiveCode.BACKEND_FAULT, why, reason="NO_PICTURE")
