"""A rosbag2 bag in MCAP: a folder with one .mcap file and metadata.yaml.

Everything up to the last `flush` is on disk whatever happens to the process; `planner recover`
completes a bag that was not closed. While a bag is being written its file is locked (`flock`,
exclusive), so that readers can tell that it is still growing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import yaml
from mcap.writer import CompressionType, Writer

from planner.world.errors import PlannerError

BAG_VERSION = 9
# Wall seconds between updates of the counts in metadata.yaml; topics are added at once. Readers
# rely on the messages, not on the counts.
METADATA_S = 5.0
# Chunks of this size stay in the CPU cache while they are compressed.
_CHUNK_BYTES = 1 << 20


class DiskFullError(PlannerError):
    """There is no space for a bag."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as rosbag2 describes it.

    Attributes:
        name: with its leading slash.
        type_name: such as `sensor_msgs/msg/Image`.
        definition: the message definition, with those of its nested types (`ros2msg`).
        qos: rosbag2's YAML list of the offered profiles.
    """

    name: str
    type_name: str
    definition: str
    qos: str


class BagWriter:
    """Writes serialized messages; one bag, one process."""

    def __init__(self, folder: Path) -> None:
        """Creates the folder.

        Raises:
            DiskFullError: if there is no space for it; nothing is left behind then.
            PlannerError: if it exists already or cannot be created.
        """
        self.folder = folder
        self._file_name = f"{folder.name}_0.mcap"
        try:
            self._begin()
        except FileExistsError:
            raise PlannerError(f"{folder}: exists already, nothing is overwritten") from None
        except OSError as error:
            text = f"{folder}: cannot be written: {error}"
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self._remove_empty()
                raise DiskFullError(text) from None
            raise PlannerError(text) from None

    def _begin(self) -> None:
        self.folder.mkdir(parents=True)
        self._stream: BinaryIO = (self.folder / self._file_name).open("wb")
        fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._writer = Writer(
            self._stream,
            chunk_size=_CHUNK_BYTES,
            compression=CompressionType.LZ4,
            enable_crcs=True,
        )
        self._writer.start(profile="ros2", library="planner")
        # Make it a valid, empty bag now: the process may be killed before the first flush.
        self._stream.flush()
        self._topics: list[Topic] = []
        self._counts: list[int] = []
        self._schemas: dict[str, int] = {}
        self._channels: list[int] = []
        self._first_ns: int | None = None
        self._last_ns = 0
        self._described = (0, time.monotonic())
        self._save_metadata()

    def _remove_empty(self) -> None:
        """Removes an empty file: it is not a bag, and no reader could tell why it is there."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(AttributeError, OSError):
            # Its buffer cannot be written either.
            self._stream.close()

    def add_topic(self, topic: Topic) -> int:
        """Declares a topic; returns its number for `write`."""
        schema = self._schemas.get(topic.type_name)
        if schema is None:
            schema = self._writer.register_schema(
                topic.type_name, "ros2msg", topic.definition.encode()
            )
            self._schemas[topic.type_name] = schema
        channel = self._writer.register_channel(
            topic.name, "cdr", schema, {"offered_qos_profiles": topic.qos}
        )
        self._topics.append(topic)
        self._counts.append(0)
        self._channels.append(channel)
        return len(self._topics) - 1

    def write(
        self,
        topic: int,
        received_ns: int,
        published_ns: int,
        data: bytes,
        sequence: int | None = None,
    ) -> None:
        """Adds one serialized message.

        Args:
            topic: its number.
            received_ns: time of receipt, nanoseconds since the epoch.
            published_ns: time of publication.
            data: CDR.
            sequence: its number on this topic, from 0, with gaps for missing messages. None = no
                gaps.

        Raises:
            PlannerError: if it cannot be written.
        """
        number = self._counts[topic] if sequence is None else sequence
        try:
            self._writer.add_message(
                self._channels[topic], received_ns, data, published_ns, number & 0xFFFFFFFF
            )
        except OSError as error:
            raise PlannerError(f"{self.folder}: cannot be written: {error}") from None
        self._counts[topic] += 1
        self._first_ns = min(received_ns, self._first_ns or received_ns)
        self._last_ns = max(self._last_ns, received_ns)

    def add_record(self, name: str, values: Mapping[str, str]) -> None:
        """Adds a metadata record: a name with keys and values.

        Raises:
            PlannerError: if it cannot be written.
        """
        try:
            # Keep the order in the file: flush the messages before it.
            self._writer.flush()
            self._writer.add_metadata(name, dict(values))
        except OSError as error:
            raise PlannerError(f"{self.folder}: cannot be written: {error}") from None

    def attach(self, name: str, media_type: str, data: bytes, stamp_ns: int) -> None:
        """Adds an attachment, a file within the bag; the last one with a name counts.

        Raises:
            PlannerError: if it cannot be written.
        """
        try:
            self._writer.flush()
            self._writer.add_attachment(stamp_ns, stamp_ns, name, media_type, data)
        except OSError as error:
            raise PlannerError(f"{self.folder}: cannot be written: {error}") from None

    @property
    def size_bytes(self) -> int:
        """Size of the file; incomplete chunks do not count."""
        return self._stream.tell() if not self._stream.closed else 0

    @property
    def count(self) -> int:
        """Messages written so far."""
        return sum(self._counts)

    def flush(self) -> None:
        """Writes everything buffered to disk.

        Raises:
            PlannerError: if it cannot be written.
        """
        try:
            self._writer.flush()
            os.fdatasync(self._stream.fileno())
            topics, saved_s = self._described
            if topics != len(self._topics) or time.monotonic() - saved_s > METADATA_S:
                self._save_metadata()
        except OSError as error:
            raise PlannerError(f"{self.folder}: cannot be written: {error}") from None

    def close(self) -> None:
        """Completes the bag.

        Raises:
            PlannerError: if it cannot be written; the bag stays as after a kill.
        """
        if self._stream.closed:
            return
        try:
            self._writer.finish()
            self._stream.close()
            self._save_metadata()
        except OSError as error:
            raise PlannerError(f"{self.folder}: cannot be completed: {error}") from None

    def _save_metadata(self) -> None:
        self._described = (len(self._topics), time.monotonic())
        first = self._first_ns or 0
        document = metadata(
            self._file_name,
            list(zip(self._topics, self._counts, strict=True)),
            first,
            max(self._last_ns - first, 0),
        )
        save_metadata(self.folder, document)


