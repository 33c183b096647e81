"""Primitives as routines: each yields between ticks; what it sends expires by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Protocol

from planner.world.agents import Body
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.embedded.manipulation import RefusalError
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.body import BodyState, hand_before_body
from sim_bridge.spot.eyes import Picture, apart_m
from sim_bridge.spot.graph_link import GraphLink
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.map_model import MapModel
from sim_bridge.spot.options import SpotOptions

# Phase and progress.
Stage = tuple[str, float]
Routine = Generator[Stage, None, PrimitiveResult]
Motion = Generator[Stage, None, None]
Check = Generator[Stage, None, bool]

NEAR_M, NEAR_RAD = 0.1, 0.1
EXACT_M, EXACT_RAD = 1e-3, 2e-3
SLOW_M_S = 0.02
STUCK_S = 20.0
# A recorded map is used where it brings the robot so much nearer.
GRAPH_SAVES_M = 2.0
SETTLE_S = 1.0
PATIENCE_S = 12.0
DWELL_S = 0.25
FACING_RAD = 0.02
# What a pixel measures lies on the surface of a thing, not in its middle.
SURFACE_M = 0.3
# The hand's heights to look from, as shares of the camera's own and last its highest.
BENDS = (1.0, 0.75, 0.5)
ABOVE_M = 0.08


class Robot(Protocol):
    """What routines see of the backend."""

    @property
    def link(self) -> SpotLink:
        """The connection."""

    @property
    def options(self) -> SpotOptions:
        """The backend's settings."""

    @property
    def safety(self) -> SafetyOptions:
        """The numbers of the safety rules."""

    @property
    def map(self) -> MapModel:
        """The layout."""

    @property
    def graph(self) -> GraphLink | None:
        """The recorded map, where one is configured."""

    @property
    def physique(self) -> Body:
        """The measures of its body."""

    @property
    def state(self) -> BodyState:
        """The last that it said of itself."""

    @property
    def base(self) -> Pose:
        """`base_link` in the map."""

    def clock_s(self) -> float:
        """The time that commands end in."""

    def to_odom(self, pose: Pose) -> Pose:
        """A pose of the map in the odometry frame."""

    def look(self) -> Picture:
        """A picture of the hand's camera.

        Raises:
            PlannerError: where there is none.
        """


class Ended(Exception):  # noqa: N818 - an end, not always an error
    """A routine is over; carries its result."""

    def __init__(self, code: PrimitiveCode, text: str, **evidence: str) -> None:
        super().__init__(text)
        self.result = PrimitiveResult(code, text, evidence)


def routine(
    robot: Robot, primitive: Primitive, target_m: Vec3, reference_m: Vec3 | None
) -> Routine:
    """The primitive's routine; targets are in the map."""
    kinds: dict[PrimitiveName, Callable[[], Routine]] = {
        PrimitiveName.NAVIGATE: lambda: _navigate(robot, primitive, target_m),
        PrimitiveName.LOOK: lambda: _look(robot, primitive, target_m),
        PrimitiveName.PICK: lambda: _pick(robot, primitive, target_m),
        PrimitiveName.PLACE: lambda: _place(robot, primitive, target_m, reference_m),
        PrimitiveName.OPEN: lambda: _joint(robot, primitive, target_m),
        PrimitiveName.CLOSE: lambda: _joint(robot, primitive, target_m),
    }
    try:
        return (yield from kinds[primitive.name]())
    except Ended as end:
        return end.result
    except RefusalError as refusal:
        return refusal.result


def _success(text: str, **evidence: str) -> PrimitiveResult:
    return PrimitiveResult(PrimitiveCode.SUCCESS, text, evidence)


# Walking


def _bearing(base: Pose, point_m: Vec3) -> float:
    dx, dy = point_m[0] - base.position_m[0], point_m[1] - base.position_m[1]
    return base.yaw_rad if math.hypot(dx, dy) < 0.05 else math.atan2(dy, dx)


