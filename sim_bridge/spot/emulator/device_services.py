"""Device settings, maintenance and the robot's log."""

from __future__ import annotations

from typing import Any

from bosdyn.api import (
    audio_visual_pb2,
    data_buffer_pb2,
    data_index_pb2,
    gripper_camera_param_pb2,
    power_pb2,
)
from bosdyn.api.auto_return import auto_return_pb2
from bosdyn.api.log_status import log_status_pb2
from bosdyn.api.spot import spot_check_pb2

from sim_bridge.spot.convert import seconds_of, set_stamp
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.emulator.service import Handler, use_lease

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


# Maintenance: Spot Check, fans, and auto return settings.

_CHECK = spot_check_pb2.SpotCheckFeedbackResponse
_COMMAND = spot_check_pb2.SpotCheckCommandRequest
# Invented: duration of each part of the check, in order.
_PARTS = (
    (_CHECK.STATE_STARTING, 1.0), (_CHECK.STATE_LOADCELL_CAL, 2.0),
    (_CHECK.STATE_ENDSTOP_CAL, 2.0), (_CHECK.STATE_CAMERA_CHECK, 2.0),
    (_CHECK.STATE_BODY_POSING, 2.0), (_CHECK.STATE_SIT_DOWN_AFTER_RUN, 1.0),
)  # fmt: skip
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


# The robot's log: client entries, downloads, and data logs that can be started.

_LOG = log_status_pb2.LogStatus
_RUNNING = (_LOG.STATUS_RECEIVED, _LOG.STATUS_IN_PROGRESS)
# Everything logged is in one page, which stays open.
PAGE = "page-1"


