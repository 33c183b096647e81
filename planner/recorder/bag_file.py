"""One MCAP file of a bag while it is written, safe from power cuts, with its metadata."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, cast

import yaml
from mcap.writer import CompressionType, Writer

from planner.recorder.topic_counts import TopicCounts

# A growing file that a full disk does not end and a power cut does not tear.


class SyncedFile:
    """What is written waits in memory until `commit` has brought it to the disk, all or nothing.

    A commit that fails leaves the file as the last one did and can be repeated: nothing that was
    written is lost by a disk that is full for a while. The file is locked (`flock`, exclusive)
    until it is closed, so that readers can tell that it is growing.
    """

    def __init__(self, path: Path) -> None:
        """Creates the file.

        Raises:
            OSError: if it exists already or cannot be created.
        """
        self.path = path
        self._stream = path.open("xb", buffering=0)
        self._descriptor = self._stream.fileno()
        fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._committed = 0
        self._waiting: list[bytes] = []
        self.waiting_bytes = 0

    def write(self, data: bytes) -> int:
        """Adds to what waits; never fails."""
        if data:
            self._waiting.append(bytes(data))
            self.waiting_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Does nothing: `commit` writes."""

    def tell(self) -> int:
        """Bytes so far, with those that wait."""
        return self._committed + self.waiting_bytes

    def commit(self) -> None:
        """Brings what waits to the disk.

        Raises:
            OSError: if it cannot be written; it goes on waiting.
        """
        if not self._waiting:
            return
        try:
            at = self._committed
            for piece in self._waiting:
                at = self._put(piece, at)
            os.fdatasync(self._descriptor)
        except OSError:
            # No reader sees half of it, and the space is free for others.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._committed)
            raise
        self._committed = at
        self._waiting.clear()
        self.waiting_bytes = 0

    def _put(self, piece: bytes, at: int) -> int:
        rest = memoryview(piece)
        while rest:
            written = os.pwrite(self._descriptor, rest, at)
            rest, at = rest[written:], at + written
        return at

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._stream.closed

    def close(self) -> None:
        """Closes and unlocks it, without what still waits; safe to call twice."""
        self._stream.close()


# The metadata records and attachments of a bag. No ROS here.
#
# | metadata record | when | what |
# |---|---|---|
# | `planner.start` | first | versions of the software, start of the recording |
# | `planner.gap` | when noticed | topic, receipts before and after, number of messages missing |
# | `planner.verdict` | with each verdict | the live evaluator's verdict |
# | `planner.recording` | last | messages received, written, left out, missed, by topic |
#
# Attachments: `house.json`, `episode.json`, `parameters.yaml`, `robot_description/AGENT.urdf`.

START, GAP, VERDICT, RECORDING = (
    "planner.start",
    "planner.gap",
    "planner.verdict",
    "planner.recording",
)
HOUSE, EPISODE, PARAMETERS = "house.json", "episode.json", "parameters.yaml"
JSON, YAML, URDF = "application/json", "application/yaml", "application/xml"
_PACKAGES = ("mcap", "mujoco", "numpy", "opencv-python-headless", "pydantic", "ros-rclpy", "scipy")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")


def start_record(started_ns: int, settings: Mapping[str, str]) -> dict[str, str]:
    """The record written when a recording begins.

    Args:
        started_ns: nanoseconds since the epoch.
        settings: of the recorder.
    """
    return {
        **settings,
        "version": _version("planner"),
        "started_ns": str(started_ns),
        "ros_distro": "kilted",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": json.dumps({name: _version(name) for name in _PACKAGES}, sort_keys=True),
    }


def recording_record(
    start: Mapping[str, str], ended_ns: int, accounts: Mapping[str, TopicCounts], failure: str
) -> dict[str, str]:
    """The record written when a recording ends."""
    topics = {name: accounts[name].as_record() for name in sorted(accounts)}
    return {
        **start,
        "ended_ns": str(ended_ns),
        "failure": failure,
        "missed": str(sum(counts.missed for counts in accounts.values())),
        "topics": json.dumps(topics, sort_keys=True),
    }


def parameters_text(found: Mapping[str, Mapping[str, object]]) -> bytes:
    """Parameters by node in the form of a ROS parameter file."""
    document = {
        name: {"ros__parameters": {key: _plain(value) for key, value in values.items()}}
        for name, values in sorted(found.items())
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True).encode()


def description_name(topic: str) -> str | None:
    """Name of the attachment for a robot's description; None for other topics and unsafe names."""
    agent, _, last = topic.strip("/").rpartition("/")
    if last != "robot_description" or (agent and not _PLAIN_NAME.fullmatch(agent)):
        return None
    return f"robot_description/{agent or 'robot'}.urdf"


def _plain(value: object) -> object:
    """Parameter values as YAML can represent them: arrays arrive as array.array."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return list(value)
    return [_plain(item) for item in value] if hasattr(value, "__iter__") else str(value)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


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
