"""Reading our bags without ROS."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Chunk
from mcap.stream_reader import get_chunk_data_stream
from mcap.summary import Summary
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore

from planner.replay.recovery import CUT_SHORT, is_complete, mcap_file, recover
from planner.world.errors import FileError

_RECORD = struct.Struct("<BQ").unpack_from
_MESSAGE = struct.Struct("<HIQ").unpack_from
_UNREADABLE = (McapError, EOFError, OSError, RuntimeError, ValueError, KeyError, struct.error)


@dataclass(frozen=True, slots=True)
class BagMessage:
    """One message: its topic, when it was received (nanoseconds) and its content."""

    topic: str
    received_ns: int
    content: Any


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message in CDR, with what it takes to read it."""

    topic: str
    received_ns: int
    data: bytes
    type_name: str
    definition: str

    def content(self) -> Any:
        """The message by its fields.

        Raises:
            ValueError: where the data are no such message.
        """
        try:
            return _reader_of(self.type_name, self.definition)(self.data)
        except (SerdeError, TypesysError, AssertionError, IndexError) as error:
            raise ValueError(f"{self.topic}: no {self.type_name}: {error}") from None


@cache
def _reader_of(type_name: str, definition: str) -> Callable[[bytes], Any]:
    # Parsing definitions takes longer than reading a short bag: once for all bags of a kind.
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(definition, type_name))
    return lambda data: store.deserialize_cdr(data, type_name)


class _Channel(NamedTuple):
    """A topic with its type's name and definition."""

    topic: str
    type_name: str
    text: str


class Bag:
    """A bag that was opened: what it says of itself is read once.

    Attributes:
        folder: of the bag.
        cut_short: whether its recorder was killed before its end.
    """

    def __init__(self, folder: Path) -> None:
        """Opens a bag; one whose recorder was killed is completed first.

        Raises:
            FileError: where the folder is no readable bag.
        """
        self.folder = folder
        self._path = mcap_file(folder)
        if not is_complete(folder):
            recover(folder)
        try:
            with self._path.open("rb") as stream:
                summary = make_reader(stream).get_summary()
        except _UNREADABLE as error:
            raise self._unreadable(error) from None
        if summary is None:
            raise self._unreadable("it has no summary")
        self._summary = summary
        self.cut_short = any(m.name == CUT_SHORT for m in summary.metadata_indexes)

    def _unreadable(self, reason: object) -> FileError:
        return FileError(self._path, "", f"cannot be read: {reason}")

    def type_of(self, topic: str) -> tuple[str, str] | None:
        """A topic's type and its definition, of the first of its channels; None without it."""
        channels = _channels(self._summary, {topic}).values()
        return next(((channel.type_name, channel.text) for channel in channels), None)

    def raw(self, topics: Sequence[str] = ()) -> Iterator[RawMessage]:
        """The messages of some topics (none named: all) in the order of their receipt.

        Raises:
            FileError: where the file cannot be read.
        """
        for channel, received_ns, data in self._read(topics):
            yield RawMessage(
                channel.topic, received_ns, bytes(data), channel.type_name, channel.text
            )

    def messages(self, topics: Sequence[str] = ()) -> Iterator[BagMessage]:
        """As `raw`, with the messages by their fields.

        Raises:
            FileError: where the file cannot be read, or a message is none of its type.
        """
        for raw in self.raw(topics):
            try:
                content = raw.content()
            except ValueError as error:
                raise FileError(self.folder, raw.topic, str(error)) from None
            yield BagMessage(raw.topic, raw.received_ns, content)

    def data(self, topic: str) -> Iterator[tuple[int, memoryview]]:
        """As `raw` for one topic: when each message was received, and its bytes.

        They are not copied: whoever keeps them keeps some megabyte of the bag in memory.

        Raises:
            FileError: where the file cannot be read.
        """
        return ((received_ns, data) for _, received_ns, data in self._read((topic,)))

    def _read(self, topics: Sequence[str]) -> Iterator[tuple[_Channel, int, memoryview]]:
        try:
            with self._path.open("rb") as stream:
                yield from _messages(stream, self._summary, set(topics))
        except _UNREADABLE as error:
            raise self._unreadable(error) from None


def read_raw(bag: Path, topics: Sequence[str] = ()) -> Iterator[RawMessage]:
    """As `Bag.raw`.

    Raises:
        FileError: where the folder is no readable bag.
    """
    yield from Bag(bag).raw(topics)


def read_bag(bag: Path, topics: Sequence[str] = ()) -> Iterator[BagMessage]:
    """As `Bag.messages`.

    Raises:
        FileError: where the folder is no readable bag, or a message none of its type.
    """
    yield from Bag(bag).messages(topics)


def _messages(
    stream: BinaryIO, summary: Summary, topics: set[str]
) -> Iterator[tuple[_Channel, int, memoryview]]:
    """By chunk and only what is wanted: most of a bag is pictures."""
    wanted = _channels(summary, topics)
    for index in sorted(summary.chunk_indexes, key=lambda i: i.chunk_start_offset):
        if wanted.keys().isdisjoint(index.message_index_offsets):
            continue
        # After the record's operation code and length.
        stream.seek(index.chunk_start_offset + 9)
        unpacked, length = get_chunk_data_stream(Chunk.read(ReadDataStream(stream)))
        for channel_id, log_time, data in _in_chunk(unpacked.read(length), wanted.keys()):
            yield wanted[channel_id], log_time, data


def _channels(summary: Summary, topics: set[str]) -> dict[int, _Channel]:
    """Those of some topics, none named: all; by their numbers."""
    wanted: dict[int, _Channel] = {}
    for channel in summary.channels.values():
        schema = summary.schemas.get(channel.schema_id)
        if schema is not None and (not topics or channel.topic in topics):
            wanted[channel.id] = _Channel(channel.topic, schema.name, schema.data.decode())
    return wanted


def _in_chunk(chunk: bytes, channels: Set[int]) -> Iterator[tuple[int, int, memoryview]]:
    view, at = memoryview(chunk), 0
    while at < len(view):
        operation, size = _RECORD(chunk, at)
        at += 9
        if operation == Opcode.MESSAGE:
            channel_id, _, log_time = _MESSAGE(chunk, at)
            if channel_id in channels:
                # After a channel, a sequence number and two stamps.
                yield channel_id, log_time, view[at + 22 : at + size]
        at += size
