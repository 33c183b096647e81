"""Device settings without effect on pictures: gripper camera, infrared, lights and sounds."""

from __future__ import annotations

from typing import Any

from bosdyn.api import audio_visual_pb2, gripper_camera_param_pb2

from sim_bridge.spot.convert import seconds_of
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler

_AV = audio_visual_pb2
# A robot has some of its own; clients may run these, but not change or delete them.
_PERMANENT = ("warning", "danger", "normal")


class Devices:
    """The settings made by clients; they last until the emulator ends."""

    def __init__(self) -> None:
        kinds = gripper_camera_param_pb2.GripperCameraParams
        self._gripper = kinds(camera_mode=kinds.MODE_640_480)
        self._gripper.brightness.value = self._gripper.contrast.value = 0.5
        self._gripper.saturation.value = self._gripper.sharpness.value = 0.5
        self._gripper.exposure_auto.value = self._gripper.focus_auto.value = True
        self._gripper.white_balance_temperature_auto.value = True
        self._gripper.led_mode = kinds.LED_MODE_OFF
        self._gripper.hdr = gripper_camera_param_pb2.HDR_AUTO
        self._calibration = gripper_camera_param_pb2.GripperCameraCalibrationProto()
        self._sounds = _AV.AudioVisualSystemParams(
            enabled=True, max_brightness=1.0, buzzer_max_volume=1.0, speaker_max_volume=1.0
        )
        self._behaviors: dict[str, Any] = {}
        for name in _PERMANENT:
            shown = _AV.LiveAudioVisualBehavior(name=name, permanent=True)
            shown.behavior.enabled = True
            self._behaviors[name] = shown
        # Running behaviours, and their end times.
        self._running: dict[str, float] = {}
        self.infrared = True

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods."""
        return {
            "bosdyn.api.GripperCameraParamService": {
                "SetParams": self._set_gripper,
                "GetParams": self._get_gripper,
                "SetCamCalib": self._set_calibration,
                "GetCamCalib": self._get_calibration,
            },
            "bosdyn.api.IREnableDisableService": {"IREnableDisable": self._infrared},
            "bosdyn.api.AudioVisualService": {
                "RunBehavior": self._run,
                "StopBehavior": self._stop,
                "AddOrModifyBehavior": self._add,
                "DeleteBehaviors": self._delete,
                "ListBehaviors": self._list,
                "GetSystemParams": self._get_sounds,
                "SetSystemParams": self._set_sounds,
            },
        }

    def _set_gripper(self, _machine: Machine, request: Any, response: Any) -> None:
        """Fields that are not set keep their value."""
        response.SetInParent()
        self._gripper.MergeFrom(request.params)

    def _get_gripper(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.params.CopyFrom(self._gripper)

    def _set_calibration(self, _machine: Machine, request: Any, response: Any) -> None:
        response.SetInParent()
        self._calibration.CopyFrom(request.gripper_cam_cal)

    def _get_calibration(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.gripper_cam_cal.CopyFrom(self._calibration)

    def _infrared(self, _machine: Machine, request: Any, response: Any) -> None:
        response.SetInParent()
        self.infrared = request.request == request.REQUEST_ON

    # Lights and sounds

    def _run(self, machine: Machine, request: Any, response: Any) -> None:
        ends_s = seconds_of(request.end_time) - machine.skew_s
        behavior = self._behaviors.get(request.name)
        if behavior is None:
            response.status = response.STATUS_DOES_NOT_EXIST
        elif ends_s <= machine.now_s:
            response.status = response.STATUS_EXPIRED
        else:
            response.status = response.STATUS_SUCCESS
            if not self._sounds.enabled:
                response.run_result = response.RESULT_SYSTEM_DISABLED
            elif not behavior.behavior.enabled:
                response.run_result = response.RESULT_BEHAVIOR_DISABLED
            else:
                self._running[request.name] = ends_s
                response.run_result = response.RESULT_BEHAVIOR_RUN

    def _stop(self, _machine: Machine, request: Any, response: Any) -> None:
        self._running.pop(request.behavior_name, None)
        response.status = response.STATUS_SUCCESS

    def _add(self, _machine: Machine, request: Any, response: Any) -> None:
        known = self._behaviors.get(request.name)
        if known is not None and known.permanent:
            response.status = response.STATUS_MODIFY_PERMANENT
            return
        live = _AV.LiveAudioVisualBehavior(name=request.name)
        live.behavior.CopyFrom(request.behavior)
        self._behaviors[request.name] = live
        response.live_behavior.CopyFrom(live)
        response.status = response.STATUS_SUCCESS

    def _delete(self, _machine: Machine, request: Any, response: Any) -> None:
        found = [self._behaviors.get(name) for name in request.behavior_names]
        if None in found:
            response.status = response.STATUS_DOES_NOT_EXIST
        elif any(each.permanent for each in found if each is not None):
            response.status = response.STATUS_DELETE_PERMANENT
        else:
            for name in request.behavior_names:
                response.deleted_behaviors.append(self._behaviors.pop(name))
            response.status = response.STATUS_SUCCESS

    def _list(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.behaviors.extend(self._behaviors.values())

    def _get_sounds(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.params.CopyFrom(self._sounds)

    def _set_sounds(self, _machine: Machine, request: Any, response: Any) -> None:
        response.SetInParent()
        for field, value in request.ListFields():
            if field.name == "header":
                continue
            if field.name.endswith("_association"):
                getattr(self._sounds, field.name).CopyFrom(value)
            else:
                setattr(self._sounds, field.name, value.value)
