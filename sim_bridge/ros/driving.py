"""Routines of the backend `ros`: driving, looking, moving the arm, waiting for answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from planner.world.agents import Body
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult
from sim_bridge.map_model import MapModel
from sim_bridge.one_robot import Check, Ended, Motion, Routine, Stage, success
from sim_bridge.ros.grasps import Grasp
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import CAMERA, ArmMethod, Controller, RosOptions
from sim_bridge.ros.port import Errand, RobotPort, State, Waypoint, does_not_get_there, explain
from sim_bridge.ros.senses import Senses, Shot
from sim_bridge.safety.guard import zone_at
from sim_bridge.safety.options import SafetyOptions

# What the routines of the backend `ros` work with: the robot, and waiting for its answers.

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
    def senses(self) -> Senses:
        """Where it is and what it sees."""

    @property
    def held(self) -> Held | None:
        """What the gripper holds."""

    def hold(self, held: Held | None) -> None:
        """Records what the gripper holds."""

    def compute(self, work: Callable[[], Value]) -> Generator[Stage, None, Value]:
        """Has a thread compute something meanwhile."""


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
        raise gone(errand)
    return errand.state is State.SUCCEEDED


def gone(errand: Errand) -> Ended:
    """The end of a primitive whose server is not there."""
    return Ended(
        PrimitiveCode.BACKEND_FAULT,
        f"{errand.server} is not there: {errand.text}; the robot stands",
        reason="NO_SERVER",
        server=errand.server,
    )


def finish_all(robot: Robot, errands: Sequence[Errand], phase: str, within_s: float) -> Motion:
    """Waits for goals.

    Raises:
        Ended: if one did not succeed.
    """
    for errand in errands:
        if not (yield from finish(robot, errand, phase, within_s)):
            raise Ended(*explain(errand))


def wait(robot: Robot, seconds: float, phase: str) -> Motion:
    """Waits for some time."""
    until_s = robot.port.now_s() + seconds
    while robot.port.now_s() < until_s:
        yield phase, 0.5


# Moving the arm and the gripper, by MoveIt or by joint trajectories of our own.

# The turn that does not matter where only the place does.
LOOSE_RAD = 0.6
# How far and how fast the base backs away from what the arm is entangled with.
BACK_M, BACK_M_S = 0.35, 0.1
# What the arm makes up for by turning its wrist; until odometry tells of a slide.
SLIDE_LEAST_M, SETTLE_S = 0.01, 0.3


def carry(robot: Robot) -> Motion:
    """Folds the arm for driving.

    Where it finds no way the base backs up first, and then it goes by its ready posture.
    """
    arm, back_up = robot.options.arm, robot.options.navigation.back_up
    try:
        yield from posture(robot, arm.carry, "stowing")
    except Ended as end:
        if end.result.code is not PrimitiveCode.TOO_FAR:
            raise
    else:
        return
    if back_up:
        errand = robot.port.back_up(BACK_M, BACK_M_S)
        # Something may stand behind it; then the arm may still find a way.
        yield from finish(robot, errand, "backing up", 2 * BACK_M / BACK_M_S + 5.0)
    try:
        yield from posture(robot, arm.carry, "stowing")
    except Ended as end:
        if end.result.code is not PrimitiveCode.TOO_FAR:
            raise
        yield from posture(robot, arm.ready, "stowing")
        yield from posture(robot, arm.carry, "stowing")


def withdraw(robot: Robot, back: Pose) -> Generator[Stage, None, dict[str, str]]:
    """Moves the gripper away from what it did and folds the arm.

    What was done stays done where that fails: the trouble is evidence, and the next drive folds the
    arm again.
    """
    try:
        yield from straight(robot, back, "withdrawing", LOOSE_RAD)
        yield from carry(robot)
    except Ended as end:
        robot.port.recall()
        return {"arm": f"not folded: {end.result.text}"}
    return {}


def posture(robot: Robot, joints: Mapping[str, float], phase: str) -> Motion:
    """Brings the arm into a posture, unless it is there."""
    now = robot.senses.heard.joints
    gaps = {name: abs(value - _joint(robot, now, name)) for name, value in joints.items()}
    if max(gaps.values()) < 0.03:
        return
    if robot.options.arm.method is ArmMethod.MOVEIT:
        yield from finish_all(robot, [robot.port.pose_arm(joints)], phase, 60.0)
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


def arm_now(robot: Robot) -> dict[str, float]:
    """The positions of the arm's joints."""
    now = robot.senses.heard.joints
    return {name: _joint(robot, now, name) for name in robot.options.arm.joints}


def _follow(robot: Robot, way: Sequence[Mapping[str, float]], phase: str) -> Motion:
    """Moves all controllers of the arm through positions, within their speed and the hand's."""
    start = arm_now(robot)
    timed = yield from robot.compute(lambda: _timed(robot, start, way))
    errands = [
        robot.port.follow(each, [({n: j[n] for n in each.joints}, at_s) for j, at_s in timed])
        for each in robot.options.arm.controllers
    ]
    yield from finish_all(robot, errands, phase, timed[-1][1] + 10.0)


