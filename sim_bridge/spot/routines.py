"""Primitives as routines: walking, docking and handling, each yielding between ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Protocol

from planner.world.agents import Body
from planner.world.geometry import Pose, Vec3, rounded_m, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.embedded.manipulation import RefusalError
from sim_bridge.map_model import MapModel
from sim_bridge.one_robot import Check, Ended, Motion, Routine, Stage, success
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.connection import LATE_ERRORS, LINK_ERRORS
from sim_bridge.spot.convert import BodyState, hand_before_body
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.localisation import GraphLink
from sim_bridge.spot.options import Dock, SpotOptions
from sim_bridge.spot.permit import WithdrawnError
from sim_bridge.spot.picture import Picture, distance_m

# The robot's interface for routines.


class Robot(Protocol):
    """The backend as seen by routines."""

    @property
    def link(self) -> SpotLink:
        """The connection."""

    @property
    def options(self) -> SpotOptions:
        """The backend's settings."""

    @property
    def safety(self) -> SafetyOptions:
        """The parameters of the safety rules."""

    @property
    def map(self) -> MapModel:
        """The layout."""

    @property
    def graph(self) -> GraphLink | None:
        """The recorded map, if configured."""

    @property
    def physique(self) -> Body:
        """The dimensions of its body."""

    @property
    def state(self) -> BodyState:
        """Its last known state."""

    @property
    def base(self) -> Pose:
        """`base_link` in the map."""

    def clock_s(self) -> float:
        """The clock of commands' end times."""

    def to_odom(self, pose: Pose) -> Pose:
        """A pose of the map in the odometry frame."""

    def look(self) -> Picture:
        """Takes a picture with the hand camera.

        Raises:
            PlannerError: if there is none.
        """


# Walking as a routine: expiring goals, sent repeatedly.

# Phases in which a robot only walks.
WALKING, ALONG_MAP = "walking", "walking along the map"
PHASES = frozenset({WALKING, ALONG_MAP})
NEAR_M, NEAR_RAD = 0.1, 0.1
EXACT_M, EXACT_RAD = 1e-3, 2e-3
SLOW_M_S = 0.02
STUCK_S = 20.0
# Minimum gain, metres, to use the recorded map.
GRAPH_SAVES_M = 2.0
SETTLE_S = 1.0
FACING_RAD = 0.02


def bearing(base: Pose, point_m: Vec3) -> float:
    """The yaw from a pose to a point; the pose's own if they coincide."""
    dx, dy = point_m[0] - base.position_m[0], point_m[1] - base.position_m[1]
    return base.yaw_rad if math.hypot(dx, dy) < 0.05 else math.atan2(dy, dx)


def navigate(
    robot: Robot, primitive: Primitive, target_m: Vec3, stow: Callable[[Robot], Motion]
) -> Routine:
    """Walks to where a target is within reach, after stowing the arm by `stow`."""
    way = robot.map.way(robot.base, target_m, primitive.standoff_m)
    if isinstance(way, PrimitiveResult):
        return way
    yield from stow(robot)
    if (yield from _along_graph(robot, way[-1])):
        # The recorded route ends near the goal; the rest is planned in the layout.
        way = robot.map.way(robot.base, target_m, primitive.standoff_m)
        if isinstance(way, PrimitiveResult):
            return way
    for index, (x, y) in enumerate(way):
        progress = index / len(way)
        base = robot.base
        if math.dist(base.position_m[:2], (x, y)) < EXACT_M:
            continue
        heading = bearing(base, (x, y, 0.0))
        yield from _go(robot, Pose.planar(*base.position_m[:2], heading), progress)
        yield from _go(robot, Pose.planar(x, y, heading), progress)
    heading = primitive.heading_rad
    if math.isnan(heading):
        heading = bearing(robot.base, target_m)
    yield from turn(robot, heading)
    gap = math.dist(robot.base.position_m[:2], target_m[:2])
    return success("arrived", distance_m=f"{gap:.2f}")