class Logs:
    """Log entries in order, with robot time; and data logs by id."""

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._comments: list[Any] = []
        self._blobs: list[Any] = []
        self._texts: list[Any] = []
        self._began_s: float | None = None
        self._logs: dict[str, Any] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods."""
        return {
            "bosdyn.api.DataBufferService": {
                "RecordTextMessages": self._record_texts,
                "RecordOperatorComments": self._record_comments,
                "RecordDataBlobs": self._record_blobs,
                "RecordEvents": self._record_events,
            },
            "bosdyn.api.DataService": {
                "GetDataIndex": self._index,
                "GetEventsComments": self._events_comments,
                "GetDataBufferStatus": self._status,
                "GetDataPages": self._pages,
                "DeleteDataPages": self._delete,
            },
            "bosdyn.api.log_status.LogStatusService": {
                "GetLogStatus": self._log,
                "GetActiveLogStatuses": self._active,
                "StartRetroLog": self._start_retro,
                "StartExperimentLog": self._start_experiment,
                "StartConcurrentLog": self._start_concurrent,
                "UpdateExperimentLog": self._prolong,
                "TerminateLog": self._terminate,
            },
        }

    # Writing

    def _record_texts(self, _machine: Machine, request: Any, response: Any) -> None:
        response.SetInParent()
        self._texts.extend(request.text_messages)

    def _record_comments(self, _machine: Machine, request: Any, response: Any) -> None:
        response.SetInParent()
        self._comments.extend(request.operator_comments)

    def _record_blobs(self, _machine: Machine, request: Any, response: Any) -> None:
        response.SetInParent()
        self._blobs.extend(request.blob_data)

    def _record_events(self, _machine: Machine, request: Any, response: Any) -> None:
        """An event with the id of an earlier one replaces it, for example when it ends."""
        response.SetInParent()
        ids = {event.id for event in request.events}
        self._events = [event for event in self._events if event.id not in ids]
        self._events.extend(request.events)

    # Reading

    def _index(self, machine: Machine, request: Any, response: Any) -> None:
        query, index = request.data_query, response.data_index
        index.time_range.CopyFrom(query.time_range)
        page = self._page(machine)
        for spec in query.blobs:
            if any(_is_meant(blob, spec) for blob in self._blobs):
                found = index.blobs.add()
                found.spec.CopyFrom(spec)
                found.pages.add().CopyFrom(page)
        for wanted, written, shown in (
            (query.text_messages, self._texts, "text_messages"),
            (query.events, self._events, "events"),
            (query.comments, self._comments, "comments"),
        ):
            if wanted and written:
                getattr(index, shown).time_range.CopyFrom(query.time_range)
                getattr(index, shown).pages.add().CopyFrom(page)

    def _events_comments(self, _machine: Machine, request: Any, response: Any) -> None:
        spec, shown = request.event_comment_request, response.events_comments
        shown.time_range.CopyFrom(spec.time_range)
        levels = {each.level.value for each in spec.events if each.HasField("level")}
        types = {each.type for each in spec.events if each.type}
        for event in self._events:
            fits = (not types or event.type in types) and (not levels or event.level in levels)
            if spec.events and fits and _within(event.start_time, spec.time_range):
                shown.events.add().CopyFrom(event)
        if spec.comments:
            for comment in self._comments:
                if _within(comment.timestamp, spec.time_range):
                    shown.operator_comments.add().CopyFrom(comment)

    def _status(self, machine: Machine, request: Any, response: Any) -> None:
        shown = response.data_buffer_status
        page = self._page(machine)
        shown.num_data_buffer_pages, shown.data_buffer_total_bytes = 1, page.total_bytes
        shown.num_comments, shown.num_events = len(self._comments), len(self._events)
        if request.get_blob_specs:
            for kind in sorted({(blob.channel, blob.type_id) for blob in self._blobs}):
                shown.blob_specs.add(channel=kind[0], message_type=kind[1])

    def _pages(self, machine: Machine, _request: Any, response: Any) -> None:
        response.pages.add().CopyFrom(self._page(machine))

    def _delete(self, machine: Machine, request: Any, response: Any) -> None:
        kinds = data_index_pb2.DeletePageStatus
        for name in request.page_ids or [PAGE]:
            status = response.status.add(page_id=name, status=kinds.STATUS_NOT_FOUND)
            if name == PAGE:
                response.bytes_deleted += self._page(machine).total_bytes
                for written in (self._events, self._comments, self._blobs, self._texts):
                    written.clear()
                status.status = kinds.STATUS_DELETED

    def _page(self, machine: Machine) -> Any:
        written = [*self._events, *self._comments, *self._blobs, *self._texts]
        page = data_index_pb2.PageInfo(
            id=PAGE,
            path=f"/{PAGE}.bddf",
            source="emulator",
            num_ticks=len(written),
            total_bytes=sum(each.ByteSize() for each in written),
            format=data_index_pb2.PageInfo.FORMAT_BDDF_FILE,
            compression=data_index_pb2.PageInfo.COMPRESSION_NONE,
            is_open=True,
        )
        now_s = machine.now_s + machine.skew_s
        self._began_s = now_s if self._began_s is None else self._began_s
        set_stamp(page.time_range.start, self._began_s)
        set_stamp(page.time_range.end, now_s)
        return page

    # Data logs

    def _log(self, machine: Machine, request: Any, response: Any) -> None:
        log = self._advanced(machine).get(request.id)
        if log is None:
            response.status = response.STATUS_ID_NOT_FOUND
        else:
            response.status = response.STATUS_OK
            response.log_status.CopyFrom(log)

    def _active(self, machine: Machine, _request: Any, response: Any) -> None:
        logs = self._advanced(machine).values()
        response.log_statuses.extend(log for log in logs if log.status in _RUNNING)
        response.status = response.STATUS_OK

    def _start_retro(self, machine: Machine, _request: Any, response: Any) -> None:
        self._start(machine, _LOG.TYPE_RETRO, 0.0, response)

    def _start_experiment(self, machine: Machine, request: Any, response: Any) -> None:
        self._start(machine, _LOG.TYPE_EXPERIMENT, seconds_of(request.keep_alive), response)

    def _start_concurrent(self, machine: Machine, request: Any, response: Any) -> None:
        self._start(machine, _LOG.TYPE_CONCURRENT, seconds_of(request.keep_alive), response)

    def _start(self, machine: Machine, kind: int, lasts_s: float, response: Any) -> None:
        experiment = _LOG.TYPE_EXPERIMENT
        busy = any(
            log.type == experiment and log.status in _RUNNING
            for log in self._advanced(machine).values()
        )
        if busy:
            response.status = response.STATUS_EXPERIMENT_LOG_RUNNING
            return
        log = _LOG(id=f"log-{machine.next_number()}", type=kind, status=_LOG.STATUS_IN_PROGRESS)
        now_s = machine.now_s + machine.skew_s
        set_stamp(log.start_time, now_s)
        set_stamp(log.end_time, now_s + lasts_s)
        self._logs[log.id] = log
        response.log_status.CopyFrom(log)
        response.end_time.CopyFrom(log.end_time)
        response.status = response.STATUS_OK

    def _prolong(self, machine: Machine, request: Any, response: Any) -> None:
        log = self._advanced(machine).get(request.id)
        if log is None:
            response.status = response.STATUS_ID_NOT_FOUND
        elif log.status not in _RUNNING:
            response.status = response.STATUS_LOG_TERMINATED
        else:
            ends_s = machine.now_s + machine.skew_s + seconds_of(request.keep_alive)
            set_stamp(log.end_time, ends_s)
            response.log_status.CopyFrom(log)
            response.end_time.CopyFrom(log.end_time)
            response.status = response.STATUS_OK

    def _terminate(self, machine: Machine, request: Any, response: Any) -> None:
        log = self._advanced(machine).get(request.id)
        if log is None:
            response.status = response.STATUS_ID_NOT_FOUND
            return
        if log.status in _RUNNING:
            log.status = _LOG.STATUS_TERMINATED
        response.log_status.CopyFrom(log)
        response.status = response.STATUS_OK

    def _advanced(self, machine: Machine) -> dict[str, Any]:
        now_s = machine.now_s + machine.skew_s
        for log in self._logs.values():
            if log.status in _RUNNING and seconds_of(log.end_time) <= now_s:
                log.status = _LOG.STATUS_DONE
        return self._logs


def _is_meant(blob: data_buffer_pb2.DataBlob, spec: Any) -> bool:
    return spec.message_type in ("", blob.type_id) and spec.channel in ("", blob.channel)


def _within(stamp: Any, limits: Any) -> bool:
    at_s = seconds_of(stamp)
    after = not limits.HasField("start") or seconds_of(limits.start) <= at_s
    return after and (not limits.HasField("end") or at_s <= seconds_of(limits.end))
