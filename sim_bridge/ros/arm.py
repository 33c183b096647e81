"""Moving the arm and the gripper, by MoveIt or by joint trajectories of our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.world.geometry import Pose
from planner.world.primitive import PrimitiveCode
from sim_bridge.ros.answers import does_not_get_there, explain
from sim_bridge.ros.options import ArmMethod
from sim_bridge.ros.port import Waypoint
from sim_bridge.ros.robot import Robot, finish, finish_all, wait
from sim_bridge.routine import Check, Ended, Motion

# The turn that does not matter where only the place does.
LOOSE_RAD = 0.6


def carry(robot: Robot) -> Motion:
    """Folds the arm for driving."""
    yield from posture(robot, robot.options.arm.carry, "stowing")


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
    """Moves all controllers of the arm through positions, each as fast as the slowest allows."""
    before, due_s = arm_now(robot), 0.0
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
    yield from finish_all(robot, errands, phase, due_s + 10.0)


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
