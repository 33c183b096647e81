"""One MCAP file of a bag while it is written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from mcap.writer import CompressionType, Writer

from planner.recorder.synced_file import SyncedFile

# Chunks of this size stay in the CPU cache while they are compressed.
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileSpan:
    """What a file has.

    Attributes:
        name: of the file.
        first_ns: receipt of the first message, nanoseconds since the epoch; 0 without one.
        last_ns: receipt of the last message.
        counts: messages by topic number.
        size_bytes: of the file.
    """

    name: str
    first_ns: int
    last_ns: int
    counts: tuple[int, ...]
    size_bytes: int


class BagFile:
    """Messages go into chunks, and these through a `SyncedFile`."""

    def __init__(self, path: Path) -> None:
        """Creates a valid, empty file on disk: the process may be killed before the first commit.

        Raises:
            OSError: if it exists already or cannot be written; nothing is left behind then.
        """
        self.file = SyncedFile(path)
        # Of a stream, the writer uses write, tell and flush.
        self._writer = Writer(
            cast("IO[bytes]", self.file),
            chunk_size=_CHUNK_BYTES,
            compression=CompressionType.LZ4,
            enable_crcs=True,
        )
        self._writer.start(profile="ros2", library="planner")
        try:
            self.file.commit()
        except OSError:
            self.file.close()
            path.unlink(missing_ok=True)
            raise
        self.begun_s = time.monotonic()
        self._schemas: dict[str, int] = {}
        self._channels: list[int] = []
        self._counts: list[int] = []
        self._first_ns = self._last_ns = 0

    @property
    def span(self) -> FileSpan:
        """What it has so far."""
        name, size = self.file.path.name, self.file.tell()
        return FileSpan(name, self._first_ns, self._last_ns, tuple(self._counts), size)

    def add_topic(self, name: str, type_name: str, definition: str, qos: str) -> None:
        """Declares the next topic; topics are numbered from 0."""
        schema = self._schemas.get(type_name)
        if schema is None:
            schema = self._writer.register_schema(type_name, "ros2msg", definition.encode())
            self._schemas[type_name] = schema
        described = {"offered_qos_profiles": qos}
        self._channels.append(self._writer.register_channel(name, "cdr", schema, described))
        self._counts.append(0)

    def write(
        self, topic: int, received_ns: int, published_ns: int, data: bytes, sequence: int
    ) -> None:
        """Adds a message."""
        number = sequence & 0xFFFFFFFF
        self._writer.add_message(self._channels[topic], received_ns, data, published_ns, number)
        self._counts[topic] += 1
        self._first_ns = min(received_ns, self._first_ns or received_ns)
        self._last_ns = max(self._last_ns, received_ns)

    def add_record(self, name: str, values: Mapping[str, str]) -> None:
        """Adds a metadata record, after the messages before it."""
        self._writer.flush()
        self._writer.add_metadata(name, dict(values))

    def attach(self, name: str, media_type: str, data: bytes, stamp_ns: int) -> None:
        """Adds an attachment, after the messages before it."""
        self._writer.flush()
        self._writer.add_attachment(stamp_ns, stamp_ns, name, media_type, data)

    def end_chunk(self) -> None:
        """Makes all messages part of what the next commit writes."""
        self._writer.flush()

    def finish(self) -> None:
        """Adds the end; afterwards nothing but `file` is used."""
        self._writer.finish()
