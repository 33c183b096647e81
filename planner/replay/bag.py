"""Reading bags without ROS: our own and those of `ros2 bag record`.

Reading never writes into a bag's folder. A bag that is still being written, or whose recorder was
killed, is read up to its last complete record (`Bag.is_open`, `Bag.cut_short`).
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from planner.recorder.topic_counts import Gap
from planner.replay.mcap_file import McapFile
from planner.replay.storage import (
    GAP,
    SequenceGaps,
    Storage,
    StoredMessage,
    TopicInfo,
    UnreadableError,
    described,
    has_one_publisher,
    merged,
    message_reader,
    recorded_gaps,
)
from planner.world.errors import FileError
from planner.world.files import reading
from planner.world.memory_wire import stamp_seconds
from planner.world.wire import record_of

# The worlds of a bag, from its topic /world/info.

WORLD_INFO = "/world/info"


@dataclass(frozen=True, slots=True)
class WorldInfo:
    """A world as planner_msgs/WorldInfo describes it.

    Attributes:
        stamp_s: when it was loaded, world's time.
        house_json: the house file; "" = none.
        episode_id: "" outside an episode.
        episode_json: the episode file; "" = none.
        agents: namespaces, agent_0 first.
        bodies: name of each agent's body.
        rate: simulated seconds per second, in paced mode.
        version: of the software.
    """

    stamp_s: float
    backend: str
    simulated: bool
    house: str
    house_json: str
    episode_id: str
    episode_json: str
    agents: tuple[str, ...]
    bodies: tuple[str, ...]
    seed: int
    time_mode: str
    rate: float
    idle_time: str
    version: str


def world_info_of(message: Any, source: Path) -> WorldInfo:
    """Converts a message.

    Raises:
        FileError: if it has another type.
    """
    try:
        return record_of(WorldInfo, message, stamp_s=stamp_seconds(message.header.stamp))
    except (AttributeError, TypeError, ValueError) as error:
        reason = f"has another type than expected: {error}"
        raise FileError(source, WORLD_INFO, reason) from None


# The files of a bag, each opened by the reader for its format.
#
# Only regular files count. Nothing in metadata.yaml is used as a path: a bag's files are those in
# its folder, in the order of their first messages.

# Our recorder's bags are readable without metadata.yaml.
OUR_LIBRARY = "planner"
_PACKED = ".zstd"
SUFFIXES = (".mcap", ".db3", ".mcap.zstd", ".db3.zstd")


def files_of(bag: Path) -> list[Path]:
    """The files with messages in a folder, ordered by number; [] = no bag.

    Raises:
        FileError: if the folder cannot be read.
    """
    if not bag.is_dir():
        return []
    with reading(bag):
        found = [f for f in bag.iterdir() if f.name.endswith(SUFFIXES) and f.is_file()]
    names = {file.name for file in found}
    # Next to a decompressed file, the compressed one is a copy.
    kept = [file for file in found if file.name.removesuffix(_PACKED) not in names - {file.name}]
    return sorted(kept, key=_by_number)


def _by_number(path: Path) -> tuple[int, str]:
    number = re.search(r"_([0-9]{1,9})\.", path.name)
    return int(number[1]) if number else 0, path.name


def mcap_files(bag: Path) -> list[Path]:
    """The .mcap files of a bag's folder.

    Raises:
        FileError: if it is not a folder, or has no such file.
    """
    if not bag.is_dir():
        raise FileError(bag, "", "is not a bag's folder")
    found = [file for file in files_of(bag) if file.suffix == ".mcap"]
    if not found:
        raise FileError(bag, "", "has no .mcap file")
    return found


def open_files(path: Path) -> Sequence[Storage]:
    """Opens the files of a bag.

    Args:
        path: the bag's folder, or one of its files.

    Raises:
        FileError: if there is no readable bag.
    """
    if path.is_file() and path.name.endswith(SUFFIXES):
        folder, paths = path.parent, [path]
    else:
        folder, paths = path, files_of(path)
    if not paths:
        what = f"has no bag files ({', '.join(SUFFIXES)})"
        raise FileError(path, "", what if path.is_dir() else "is not a bag's folder")
    if len({_format(file) for file in paths}) > 1:
        raise FileError(path, "", "has both .mcap and .db3 files: it is not one bag")
    opened = [_open(file) for file in paths]
    if all(file.library == OUR_LIBRARY for file in opened):
        return opened
    return sorted(_described(folder, opened), key=lambda file: file.start_ns)


def _format(path: Path) -> str:
    return Path(path.name.removesuffix(_PACKED)).suffix


def _open(path: Path) -> Storage:
    if path.suffix == ".mcap":
        return McapFile(path)
    # Not needed for our own bags.
    from planner.replay.foreign import SqliteFile, UnpackedFile

    reader = McapFile if _format(path) == ".mcap" else SqliteFile
    return UnpackedFile(path, reader) if path.suffix == _PACKED else reader(path)


def _described(folder: Path, files: Sequence[Storage]) -> list[Storage]:
    from planner.replay.foreign import PackedMessages, read_description, with_standard_definitions

    said = read_description(folder)
    complete = [with_standard_definitions(file, said.ros_distro) for file in files]
    return [PackedMessages(file) for file in complete] if said.packs_messages else complete


_log = logging.getLogger(__name__)
# Metadata record of a recovered bag.
CUT_SHORT = "planner.cut_short"


@dataclass(frozen=True, slots=True)
class BagMessage:
    """One message: topic, time of receipt (nanoseconds) and content."""

    topic: str
    received_ns: int
    content: Any


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One serialized message (CDR), with what is needed to deserialize it.

    Attributes:
        received_ns: time of receipt by the recorder.
        published_ns: time of publication; equals `received_ns` if the bag does not record it.
        sequence: the publisher's sequence number, modulo 2**32; 0 if not recorded.
    """

    topic: str
    received_ns: int
    data: bytes
    type_name: str
    definition: str
    published_ns: int = 0
    sequence: int = 0

    def content(self) -> Any:
        """The deserialized message.

        Raises:
            ValueError: if the data do not match the type, or its definition is unusable.
        """
        try:
            return message_reader(self.type_name, self.definition)(self.data)
        except UnreadableError as error:
            raise UnreadableError(f"{self.topic}: {error}") from None