def _along_graph(robot: Robot, goal: tuple[float, float]) -> Check:
    """Walks along a recorded map to the waypoint nearest to a goal; False if not worth it."""
    graph = robot.graph
    if graph is None:
        return False
    waypoint, left_m = graph.map.nearest((*goal, 0.0))
    here_m = math.dist(robot.base.position_m[:2], goal)
    if here_m - left_m < GRAPH_SAVES_M:
        return False
    numbers: list[int] = []
    sent_s, answered_s, status = -math.inf, robot.clock_s(), "FOLLOWING_ROUTE"

    def go_on() -> None:
        numbers.append(graph.walk(waypoint, numbers[-1] if numbers else None))

    def ask() -> None:
        nonlocal status
        status = graph.status(numbers[-1]).removeprefix("STATUS_")

    while True:
        if robot.clock_s() - sent_s >= robot.safety.motion.resend_s:
            sent_s = robot.clock_s()
            answered_s = _send(robot, go_on, answered_s)
        if numbers:
            answered_s = _send(robot, ask, answered_s)
        if status == "REACHED_GOAL":
            return True
        if status not in ("FOLLOWING_ROUTE", "COMMAND_TIMED_OUT"):
            text = f"the walk along the recorded map ended as {status}"
            raise Ended(PrimitiveCode.BLOCKED, text, waypoint=waypoint)
        gone = math.dist(robot.base.position_m[:2], goal)
        yield ALONG_MAP, max(0.0, 1.0 - gone / max(here_m, 1e-6))


def turn(robot: Robot, heading: float) -> Motion:
    """Turns to a yaw in `map`, unless it already faces that way."""
    base = robot.base
    if abs(wrap_angle_rad(heading - base.yaw_rad)) > FACING_RAD:
        yield from _go(robot, Pose.planar(*base.position_m[:2], heading), 1.0)


def _go(robot: Robot, goal: Pose, progress: float) -> Motion:
    """Walks to a pose: sends it repeatedly until the robot is there and stands still."""
    link, motion = robot.link, robot.safety.motion
    began_s = better_s = answered_s = robot.clock_s()
    sent_s, best = -math.inf, math.inf
    while True:
        base, now_s = robot.base, robot.clock_s()
        gap = math.dist(base.position_m[:2], goal.position_m[:2])
        off = abs(wrap_angle_rad(goal.yaw_rad - base.yaw_rad))
        still = abs(robot.state.linear_m_s) < SLOW_M_S and abs(robot.state.angular_rad_s) < SLOW_M_S
        # A real robot settles near a goal, not exactly on it.
        near = gap < NEAR_M and off < NEAR_RAD and still and now_s - began_s > SETTLE_S
        if near or (gap < EXACT_M and off < EXACT_RAD):
            return
        if gap + off < best - 0.02:
            best, better_s = gap + off, now_s
        if now_s - better_s > STUCK_S:
            raise Ended(PrimitiveCode.BLOCKED, "something stands in the way")
        if now_s - sent_s >= motion.resend_s:
            odom = robot.to_odom(goal)
            x, y, yaw = *odom.position_m[:2], odom.yaw_rad
            answered_s = _send(robot, lambda: link.walk_to(x, y, yaw), answered_s)  # noqa: B023
            sent_s = now_s
        yield WALKING, progress


def _send(robot: Robot, send: Callable[[], object], answered_s: float) -> float:
    """Sends a goal; returns when the last one was answered.

    A late answer ends nothing: the previous goal is still valid, and then the robot stands.

    Raises:
        Error: of the SDK, if none was answered for so long that the link counts as lost (rule 7).
    """
    try:
        send()
    except WithdrawnError:
        # Paused: it is resumed or ended by the caller of the pause.
        return answered_s
    except LATE_ERRORS:
        if robot.clock_s() - answered_s > robot.safety.link.stale_after_s:
            raise
        return answered_s
    return robot.clock_s()


