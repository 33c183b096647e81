"""Maintenance: Spot Check, fans, and auto return settings."""

from __future__ import annotations

from typing import Any

from bosdyn.api import power_pb2
from bosdyn.api.auto_return import auto_return_pb2
from bosdyn.api.spot import spot_check_pb2

from sim_bridge.spot.convert import seconds_of, set_stamp
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.emulator.service import Handler, use_lease

_CHECK = spot_check_pb2.SpotCheckFeedbackResponse
_COMMAND = spot_check_pb2.SpotCheckCommandRequest
# Invented: duration of each part of the check, in order.
_PARTS = (
    (_CHECK.STATE_STARTING, 1.0),
    (_CHECK.STATE_LOADCELL_CAL, 2.0),
    (_CHECK.STATE_ENDSTOP_CAL, 2.0),
    (_CHECK.STATE_CAMERA_CHECK, 2.0),
    (_CHECK.STATE_BODY_POSING, 2.0),
    (_CHECK.STATE_SIT_DOWN_AFTER_RUN, 1.0),
)
CHECK_S = sum(seconds for _, seconds in _PARTS)
_REVERT_S = 1.0
_CAMERAS = ("frontleft", "frontright", "left", "right", "back")
_LEGS = ("fl", "fr", "hl", "hr")


class Upkeep:
    """The last check, the last fan command, and the auto return settings."""

    def __init__(self) -> None:
        self._command = _COMMAND.COMMAND_UNKNOWN
        self._since_s = 0.0
        self._error = _CHECK.ERROR_NONE
        self._last_good_s: float | None = None
        self._fans: dict[int, float] = {}
        self._latest_fan = 0
        self._way_back: Any = None

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods; those of the fans belong to the power service."""
        return {
            "bosdyn.api.spot.SpotCheckService": {
                "SpotCheckCommand": self._check,
                "SpotCheckFeedback": self._check_feedback,
            },
            "bosdyn.api.auto_return.AutoReturnService": {
                "Configure": self._configure,
                "GetConfiguration": self._configuration,
                "Start": self._start,
            },
        }

    def fan_methods(self) -> dict[str, Handler]:
        """The power service's methods for the fans."""
        return {"FanPowerCommand": self._fan, "FanPowerCommandFeedback": self._fan_feedback}

    # Spot Check

    def _check(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            response.status = response.STATUS_ERROR
            return
        self._command, self._since_s = request.command, machine.now_s
        self._error = _CHECK.ERROR_NONE
        response.status = response.STATUS_OK
        if request.command != _COMMAND.COMMAND_START:
            return
        if machine.posture is not Posture.SITTING:
            self._error = _CHECK.ERROR_INIT_NOT_SITTING
        elif machine.motors is not Motors.ON:
            self._error = _CHECK.ERROR_POWER_ON_FAILURE

    def _check_feedback(self, machine: Machine, _request: Any, response: Any) -> None:
        passed_s = machine.now_s - self._since_s
        response.last_command, response.error = self._command, self._error
        response.state = _CHECK.STATE_WAITING_FOR_COMMAND
        if self._error != _CHECK.ERROR_NONE:
            response.state = _CHECK.STATE_ERROR
        elif self._command == _COMMAND.COMMAND_ABORT:
            response.state = _CHECK.STATE_USER_ABORTED
        elif self._command == _COMMAND.COMMAND_REVERT_CAL:
            over = passed_s >= _REVERT_S
            response.state = _CHECK.STATE_FINISHED if over else _CHECK.STATE_REVERTING_CAL
        elif self._command == _COMMAND.COMMAND_START:
            self._progress(machine, passed_s, response)
        if self._last_good_s is not None:
            set_stamp(response.last_cal_timestamp, self._last_good_s + machine.skew_s)

    def _progress(self, machine: Machine, passed_s: float, response: Any) -> None:
        if machine.motors is not Motors.ON and passed_s < CHECK_S:
            self._error = response.error = _CHECK.ERROR_UNEXPECTED_POWER_CHANGE
            response.state = _CHECK.STATE_ERROR
            return
        response.progress = min(1.0, passed_s / CHECK_S)
        ends_s = 0.0
        for state, seconds in _PARTS:
            ends_s += seconds
            if passed_s < ends_s:
                response.state = state
                return
        response.state = _CHECK.STATE_FINISHED
        self._last_good_s = self._since_s + CHECK_S
        for camera in _CAMERAS:
            kinds = spot_check_pb2.DepthPlaneSpotCheckResult
            response.camera_results[camera].status = kinds.STATUS_OK
        for leg in _LEGS:
            span = response.hip_range_of_motion_results[leg]
            span.error = spot_check_pb2.HipRangeOfMotionResult.ERROR_NONE
            for joint in ("hx", "hy", "kn"):
                cell = response.load_cell_results[f"{leg}.{joint}a"]
                cell.error = spot_check_pb2.LoadCellSpotCheckResult.ERROR_NONE
                encoder = response.kinematic_cal_results[f"{leg}.{joint}"]
                encoder.error = spot_check_pb2.JointKinematicCheckResult.ERROR_NONE
                encoder.health_score = 1.0
        response.payload_result.error = spot_check_pb2.PayloadCheckResult.ERROR_NONE

    # Fans

    def _fan(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        number = response.command_id = self._latest_fan = machine.next_number()
        ends_s = self._fans[number] = machine.now_s + seconds_of(request.duration)
        set_stamp(response.desired_end_time, ends_s + machine.skew_s)
        response.status = power_pb2.FanPowerCommandResponse.STATUS_OK

    def _fan_feedback(self, machine: Machine, request: Any, response: Any) -> None:
        number = request.command_id
        ends_s = self._fans.get(number)
        if ends_s is None:
            return
        set_stamp(response.desired_end_time, ends_s + machine.skew_s)
        if machine.now_s >= ends_s:
            response.status = response.STATUS_COMPLETE
        elif number != self._latest_fan:
            response.status = response.STATUS_OVERRIDDEN_BY_COMMAND
        else:
            response.status = response.STATUS_RUNNING

    # Auto return: settings only, as the emulated robot never loses its client

    def _configure(self, _machine: Machine, request: Any, response: Any) -> None:
        if request.params.max_displacement < 0:
            response.status = response.STATUS_INVALID_PARAMS
            response.invalid_params.max_displacement = request.params.max_displacement
            return
        self._way_back = auto_return_pb2.ConfigureRequest()
        self._way_back.CopyFrom(request)
        response.status = response.STATUS_OK

    def _configuration(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.enabled = self._way_back is not None
        if self._way_back is not None:
            response.request.CopyFrom(self._way_back)

    def _start(self, machine: Machine, _request: Any, response: Any) -> None:
        """Does nothing: no other place would have a better connection."""
        machine.halt()
        response.status = response.STATUS_OK
