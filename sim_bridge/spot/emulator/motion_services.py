"""Robot commands and their feedback: posture, walking, arm, gripper, held handles."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import (
    arm_command_pb2,
    basic_command_pb2,
    gripper_command_pb2,
    robot_command_pb2,
)
from bosdyn.api.spot import robot_command_pb2 as spot_pb2

from planner.world.geometry import Pose
from sim_bridge.embedded.entities import OPEN_ENOUGH
from sim_bridge.spot.convert import pose_of, seconds_of
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.machine import (
    JOINT_S,
    MOST_SPEED_M_S,
    MOST_TURN_RAD_S,
    Machine,
    Motors,
    Posture,
    Pull,
    Reach,
    Walk,
)
from sim_bridge.spot.emulator.service import Handler, use_lease

_REPLY = robot_command_pb2.RobotCommandResponse
_DONE = basic_command_pb2.RobotCommandFeedbackStatus.STATUS_PROCESSING


class CommandError(Exception):
    """A command that is refused, with the SDK's status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Commands:
    """The commands that were given, by number, for their feedback."""

    def __init__(self) -> None:
        self._walks: dict[int, Walk] = {}
        self._reaches: dict[int, Reach] = {}
        self._pulls: dict[int, Pull] = {}
        self._kinds: dict[int, Any] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.RobotCommandService": {
                "RobotCommand": self._command,
                "RobotCommandFeedback": self._feedback,
                "ClearBehaviorFault": _clear_fault,
            }
        }

    def _command(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        number = response.robot_command_id = machine.next_number()
        command = request.command
        self._kinds[number] = command
        try:
            if command.HasField("full_body_command"):
                self._full_body(machine, number, command.full_body_command)
            else:
                self._synchronized(machine, number, command.synchronized_command)
        except CommandError as error:
            response.status, response.message = error.status, str(error)
            return
        except KeyError as error:
            response.status, response.message = _REPLY.STATUS_UNKNOWN_FRAME, f"no frame {error}"
            return
        response.status = _REPLY.STATUS_OK

    # Full body

    def _full_body(self, machine: Machine, number: int, command: Any) -> None:
        kind = command.WhichOneof("command")
        if kind in ("stop_request", "freeze_request"):
            machine.halt()
        elif kind == "safe_power_off_request":
            machine.pose(stand=False)
            machine.power(on=False)
        elif kind == "constrained_manipulation_request":
            _need_power(machine)
            self._pull(machine, number, command.constrained_manipulation_request)
        else:
            raise CommandError(_REPLY.STATUS_UNSUPPORTED, f"{kind} is not emulated")

    def _pull(self, machine: Machine, number: int, request: Any) -> None:
        handle = machine.held_handle
        if handle is None:
            raise CommandError(_REPLY.STATUS_INVALID_REQUEST, "the gripper holds no handle")
        _ends_s(machine, request.end_time)
        force = request.init_wrench_direction_in_frame_name.force
        turned = Pose(
            (0.0, 0.0, 0.0), frames.in_map(machine, request.frame_name, Pose((0, 0, 0))).orientation
        )
        direction = turned.apply((force.x, force.y, force.z))
        was = handle.piece.opening[handle.joint.name]
        helps = machine.world.opens(handle, direction)
        wide = was >= OPEN_ENOUGH
        # Pulling an open door further, or pushing a closed one, moves nothing.
        goal = (1.0 if not wide else 0.0) if helps != wide else was
        machine.pull = self._pulls[number] = Pull(handle, goal, machine.now_s, was)

    # Arm, mobility and gripper together

    def _synchronized(self, machine: Machine, number: int, command: Any) -> None:
        _need_power(machine)
        if machine.docked and command.mobility_command.WhichOneof("command") not in (
            None,
            "sit_request",
            "stop_request",
        ):
            raise CommandError(_REPLY.STATUS_DOCKED, "it is on a dock")
        if command.HasField("mobility_command"):
            self._mobility(machine, number, command.mobility_command)
        if command.HasField("arm_command"):
            self._arm(machine, number, command.arm_command)
        if command.HasField("gripper_command"):
            points = command.gripper_command.claw_gripper_command.trajectory.points
            if points:
                # The claw's joint: 0 closed, -1.57 rad wide open.
                machine.move_gripper(min(1.0, max(0.0, points[-1].point / -1.5708)))

    def _mobility(self, machine: Machine, number: int, command: Any) -> None:
        kind = command.WhichOneof("command")
        if kind in ("stand_request", "sit_request"):
            machine.pose(stand=kind == "stand_request")
        elif kind == "stop_request":
            machine.halt()
        elif kind == "se2_trajectory_request":
            self._walk_to(machine, number, command)
        elif kind == "se2_velocity_request":
            request = command.se2_velocity_request
            velocity = request.velocity
            self._begin(
                machine,
                number,
                Walk(
                    ends_s=_ends_s(machine, request.end_time),
                    velocity=(velocity.linear.x, velocity.linear.y, velocity.angular),
                ),
            )
        else:
            raise CommandError(_REPLY.STATUS_UNSUPPORTED, f"{kind} is not emulated")

    def _walk_to(self, machine: Machine, number: int, command: Any) -> None:
        request = command.se2_trajectory_request
        points = request.trajectory.points
        if not points:
            raise CommandError(_REPLY.STATUS_INVALID_REQUEST, "a trajectory without points")
        goal = points[-1].pose
        params = spot_pb2.MobilityParams()
        command.params.Unpack(params)
        limit = params.vel_limit.max_vel
        pose = Pose.planar(goal.position.x, goal.position.y, goal.angle)
        self._begin(
            machine,
            number,
            Walk(
                ends_s=_ends_s(machine, request.end_time),
                goal=frames.in_map(machine, request.se2_frame_name, pose),
                speed_m_s=min(limit.linear.x or MOST_SPEED_M_S, MOST_SPEED_M_S),
                turn_rad_s=min(limit.angular or MOST_TURN_RAD_S, MOST_TURN_RAD_S),
            ),
        )

    def _begin(self, machine: Machine, number: int, walk: Walk) -> None:
        if machine.posture is Posture.SITTING:
            machine.pose(stand=True)
        if machine.walk is not None:
            machine.walk.ended = True
        machine.walk = self._walks[number] = walk

    def _arm(self, machine: Machine, number: int, command: Any) -> None:
        kind = command.WhichOneof("command")
        world = machine.world
        rest = Reach(0.0, world.agent.rest_tilt_rad)
        if kind == "named_arm_position_command":
            machine.reach, machine.tool = rest, None
        elif kind == "arm_gaze_command":
            request = command.arm_gaze_command
            target = request.target_trajectory_in_frame1.points[-1].point
            point = Pose((target.x, target.y, target.z))
            pan, tilt = world.gaze(frames.in_map(machine, request.frame1_name, point).position_m)
            machine.reach, machine.tool = Reach(pan, tilt, world.lift_m), None
        elif kind == "arm_cartesian_command":
            machine.reach = self._cartesian(machine, command.arm_cartesian_command)
        elif kind == "arm_stop_command":
            machine.reach = None
        else:
            raise CommandError(_REPLY.STATUS_UNSUPPORTED, f"{kind} is not emulated")
        if machine.reach is not None:
            self._reaches[number] = machine.reach

    def _cartesian(self, machine: Machine, request: Any) -> Reach:
        world, agent = machine.world, machine.world.agent
        points = request.pose_trajectory_in_task.points
        if not points:
            raise CommandError(_REPLY.STATUS_INVALID_REQUEST, "a trajectory without points")
        task = (
            pose_of(request.root_tform_task)
            if request.HasField("root_tform_task")
            else Pose((0.0, 0.0, 0.0))
        )
        wanted = task.compose(pose_of(points[-1].pose))
        hand = frames.in_map(machine, request.root_frame_name, wanted)
        x, y, z = world.base.inverse().apply(hand.position_m)
        if math.hypot(x, y) > agent.body.reach_m or not (-0.1 < z < 1.9):
            raise CommandError(_REPLY.STATUS_INVALID_REQUEST, "the hand does not reach so far")
        machine.tool = hand.position_m
        return Reach(agent.pan_rad, agent.tilt_rad, z - agent.body.hand_m[2])

    # Feedback

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        number = request.robot_command_id
        command = self._kinds.get(number)
        feedback = response.feedback
        if command is None:
            status = basic_command_pb2.RobotCommandFeedbackStatus.STATUS_COMMAND_OVERRIDDEN
            feedback.full_body_feedback.status = status
            return
        if command.HasField("full_body_command"):
            feedback.full_body_feedback.status = _DONE
            self._full_body_feedback(machine, number, command, feedback.full_body_feedback)
            return
        self._synchronized_feedback(
            machine, number, command.synchronized_command, feedback.synchronized_feedback
        )

    def _full_body_feedback(self, machine: Machine, number: int, command: Any, shown: Any) -> None:
        kind = command.full_body_command.WhichOneof("command")
        if kind == "constrained_manipulation_request":
            told, pull = shown.constrained_manipulation_feedback, self._pulls[number]
            kinds = basic_command_pb2.ConstrainedManipulationCommand.Feedback
            stuck = pull.goal == pull.start and machine.now_s - pull.since_s > JOINT_S / 3
            told.status = kinds.STATUS_ARM_IS_STUCK if stuck else kinds.STATUS_RUNNING
            if pull.lost or machine.held_handle is None:
                told.status = kinds.STATUS_GRASP_IS_LOST
            told.estimation_activated.value = machine.now_s - pull.since_s >= JOINT_S
        elif kind == "safe_power_off_request":
            kinds = basic_command_pb2.SafePowerOffCommand.Feedback
            off = machine.motors is Motors.OFF
            shown.safe_power_off_feedback.status = (
                kinds.STATUS_POWERED_OFF if off else kinds.STATUS_IN_PROGRESS
            )
        else:
            shown.stop_feedback.SetInParent()

    def _synchronized_feedback(
        self, machine: Machine, number: int, command: Any, shown: Any
    ) -> None:
        if command.HasField("mobility_command"):
            told = shown.mobility_command_feedback
            told.status = _DONE
            self._mobility_feedback(machine, number, command.mobility_command, told)
        if command.HasField("arm_command"):
            told = shown.arm_command_feedback
            told.status = _DONE
            self._arm_feedback(number, command.arm_command, told)
        if command.HasField("gripper_command"):
            told = shown.gripper_command_feedback
            told.status = _DONE
            kinds = gripper_command_pb2.ClawGripperCommand.Feedback
            there = abs(machine.gripper - machine.gripper_goal) < 1e-3
            told.claw_gripper_feedback.status = (
                kinds.STATUS_AT_GOAL if there else kinds.STATUS_IN_PROGRESS
            )

    def _mobility_feedback(self, machine: Machine, number: int, command: Any, told: Any) -> None:
        kind = command.WhichOneof("command")
        if kind == "stand_request":
            stand = basic_command_pb2.StandCommand.Feedback
            up = machine.posture is Posture.STANDING
            told.stand_feedback.status = (
                stand.STATUS_IS_STANDING if up else stand.STATUS_IN_PROGRESS
            )
            told.stand_feedback.standing_state = stand.STANDING_CONTROLLED
        elif kind == "sit_request":
            sit = basic_command_pb2.SitCommand.Feedback
            down = machine.posture is Posture.SITTING
            told.sit_feedback.status = sit.STATUS_IS_SITTING if down else sit.STATUS_IN_PROGRESS
        elif kind == "se2_trajectory_request":
            kinds = basic_command_pb2.SE2TrajectoryCommand.Feedback
            walk, shown = self._walks[number], told.se2_trajectory_feedback
            there = walk.arrived
            over = there or walk.ended
            shown.status = kinds.STATUS_STOPPED if over else kinds.STATUS_GOING_TO_GOAL
            shown.body_movement_status = (
                kinds.BODY_STATUS_SETTLED if over else kinds.BODY_STATUS_MOVING
            )
            shown.final_goal_status = (
                kinds.FINAL_GOAL_STATUS_ACHIEVABLE if there else kinds.FINAL_GOAL_STATUS_IN_PROGRESS
            )
        elif kind == "se2_velocity_request":
            told.se2_velocity_feedback.SetInParent()
        else:
            told.stop_feedback.SetInParent()

    def _arm_feedback(self, number: int, command: Any, told: Any) -> None:
        kind = command.WhichOneof("command")
        done = number in self._reaches and self._reaches[number].done
        if kind == "arm_gaze_command":
            gaze = arm_command_pb2.GazeCommand.Feedback
            shown = told.arm_gaze_feedback
            shown.status = gaze.STATUS_TRAJECTORY_COMPLETE if done else gaze.STATUS_IN_PROGRESS
            shown.gazing_at_target = shown.hand_position_at_goal = shown.hand_roll_at_goal = done
        elif kind == "arm_cartesian_command":
            line = arm_command_pb2.ArmCartesianCommand.Feedback
            told.arm_cartesian_feedback.status = (
                line.STATUS_TRAJECTORY_COMPLETE if done else line.STATUS_IN_PROGRESS
            )
        elif kind == "named_arm_position_command":
            named = arm_command_pb2.NamedArmPositionsCommand.Feedback
            told.named_arm_position_feedback.status = (
                named.STATUS_COMPLETE if done else named.STATUS_IN_PROGRESS
            )


def _need_power(machine: Machine) -> None:
    if machine.motors is not Motors.ON:
        raise CommandError(_REPLY.STATUS_NOT_POWERED_ON, "the motors are off")
    if machine.behavior_faults:
        raise CommandError(_REPLY.STATUS_BEHAVIOR_FAULT, "a behavior fault is active")


def _ends_s(machine: Machine, stamp: Any) -> float:
    """The end time of a command, given in the robot's time, on the emulator's clock."""
    ends_s = seconds_of(stamp) - machine.skew_s
    if ends_s <= machine.now_s:
        raise CommandError(_REPLY.STATUS_EXPIRED, "the end time is over")
    return ends_s


def _clear_fault(machine: Machine, request: Any, response: Any) -> None:
    if not use_lease(machine, request.lease, response.lease_use_result):
        return
    reply = robot_command_pb2.ClearBehaviorFaultResponse
    known = machine.behavior_faults.pop(request.behavior_fault_id, None) is not None
    response.status = reply.STATUS_CLEARED if known else reply.STATUS_NOT_CLEARED
