"""The dock: docking, undocking, and whether the robot is on it."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api.docking import docking_pb2

from sim_bridge.spot.convert import seconds_of, set_stamp
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.emulator.motions import Docking
from sim_bridge.spot.emulator.service import Handler, use_lease

# Maximum distance at which a robot sees the dock's marker.
NEAR_M = 1.5
_STATUS = docking_pb2.DockingCommandFeedbackResponse


class Docks:
    """The accepted commands, by number."""

    def __init__(self) -> None:
        self._commands: dict[int, Docking] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.docking.DockingService": {
                "DockingCommand": self._command,
                "DockingCommandFeedback": self._feedback,
                "GetDockingConfig": _config,
                "GetDockingState": _state,
            }
        }

    def _command(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            response.status = response.STATUS_ERROR_LEASE
            return
        undocks = request.prep_pose_behavior == docking_pb2.PREP_POSE_UNDOCK
        dock = machine.docks.get(request.docking_station_id)
        if machine.motors is not Motors.ON or machine.behavior_faults:
            response.status = response.STATUS_ERROR_NOT_AVAILABLE
        elif undocks and not machine.docked:
            response.status = response.STATUS_ERROR_NOT_DOCKED
        elif not undocks and machine.world.agent.holding is not None:
            response.status = response.STATUS_ERROR_GRIPPER_HOLDING_ITEM
        elif not undocks and (dock is None or _gap_m(machine, dock) > NEAR_M):
            response.status = response.STATUS_ERROR_DOCK_NOT_FOUND
        else:
            number = response.docking_command_id = machine.next_number()
            ends_s = seconds_of(request.end_time) - machine.skew_s
            if machine.posture is Posture.SITTING and not undocks:
                machine.pose(stand=True)
            machine.halt()
            station = 0 if undocks else request.docking_station_id
            machine.docking = self._commands[number] = Docking(station, ends_s)
            response.status = response.STATUS_OK

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        docking = self._commands.get(request.docking_command_id)
        if docking is None:
            response.status = _STATUS.STATUS_OLD_DOCKING_COMMAND
            return
        if request.HasField("update_docking_params"):
            ends_s = seconds_of(request.update_docking_params.end_time) - machine.skew_s
            docking.ends_s = max(docking.ends_s, ends_s)
        if docking.done:
            docked = bool(docking.station)
            response.status = _STATUS.STATUS_DOCKED if docked else _STATUS.STATUS_AT_PREP_POSE
        elif docking is machine.docking:
            response.status = _STATUS.STATUS_IN_PROGRESS
        else:
            response.status = _STATUS.STATUS_ERROR_COMMAND_TIMED_OUT


def _gap_m(machine: Machine, dock: tuple[float, float]) -> float:
    return math.dist(machine.world.base.position_m[:2], dock)


def _config(machine: Machine, _request: Any, response: Any) -> None:
    for number in machine.docks:
        response.dock_configs.add(
            id_start=number, id_end=number, type=docking_pb2.DOCK_TYPE_SPOT_DOCK
        )


def _state(machine: Machine, _request: Any, response: Any) -> None:
    shown, kinds = response.dock_state, docking_pb2.DockState
    moving, docked = machine.docking, machine.docked
    if moving is not None:
        shown.status = kinds.DOCK_STATUS_DOCKING if moving.station else kinds.DOCK_STATUS_UNDOCKING
    else:
        shown.status = kinds.DOCK_STATUS_DOCKED if docked else kinds.DOCK_STATUS_UNDOCKED
    if docked:
        shown.dock_id, shown.dock_type = docked, docking_pb2.DOCK_TYPE_SPOT_DOCK
        shown.power_status = kinds.LINK_STATUS_CONNECTED
    set_stamp(response.header.response_timestamp, machine.now_s + machine.skew_s)
