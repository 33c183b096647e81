"""One MCAP file: its contents, from the summary or by scanning it, and its messages."""

from __future__ import annotations

import fcntl
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO

from mcap import records as mcap
from mcap.opcode import Opcode

from planner.replay import mcap_records
from planner.replay.mcap_records import (
    HEAD_BYTES,
    MAGIC,
    MESSAGE_BYTES,
    DamagedError,
    Record,
    chunk_contents,
    content,
    exactly,
    message_head,
    parsed,
    records,
    unpacked_chunk,
)
from planner.replay.storage import (
    MAX_TIME_NS,
    Metadatum,
    Storage,
    StoredMessage,
    TopicInfo,
    UnreadableError,
    msg_text,
)
from planner.world.errors import FileError

# The contents of an MCAP file: from the summary at its end, or by scanning it.

FOOTER_BYTES = HEAD_BYTES + 20
# Messages outside of chunks are read together up to this size.
_SPAN_BYTES = 4 << 20
_MAX_SUMMARY_BYTES = 256 << 20
# Limits against decompression bombs: total decompressed size relative to the file, and absolute.
_MAX_UNPACKED_TIMES, _MAX_UNPACKED_BYTES = 1000, 512 << 20


@dataclass(slots=True)
class Piece:
    """A chunk, or a span of records outside of chunks.

    Attributes:
        offset: of a chunk's content, or of a span's first record.
        channels: with messages in it; None = any.
    """

    offset: int
    length: int
    is_chunk: bool
    start_ns: int
    end_ns: int
    channels: frozenset[int] | None


@dataclass(slots=True)
class Contents:
    """The known contents of a file.

    Attributes:
        counts: messages by channel.
        impossible: messages with an impossible time by channel, which `counts` does not have.
        damaged: number of incomplete records.
        unpacked_bytes: decompressed size of all scanned chunks.
        pieces: everything that has messages, in the order of the file.
        metadata: positions of the metadata records.
        attachments: positions of the attachments.
    """

    schemas: dict[int, mcap.Schema] = field(default_factory=dict)
    channels: dict[int, mcap.Channel] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    impossible: dict[int, int] = field(default_factory=dict)
    damaged: int = 0
    unpacked_bytes: int = 0
    pieces: list[Piece] = field(default_factory=list)
    metadata: list[Record] = field(default_factory=list)
    attachments: list[Record] = field(default_factory=list)
    start_ns: int | None = None
    end_ns: int = 0

    def count(self, channel_id: int, messages: int, start_ns: int, end_ns: int) -> None:
        """Counts messages that were received between two times."""
        self.counts[channel_id] = self.counts.get(channel_id, 0) + messages
        self.start_ns = start_ns if self.start_ns is None else min(self.start_ns, start_ns)
        self.end_ns = max(self.end_ns, end_ns)

    def define(self, opcode: int, data: bytes) -> None:
        """Adds a schema or a channel; the first of each id counts."""
        if opcode == Opcode.SCHEMA:
            schema = parsed(mcap.Schema, data)
            self.schemas.setdefault(schema.id, schema)
        elif opcode == Opcode.CHANNEL:
            channel = parsed(mcap.Channel, data)
            self.channels.setdefault(channel.id, channel)


def read_footer(stream: BinaryIO, end: int) -> Any | None:
    """The footer of a closed file; None if the file was not closed."""
    if end < 2 * len(MAGIC) + FOOTER_BYTES:
        return None
    begin = end - FOOTER_BYTES - len(MAGIC)
    stream.seek(begin)
    tail = exactly(stream, FOOTER_BYTES + len(MAGIC))
    # Check the opcode and length too: the trailing magic bytes alone may be part of a message.
    if tail[-len(MAGIC) :] != MAGIC or tail[:HEAD_BYTES] != _FOOTER_HEAD:
        return None
    return parsed(mcap.Footer, tail[HEAD_BYTES:-8])


_FOOTER_HEAD = bytes([Opcode.FOOTER]) + (20).to_bytes(8, "little")


