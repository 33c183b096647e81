"""Primitives as routines: each yields between ticks; its commands expire by themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import suppress

from planner.world.geometry import Pose, Vec3, rounded_m
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.embedded.manipulation import RefusalError
from sim_bridge.routine import Check, Ended, Motion, Routine, Stage, success
from sim_bridge.spot.advice import LINK_ERRORS
from sim_bridge.spot.body import hand_before_body
from sim_bridge.spot.picture import Picture, distance_m
from sim_bridge.spot.robot import Robot
from sim_bridge.spot.walking import bearing, navigate, turn

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