def metadata(
    file_name: str, topics: list[tuple[Topic, int]], first_ns: int, duration_ns: int
) -> dict[str, object]:
    """The content of metadata.yaml for topics with their message counts."""
    total = sum(count for _, count in topics)
    span = {
        "starting_time": {"nanoseconds_since_epoch": first_ns},
        "duration": {"nanoseconds": duration_ns},
        "message_count": total,
    }
    return {
        "rosbag2_bagfile_information": {
            "version": BAG_VERSION,
            "storage_identifier": "mcap",
            "relative_file_paths": [file_name],
            **span,
            "topics_with_message_count": [
                {
                    "topic_metadata": {
                        "name": topic.name,
                        "type": topic.type_name,
                        "serialization_format": "cdr",
                        "offered_qos_profiles": _profiles(topic.qos),
                        "type_description_hash": "",
                    },
                    "message_count": count,
                }
                for topic, count in topics
            ],
            "compression_format": "",
            "compression_mode": "",
            "files": [{"path": file_name, **span}],
            "custom_data": None,
            "ros_distro": "kilted",
        }
    }


@lru_cache
def _profiles(qos: str) -> object:
    return yaml.safe_load(qos) or []


def save_metadata(folder: Path, document: dict[str, object]) -> None:
    """Writes metadata.yaml atomically."""
    temporary = folder / "metadata.yaml.tmp"
    temporary.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    temporary.replace(folder / "metadata.yaml")