def from_summary(stream: BinaryIO, footer: Any, end: int) -> Contents | None:
    """The contents according to the summary; None if it is incomplete or has impossible times.

    Args:
        stream: of the file.
        footer: its footer.
        end: the offset of the footer.

    Raises:
        DamagedError: if it is damaged.
    """
    begin = footer.summary_start
    if not len(MAGIC) <= begin <= end:
        raise DamagedError(f"its summary cannot begin at byte {begin}")
    if end - begin > _MAX_SUMMARY_BYTES:
        raise DamagedError(f"its summary has {end - begin} bytes")
    if footer.summary_crc and _check_sum(stream, begin, end) != footer.summary_crc:
        raise DamagedError("its summary has another check sum")
    found, statistics = Contents(), None
    indexes: list[Any] = []
    metadata: list[int] = []
    attachments: list[int] = []
    for record in records(stream, begin, end):
        if record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            found.define(record.opcode, content(stream, record))
        elif record.opcode == Opcode.STATISTICS:
            statistics = parsed(mcap.Statistics, content(stream, record))
        elif record.opcode == Opcode.CHUNK_INDEX:
            indexes.append(parsed(mcap.ChunkIndex, content(stream, record)))
        elif record.opcode == Opcode.METADATA_INDEX:
            index = parsed(mcap.MetadataIndex, content(stream, record))
            metadata.append(index.offset)
        elif record.opcode == Opcode.ATTACHMENT_INDEX:
            index = parsed(mcap.AttachmentIndex, content(stream, record))
            attachments.append(index.offset)
    found.metadata = _named(stream, metadata, Opcode.METADATA, begin)
    found.attachments = _named(stream, attachments, Opcode.ATTACHMENT, begin)
    if statistics is None or _lacks_something(found, statistics, indexes):
        return None
    times_ns = [statistics.message_end_time, *(index.message_end_time for index in indexes)]
    if max(times_ns) > MAX_TIME_NS:
        # Which messages they are is found by scanning all of them.
        return None
    found.counts = dict(statistics.channel_message_counts)
    if statistics.message_count:
        found.start_ns, found.end_ns = statistics.message_start_time, statistics.message_end_time
    _check_size(sum(index.uncompressed_size for index in indexes), end)
    found.pieces = _chunks(indexes, begin)
    return found


def _check_sum(stream: BinaryIO, begin: int, end: int) -> int:
    stream.seek(begin)
    # Up to the checksum in the footer itself.
    return zlib.crc32(exactly(stream, end + FOOTER_BYTES - 4 - begin))


def _lacks_something(found: Contents, statistics: Any, indexes: list[Any]) -> bool:
    """Whether a summary lacks something that its statistics count: everything else is optional."""
    return (
        len(found.channels) < statistics.channel_count
        or len(found.metadata) < statistics.metadata_count
        or len(found.attachments) < statistics.attachment_count
        or len(indexes) < statistics.chunk_count
        # Messages outside of chunks.
        or (statistics.message_count > 0 and not indexes)
        or any(c.schema_id and c.schema_id not in found.schemas for c in found.channels.values())
        or sum(statistics.channel_message_counts.values()) != statistics.message_count
    )


def _named(stream: BinaryIO, offsets: list[int], opcode: Opcode, end: int) -> list[Record]:
    """The records that the summary refers to, in file order, each read only once."""
    found: list[Record] = []
    begin = len(MAGIC)
    for offset in sorted(offsets):
        if not begin <= offset < end:
            raise DamagedError(f"its summary names a record at byte {offset}")
        record = next(records(stream, offset, end), None)
        if record is None or record.opcode != opcode:
            raise DamagedError(f"there is no {opcode.name.lower()} at byte {offset}")
        found.append(record)
        begin = record.offset + record.length
    return found


def _chunks(indexes: list[Any], end: int) -> list[Piece]:
    pieces = []
    begin = len(MAGIC)
    for index in sorted(indexes, key=lambda index: index.chunk_start_offset):
        # In file order: no chunk is read twice.
        if index.chunk_start_offset < begin:
            raise DamagedError(f"its summary names a chunk at byte {index.chunk_start_offset}")
        begin = index.chunk_start_offset + index.chunk_length
        if begin > end or index.chunk_length < HEAD_BYTES:
            raise DamagedError(f"its summary names a chunk of {index.chunk_length} bytes")
        pieces.append(
            Piece(
                index.chunk_start_offset + HEAD_BYTES,
                index.chunk_length - HEAD_BYTES,
                True,
                index.message_start_time,
                index.message_end_time,
                # Message indexes are optional.
                frozenset(index.message_index_offsets) or None,
            )
        )
    return pieces


class Damage(Enum):
    """How a scan treats a damaged record."""

    ERROR = "error"
    # It ends the file: records before it count.
    END = "end"
    # Incomplete records are skipped; everything else that can be found counts.
    LEFT_OUT = "left out"