class NumberedMessage(NamedTuple):
    """One message with its publisher's sequence number; the bytes are not copied."""

    received_ns: int
    sequence: int
    data: memoryview


class Bag:
    """An open bag; its metadata is read once.

    Messages come in the order in which they were written, which is the order of receipt, except for
    messages that a recorder took from several queues at once. A bag of several files is read file
    by file. Opening and reading raise FileError if there is no readable bag, a record of it is
    damaged, or a message does not match its type.

    Attributes:
        folder: of the bag, or the single file that was opened.
        topics: by name.
        start_ns: receipt of the first message; 0 without messages.
        end_ns: receipt of the last message.
        message_count: on all topics.
        is_open: whether it is still being written.
        cut_short: whether its end is missing: it is still being written, its recorder was killed,
            or it was recovered from such a bag.
        impossible: by topic, how many messages have an impossible time (`planner.replay.storage`).
            They are left out of everything else, which a warning says.
    """

    def __init__(self, folder: Path) -> None:
        """Opens a bag."""
        self.folder = folder
        self._files: Sequence[Storage] = open_files(folder)
        self._metadata = [record for file in self._files for record in file.metadata]
        self._is_ours = all(file.library == OUR_LIBRARY for file in self._files)
        self.is_open = any(file.is_open for file in self._files)
        self.cut_short = any(m.name == CUT_SHORT for m in self._metadata) or not all(
            file.closed for file in self._files
        )
        self.topics: Mapping[str, TopicInfo] = _topics(self._files)
        self.impossible: Mapping[str, int] = _impossible(self._files)
        if self.impossible:
            _warn(f"{folder}: {impossible_text(self.impossible)}")
        self.message_count = sum(topic.count for topic in self.topics.values())
        heard = [file for file in self._files if file.start_ns or file.end_ns]
        self.start_ns = min((file.start_ns for file in heard), default=0)
        self.end_ns = max((file.end_ns for file in heard), default=0)

    @property
    def metadata(self) -> Mapping[str, Mapping[str, str]]:
        """The metadata records by name; the last one of each name."""
        return {record.name: record.texts for record in self._metadata}

    def attachments(self) -> Mapping[str, bytes]:
        """The attachments by name (never a path); the last one of each name."""
        return {name: data for file in self._files for name, data in file.attachments().items()}

    @cached_property
    def world_infos(self) -> tuple[WorldInfo, ...]:
        """The messages of /world/info, one for each world that was loaded."""
        return tuple(world_info_of(m.content, self.folder) for m in self.messages((WORLD_INFO,)))

    @property
    def world_info(self) -> WorldInfo | None:
        """The last of `world_infos`."""
        return self.world_infos[-1] if self.world_infos else None

    def type_of(self, topic: str) -> tuple[str, str] | None:
        """Type and definition of a topic; None if the bag does not have it."""
        info = self.topics.get(topic)
        return None if info is None else (info.type_name, info.definition)

    def raw(
        self, topics: Sequence[str] = (), *, start_ns: int | None = None, end_ns: int | None = None
    ) -> Iterator[RawMessage]:
        """The messages of some topics (default: all) in the order of receipt.

        Args:
            topics: names.
            start_ns: earliest receipt.
            end_ns: latest receipt, exclusive.
        """
        for channel, message in self._read(topics, start_ns, end_ns):
            yield RawMessage(
                channel.name,
                message.received_ns,
                bytes(message.data),
                channel.type_name,
                channel.definition,
                message.published_ns,
                message.sequence,
            )

    def messages(
        self, topics: Sequence[str] = (), *, start_ns: int | None = None, end_ns: int | None = None
    ) -> Iterator[BagMessage]:
        """As `raw`, with deserialized messages."""
        for channel, message in self._read(topics, start_ns, end_ns):
            try:
                reader = message_reader(channel.type_name, channel.definition)
                content = reader(message.data)
            except UnreadableError as error:
                raise FileError(self.folder, channel.name, str(error)) from None
            yield BagMessage(channel.name, message.received_ns, content)

    def numbered(self, topic: str) -> Iterator[NumberedMessage]:
        """As `raw` for one topic, with sequence numbers.

        The data are not copied: keeping one keeps about a megabyte of the bag in memory.
        """
        return (
            NumberedMessage(message.received_ns, message.sequence, message.data)
            for _, message in self._read((topic,), None, None)
        )

    def every(self) -> Iterator[tuple[str, StoredMessage]]:
        """All messages with their topics; the data are not copied."""
        for file in self._files:
            topics = {number: channel.name for number, channel in file.channels.items()}
            for message in file.messages(frozenset(topics), None, None):
                yield topics[message.channel_id], message

    def gaps(self, topic: str) -> tuple[Gap, ...]:
        """Messages of a topic that are missing, in the order of time.

        These are losses that the recorder noted, and gaps in the sequence numbers (`is_numbered`).
        """
        found = list(self.recorded_gaps(topic))
        if self.is_numbered(topic):
            jumps = SequenceGaps(topic)
            for received_ns, sequence, _ in self.numbered(topic):
                gap = jumps.take(sequence, received_ns)
                if gap is not None:
                    found.append(gap)
        return merged(found)

    def lacks(self) -> tuple[str, ...]:
        """What is missing of the recording as its recorder noted it, a line each, for people.

        Whoever says a verdict or a result by this bag says these lines before it.
        """
        lines = described({name: self.recorded_gaps(name) for name in self.noted_topics})
        if self.is_open:
            lines.append("its end: the bag is still being written")
        elif self.cut_short:
            lines.append("its end: the bag was cut short, as by a killed recorder or a full disk")
        return tuple(lines)

    @property
    def noted_topics(self) -> list[str]:
        """Topics with losses that the recorder noted, also those of which it wrote nothing."""
        return sorted({m.texts.get("topic", "") for m in self._metadata if m.name == GAP})

    def is_numbered(self, topic: str) -> bool:
        """Whether a jump in a topic's sequence numbers is a gap.

        Our recorder counts by topic, others keep each publisher's own count: there, only topics
        with a single publisher qualify.
        """
        info = self.topics.get(topic)
        return info is not None and (self._is_ours or has_one_publisher(info.qos))

    def recorded_gaps(self, topic: str) -> tuple[Gap, ...]:
        """Losses on a topic that the recorder noted; part of `gaps`."""
        try:
            return tuple(recorded_gaps(self._metadata, topic))
        except ValueError as error:
            raise FileError(self.folder, "metadata", str(error)) from None

    def _read(
        self, topics: Sequence[str], start_ns: int | None, end_ns: int | None
    ) -> Iterator[tuple[TopicInfo, StoredMessage]]:
        names = set(topics)
        for file in self._files:
            chosen = {n: c for n, c in file.channels.items() if not names or c.name in names}
            if not chosen:
                continue
            for message in file.messages(frozenset(chosen), start_ns, end_ns):
                yield chosen[message.channel_id], message


