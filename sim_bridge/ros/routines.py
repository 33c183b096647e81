"""Primitives of the backend `ros` as routines; see `sim_bridge.routine`."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from planner.world.agents import Body
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3, rounded_m, wrap_angle_rad
from planner.world.house import Joint
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.embedded.entities import Piece
from sim_bridge.map_model import MapModel
from sim_bridge.ros.answers import does_not_get_there, explain
from sim_bridge.ros.grasps import Grasp, Standing, grasps_for, standing_at, towards
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import ArmMethod, RosOptions
from sim_bridge.ros.port import Errand, Readings, RobotPort, Shot, State, Waypoint
from sim_bridge.routine import Check, Ended, Motion, Routine, Stage, success
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.safety.watch import zone_at

WALKING = "walking"
PLACES_TRIED = 4
# After a head has arrived the picture still shakes; a picture must be this much younger.
STEADY_S = 0.3
PICTURE_S = 3.0
AT_REST_M_S, AT_REST_RAD_S = 0.03, 0.05
SETTLE_S = 2.0
ARRIVED_TIMES = 2.0
ABOVE_M = 0.12
DROP_M = 0.01
# The share of a joint's way after which furniture counts as open (PARTNR's judge asks for half).
OPEN_SHARE = 0.6
ARC_POINTS = 6
LOOSE_RAD = 0.6
OFF_HANDLE_M = 0.06
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Held:
    """What the gripper holds: how it was taken."""

    grasp: Grasp


class Robot(Protocol):
    """The backend as routines see it."""

    @property
    def port(self) -> RobotPort:
        """The robot's interfaces."""

    @property
    def options(self) -> RosOptions:
        """Its settings."""

    @property
    def safety(self) -> SafetyOptions:
        """The parameters of the safety rules."""

    @property
    def map(self) -> MapModel:
        """The layout."""

    @property
    def model(self) -> Model:
        """Its kinematics; only within `compute`."""

    @property
    def body(self) -> Body:
        """Its dimensions."""

    @property
    def readings(self) -> Readings:
        """What it said of itself at this tick."""

    @property
    def base(self) -> Pose:
        """Its base in the house's map."""

    @property
    def held(self) -> Held | None:
        """What the gripper holds."""

    def hold(self, held: Held | None) -> None:
        """Records what the gripper holds."""

    def compute(self, work: Callable[[], Value]) -> Generator[Stage, None, Value]:
        """Has a thread compute something meanwhile."""


def routine(
    robot: Robot, primitive: Primitive, target_m: Vec3, reference_m: Vec3 | None
) -> Routine:
    """The routine of a primitive; its target and reference are in the house's map."""
    name = primitive.name
    try:
        if name == PrimitiveName.NAVIGATE:
            return (yield from _navigate(robot, primitive, target_m))
        if name == PrimitiveName.LOOK:
            return (yield from _look(robot, primitive, target_m))
        if name == PrimitiveName.PICK:
            return (yield from _pick(robot, primitive, target_m))
        if name == PrimitiveName.PLACE:
            return (yield from _place(robot, primitive, target_m, reference_m))
        return (yield from _move_joint(robot, primitive, target_m))
    except Ended as end:
        return end.result


# Waiting for the robot


def finish(robot: Robot, errand: Errand, phase: str, within_s: float = 60.0) -> Check:
    """Waits for a goal; whether it succeeded.

    Raises:
        Ended: if its server does not answer, or nothing is heard of it.
    """
    began_s, options = robot.port.now_s(), robot.options
    while errand.runs:
        now_s = robot.port.now_s()
        silent_s = options.answer_s if errand.state is State.SENT else within_s
        if now_s - max(began_s, errand.heard_s) > silent_s:
            errand.state = State.DEAD
            errand.text = f"it did not answer within {silent_s:g} s"
            break
        yield phase, 0.5
    if errand.state is State.DEAD:
        raise Ended(
            PrimitiveCode.BACKEND_FAULT,
            f"{errand.server} is not there: {errand.text}; the robot stands",
            reason="NO_SERVER",
            server=errand.server,
        )
    return errand.state is State.SUCCEEDED


def _finish_all(robot: Robot, errands: Sequence[Errand], phase: str, within_s: float) -> Motion:
    for errand in errands:
        if not (yield from finish(robot, errand, phase, within_s)):
            raise Ended(*explain(errand))


