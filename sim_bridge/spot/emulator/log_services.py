"""The robot's log: client entries, downloads, and data logs that can be started."""

from __future__ import annotations

from typing import Any

from bosdyn.api import data_buffer_pb2, data_index_pb2
from bosdyn.api.log_status import log_status_pb2

from sim_bridge.spot.convert import seconds_of, set_stamp
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler

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
