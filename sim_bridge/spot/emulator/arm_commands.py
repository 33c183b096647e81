"""Arm commands and their feedback: poses, joints, named positions, gaze, velocity, force."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import arm_command_pb2, robot_command_pb2

from planner.world.geometry import Pose
from sim_bridge.spot.convert import pose_of, seconds_of, set_stamp
from sim_bridge.spot.emulator import service
from sim_bridge.spot.emulator.body_geometry import JOINTS, hand_in_body, pitch_rad
from sim_bridge.spot.emulator.house_world import ArmDrift, Reach
from sim_bridge.spot.emulator.machine import MAX_LIFT_M, MIN_LIFT_M, Machine, Motors

# Checks that reject a command with one of the SDK's statuses.

REPLY = robot_command_pb2.RobotCommandResponse


class CommandError(Exception):
    """A rejected command, with the SDK's status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def need_power(machine: Machine) -> None:
    """Rejects commands that need the motors while they are off or blocked by a fault.

    Raises:
        CommandError: if so.
    """
    if machine.motors is not Motors.ON:
        raise CommandError(REPLY.STATUS_NOT_POWERED_ON, "the motors are off")
    if machine.behavior_faults:
        raise CommandError(REPLY.STATUS_BEHAVIOR_FAULT, "a behavior fault is active")


def end_of(machine: Machine, stamp: Any) -> float:
    """The end time of a command, given in robot time, on the emulator's clock.

    Raises:
        CommandError: if it is past.
    """
    ends_s = seconds_of(stamp) - machine.skew_s
    if ends_s <= machine.now_s:
        raise CommandError(REPLY.STATUS_EXPIRED, "the end time is over")
    return ends_s


_NAMED = arm_command_pb2.NamedArmPositionsCommand
# The SDK's limit for points in a joint trajectory.
MAX_JOINT_POINTS = 250
_LOWEST_M, _HIGHEST_M = -0.1, 1.9
_UPRIGHT = Pose((0.0, 0.0, 0.0))