def _wait(robot: Robot, seconds: float, phase: str) -> Motion:
    until_s = robot.port.now_s() + seconds
    while robot.port.now_s() < until_s:
        yield phase, 0.5


# Navigation


def _navigate(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    yield from carry(robot)
    avoided: list[tuple[float, float]] = []
    first: PrimitiveResult | None = None
    for _ in range(PLACES_TRIED):
        stand = yield from robot.compute(
            lambda: robot.map.stand(robot.base, target_m, primitive.standoff_m, tuple(avoided))
        )
        if isinstance(stand, PrimitiveResult):
            return first or stand
        heading = primitive.heading_rad
        if math.isnan(heading):
            heading = _bearing(stand, target_m, robot.base.yaw_rad)
        goal = Pose.planar(*stand, heading)
        refusal = yield from _way(robot, goal)
        if refusal is None:
            refusal = yield from _go(robot, goal)
        if refusal is None:
            gap = math.dist(robot.base.position_m[:2], target_m[:2])
            return success("arrived", distance_m=f"{gap:.2f}")
        first = first or refusal
        avoided.append(stand)
    return first or PrimitiveResult(PrimitiveCode.UNREACHABLE, "there is no way to the target")


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
    whole_m = max(0.1, math.dist(robot.base.position_m[:2], goal.position_m[:2]))
    errand = port.navigate(wanted)
    sent_s = port.now_s()
    while True:
        silent_s = options.answer_s if errand.state is State.SENT else options.silent_s
        if errand.runs and port.now_s() - max(sent_s, errand.heard_s) > silent_s:
            raise Ended(
                PrimitiveCode.BACKEND_FAULT,
                f"{errand.server} has not been heard for {silent_s:g} s; the robot stands",
                reason="NO_SERVER",
                server=errand.server,
            )
        if errand.recalled:
            errand = port.navigate(wanted)
            sent_s = port.now_s()
        elif not errand.runs:
            break
        left_m = errand.left_m if math.isfinite(errand.left_m) else whole_m
        yield WALKING, max(0.0, min(1.0, 1.0 - left_m / whole_m))
    if errand.state is State.DEAD:
        raise Ended(
            PrimitiveCode.BACKEND_FAULT,
            f"{errand.server} is not there: {errand.text}; the robot stands",
            reason="NO_SERVER",
            server=errand.server,
        )
    if errand.state is not State.SUCCEEDED:
        return PrimitiveResult(*explain(errand))
    yield from _stand_still(robot)
    off_m = math.dist(robot.base.position_m[:2], goal.position_m[:2])
    off_rad = abs(wrap_angle_rad(robot.base.yaw_rad - goal.yaw_rad))
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
        now = robot.readings
        if abs(now.linear_m_s) < AT_REST_M_S and abs(now.angular_rad_s) < AT_REST_RAD_S:
            return
        yield "stopping", 1.0


# The head


def _look(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    points = (
        [_view_point(robot, pan, tilt) for pan, tilt in primitive.views_rad]
        if primitive.views_rad
        else [target_m]
    )
    for point in points:
        yield from gaze(robot, point)
        yield from _picture(robot)
    return success("looked", views=str(len(points)))


def _view_point(robot: Robot, pan_rad: float, tilt_rad: float) -> Vec3:
    """A point two metres away, along a pan and tilt of the camera as it stands."""
    optical = robot.readings.optical
    height = 1.2 if optical is None else optical.position_m[2]
    level, ahead = max(-1.4, min(1.4, tilt_rad)), 2.0
    away = ahead * math.cos(level)
    local = (away * math.cos(pan_rad), away * math.sin(pan_rad), height - ahead * math.sin(level))
    return robot.base.apply(local)


def gaze(robot: Robot, point_m: Vec3) -> Motion:
    """Turns the camera, and where it has no neck the base, towards a point of the house's map."""
    head = robot.options.head
    if head is None:
        yield from _face(robot, point_m)
        return
    joints = dict(robot.readings.joints)
    local = robot.base.inverse().apply(point_m)
    wanted = yield from robot.compute(lambda: robot.model.gaze(local, joints))
    seen = yield from robot.compute(lambda: robot.model.optical({**joints, **wanted}))
    x, y, z = seen.inverse().apply(local)
    if z <= 0 or math.hypot(x, y) / z > 0.35:
        # Further than the neck turns.
        yield from _face(robot, point_m)
        joints, local = dict(robot.readings.joints), robot.base.inverse().apply(point_m)
        wanted = yield from robot.compute(lambda: robot.model.gaze(local, joints))
    controller = robot.options.controllers[-1]
    far = max(abs(wanted[name] - joints.get(name, 0.0)) for name in head.joints)
    if far < 0.01:
        return
    errand = robot.port.follow(controller, [(wanted, max(0.3, far / head.speed))])
    yield from _finish_all(robot, [errand], "looking", 15.0)


def _face(robot: Robot, point_m: Vec3) -> Motion:
    """Turns the base towards a point."""
    base = robot.base
    heading = _bearing(base.position_m[:2], point_m, base.yaw_rad)
    if abs(wrap_angle_rad(heading - base.yaw_rad)) < robot.options.navigation.near_rad:
        return
    refusal = yield from _go(robot, Pose.planar(*base.position_m[:2], heading))
    if refusal is not None:
        raise Ended(refusal.code, refusal.text, **refusal.evidence)


def _picture(robot: Robot) -> Generator[Stage, None, Shot]:
    """A picture taken after the camera has come to rest."""
    began_s, seen = robot.port.now_s(), robot.port.shot()
    first_s = seen.stamp_s if isinstance(seen, Shot) else -math.inf
    while robot.port.now_s() - began_s < PICTURE_S:
        seen = robot.port.shot()
        if isinstance(seen, Shot) and seen.stamp_s > first_s + STEADY_S:
            return seen
        yield "looking", 0.8
    why = seen if isinstance(seen, str) else "its camera sends no new picture"
    raise Ended(PrimitiveCode.BACKEND_FAULT, f"no picture: {why}", reason="NO_PICTURE")


# The arm


def carry(robot: Robot) -> Motion:
    """Folds the arm for driving."""
    yield from posture(robot, robot.options.arm.carry, "stowing")


def posture(robot: Robot, joints: Mapping[str, float], phase: str) -> Motion:
    """Brings the arm into a posture, unless it is there."""
    now = robot.readings.joints
    gaps = {name: abs(value - _joint(robot, now, name)) for name, value in joints.items()}
    if max(gaps.values()) < 0.03:
        return
    if robot.options.arm.method is ArmMethod.MOVEIT:
        yield from _finish_all(robot, [robot.port.pose_arm(joints)], phase, 60.0)
        return
    yield from _follow(robot, [joints], phase)


def _joint(robot: Robot, now: Mapping[str, float], name: str) -> float:
    """A joint's position; of one that stands for several, their sum.

    Raises:
        Ended: if /joint_states does not have it.
    """
    parts = (name,) if name in now else robot.options.arm.shared.get(name, (name,))
    missing = [part for part in parts if part not in now]
    if missing:
        text = f"{robot.options.joint_states} does not tell of the joint {missing[0]!r}"
        raise Ended(PrimitiveCode.BACKEND_FAULT, text, reason="NO_JOINT")
    return sum(now[part] for part in parts)


def _arm_now(robot: Robot) -> dict[str, float]:
    now = robot.readings.joints
    return {name: _joint(robot, now, name) for name in robot.options.arm.joints}


def _follow(robot: Robot, way: Sequence[Mapping[str, float]], phase: str) -> Motion:
    """Moves all controllers of the arm through positions, each as fast as the slowest allows."""
    before, due_s = _arm_now(robot), 0.0
    timed: list[Waypoint] = []
    for joints in way:
        slowest = max(
            abs(joints[name] - before[name]) / each.speed
            for each in robot.options.arm.controllers
            for name in each.joints
        )
        due_s += max(0.2, slowest)
        timed.append((joints, due_s))
        before = dict(joints)
    errands = [
        robot.port.follow(each, [({n: j[n] for n in each.joints}, at_s) for j, at_s in timed])
        for each in robot.options.arm.controllers
    ]
    yield from _finish_all(robot, errands, phase, due_s + 10.0)


def reach(robot: Robot, tool: Pose, phase: str, turn_rad: float = 0.05) -> Check:
    """Brings the gripper to a pose in the base; False if it cannot get there."""
    if robot.options.arm.method is ArmMethod.MOVEIT:
        errand = robot.port.reach(tool, turn_rad)
        if (yield from finish(robot, errand, phase, 60.0)):
            return True
        if does_not_get_there(errand):
            return False
        raise Ended(*explain(errand))
    start = _arm_now(robot)
    found = yield from robot.compute(lambda: robot.model.solve(tool, start, turn_rad=turn_rad))
    if found is None:
        return False
    yield from _follow(robot, [found], phase)
    return True


def straight(robot: Robot, tool: Pose, phase: str, turn_rad: float = 0.05) -> Check:
    """Moves the gripper along a straight line to a pose in the base."""
    if robot.options.arm.method is ArmMethod.MOVEIT:
        return (yield from reach(robot, tool, phase, turn_rad))
    start = _arm_now(robot)

    def line() -> list[dict[str, float]] | None:
        way, last = [], start
        begin = robot.model.tool(start)
        for number in range(1, 5):
            step = begin.toward(tool, number / 4)
            found = robot.model.solve(step, last, turn_rad=turn_rad, anew=False)
            if found is None:
                return None
            way.append(found)
            last = found
        return way

    way = yield from robot.compute(line)
    if way is None:
        return (yield from reach(robot, tool, phase, turn_rad))
    yield from _follow(robot, way, phase)
    return True


# The gripper


def opening_m(robot: Robot) -> float:
    """The distance of the fingers, as measured."""
    gripper = robot.options.gripper
    now = robot.readings.joints
    if gripper.joint not in now:
        text = f"{robot.options.joint_states} does not tell of the joint {gripper.joint!r}"
        raise Ended(PrimitiveCode.BACKEND_FAULT, text, reason="NO_JOINT")
    return gripper.opening_m(now[gripper.joint])


def _grip(robot: Robot, position: float) -> Motion:
    errand = robot.port.grip(position)
    # A gripper that stalls on a thing may report that as success or as an abort.
    yield from finish(robot, errand, "gripping", 15.0)
    yield from _wait(robot, 0.2, "gripping")


def _let_go(robot: Robot) -> Motion:
    gripper = robot.options.gripper
    yield from _grip(robot, gripper.open)
    if opening_m(robot) < 0.8 * gripper.width_m:
        raise Ended(
            PrimitiveCode.GRASP_FAILED,
            f"the gripper opens only {opening_m(robot):.3f} m of {gripper.width_m:g} m",
        )


def _pick(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    if robot.held is not None:
        return PrimitiveResult(PrimitiveCode.HAND_FULL, "the hand already holds something")
    _check_reach(robot, target_m)
    shut = robot.map.shut_at(target_m)
    if shut:
        text = "it is inside closed furniture"
        return PrimitiveResult(PrimitiveCode.CLOSED, text, {"inside": shut})
    why = "no grasp is within reach"
    for _ in range(robot.options.grasping.tries):
        thing = yield from _see(robot, target_m, primitive.tolerance_m)
        grasps = yield from _grasps(robot, thing, target_m)
        yield from _let_go(robot)
        taken = None
        for grasp in grasps:
            taken = yield from _try_grasp(robot, grasp)
            if taken is not None:
                break
        if taken is None:
            yield from carry(robot)
            return PrimitiveResult(PrimitiveCode.TOO_FAR, f"{why} of the arm")
        if taken:
            yield from carry(robot)
            if opening_m(robot) > robot.options.gripper.empty_m:
                return success("picked", rounded_m(target_m), grasp=grasp.kind)
            robot.hold(None)
            why = "the thing was lost on the way"
        yield from carry(robot)
    tries = robot.options.grasping.tries
    text = f"the gripper closed on nothing, {tries} times"
    return PrimitiveResult(PrimitiveCode.GRASP_FAILED, text)


def _try_grasp(robot: Robot, grasp: Grasp) -> Generator[Stage, None, bool | None]:
    """Closes the gripper around a thing; None = the arm does not get there, False = it is empty."""
    settings = robot.options.grasping
    if not (yield from reach(robot, grasp.before(settings.before_m), "reaching")):
        return None
    if not (yield from straight(robot, grasp.tool, "reaching")):
        return None
    yield from _grip(robot, robot.options.gripper.closed)
    caught = opening_m(robot) > robot.options.gripper.empty_m
    if caught:
        robot.hold(Held(grasp))
        x, y, z = grasp.tool.position_m
        lifted = Pose((x, y, z + settings.lift_m), grasp.tool.orientation)
        yield from straight(robot, lifted, "lifting", LOOSE_RAD)
    else:
        yield from straight(robot, grasp.before(settings.before_m), "withdrawing", LOOSE_RAD)
    if caught and opening_m(robot) <= robot.options.gripper.empty_m:
        robot.hold(None)
        caught = False
    return caught


def _see(robot: Robot, target_m: Vec3, tolerance_m: float) -> Generator[Stage, None, Standing]:
    """Looks at a place; what stands there, in the base."""
    yield from gaze(robot, target_m)
    shot = yield from _picture(robot)
    local = shot.base.inverse().apply(robot.options.frames.in_house.inverse().apply(target_m))
    x, y, z = shot.frame.pose.inverse().apply(local)
    lens = shot.frame.intrinsics
    u, v = (lens.fx_px * x / z + lens.cx_px, lens.fy_px * y / z + lens.cy_px) if z > 0 else (-1, -1)
    if not (0 <= u < lens.width_px and 0 <= v < lens.height_px):
        raise Ended(PrimitiveCode.NO_LINE_OF_SIGHT, "the camera cannot be turned to the target")
    try:
        return (yield from robot.compute(lambda: standing_at(shot.frame, local, tolerance_m)))
    except PlannerError as error:
        raise Ended(PrimitiveCode.NOTHING_THERE, f"nothing to take: {error}") from None


def _grasps(
    robot: Robot, thing: Standing, target_m: Vec3
) -> Generator[Stage, None, Sequence[Grasp]]:
    if robot.options.grasping.service:
        errand = robot.port.plan_grasps(thing)
        if not (yield from finish(robot, errand, "planning a grasp", 30.0)):
            raise Ended(*explain(errand))
        return errand.grasps
    covered = robot.map.covered_at(target_m)
    try:
        return grasps_for(thing, robot.options.gripper.width_m, covered=covered)
    except PlannerError as error:
        raise Ended(PrimitiveCode.GRASP_FAILED, f"no grasp: {error}") from None


def _check_reach(robot: Robot, point_m: Vec3) -> None:
    gap = math.dist(robot.base.position_m[:2], point_m[:2])
    low, high = robot.body.reach_height_m
    if gap > robot.body.reach_m or not low - 0.05 <= point_m[2] <= high:
        raise Ended(
            PrimitiveCode.TOO_FAR,
            "the target is out of reach",
            distance_m=f"{gap:.2f}",
            reach_m=f"{robot.body.reach_m:.2f}",
        )


def _place(robot: Robot, primitive: Primitive, target_m: Vec3, reference_m: Vec3 | None) -> Routine:
    held = robot.held
    if held is None:
        return PrimitiveResult(PrimitiveCode.HAND_EMPTY, "the hand holds nothing")
    spot = yield from robot.compute(
        lambda: robot.map.spot(robot.base, primitive, target_m, reference_m)
    )
    x, y, z, _ = spot.pose
    _check_reach(robot, (x, y, z))
    grasp = held.grasp
    within = primitive.relation is Relation.WITHIN
    local = robot.base.inverse().apply((x, y, z + grasp.above_m + DROP_M))
    for tool in _ways_to_put(local, grasp):
        before = _above(tool, ABOVE_M / 2 if within else ABOVE_M)
        if not (yield from reach(robot, before, "placing")):
            continue
        if not (yield from straight(robot, tool, "placing")):
            continue
        yield from _let_go(robot)
        robot.hold(None)
        back = tool.compose(Pose((-ABOVE_M, 0.0, 0.0)))
        yield from straight(robot, back, "withdrawing", LOOSE_RAD)
        yield from carry(robot)
        on = f"{spot.support.parent}/{spot.support.part}"
        return success("placed", rounded_m((x, y, z)), on=on)
    yield from carry(robot)
    return PrimitiveResult(PrimitiveCode.TOO_FAR, "the arm does not get there with what it holds")


def _above(tool: Pose, gap_m: float) -> Pose:
    x, y, z = tool.position_m
    return Pose((x, y, z + gap_m), tool.orientation)


def _ways_to_put(at_m: Vec3, grasp: Grasp) -> list[Pose]:
    """Poses of the tool at a point that keep what it holds upright, as it was taken."""
    down = grasp.tool.rotation()[2, 0] < -0.7
    away = math.atan2(at_m[1], at_m[0])
    found = []
    for turn in (0.0, 0.6, -0.6, 1.2, -1.2):
        way = away + turn
        across = (-math.sin(way), math.cos(way), 0.0)
        approach = (0.0, 0.0, -1.0) if down else (math.cos(way), math.sin(way), 0.0)
        found += [towards(at_m, approach, across)]
        found += [towards(at_m, approach, (-across[0], -across[1], 0.0))]
    return found


def _move_joint(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    opens = primitive.name == PrimitiveName.OPEN
    piece, joint = yield from robot.compute(
        lambda: robot.map.joint(robot.base, primitive.name, target_m)
    )
    where = {"furniture": piece.name, "joint": joint.name}
    goal = 1.0 if opens else 0.0
    if piece.opening[joint.name] == goal:
        return success(f"already {'open' if opens else 'closed'}", **where)
    if robot.held is not None:
        return PrimitiveResult(PrimitiveCode.HAND_FULL, "the hand already holds something")
    handle = piece.handle(joint)
    _check_reach(robot, handle)
    to_base = robot.base.inverse()
    out = robot.map.pulling(piece, joint, opens=opens)
    inwards = tuple(-v if opens else v for v in out)
    turn = Pose((0.0, 0.0, 0.0), to_base.orientation)
    approach = turn.apply((inwards[0], inwards[1], 0.0))
    length = math.hypot(approach[0], approach[1]) or 1.0
    approach = (approach[0] / length, approach[1] / length, 0.0)
    yield from _let_go(robot)
    tool, caught = None, False
    for closing in ((0.0, 0.0, 1.0), (-approach[1], approach[0], 0.0)):
        tool = towards(to_base.apply(handle), approach, closing)
        before = tool.compose(Pose((-robot.options.grasping.before_m, 0.0, 0.0)))
        if not (yield from reach(robot, before, "reaching")):
            continue
        if not (yield from straight(robot, tool, "reaching")):
            continue
        yield from _grip(robot, robot.options.gripper.closed)
        caught = opening_m(robot) > robot.options.gripper.empty_m
        if caught:
            break
        yield from _let_go(robot)
    if tool is None or not caught:
        yield from carry(robot)
        text = "the gripper closed on nothing where the handle should be"
        return PrimitiveResult(PrimitiveCode.GRASP_FAILED, text, where)
    moved = yield from _along_handle(robot, tool, goal, (piece, joint))
    yield from _let_go(robot)
    now = yield from _tool_now(robot)
    yield from straight(robot, now.compose(Pose((-ABOVE_M, 0.0, 0.0))), "withdrawing", LOOSE_RAD)
    yield from carry(robot)
    was = piece.opening[joint.name]
    robot.map.moved(piece, joint, was + (goal - was) * moved)
    if moved < OPEN_SHARE:
        text = f"it moved {moved:.0%} of its way, as far as the arm gets"
        return PrimitiveResult(PrimitiveCode.BLOCKED, text, where)
    return success("opened" if opens else "closed", **where)


def _tool_now(robot: Robot) -> Generator[Stage, None, Pose]:
    """The gripper in the base."""
    joints = _arm_now(robot)
    return (yield from robot.compute(lambda: robot.model.tool(joints)))


def _along_handle(
    robot: Robot, tool: Pose, goal: float, moving: tuple[Piece, Joint]
) -> Generator[Stage, None, float]:
    """Takes a held handle along its way; the share of the way that the gripper went, 0 to 1."""
    piece, joint = moving
    way = robot.map.handle_way(piece, joint, goal, ARC_POINTS)
    to_base = robot.base.inverse()
    grip = robot.options.gripper
    for number, point in enumerate(way):
        step = Pose(to_base.apply(point), tool.orientation)
        if not (yield from straight(robot, step, "moving", LOOSE_RAD)):
            return number / len(way)
        if opening_m(robot) <= grip.empty_m:
            raise Ended(PrimitiveCode.GRASP_FAILED, "the handle slipped out of the gripper")
        now = yield from _tool_now(robot)
        if math.dist(now.position_m, step.position_m) > OFF_HANDLE_M:
            return number / len(way)
    return 1.0