def from_records(stream: BinaryIO, end: int, damage: Damage) -> Contents:
    """The contents of a file, by scanning it.

    Args:
        stream: of the file.
        end: upper bound of the end of its data.
        damage: how to treat a damaged record.

    Raises:
        DamagedError: if a record is damaged and that is an error.
    """
    found = Contents()
    try:
        for record in records(stream, len(MAGIC), end):
            if record.opcode in (Opcode.DATA_END, Opcode.FOOTER):
                break
            try:
                _take(stream, record, found, end)
            except DamagedError:
                if damage is not Damage.LEFT_OUT:
                    raise
                found.damaged += 1
    except DamagedError:
        if damage is Damage.ERROR:
            raise
        found.damaged += 1
    return found


def _check_size(unpacked_bytes: int, packed_bytes: int) -> None:
    """Rejects a small file that would take hours to scan."""
    if unpacked_bytes > _MAX_UNPACKED_TIMES * packed_bytes + _MAX_UNPACKED_BYTES:
        raise DamagedError(f"its chunks unpack to {unpacked_bytes} bytes, too many for its size")


def _take(stream: BinaryIO, record: Record, found: Contents, end: int) -> None:
    if record.opcode == Opcode.CHUNK:
        _take_chunk(record, content(stream, record), found, end)
    elif record.opcode == Opcode.MESSAGE:
        stream.seek(record.offset)
        _take_message(record, exactly(stream, min(record.length, MESSAGE_BYTES)), found)
    elif record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
        found.define(record.opcode, content(stream, record))
    elif record.opcode == Opcode.METADATA:
        parsed(mcap.Metadata, content(stream, record))
        found.metadata.append(record)
    elif record.opcode == Opcode.ATTACHMENT:
        found.attachments.append(record)


def _take_chunk(record: Record, data: bytes, found: Contents, end: int) -> None:
    chunk = unpacked_chunk(data)
    found.unpacked_bytes += len(chunk)
    _check_size(found.unpacked_bytes, end)
    # Scan all of it before any message counts: half a chunk is not used.
    inside = chunk_contents(chunk)
    for opcode, at, length in inside.definitions:
        found.define(opcode, chunk[at : at + length])
    for channel_id, count in inside.impossible.items():
        found.impossible[channel_id] = found.impossible.get(channel_id, 0) + count
    if not inside.counts:
        return
    start_ns, end_ns = inside.start_ns, inside.end_ns
    for channel_id, count in inside.counts.items():
        found.count(channel_id, count, start_ns, end_ns)
    found.pieces.append(
        Piece(record.offset, record.length, True, start_ns, end_ns, frozenset(inside.counts))
    )


def _take_message(record: Record, data: bytes, found: Contents) -> None:
    channel_id, received_ns = message_head(data, record.length)
    if received_ns > MAX_TIME_NS:
        found.impossible[channel_id] = found.impossible.get(channel_id, 0) + 1
        return
    found.count(channel_id, 1, received_ns, received_ns)
    begin, length = record.offset - HEAD_BYTES, record.length + HEAD_BYTES
    last = found.pieces[-1] if found.pieces else None
    if (
        last is not None
        and not last.is_chunk
        and last.offset + last.length == begin
        and last.length + length <= _SPAN_BYTES
    ):
        last.length += length
        last.start_ns, last.end_ns = min(last.start_ns, received_ns), max(last.end_ns, received_ns)
        last.channels = (last.channels or frozenset()) | {channel_id}
        return
    found.pieces.append(
        Piece(begin, length, False, received_ns, received_ns, frozenset((channel_id,)))
    )


_AFTER_EVER = 1 << 64
_LANGUAGES_OF_IDL = ("ros2idl", "omgidl")


