"""Moving the arm and the gripper, by MoveIt or by joint trajectories of our own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Mapping, Sequence

from planner.world.geometry import Pose
from planner.world.primitive import PrimitiveCode
from sim_bridge.ros.answers import does_not_get_there, explain
from sim_bridge.ros.options import ArmMethod, Controller
from sim_bridge.ros.port import Waypoint
from sim_bridge.ros.robot import Robot, finish, finish_all, wait
from sim_bridge.routine import Check, Ended, Motion, Stage
from sim_bridge.safety.watch import zone_at

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