def _timed(
    robot: Robot, start: Mapping[str, float], way: Sequence[Mapping[str, float]]
) -> list[Waypoint]:
    """When each position is due: as soon as the slowest joint and the hand (rule 12) allow."""
    before, due_s = start, 0.0
    timed: list[Waypoint] = []
    for joints in way:
        slowest_s = max(
            abs(joints[name] - before[name]) / each.speed
            for each in robot.options.arm.controllers
            for name in each.joints
        )
        places = [
            robot.model.tool({n: before[n] + (joints[n] - before[n]) * share / 4 for n in joints})
            for share in range(5)
        ]
        steps_m = (math.dist(a.position_m, b.position_m) for a, b in itertools.pairwise(places))
        hand_s = 4 * max(steps_m) / robot.safety.motion.hand_speed_m_s
        due_s += max(0.2, slowest_s, hand_s)
        timed.append((joints, due_s))
        before = joints
    return timed


def reach(robot: Robot, tool: Pose, phase: str, turn_rad: float = 0.05) -> Check:
    """Brings the gripper to a pose in the base; False if it cannot get there."""
    if robot.options.arm.method is ArmMethod.MOVEIT:
        errand = robot.port.reach(tool, turn_rad)
        if (yield from finish(robot, errand, phase, 60.0)):
            return True
        if does_not_get_there(errand):
            return False
        raise Ended(*explain(errand))
    start = arm_now(robot)
    found = yield from robot.compute(lambda: robot.model.solve(tool, start, turn_rad=turn_rad))
    if found is None:
        return False
    yield from _follow(robot, [found], phase)
    return True


def straight(robot: Robot, tool: Pose, phase: str, turn_rad: float = 0.05) -> Check:
    """Moves the gripper along a straight line to a pose in the base."""
    if robot.options.arm.method is ArmMethod.MOVEIT:
        return (yield from reach(robot, tool, phase, turn_rad))
    start = arm_now(robot)

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


def aside(robot: Robot, tools: Sequence[Pose]) -> Check:
    """Slides the base to where the arm gets to one of some poses in the base; whether it moved.

    Once it has, poses in the base are stale, and have to be looked for again.

    Raises:
        Ended: if that would take it into a keep-out zone, or it does not get there.
    """
    slide, start = robot.options.arm.slide, arm_now(robot)
    if slide is None:
        return False
    way_m = yield from robot.compute(lambda: robot.model.aside(tools, start))
    if way_m is None or abs(way_m) < SLIDE_LEAST_M:
        return False
    end = robot.senses.base.apply((way_m, 0.0, 0.0))
    zone = zone_at(end, robot.safety.keep_out.zones)
    if zone is not None:
        text = f"the base would have to move into the keep-out zone {zone.name}"
        raise Ended(PrimitiveCode.UNREACHABLE, text, zone=zone.name)
    action = robot.options.arm.controllers[0].action
    controller = Controller(action=action, joints=(slide.joint,), speed=slide.speed)
    due_s = max(1.0, abs(way_m) / slide.speed)
    errand = robot.port.follow(controller, [({slide.joint: way_m}, due_s)])
    yield from finish_all(robot, [errand], "stepping aside", due_s + 10.0)
    yield from wait(robot, SETTLE_S, "stepping aside")
    return True


# The gripper


def opening_m(robot: Robot) -> float:
    """The distance of the fingers, as measured."""
    gripper = robot.options.gripper
    now = robot.senses.heard.joints
    if gripper.joint not in now:
        text = f"{robot.options.joint_states} does not tell of the joint {gripper.joint!r}"
        raise Ended(PrimitiveCode.BACKEND_FAULT, text, reason="NO_JOINT")
    return gripper.opening_m(now[gripper.joint])


def grip(robot: Robot, position: float) -> Motion:
    """Moves the fingers, until they are there or stall."""
    errand = robot.port.grip(position)
    # A gripper that stalls on a thing may report that as success or as an abort.
    yield from finish(robot, errand, "gripping", 15.0)
    yield from wait(robot, 0.2, "gripping")


def let_go(robot: Robot) -> Motion:
    """Opens the gripper.

    Raises:
        Ended: if it does not open.
    """
    gripper = robot.options.gripper
    yield from grip(robot, gripper.open)
    if opening_m(robot) < 0.8 * gripper.width_m:
        raise Ended(
            PrimitiveCode.GRASP_FAILED,
            f"the gripper opens only {opening_m(robot):.3f} m of {gripper.width_m:g} m",
        )


WALKING = "walking"
PLACES_TRIED = 4
# After a head has arrived the picture still shakes; a picture must be this much younger.
STEADY_S = 0.3
PICTURE_S = 5.0
AT_REST_M_S, AT_REST_RAD_S = 0.03, 0.05
DRIVING_SETTLE_S = 2.0
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
    until_s = robot.port.now_s() + DRIVING_SETTLE_S
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