class McapFile(Storage):
    """An MCAP file: `is_open` while a recorder holds an exclusive lock (flock) on it.

    Attributes:
        contents: what is in it.
    """

    def __init__(self, path: Path, *, salvage: bool = False) -> None:
        """Opens a file.

        Args:
            path: of the file.
            salvage: whether to scan it for all complete records, ignoring its summary.

        Raises:
            FileError: if it is not an MCAP file, or is damaged.
        """
        self.path = path
        try:
            with path.open("rb") as stream:
                self.is_open = _is_locked(stream)
                self._open(stream, salvage)
        except OSError as error:
            raise self._unreadable(error.strerror or error) from None
        except DamagedError as error:
            raise FileError(path, "", str(error)) from None

    def _unreadable(self, reason: object) -> FileError:
        return FileError(self.path, "", f"cannot be read: {reason}")

    def _open(self, stream: BinaryIO, salvage: bool) -> None:
        end = stream.seek(0, 2)
        if end == 0:
            raise DamagedError("is no MCAP file: it is empty")
        stream.seek(0)
        if stream.read(len(MAGIC)) != MAGIC:
            raise DamagedError("is no MCAP file: it does not begin as one")
        try:
            first = next(records(stream, len(MAGIC), end), None)
        except DamagedError as error:
            raise DamagedError(f"is no MCAP file: {error}") from None
        if first is None or first.opcode != Opcode.HEADER:
            raise DamagedError("is no MCAP file: it has no header")
        self.library = str(parsed(mcap.Header, content(stream, first)).library)
        footer = read_footer(stream, end)
        self.closed = footer is not None
        if self.closed:
            end -= FOOTER_BYTES + len(MAGIC)
        if salvage:
            found = from_records(stream, end, Damage.LEFT_OUT)
        else:
            found = self._contents(stream, footer, end)
        self.contents = found
        self.channels = {
            number: _stored(channel, found.schemas.get(channel.schema_id), found.counts)
            for number, channel in found.channels.items()
        }
        self.start_ns, self.end_ns = found.start_ns or 0, found.end_ns
        self.impossible = {
            self.channels[number].name: count
            for number, count in found.impossible.items()
            if number in self.channels
        }
        read = (parsed(mcap.Metadata, content(stream, where)) for where in found.metadata)
        self.metadata = tuple(Metadatum(record.name, dict(record.metadata)) for record in read)

    def _contents(self, stream: BinaryIO, footer: Any | None, end: int) -> Contents:
        if footer is not None and footer.summary_start:
            found = from_summary(stream, footer, end)
            if found is not None:
                return found
        return from_records(stream, end, Damage.ERROR if self.closed else Damage.END)

    def attachments(self) -> Mapping[str, bytes]:
        """As `Storage`."""
        return {attachment.name: attachment.data for attachment in self.all_attachments()}

    def all_attachments(self) -> list[mcap.Attachment]:
        """The attachments with their metadata.

        Raises:
            FileError: if they cannot be read.
        """
        try:
            with self.path.open("rb") as stream:
                return [
                    parsed(mcap.Attachment, content(stream, where))
                    for where in self.contents.attachments
                ]
        except OSError as error:
            raise self._unreadable(error.strerror or error) from None
        except DamagedError as error:
            raise self._unreadable(error) from None

    def messages(
        self, channel_ids: frozenset[int], start_ns: int | None, end_ns: int | None
    ) -> Iterator[StoredMessage]:
        """As `Storage`, in the order in which they were written.

        Only chunks with these channels are read: most of a bag is pictures.
        """
        start = start_ns or 0
        end = _AFTER_EVER if end_ns is None else end_ns
        try:
            with self.path.open("rb") as stream:
                for piece in self.contents.pieces:
                    if piece.end_ns < start or piece.start_ns >= end:
                        continue
                    if piece.channels is not None and channel_ids.isdisjoint(piece.channels):
                        continue
                    stream.seek(piece.offset)
                    data = exactly(stream, piece.length)
                    chunk = unpacked_chunk(data) if piece.is_chunk else data
                    yield from mcap_records.messages(chunk, channel_ids, start, end)
        except OSError as error:
            raise self._unreadable(error.strerror or error) from None
        except DamagedError as error:
            raise self._unreadable(error) from None


def _is_locked(stream: BinaryIO) -> bool:
    """Whether a recorder holds its exclusive lock (flock), which means that it is writing."""
    try:
        fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        # A file system without locks.
        return False
    fcntl.flock(stream, fcntl.LOCK_UN)
    return False


def _stored(
    channel: mcap.Channel, schema: mcap.Schema | None, counts: Mapping[int, int]
) -> TopicInfo:
    return TopicInfo(
        channel.topic,
        "" if schema is None else schema.name,
        "" if schema is None or channel.message_encoding != "cdr" else _definition(schema),
        counts.get(channel.id, 0),
        channel.metadata.get("offered_qos_profiles", ""),
    )


def _definition(schema: mcap.Schema) -> str:
    """Its definition in ROS 2's .msg format; "" if there is none that is usable."""
    try:
        text = schema.data.decode()
        if schema.encoding in _LANGUAGES_OF_IDL:
            return msg_text(schema.name, text)
    except (UnicodeDecodeError, UnreadableError):
        return ""
    return text if schema.encoding == "ros2msg" else ""
