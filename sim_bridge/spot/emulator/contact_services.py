"""Commands by contact: wiping a surface, opening a door autonomously."""

from __future__ import annotations

from typing import Any

from bosdyn.api import basic_command_pb2, lease_pb2
from bosdyn.api.spot import door_pb2

from planner.world.geometry import Pose, Vec3
from sim_bridge.embedded.entities import OPEN_ENOUGH
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.arm_commands import pose_reach
from sim_bridge.spot.emulator.command_checks import CommandError, need_power
from sim_bridge.spot.emulator.machine import GRASP_S, JOINT_S, Machine
from sim_bridge.spot.emulator.motions import Pull
from sim_bridge.spot.emulator.service import Handler, use_lease

_DOOR = door_pb2.DoorCommand.Feedback
_COMMAND = basic_command_pb2.RobotCommandFeedbackStatus
# A handle is searched this many times beyond the end of the search ray.
_BEYOND = 2.0


class Contacts:
    """Door commands by number: the pull and its end, or None."""

    def __init__(self) -> None:
        self._doors: dict[int, tuple[Pull, float] | None] = {}
        self._latest = 0

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods."""
        return {
            "bosdyn.api.ArmSurfaceContactService": {"ArmSurfaceContact": _wipe},
            "bosdyn.api.spot.DoorService": {
                "OpenDoor": self._open,
                "OpenDoorFeedback": self._feedback,
            },
        }

    def _open(self, machine: Machine, request: Any, response: Any) -> None:
        """Grasps the handle near the search ray and pulls it open."""
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        try:
            need_power(machine)
        except CommandError as error:
            response.status, response.message = response.STATUS_ROBOT_COMMAND_ERROR, str(error)
            return
        response.status = response.STATUS_OK
        number = response.door_command_id = self._latest = machine.next_number()
        self._doors[number] = None
        command = request.door_command
        if not command.HasField("auto_grasp_command"):
            response.status = response.STATUS_ROBOT_COMMAND_ERROR
            response.message = "only the automatic grasp is emulated"
            return
        ray, world = command.auto_grasp_command, machine.world
        start = _point(machine, ray.frame_name, ray.search_ray_start_in_frame)
        end = _point(machine, ray.frame_name, ray.search_ray_end_in_frame)
        instance, point = world.between(start, _further(start, end))
        handle = None if point is None else world.handle_at(instance, point)
        if handle is None:
            return
        was = handle.piece.opening[handle.joint.name]
        since_s = machine.now_s + GRASP_S
        pull = machine.pull = Pull(handle, 1.0 if was < OPEN_ENOUGH else was, since_s, was)
        machine.held_handle = handle
        self._doors[number] = (pull, since_s + JOINT_S)

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        number = request.door_command_id
        response.status = _COMMAND.STATUS_PROCESSING
        if number not in self._doors or number != self._latest:
            response.status = _COMMAND.STATUS_COMMAND_OVERRIDDEN
            return
        begun = self._doors[number]
        if begun is None:
            response.feedback.status = _DOOR.STATUS_NOT_DETECTED
            return
        pull, ends_s = begun
        if machine.now_s >= ends_s:
            response.feedback.status = _DOOR.STATUS_COMPLETED
            if machine.pull is pull:
                machine.pull = machine.held_handle = None
        elif machine.pull is not pull or pull.lost:
            response.feedback.status = _DOOR.STATUS_STALLED
        else:
            response.feedback.status = _DOOR.STATUS_IN_PROGRESS


def _wipe(machine: Machine, request: Any, response: Any) -> None:
    """Follows the trajectory without contact; the response has no status."""
    response.SetInParent()
    if not use_lease(machine, request.lease, lease_pb2.LeaseUseResult()):
        return
    try:
        need_power(machine)
        machine.reach = pose_reach(
            machine, request.request, request.request.pose_trajectory_in_task
        )
    except (CommandError, KeyError):
        return
    points = request.request.gripper_command.trajectory.points
    if points:
        machine.move_gripper(min(1.0, max(0.0, points[-1].point / -1.5708)))


def _point(machine: Machine, frame: str, point: Any) -> Vec3:
    return frames.in_map(machine, frame, Pose((point.x, point.y, point.z))).position_m


def _further(start: Vec3, end: Vec3) -> Vec3:
    x, y, z = (a + (b - a) * _BEYOND for a, b in zip(start, end, strict=True))
    return (x, y, z)