class ArmCommands:
    """The accepted commands, by number."""

    def __init__(self) -> None:
        self._reaches: dict[int, Reach] = {}

    def command(self, machine: Machine, number: int, command: Any) -> None:
        """Starts a command.

        Raises:
            CommandError: with the SDK's status, if it is rejected.
            KeyError: for an unknown frame.
        """
        kind = command.WhichOneof("command")
        makers = {
            "named_arm_position_command": _named,
            "arm_gaze_command": _gaze,
            "arm_cartesian_command": _cartesian,
            "arm_impedance_command": _impedance,
            "arm_joint_move_command": _joints,
        }
        machine.arm_drift, machine.stowed = None, False
        if kind == "arm_stop_command":
            machine.reach = None
        elif kind == "arm_velocity_command":
            machine.reach, machine.arm_drift = None, _velocity(machine, command)
        elif kind in makers:
            machine.reach = self._reaches[number] = makers[kind](machine, getattr(command, kind))
        else:
            raise CommandError(REPLY.STATUS_UNSUPPORTED, f"{kind} is not emulated")

    def feedback(self, machine: Machine, number: int, command: Any, told: Any) -> None:
        """Fills in the feedback."""
        kind = command.WhichOneof("command")
        reach = self._reaches.get(number)
        done, stalled = (reach.done, reach.stalled) if reach is not None else (False, False)
        overridden = reach is not None and not done and reach is not machine.reach
        if kind == "arm_gaze_command":
            gaze = arm_command_pb2.GazeCommand.Feedback
            shown = told.arm_gaze_feedback
            shown.status = gaze.STATUS_TRAJECTORY_COMPLETE if done else gaze.STATUS_IN_PROGRESS
            shown.gazing_at_target = shown.hand_position_at_goal = shown.hand_roll_at_goal = done
        elif kind in ("arm_cartesian_command", "arm_impedance_command"):
            shown = getattr(told, kind.replace("_command", "_feedback"))
            word = "STATUS_TRAJECTORY_COMPLETE" if done else "STATUS_IN_PROGRESS"
            if overridden:
                word = "STATUS_TRAJECTORY_CANCELLED"
            elif stalled:
                word = "STATUS_TRAJECTORY_STALLED"
            shown.status = shown.Status.Value(word)
            if kind == "arm_cartesian_command":
                self._distances(machine, reach, shown)
            else:
                service.fill(shown.transforms_snapshot, machine)
        elif kind == "named_arm_position_command":
            shown = told.named_arm_position_feedback
            kinds = _NAMED.Feedback
            shown.status = kinds.STATUS_COMPLETE if done else kinds.STATUS_IN_PROGRESS
            if stalled:
                shown.status = kinds.STATUS_STALLED_HOLDING_ITEM
        elif kind == "arm_joint_move_command":
            shown = told.arm_joint_move_feedback
            shown.status = shown.STATUS_COMPLETE if done else shown.STATUS_IN_PROGRESS
            shown.planner_status = shown.PLANNER_STATUS_SUCCESS
            shown.planned_points.extend(command.arm_joint_move_command.trajectory.points[-10:])
            left_s = 0.0 if reach is None or done else max(0.0, reach.not_before_s - machine.now_s)
            set_stamp(shown.time_to_goal, left_s)
        elif kind == "arm_velocity_command":
            told.arm_velocity_feedback.SetInParent()
        else:
            told.arm_stop_feedback.SetInParent()

    def _distances(self, machine: Machine, reach: Reach | None, shown: Any) -> None:
        """The hand's distance from its goal, which it reaches at the trajectory's end."""
        if reach is None or reach.hand is None or reach.done:
            return
        here = machine.arm_hand or machine.world.hand()
        shown.measured_pos_distance_to_goal = math.dist(here.position_m, reach.hand.position_m)
        turn = Pose(_UPRIGHT.position_m, here.inverse().compose(reach.hand).orientation)
        shown.measured_rot_distance_to_goal = 2 * math.acos(min(1.0, abs(turn.orientation[3])))


def _named(machine: Machine, request: Any) -> Reach:
    stows = request.position == _NAMED.POSITIONS_STOW
    rest = Reach(0.0, machine.world.agent.rest_tilt_rad, stows=stows)
    if stows and machine.holds and not machine.stowable:
        rest = Reach(machine.world.agent.pan_rad, machine.world.agent.tilt_rad, stalled=True)
        rest.lift_m = machine.world.lift_m
        return rest
    machine.tool = None
    return rest


def _gaze(machine: Machine, request: Any) -> Reach:
    world = machine.world
    points = request.target_trajectory_in_frame1.points
    if not points:
        raise CommandError(REPLY.STATUS_INVALID_REQUEST, "a trajectory without points")
    target = points[-1].point
    point = Pose((target.x, target.y, target.z))
    pan, tilt = world.gaze(service.in_map(machine, request.frame1_name, point).position_m)
    machine.tool = None
    return Reach(pan, tilt, world.lift_m)


def _cartesian(machine: Machine, request: Any) -> Reach:
    world, agent = machine.world, machine.world.agent
    trajectory = request.pose_trajectory_in_task
    if not trajectory.points:
        if not request.wrench_trajectory_in_task.points:
            raise CommandError(REPLY.STATUS_INVALID_REQUEST, "a trajectory without points")
        # Force alone moves nothing here: what the gripper presses against never yields.
        ends_s = _end_of_trajectory(machine, request.wrench_trajectory_in_task)
        return Reach(
            agent.pan_rad,
            agent.tilt_rad,
            world.lift_m,
            not_before_s=ends_s,
            hand=machine.arm_hand or world.hand(),
        )
    return pose_reach(machine, request, trajectory)


def _impedance(machine: Machine, request: Any) -> Reach:
    trajectory = request.task_tform_desired_tool
    if not trajectory.points:
        raise CommandError(REPLY.STATUS_INVALID_REQUEST, "a trajectory without points")
    return pose_reach(machine, request, trajectory)