def _navigate(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    way = robot.map.way(robot.base, target_m, primitive.standoff_m)
    if isinstance(way, PrimitiveResult):
        return way
    yield from _stow(robot)
    if (yield from _along_graph(robot, way[-1])):
        # The recorded route ends near the goal; the layout leads the rest of the way.
        way = robot.map.way(robot.base, target_m, primitive.standoff_m)
        if isinstance(way, PrimitiveResult):
            return way
    for index, (x, y) in enumerate(way):
        progress = index / len(way)
        base = robot.base
        if math.dist(base.position_m[:2], (x, y)) < EXACT_M:
            continue
        heading = _bearing(base, (x, y, 0.0))
        yield from _go(robot, Pose.planar(*base.position_m[:2], heading), progress)
        yield from _go(robot, Pose.planar(x, y, heading), progress)
    heading = primitive.heading_rad
    if math.isnan(heading):
        heading = _bearing(robot.base, target_m)
    yield from _turn(robot, heading)
    gap = math.dist(robot.base.position_m[:2], target_m[:2])
    return _success("arrived", distance_m=f"{gap:.2f}")


def _along_graph(robot: Robot, goal: tuple[float, float]) -> Check:
    """Walks a recorded map to the waypoint nearest to a goal; whether that was worth it."""
    graph = robot.graph
    if graph is None:
        return False
    waypoint, left_m = graph.map.nearest((*goal, 0.0))
    here_m = math.dist(robot.base.position_m[:2], goal)
    if here_m - left_m < GRAPH_SAVES_M:
        return False
    number: int | None = None
    sent_s = -math.inf
    while True:
        if robot.clock_s() - sent_s >= robot.safety.motion.resend_s:
            number, sent_s = graph.walk(waypoint, number), robot.clock_s()
        if number is None:
            return False
        status = graph.status(number).removeprefix("STATUS_")
        if status == "REACHED_GOAL":
            return True
        if status not in ("FOLLOWING_ROUTE", "COMMAND_TIMED_OUT"):
            text = f"the walk along the recorded map ended as {status}"
            raise Ended(PrimitiveCode.BLOCKED, text, waypoint=waypoint)
        gone = math.dist(robot.base.position_m[:2], goal)
        yield "walking along the map", max(0.0, 1.0 - gone / max(here_m, 1e-6))


def _turn(robot: Robot, heading: float) -> Motion:
    base = robot.base
    if abs(wrap_angle_rad(heading - base.yaw_rad)) > FACING_RAD:
        yield from _go(robot, Pose.planar(*base.position_m[:2], heading), 1.0)


def _go(robot: Robot, goal: Pose, progress: float) -> Motion:
    """Walks to a pose: sends it again and again, until it is there and stands still."""
    link, motion = robot.link, robot.safety.motion
    began_s = better_s = robot.clock_s()
    sent_s, best = -math.inf, math.inf
    while True:
        base, now_s = robot.base, robot.clock_s()
        gap = math.dist(base.position_m[:2], goal.position_m[:2])
        off = abs(wrap_angle_rad(goal.yaw_rad - base.yaw_rad))
        still = abs(robot.state.linear_m_s) < SLOW_M_S and abs(robot.state.angular_rad_s) < SLOW_M_S
        # A real robot settles near a goal, not on it.
        near = gap < NEAR_M and off < NEAR_RAD and still and now_s - began_s > SETTLE_S
        if near or (gap < EXACT_M and off < EXACT_RAD):
            return
        if gap + off < best - 0.02:
            best, better_s = gap + off, now_s
        if now_s - better_s > STUCK_S:
            raise Ended(PrimitiveCode.BLOCKED, "something stands in the way")
        if now_s - sent_s >= motion.resend_s:
            odom = robot.to_odom(goal)
            link.walk_to(odom.position_m[0], odom.position_m[1], odom.yaw_rad)
            sent_s = now_s
        yield "walking", progress


# The arm


def _await(robot: Robot, done: Callable[[], bool], phase: str) -> Check:
    """Waits until something is done; whether it was in time."""
    until_s = robot.clock_s() + PATIENCE_S
    while robot.clock_s() < until_s:
        yield phase, 0.5
        if done():
            return True
    return False


def _arm_done(robot: Robot, number: int) -> Callable[[], bool]:
    def done() -> bool:
        told = robot.link.feedback(number).synchronized_feedback.arm_command_feedback
        kind = told.WhichOneof("feedback")
        # 1 is complete in the feedback of gazes, of poses and of named positions.
        return kind is not None and getattr(told, kind).status == 1

    return done


def _stow(robot: Robot) -> Motion:
    """Folds the arm, or with something in the hand brings it to where it carries things.

    Both are named positions, for which the robot takes no limit of speed (rule 12); so a hand that
    was reached out is brought before the body first, at the speed that is allowed.
    """
    if robot.link.reached_out:
        number = robot.link.reach(hand_before_body(robot.state))
        yield from _await(robot, _arm_done(robot, number), "stowing")
    number = robot.link.carry() if _holds(robot) else robot.link.stow()
    yield from _await(robot, _arm_done(robot, number), "stowing")


def _gaze(robot: Robot, point_m: Vec3) -> Motion:
    odom = robot.to_odom(Pose(point_m))
    number = robot.link.gaze(odom.position_m)
    if not (yield from _await(robot, _arm_done(robot, number), "looking")):
        raise Ended(PrimitiveCode.UNREACHABLE, "the arm cannot point its camera there")


def _raise_hand(robot: Robot, lift_m: float) -> Motion:
    x, y, z = robot.physique.hand_m
    hand = robot.base.compose(Pose((x, y, z + lift_m)))
    number = robot.link.reach(robot.to_odom(hand))
    yield from _await(robot, _arm_done(robot, number), "reaching")


def _dwell(robot: Robot, seconds: float) -> Motion:
    until_s = robot.clock_s() + seconds
    while robot.clock_s() < until_s - 1e-9:
        yield "looking", 0.5


def _look(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    views = primitive.views_rad
    points = [_view_point(robot, pan, tilt) for pan, tilt in views] if views else [target_m]
    for point in points:
        yield from _gaze(robot, point)
        yield from _dwell(robot, DWELL_S)
    return _success("looked", views=str(len(points)))


def _view_point(robot: Robot, pan_rad: float, tilt_rad: float) -> Vec3:
    """A point two metres off, along a pan and tilt of the hand's camera."""
    mount = robot.physique.cameras["hand"].position_m
    ring, ahead = math.hypot(mount[0], mount[1]), 2.0
    level = max(-1.4, min(1.4, tilt_rad))
    away = ring + ahead * math.cos(level)
    return robot.base.apply(
        (
            away * math.cos(pan_rad),
            away * math.sin(pan_rad),
            mount[2] - ahead * math.sin(level),
        )
    )


def _check_reach(robot: Robot, point_m: Vec3) -> None:
    body = robot.physique
    gap = math.dist(robot.base.position_m[:2], point_m[:2])
    low, high = body.reach_height_m
    if gap > body.reach_m or not low <= point_m[2] <= high:
        raise Ended(
            PrimitiveCode.TOO_FAR,
            "the target is out of reach",
            distance_m=f"{gap:.2f}",
            reach_m=f"{body.reach_m:.2f}",
        )


def _find(
    robot: Robot, point_m: Vec3, tolerance_m: float
) -> Generator[Stage, None, tuple[Picture, tuple[float, float]]]:
    """Looks at a point from several heights until a picture shows it; the picture and the pixel.

    Raises:
        Ended: where something hides it, or nothing is there.
    """
    camera_z = robot.physique.cameras["hand"].position_m[2]
    top = max(camera_z, robot.physique.reach_height_m[1])
    hidden = False
    for index, height in enumerate([*(camera_z * share for share in BENDS), top]):
        if index:
            yield from _raise_hand(robot, height - camera_z)
        yield from _gaze(robot, point_m)
        picture = robot.look()
        target = robot.to_odom(Pose(point_m)).position_m
        pixel = picture.pixel_of(target)
        if pixel is None:
            continue
        seen = picture.point_at(pixel)
        if apart_m(seen, target) <= max(tolerance_m, SURFACE_M):
            return picture, pixel
        eye = picture.in_odom.position_m
        hidden = hidden or (seen is not None and math.dist(eye, seen) < math.dist(eye, target))
    if hidden:
        raise Ended(PrimitiveCode.NO_LINE_OF_SIGHT, "something hides the target")
    raise Ended(PrimitiveCode.NOTHING_THERE, "nothing to take is at the target")


def _grasp(
    robot: Robot, picture: Picture, pixel: tuple[float, float]
) -> Generator[Stage, None, str]:
    """Grasps what a pixel shows; the name of the state in which the robot ended it."""
    number = robot.link.pick(picture.color.shot, picture.color.source, pixel)
    state = ""
    until_s = robot.clock_s() + PATIENCE_S
    while robot.clock_s() < until_s:
        yield "grasping", 0.7
        state = robot.link.pick_state(number)
        if "SUCCEEDED" in state or "FAILED" in state or "NO_SOLUTION" in state or "LOST" in state:
            break
    # The state that says what the gripper holds is that of the next tick.
    yield "grasping", 0.9
    return state


def _holds(robot: Robot) -> bool:
    return robot.state.holding


def _face(robot: Robot, point_m: Vec3) -> Motion:
    yield from _turn(robot, _bearing(robot.base, point_m))


def _pick(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    if _holds(robot):
        return PrimitiveResult(PrimitiveCode.HAND_FULL, "the hand already holds something")
    _check_reach(robot, target_m)
    shut = robot.map.shut_at(target_m)
    if shut:
        return PrimitiveResult(
            PrimitiveCode.CLOSED, "it is inside closed furniture", {"inside": shut}
        )
    yield from _face(robot, target_m)
    text = ""
    for _ in range(robot.options.grasp_tries):
        picture, pixel = yield from _find(robot, target_m, primitive.tolerance_m)
        text = yield from _grasp(robot, picture, pixel)
        if "SUCCEEDED" in text and _holds(robot):
            robot.link.keep_held()
            x, y, z = target_m
            yield from _stow(robot)
            return _success("picked", position_m=f"{x:.4f}, {y:.4f}, {z:.4f}")
        if "NO_SOLUTION" in text:
            return PrimitiveResult(
                PrimitiveCode.NOTHING_THERE, "nothing to take is at the target", {"robot": text}
            )
    tries = robot.options.grasp_tries
    return PrimitiveResult(
        PrimitiveCode.GRASP_FAILED, f"the gripper is empty after {tries} tries", {"robot": text}
    )


def _place(robot: Robot, primitive: Primitive, target_m: Vec3, reference_m: Vec3 | None) -> Routine:
    if not _holds(robot):
        return PrimitiveResult(PrimitiveCode.HAND_EMPTY, "the hand holds nothing")
    spot = robot.map.spot(robot.base, primitive, target_m, reference_m)
    x, y, z, _ = spot.pose
    _check_reach(robot, (x, y, z))
    yield from _face(robot, (x, y, z))
    above = ABOVE_M if primitive.relation is not Relation.WITHIN else ABOVE_M / 2
    for _ in range(robot.options.place_tries):
        number = robot.link.reach(robot.to_odom(Pose((x, y, z + above))))
        if not (yield from _await(robot, _arm_done(robot, number), "placing")):
            return PrimitiveResult(PrimitiveCode.TOO_FAR, "the arm does not get there")
        robot.link.gripper(1.0)
        if (yield from _await(robot, lambda: not _holds(robot), "placing")):
            yield from _stow(robot)
            on = f"{spot.support.parent}/{spot.support.part}"
            return _success("placed", on=on, position_m=f"{x:.4f}, {y:.4f}, {z:.4f}")
    tries = robot.options.place_tries
    return PrimitiveResult(
        PrimitiveCode.GRASP_FAILED, f"the gripper still holds it after {tries} tries"
    )


def _joint(robot: Robot, primitive: Primitive, target_m: Vec3) -> Routine:
    opens = primitive.name is PrimitiveName.OPEN
    piece, joint = robot.map.joint(robot.base, primitive.name, target_m)
    where = {"furniture": piece.name, "joint": joint.name}
    goal = 1.0 if opens else 0.0
    if piece.opening[joint.name] == goal:
        return _success(f"already {'open' if opens else 'closed'}", **where)
    if _holds(robot):
        return PrimitiveResult(PrimitiveCode.HAND_FULL, "the hand already holds something")
    handle = piece.handle(joint)
    _check_reach(robot, handle)
    yield from _face(robot, handle)
    for _ in range(robot.options.grasp_tries):
        picture, pixel = yield from _find(robot, handle, SURFACE_M)
        text = yield from _grasp(robot, picture, pixel)
        if "SUCCEEDED" in text:
            break
    else:
        return PrimitiveResult(
            PrimitiveCode.GRASP_FAILED, "the handle could not be grasped", {"robot": text}
        )
    x, y, z = robot.map.pulling(piece, joint, opens=opens)
    turned = robot.to_odom(Pose((x, y, z))), robot.to_odom(Pose((0.0, 0.0, 0.0)))
    way = tuple(a - b for a, b in zip(turned[0].position_m, turned[1].position_m, strict=True))
    number = robot.link.pull((way[0], way[1], way[2]), turns=joint.kind == "hinge")
    troubles: list[int] = []

    def moved() -> bool:
        told = robot.link.feedback(number).full_body_feedback.constrained_manipulation_feedback
        # 1 is running; 2 and 3 are stuck and lost.
        troubles.extend(status for status in (2, 3) if told.status == status)
        return bool(troubles or told.estimation_activated.value)

    in_time = yield from _await(robot, moved, "moving")
    robot.link.gripper(1.0)
    yield from _stow(robot)
    if troubles or not in_time:
        return PrimitiveResult(PrimitiveCode.BLOCKED, "it does not move", where)
    robot.map.moved(piece, joint, goal)
    return _success("opened" if opens else "closed", **where)