# Those of `routine`. It neither talks with persons nor gives them things.
PRIMITIVES = frozenset({
    PrimitiveName.NAVIGATE, PrimitiveName.LOOK, PrimitiveName.PICK, PrimitiveName.PLACE,
    PrimitiveName.OPEN, PrimitiveName.CLOSE,
})  # fmt: skip
TIMEOUT_S = 12.0
DWELL_S = 0.25
# How long after a grasp the robot may take to report what its gripper holds.
FELT_S = 1.0
# A pixel measures the surface of a thing, not its centre.
SURFACE_M = 0.3
# Heights of the hand for looking, as shares of the default and last the maximum.
BENDS = (1.0, 0.75, 0.5)
ABOVE_M = 0.08


def routine(
    robot: Robot, primitive: Primitive, target_m: Vec3, reference_m: Vec3 | None
) -> Routine:
    """The primitive's routine; targets are in the map."""
    kinds: dict[str, Callable[[], Routine]] = {
        PrimitiveName.NAVIGATE: lambda: navigate(robot, primitive, target_m, _stow),
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


# The arm


def _await(
    robot: Robot, done: Callable[[], bool], phase: str, within_s: float = TIMEOUT_S
) -> Check:
    """Waits until a condition is met; returns whether it was in time."""
    until_s = robot.clock_s() + within_s
    while robot.clock_s() < until_s:
        yield phase, 0.5
        # A late answer is requested again; a lost link ends the routine from outside.
        with suppress(*LINK_ERRORS):
            if done():
                return True
    return False


def _arm_done(robot: Robot, number: int) -> Callable[[], bool]:
    def done() -> bool:
        feedback = robot.link.feedback(number).synchronized_feedback.arm_command_feedback
        kind = feedback.WhichOneof("feedback")
        # 1 means complete in the feedback of gaze, pose and named-position commands.
        return kind is not None and getattr(feedback, kind).status == 1

    return done


def _stow(robot: Robot) -> Motion:
    """Folds the arm; with something in the hand, moves it to the carry pose.

    Both are named positions, for which the robot accepts no speed limit (rule 12); so an extended
    hand is moved in front of the body first, at limited speed.
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
    return success("looked", views=str(len(points)))


def _view_point(robot: Robot, pan_rad: float, tilt_rad: float) -> Vec3:
    """A point two metres away, along a pan and tilt of the hand's camera."""
    mount = robot.physique.cameras["hand"].position_m
    ring, ahead = math.hypot(mount[0], mount[1]), 2.0
    level = max(-1.4, min(1.4, tilt_rad))
    away = ring + ahead * math.cos(level)
    return robot.base.apply(
        (away * math.cos(pan_rad), away * math.sin(pan_rad), mount[2] - ahead * math.sin(level))
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
    """Looks at a point from several heights until it is visible; the picture and the pixel.

    Raises:
        Ended: if something hides it, or nothing is there.
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
        if distance_m(seen, target) <= max(tolerance_m, SURFACE_M):
            return picture, pixel
        eye = picture.in_odom.position_m
        hidden = hidden or (seen is not None and math.dist(eye, seen) < math.dist(eye, target))
    if hidden:
        raise Ended(PrimitiveCode.NO_LINE_OF_SIGHT, "something hides the target")
    raise Ended(PrimitiveCode.NOTHING_THERE, "nothing to take is at the target")


def _grasp(
    robot: Robot, picture: Picture, pixel: tuple[float, float]
) -> Generator[Stage, None, str]:
    """Grasps at a pixel; returns the name of the final state."""
    number = robot.link.pick(picture.color.shot, picture.color.source, pixel)
    state = ""
    until_s = robot.clock_s() + TIMEOUT_S
    while robot.clock_s() < until_s:
        yield "grasping", 0.7
        state = robot.link.pick_state(number)
        if "SUCCEEDED" in state or "FAILED" in state or "NO_SOLUTION" in state or "LOST" in state:
            break
    # The gripper's content is in a later state, which may take some time to come.
    if "NO_SOLUTION" not in state:
        yield from _await(robot, lambda: _holds(robot), "grasping", FELT_S)
    return state


def _holds(robot: Robot) -> bool:
    return robot.state.holding


def _face(robot: Robot, point_m: Vec3) -> Motion:
    yield from turn(robot, bearing(robot.base, point_m))


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
        try:
            picture, pixel = yield from _find(robot, target_m, primitive.tolerance_m)
            text = yield from _grasp(robot, picture, pixel)
        except Ended:
            # What is not at its place any more may be in the hand.
            if not _holds(robot):
                raise
        # The gripper was empty: whatever was reported, it has closed on the thing.
        if _holds(robot):
            robot.link.keep_held()
            yield from _stow(robot)
            return success("picked", rounded_m(target_m))
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
            return success("placed", rounded_m((x, y, z)), on=on)
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
        return success(f"already {'open' if opens else 'closed'}", **where)
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
        feedback = robot.link.feedback(number).full_body_feedback.constrained_manipulation_feedback
        # 1 is running; 2 and 3 are stuck and lost.
        troubles.extend(status for status in (2, 3) if feedback.status == status)
        return bool(troubles or feedback.estimation_activated.value)

    in_time = yield from _await(robot, moved, "moving")
    robot.link.gripper(1.0)
    yield from _stow(robot)
    if troubles or not in_time:
        return PrimitiveResult(PrimitiveCode.BLOCKED, "it does not move", where)
    robot.map.moved(piece, joint, goal)
    return success("opened" if opens else "closed", **where)


# Routines for docking and undocking (rule 15).

DOCKING_TIMEOUT_S = 60.0
_GOING = "STATUS_IN_PROGRESS"


def before_dock(dock: Dock) -> Primitive:
    """The walk to where the robot sees the dock's marker."""
    x, y, yaw = dock.pose
    return Primitive(PrimitiveName.NAVIGATE, (x, y, 0.0), heading_rad=yaw, standoff_m=0.0)


def onto_dock(robot: Robot, dock: Dock) -> Routine:
    """Walks to the configured dock and onto it."""
    walk = before_dock(dock)
    there = yield from routine(robot, walk, walk.target_m, None)
    if not there.succeeded:
        return there
    status = yield from _follow(robot, lambda: robot.link.dock(dock.number), "docking")
    if status != "STATUS_DOCKED":
        return _failed(f"it did not get onto the dock {dock.number}: {status}")
    return PrimitiveResult(PrimitiveCode.SUCCESS, f"on the dock {dock.number}")


def off_dock(robot: Robot) -> Routine:
    """Walks off the dock and stops in front of it."""
    status = yield from _follow(robot, robot.link.undock, "undocking")
    if status != "STATUS_AT_PREP_POSE":
        return _failed(f"it did not get off the dock: {status}")
    return PrimitiveResult(PrimitiveCode.SUCCESS, "off the dock")


def _failed(text: str) -> PrimitiveResult:
    return PrimitiveResult(PrimitiveCode.BLOCKED, f"{text}; see to the robot")


def _follow(
    robot: Robot, begin: Callable[[], int], phase: str
) -> Generator[tuple[str, float], None, str]:
    """Extends the command until it has ended; returns the name of its last status."""
    number = begin()
    asked_s, until_s, status = -math.inf, robot.clock_s() + DOCKING_TIMEOUT_S, _GOING
    while status == _GOING and robot.clock_s() < until_s:
        if robot.clock_s() - asked_s >= robot.safety.motion.resend_s:
            status, asked_s = robot.link.docking(number), robot.clock_s()
        yield phase, 0.9
    return status
