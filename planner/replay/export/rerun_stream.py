"""The Rerun recording being written: the one place for its two time lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.replay.export.rerun_paths import RECEIPT_TIME, WORLD_TIME
from planner.replay.export.source import Received

if TYPE_CHECKING:
    import rerun as rr

MAP = "map"


class Recording:
    """Logs at the times of messages; the world's time is a duration if it is simulated."""

    def __init__(self, stream: rr.RecordingStream, *, simulated: bool) -> None:
        """Takes a stream and turns off Rerun's own time lines, which have the export's times."""
        self._stream, self._simulated = stream, simulated
        self._in_map: set[str] = set()
        stream.set_log_time_enabled(False)
        stream.set_log_tick_enabled(False)

    def at(self, message: Received) -> None:
        """Sets the current times to those of a message."""
        self.at_times(message.received_ns, message.world_ns)

    def at_times(self, received_ns: int, world_ns: int) -> None:
        """Sets the current times."""
        self._stream.set_time(RECEIPT_TIME, timestamp=np.datetime64(received_ns, "ns"))
        if self._simulated:
            self._stream.set_time(WORLD_TIME, duration=np.timedelta64(world_ns, "ns"))
        else:
            self._stream.set_time(WORLD_TIME, timestamp=np.datetime64(world_ns, "ns"))

    def log(self, path: str, *what: rr.AsComponents) -> None:
        """Logs at the current times."""
        self._stream.log(path, *what)

    def log_in_map(self, path: str, *what: rr.AsComponents, static: bool = False) -> None:
        """Logs at the current times, in the map frame."""
        import rerun as rr

        if path not in self._in_map:
            self._in_map.add(path)
            self._stream.log(path, rr.CoordinateFrame(MAP), static=True)
        self._stream.log(path, *what, static=static)

    def log_static(self, path: str, *what: rr.AsComponents) -> None:
        """Logs what is valid at all times."""
        self._stream.log(path, *what, static=True)

    def send(
        self, path: str, messages: Sequence[Received], columns: rr.ComponentColumnList
    ) -> None:
        """Logs many rows at once, which is many times faster."""
        import rerun as rr

        world_ns = np.array([message.world_ns for message in messages], np.int64)
        world = (
            rr.TimeColumn(WORLD_TIME, duration=world_ns.astype("timedelta64[ns]"))
            if self._simulated
            else rr.TimeColumn(WORLD_TIME, timestamp=world_ns.astype("datetime64[ns]"))
        )
        received_ns = np.array([message.received_ns for message in messages], np.int64)
        receipt = rr.TimeColumn(RECEIPT_TIME, timestamp=received_ns.astype("datetime64[ns]"))
        self._stream.send_columns(path, [world, receipt], columns)
