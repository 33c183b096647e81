"""Robot commands and their feedback: posture, walking, gripper, held handles; arm commands."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import basic_command_pb2, gripper_command_pb2, robot_command_pb2
from bosdyn.api.spot import robot_command_pb2 as spot_pb2

from planner.world.geometry import Pose
from sim_bridge.embedded.entities import OPEN_ENOUGH
from sim_bridge.spot.emulator import service
from sim_bridge.spot.emulator.arm_commands import (
    REPLY,
    ArmCommands,
    CommandError,
    end_of,
    need_power,
)
from sim_bridge.spot.emulator.house_world import MAX_TURN_RAD_S, MAX_WALK_SPEED_M_S, Pull, Walk
from sim_bridge.spot.emulator.machine import JOINT_S, Machine, Motors, Posture
from sim_bridge.spot.emulator.service import Handler, use_lease

# Distance of the hand from the robot's centre while the body follows it.
_FOLLOWED_M = 0.9
_FOLLOW_S = 20.0
# A stance is possible if the feet are requested within this distance of the body.
_STANCE_M = 0.5
_DONE = basic_command_pb2.RobotCommandFeedbackStatus.STATUS_PROCESSING


class Commands:
    """The accepted commands, by number, for their feedback."""

    def __init__(self) -> None:
        self._walks: dict[int, Walk] = {}
        self._arm = ArmCommands()
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
            response.status, response.message = REPLY.STATUS_UNKNOWN_FRAME, f"no frame {error}"
            return
        response.status = REPLY.STATUS_OK

    # Full body

    def _full_body(self, machine: Machine, number: int, command: Any) -> None:
        kind = command.WhichOneof("command")
        if kind in ("stop_request", "freeze_request"):
            machine.halt()
        elif kind == "safe_power_off_request":
            machine.pose(stand=False)
            machine.power(on=False)
        elif kind == "constrained_manipulation_request":
            need_power(machine)
            self._pull(machine, number, command.constrained_manipulation_request)
        elif kind in ("selfright_request", "battery_change_pose_request"):
            # It is never on its back, so self-righting means sitting; for a battery change it would
            # roll onto its side, which is sitting here.
            need_power(machine)
            machine.pose(stand=False)
        else:
            raise CommandError(REPLY.STATUS_UNSUPPORTED, f"{kind} is not emulated")

    def _pull(self, machine: Machine, number: int, request: Any) -> None:
        handle = machine.held_handle
        if handle is None:
            raise CommandError(REPLY.STATUS_INVALID_REQUEST, "the gripper holds no handle")
        end_of(machine, request.end_time)
        force = request.init_wrench_direction_in_frame_name.force
        turned = Pose(
            (0.0, 0.0, 0.0),
            service.in_map(machine, request.frame_name, Pose((0, 0, 0))).orientation,
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
        need_power(machine)
        if machine.docked and command.mobility_command.WhichOneof("command") not in (
            None,
            "sit_request",
            "stop_request",
        ):
            raise CommandError(REPLY.STATUS_DOCKED, "it is on a dock")
        if command.HasField("mobility_command"):
            self._mobility(machine, number, command.mobility_command)
        if command.HasField("arm_command"):
            self._arm.command(machine, number, command.arm_command)
            if command.mobility_command.HasField("follow_arm_request"):
                self._follow(machine, number)
        if command.HasField("gripper_command"):
            points = command.gripper_command.claw_gripper_command.trajectory.points
            if points:
                # The claw's joint: 0 closed, -1.57 rad wide open.
                machine.move_gripper(min(1.0, max(0.0, points[-1].point / -1.5708)))

    def _mobility(self, machine: Machine, number: int, command: Any) -> None:
        kind = command.WhichOneof("command")
        if kind in ("stand_request", "sit_request"):
            machine.pose(stand=kind == "stand_request")
        elif kind in ("stop_request", "freeze_request"):
            machine.halt()
        elif kind == "stance_request":
            end_of(machine, command.stance_request.end_time)
            if machine.walk is not None:
                machine.halt()
            if machine.posture is Posture.SITTING:
                machine.pose(stand=True)
        elif kind == "follow_arm_request":
            if machine.posture is Posture.SITTING:
                machine.pose(stand=True)
        elif kind == "se2_trajectory_request":
            self._walk_to(machine, number, command)
        elif kind == "se2_velocity_request":
            request = command.se2_velocity_request
            velocity = request.velocity
            self._begin(
                machine,
                number,
                Walk(
                    ends_s=end_of(machine, request.end_time),
                    velocity=(velocity.linear.x, velocity.linear.y, velocity.angular),
                ),
            )
        else:
            raise CommandError(REPLY.STATUS_UNSUPPORTED, f"{kind} is not emulated")

    def _walk_to(self, machine: Machine, number: int, command: Any) -> None:
        request = command.se2_trajectory_request
        points = request.trajectory.points
        if not points:
            raise CommandError(REPLY.STATUS_INVALID_REQUEST, "a trajectory without points")
        goal = points[-1].pose
        params = spot_pb2.MobilityParams()
        command.params.Unpack(params)
        limit = params.vel_limit.max_vel
        pose = Pose.planar(goal.position.x, goal.position.y, goal.angle)
        self._begin(
            machine,
            number,
            Walk(
                ends_s=end_of(machine, request.end_time),
                goal=service.in_map(machine, request.se2_frame_name, pose),
                speed_m_s=min(limit.linear.x or MAX_WALK_SPEED_M_S, MAX_WALK_SPEED_M_S),
                turn_rad_s=min(limit.angular or MAX_TURN_RAD_S, MAX_TURN_RAD_S),
            ),
        )

    def _follow(self, machine: Machine, number: int) -> None:
        """Walks until the hand's goal is ahead of the body, without turning."""
        if machine.tool is None:
            return
        base = machine.world.base
        x, y, _ = base.inverse().apply(machine.tool)
        goal = base.compose(Pose.planar(x - _FOLLOWED_M, y, 0.0))
        self._begin(machine, number, Walk(ends_s=machine.now_s + _FOLLOW_S, goal=goal))

    def _begin(self, machine: Machine, number: int, walk: Walk) -> None:
        if machine.posture is Posture.SITTING:
            machine.pose(stand=True)
        if machine.walk is not None:
            machine.walk.ended = True
        machine.walk = self._walks[number] = walk

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
        elif kind in ("selfright_request", "battery_change_pose_request"):
            down = machine.posture is Posture.SITTING
            told = getattr(shown, kind.replace("_request", "_feedback"))
            told.status = told.STATUS_COMPLETED if down else told.STATUS_IN_PROGRESS
        elif kind == "freeze_request":
            shown.freeze_feedback.SetInParent()
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
            self._arm.feedback(machine, number, command.arm_command, told)
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
        elif kind == "stance_request":
            told.stance_feedback.status = self._stance(machine, command.stance_request)
        elif kind == "follow_arm_request":
            told.follow_arm_feedback.SetInParent()
        elif kind == "freeze_request":
            told.freeze_feedback.SetInParent()
        else:
            told.stop_feedback.SetInParent()

    def _stance(self, machine: Machine, request: Any) -> Any:
        """The feet are where they are requested at once; a stance elsewhere is too far away."""
        kinds = basic_command_pb2.StanceCommand.Feedback
        stance = request.stance
        feet = [(foot.x, foot.y) for foot in stance.foot_positions.values()]
        if feet:
            x, y = (sum(each) / len(feet) for each in zip(*feet, strict=True))
            middle = service.in_map(machine, stance.se2_frame_name, Pose((x, y, 0.0)))
            apart_m = math.dist(middle.position_m[:2], machine.world.base.position_m[:2])
            if apart_m > _STANCE_M:
                return kinds.STATUS_TOO_FAR_AWAY
        up = machine.posture is Posture.STANDING
        return kinds.STATUS_STANCED if up else kinds.STATUS_GOING_TO_STANCE


def _clear_fault(machine: Machine, request: Any, response: Any) -> None:
    if not use_lease(machine, request.lease, response.lease_use_result):
        return
    reply = robot_command_pb2.ClearBehaviorFaultResponse
    known = machine.behavior_faults.pop(request.behavior_fault_id, None) is not None
    response.status = reply.STATUS_CLEARED if known else reply.STATUS_NOT_CLEARED