def pose_reach(machine: Machine, request: Any, trajectory: Any) -> Reach:
    """The last pose of a tool trajectory, reached when the trajectory ends."""
    world, agent = machine.world, machine.world.agent
    task = pose_of(request.root_tform_task) if request.HasField("root_tform_task") else _UPRIGHT
    wanted = task.compose(pose_of(trajectory.points[-1].pose))
    if request.HasField("wrist_tform_tool"):
        tool_in_hand = service.WRIST_IN_HAND.compose(pose_of(request.wrist_tform_tool))
        wanted = wanted.compose(tool_in_hand.inverse())
    in_map = service.in_map(machine, request.root_frame_name, wanted)
    hand = world.base.inverse().compose(in_map)
    x, y, z = hand.position_m
    stalled = math.hypot(x, y) > agent.body.reach_m or not (_LOWEST_M < z < _HIGHEST_M)
    if stalled:
        return Reach(agent.pan_rad, agent.tilt_rad, world.lift_m, stalled=True)
    machine.tool = in_map.position_m
    return Reach(
        agent.pan_rad,
        agent.tilt_rad,
        z - agent.body.hand_m[2],
        # A single pose is reached as fast as the arm can move.
        not_before_s=_end_of_trajectory(machine, trajectory) if len(trajectory.points) > 1 else 0.0,
        hand=hand,
    )


def _joints(machine: Machine, request: Any) -> Reach:
    trajectory = request.trajectory
    if not 0 < len(trajectory.points) <= MAX_JOINT_POINTS:
        text = f"expected 1 to {MAX_JOINT_POINTS} points, got {len(trajectory.points)}"
        raise CommandError(REPLY.STATUS_INVALID_REQUEST, text)
    last = trajectory.points[-1].position
    now = _joints_now(machine)
    joints = tuple(
        getattr(last, name).value if last.HasField(name) else now[index]
        for index, name in enumerate(JOINTS)
    )
    body = machine.world.agent.body
    hand = service.body_in_base(machine).compose(hand_in_body(joints))
    machine.tool = machine.world.base.compose(hand).position_m
    return Reach(
        joints[0],
        max(-1.5, min(1.5, pitch_rad(hand))),
        max(-MIN_LIFT_M, min(MAX_LIFT_M, hand.position_m[2] - body.hand_m[2])),
        not_before_s=_end_of_trajectory(machine, trajectory),
        hand=hand,
        joints_rad=joints,
    )


def _joints_now(machine: Machine) -> tuple[float, ...]:
    agent = machine.world.agent
    return machine.arm_joints_rad or (agent.pan_rad, 0.0, 0.0, 0.0, agent.tilt_rad, 0.0)


def _velocity(machine: Machine, command: Any) -> ArmDrift:
    """Around the body and vertically; radially the emulated arm has a fixed length."""
    request = command.arm_velocity_command
    ends_s = end_of(machine, request.end_time)
    if request.HasField("cartesian_velocity"):
        wanted = request.cartesian_velocity.velocity_in_frame_name
        reach_m = max(machine.world.agent.body.hand_m[0], 0.3)
        return ArmDrift(wanted.y / reach_m, wanted.z, ends_s)
    wanted = request.cylindrical_velocity
    most = wanted.max_linear_velocity.value or 0.5
    around = max(-1.0, min(1.0, wanted.linear_velocity.theta)) * most
    return ArmDrift(around, max(-1.0, min(1.0, wanted.linear_velocity.z)) * most, ends_s)


def _end_of_trajectory(machine: Machine, trajectory: Any) -> float:
    """When the last point of a trajectory is due, on the emulator's clock."""
    began_s = machine.now_s
    if trajectory.HasField("reference_time"):
        began_s = seconds_of(trajectory.reference_time) - machine.skew_s
    return began_s + seconds_of(trajectory.points[-1].time_since_reference)
