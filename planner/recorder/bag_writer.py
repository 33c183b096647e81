"""A rosbag2 bag in MCAP: a folder with one or more .mcap files and metadata.yaml.

Everything up to the last `flush` is on disk whatever happens to the process or its power; `planner
recover` completes a bag that was not closed. While a bag is being written its newest file is locked
(`flock`, exclusive), so that readers can tell that it is still growing.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from planner.parts.option import Option
from planner.recorder.bag_file import GAP, BagFile, FileSpan
from planner.recorder.topic_counts import Gap
from planner.world.errors import PlannerError
from planner.world.sqlite_file import make_folder, replace_synced, sync_folder
from planner.world.topics import UNRECORDED

BAG_VERSION = 9
# Wall seconds between updates of the counts in metadata.yaml; topics are added at once. Readers
# rely on the messages, not on the counts.
METADATA_S = 5.0
# Written at once when so much waits, by an owner that is too busy to flush.
_COMMIT_BYTES = 4 << 20
# So much waits for a full disk: a minute of the demo. What comes later is not taken.
BACKLOG_BYTES = 64 << 20
# Cause of the gaps where old files were deleted.
DELETED = "deleted to keep the bag below its largest size"


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


# Settings of the recorder's node and, with `record_` before their names, of the bring-up.
IMAGES = Option(
    "images",
    "compressed",
    "pictures in the bag: JPEG or PNG, depth in millimetres; as published; none",
    choices=("compressed", "raw", "none"),
)
EXCLUDE = Option("exclude", UNRECORDED, "topics not to record, a regular expression")


def _limit(name: str, default: int, about: str) -> Option:
    return Option(name, default, about, min_value=0, max_value=10**9)


MAX_BAG_MB = _limit("max_bag_mb", 1000, "MB after which the bag goes on in its next file; 0 = any")
# The index of a file is in memory until it ends.
MAX_BAG_S = _limit("max_bag_s", 600, "wall seconds after which it does so, too; 0 = never")
MAX_TOTAL_MB = _limit(
    "max_total_mb",
    20_000,
    "MB above which the bag's oldest files but the first are deleted; 0 = any",
)
LIMITS = (MAX_BAG_MB, MAX_BAG_S, MAX_TOTAL_MB)


@dataclass(frozen=True, slots=True)
class Limits:
    """When a bag begins its next file, and deletes old ones; 0 = never.

    Attributes:
        file_bytes: size of a file.
        file_s: wall seconds that a file spans.
        bag_bytes: size of all files; the first one, which has what is said only once, is kept.
    """

    file_bytes: int = 0
    file_s: float = 0.0
    bag_bytes: int = 0


class BagWriter:
    """Writes serialized messages; one bag, one process.

    A full disk ends nothing: up to `BACKLOG_BYTES` wait until there is space again.
    """

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        """Creates the folder, with a bag in it from the first moment: a recorder may be killed.

        Args:
            folder: of the bag.
            limits: default: one file without limits.

        Raises:
            DiskFullError: if there is no space for it; nothing is left behind then.
            PlannerError: if it exists already or cannot be created.
        """
        self._limits = limits or Limits()
        self._topics: list[Topic] = []
        # In every file, as another one may be deleted.
        self._records: dict[str, Mapping[str, str]] = {}
        self._attachments: dict[str, tuple[str, bytes, int]] = {}
        # Complete files that are on disk, and those of which the end waits for space.
        self._ended: list[FileSpan] = []
        self._ending: list[tuple[BagFile, FileSpan]] = []
        self._removed: list[FileSpan] = []
        self._is_finished = False
        self._is_blocked = False
        self._saved = 0
        self._name = folder.name
        draft = self.folder = folder.with_name(f".{folder.name}.{os.getpid()}")
        try:
            if folder.exists():
                raise FileExistsError
            make_folder(draft, exist_ok=False)
            self._file = BagFile(self._path(0))
            self._save_metadata()
            draft.rename(folder)
            sync_folder(folder.parent)
            self.folder = folder
            self._file.file.path = self._path(0)
        except FileExistsError:
            raise PlannerError(f"{folder}: exists already, nothing is overwritten") from None
        except OSError as error:
            text = f"{folder}: cannot be written: {error}"
            # An empty file is no bag, and no reader could tell why it is there.
            shutil.rmtree(draft, ignore_errors=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFullError(text) from None
            raise PlannerError(text) from None

    def add_topic(self, topic: Topic) -> int:
        """Declares a topic; returns its number for `write`."""
        self._topics.append(topic)
        self._file.add_topic(topic.name, topic.type_name, topic.definition, topic.qos)
        return len(self._topics) - 1

    def write(
        self,
        topic: int,
        received_ns: int,
        published_ns: int,
        data: bytes,
        sequence: int | None = None,
    ) -> bool:
        """Adds one serialized message; False = it is not taken, as too much waits for a full disk.

        Args:
            topic: its number.
            received_ns: time of receipt, nanoseconds since the epoch.
            published_ns: time of publication.
            data: CDR.
            sequence: its number on this topic, from 0, with gaps for missing messages. None = no
                gaps.
        """
        if self._is_backlog_full:
            return False
        number = self._counts()[topic] if sequence is None else sequence
        self._file.write(topic, received_ns, published_ns, data, number)
        if self._file.file.waiting_bytes > _COMMIT_BYTES and not self._is_blocked:
            try:
                self._file.file.commit()
            except OSError:
                # The next flush says so.
                self._is_blocked = True
        return True

    @property
    def _is_backlog_full(self) -> bool:
        return self._file.file.waiting_bytes > BACKLOG_BYTES

    def add_record(self, name: str, values: Mapping[str, str], *, repeated: bool = False) -> bool:
        """Adds a metadata record, a name with keys and values; False as `write`.

        Args:
            name: of the record.
            values: texts by key.
            repeated: whether the files that follow have it, too.
        """
        if self._is_backlog_full:
            return False
        if repeated:
            self._records[name] = values
        self._file.add_record(name, values)
        return True

    def attach(self, name: str, media_type: str, data: bytes, stamp_ns: int) -> bool:
        """Adds an attachment, a file within the bag, if it is another one than before.

        The last one with a name counts. False as `write`.
        """
        before = self._attachments.get(name)
        if before is not None and before[1] == data:
            return True
        if self._is_backlog_full:
            return False
        self._attachments[name] = (media_type, data, stamp_ns)
        self._file.attach(name, media_type, data, stamp_ns)
        return True

    @property
    def size_bytes(self) -> int:
        """Size of the files; incomplete chunks do not count."""
        return sum(span.size_bytes for span in self._spans())

    @property
    def count(self) -> int:
        """Messages written so far, also into files that were deleted since."""
        return sum(sum(span.counts) for span in (*self._removed, *self._spans()))

    @property
    def unsaved(self) -> int:
        """Messages of `count` that may not be on disk yet."""
        return self.count - self._saved

    def flush(self) -> None:
        """Brings everything to the disk, and begins the next file if it is time.

        Raises:
            PlannerError: if it cannot be written; it waits, and the next call tries again.
        """
        try:
            self._commit()
            if self._is_file_full:
                self._begin_next()
                self._commit()
                self._remove_oldest()
            topics, saved_s = self._described
            if topics != len(self._topics) or time.monotonic() - saved_s > METADATA_S:
                self._save_metadata()
        except OSError as error:
            self._is_blocked = True
            raise PlannerError(f"{self.folder}: cannot be written: {error}") from None
        self._is_blocked = False

    def close(self) -> None:
        """Completes the bag; safe to call twice.

        Raises:
            PlannerError: if it cannot be written; the bag is as after a kill, and the next call
                tries again.
        """
        if self._file.file.closed:
            return
        try:
            if not self._is_finished:
                self._file.finish()
                self._is_finished = True
            self._commit()
            self._save_metadata()
        except OSError as error:
            raise PlannerError(f"{self.folder}: cannot be completed: {error}") from None
        self._file.file.close()

    def abandon(self) -> None:
        """Lets go of the files as they are on disk, as if the process had ended."""
        for file in (*(ended for ended, _ in self._ending), self._file):
            file.file.close()

    def _commit(self) -> None:
        while self._ending:
            ended, span = self._ending[0]
            ended.file.commit()
            ended.file.close()
            self._ended.append(span)
            self._ending.pop(0)
        if not self._is_finished:
            self._file.end_chunk()
        count = self.count
        self._file.file.commit()
        self._saved = count

    # Files

    def _path(self, number: int) -> Path:
        return self.folder / f"{self._name}_{number}.mcap"

    def _spans(self) -> list[FileSpan]:
        return [*self._ended, *(span for _, span in self._ending), self._file.span]

    def _counts(self) -> list[int]:
        counts = [0] * len(self._topics)
        for span in (*self._removed, *self._spans()):
            for number, count in enumerate(span.counts):
                counts[number] += count
        return counts

    @property
    def _is_file_full(self) -> bool:
        most, longest_s = self._limits.file_bytes, self._limits.file_s
        old_s = time.monotonic() - self._file.begun_s
        return bool((most and self._file.file.tell() >= most) or (longest_s and old_s >= longest_s))

    def _begin_next(self) -> None:
        number = len(self._removed) + len(self._ended) + len(self._ending) + 1
        following = BagFile(self._path(number))
        sync_folder(self.folder)
        for topic in self._topics:
            following.add_topic(topic.name, topic.type_name, topic.definition, topic.qos)
        for name, values in self._records.items():
            following.add_record(name, values)
        for name, (media_type, data, stamp_ns) in self._attachments.items():
            following.attach(name, media_type, data, stamp_ns)
        self._file.finish()
        self._ending.append((self._file, self._file.span))
        self._file = following

    def _remove_oldest(self) -> None:
        most = self._limits.bag_bytes
        removed = len(self._removed)
        while most and len(self._ended) > 1 and self.size_bytes > most:
            span = self._ended.pop(1)
            self._removed.append(span)
        if len(self._removed) == removed:
            return
        # Said before it is done, and metadata.yaml names no file that is not there.
        self._say_removed()
        self._commit()
        self._save_metadata()
        for span in self._removed[removed:]:
            (self.folder / span.name).unlink(missing_ok=True)

    def _say_removed(self) -> None:
        """All files that were deleted: they follow each other, so it is one gap for each topic."""
        heard = [span for span in self._removed if any(span.counts)]
        first_ns = min((span.first_ns for span in heard), default=0)
        last_ns = max((span.last_ns for span in heard), default=0)
        counts: Counter[int] = Counter()
        for span in heard:
            counts.update(dict(enumerate(span.counts)))
        for number, count in counts.items():
            if count:
                gap = Gap(self._topics[number].name, first_ns, last_ns, count, DELETED)
                self._file.add_record(GAP, gap.as_record())

    def _save_metadata(self) -> None:
        self._described = (len(self._topics), time.monotonic())
        spans = self._spans()
        counts = [0] * len(self._topics)
        for span in spans:
            for number, count in enumerate(span.counts):
                counts[number] += count
        save_metadata(self.folder, metadata(spans, list(zip(self._topics, counts, strict=True))))


def metadata(files: Sequence[FileSpan], topics: Sequence[tuple[Topic, int]]) -> dict[str, object]:
    """The content of metadata.yaml for files in their order, and topics with their counts."""
    heard = [file for file in files if any(file.counts)]
    first_ns = min((file.first_ns for file in heard), default=0)
    last_ns = max((file.last_ns for file in heard), default=0)
    total = sum(count for _, count in topics)
    return {
        "rosbag2_bagfile_information": {
            "version": BAG_VERSION,
            "storage_identifier": "mcap",
            "relative_file_paths": [file.name for file in files],
            **_described_span(first_ns, last_ns, total),
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
            "files": [
                {
                    "path": file.name,
                    **_described_span(file.first_ns, file.last_ns, sum(file.counts)),
                }
                for file in files
            ],
            "custom_data": None,
            "ros_distro": "kilted",
        }
    }


def _described_span(first_ns: int, last_ns: int, count: int) -> dict[str, object]:
    return {
        "starting_time": {"nanoseconds_since_epoch": first_ns},
        "duration": {"nanoseconds": last_ns - first_ns},
        "message_count": count,
    }


@lru_cache
def _profiles(qos: str) -> object:
    return yaml.safe_load(qos) or []


def save_metadata(folder: Path, document: dict[str, object]) -> None:
    """Writes metadata.yaml, as a whole or not at all.

    Raises:
        OSError: if it cannot be written.
    """
    replace_synced(folder / "metadata.yaml", yaml.safe_dump(document, sort_keys=False))