def impossible_text(counts: Mapping[str, int]) -> str:
    """What is said of messages that are left out, by topic."""
    topics = ", ".join(f"{topic} ({count})" for topic, count in sorted(counts.items()))
    total = sum(counts.values())
    what = (
        "1 message with an impossible time is"
        if total == 1
        else (f"{total} messages with an impossible time are")
    )
    return f"{what} left out: {topics}"


@lru_cache(maxsize=256)
def _warn(text: str) -> None:
    """Says it once a process: tools open a bag several times."""
    _log.warning("%s", text)


def _impossible(files: Sequence[Storage]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for file in files:
        found.update(file.impossible)
    return dict(found)


def _topics(files: Sequence[Storage]) -> dict[str, TopicInfo]:
    found: dict[str, TopicInfo] = {}
    for file in files:
        for channel in file.channels.values():
            # The first file that has a topic says what it is.
            known = found.get(channel.name, replace(channel, count=0))
            found[channel.name] = replace(known, count=known.count + channel.count)
    return found


def read_bag(bag: Path, topics: Sequence[str] = ()) -> Iterator[BagMessage]:
    """As `Bag.messages`.

    Raises:
        FileError: if the folder is not a readable bag, or a message does not match its type.
    """
    yield from Bag(bag).messages(topics)
