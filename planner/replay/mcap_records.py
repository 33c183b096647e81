"""The records of an MCAP file: their positions, and the content of chunks.

Every length in a file is validated before anything is read or decompressed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode

from planner.replay.storage import MAX_TIME_NS, StoredMessage, short

MAGIC = b"\x89MCAP0\r\n"
HEAD_BYTES = 9
# Larger records are not read, and larger chunks not decompressed. Writers close a chunk after about
# a megabyte; only a single message can be larger.
MAX_RECORD_BYTES = 256 << 20
_HEAD = struct.Struct("<BQ").unpack_from
_MESSAGE = struct.Struct("<HIQQ").unpack_from
MESSAGE_BYTES = 22
_CHANNEL_AND_TIME = struct.Struct("<H4xQ").unpack_from
_CHUNK = struct.Struct("<QQQII").unpack_from
_CHUNK_BYTES = 32
_LZ4_TIMES, _LZ4_BYTES = 256, 1 << 16
# A plain integer: it is compared once per message.
_IS_MESSAGE = int(Opcode.MESSAGE)
_DEFINITIONS = (int(Opcode.SCHEMA), int(Opcode.CHANNEL))
# A chunk has at most one schema and one channel for each of 65,536 ids.
_MAX_OTHERS = 1 << 17
_AFTER_EVER = 1 << 64


class DamagedError(ValueError):
    """A file that is inconsistent."""


class Record(NamedTuple):
    """The position of a record's content, after its opcode and length."""

    opcode: int
    offset: int
    length: int


def records(stream: BinaryIO, begin: int, end: int) -> Iterator[Record]:
    """The records between two offsets.

    Raises:
        DamagedError: at the first incomplete one.
    """
    at = begin
    while at < end:
        if end - at < HEAD_BYTES:
            raise DamagedError(f"a record is cut off at byte {at}")
        stream.seek(at)
        opcode, length = _HEAD(exactly(stream, HEAD_BYTES))
        if opcode == 0:
            raise DamagedError(f"there is no record at byte {at}")
        if length > end - at - HEAD_BYTES:
            raise DamagedError(f"a record of {length} bytes is cut off at byte {at}")
        yield Record(opcode, at + HEAD_BYTES, length)
        at += HEAD_BYTES + length


def exactly(stream: BinaryIO, length: int) -> bytes:
    """Reads exactly this many bytes.

    Raises:
        DamagedError: if there are fewer, or there is not enough memory.
    """
    if length > MAX_RECORD_BYTES:
        raise DamagedError(
            f"a record has {length} bytes; more than {MAX_RECORD_BYTES} are not read"
        )
    data = stream.read(length)
    if len(data) != length:
        raise DamagedError("it ends within a record")
    return data


def content(stream: BinaryIO, record: Record) -> bytes:
    """A record's content."""
    stream.seek(record.offset)
    return exactly(stream, record.length)


def parsed(kind: Any, data: bytes) -> Any:
    """A record's fields.

    Args:
        kind: a class of `mcap.records`.
        data: the record's content.

    Raises:
        DamagedError: if the content is invalid.
    """
    try:
        return kind.read(ReadDataStream(BytesIO(data)))
    # The library raises undocumented exceptions.
    except Exception as error:
        raise DamagedError(f"a record {kind.__name__} is damaged: {short(error)}") from None


def unpacked_chunk(data: bytes) -> bytes:
    """The decompressed records of a chunk.

    Args:
        data: the chunk's content.

    Raises:
        DamagedError: if it cannot be decompressed or has another size than it declares.
    """
    if len(data) < _CHUNK_BYTES:
        raise DamagedError("a chunk is too short")
    _, _, size, crc, name_bytes = _CHUNK(data)
    at = _CHUNK_BYTES + name_bytes
    if at + 8 > len(data):
        raise DamagedError("a chunk is too short")
    (packed_bytes,) = struct.unpack_from("<Q", data, at)
    if packed_bytes != len(data) - at - 8:
        raise DamagedError("a chunk is not as long as it says")
    unpacked = _unpack(memoryview(data)[at + 8 :], data[_CHUNK_BYTES:at], size)
    if crc and zlib.crc32(unpacked) != crc:
        raise DamagedError("a chunk has another check sum")
    return unpacked


def _unpack(packed: memoryview, compression: bytes, size: int) -> bytes:
    if size > MAX_RECORD_BYTES:
        raise DamagedError(f"a chunk of {size} bytes; more than {MAX_RECORD_BYTES} are not read")
    if compression == b"":
        unpacked = bytes(packed)
    elif compression == b"lz4":
        unpacked = _lz4(packed, size)
    elif compression == b"zstd":
        unpacked = unpacked_zstd(packed, size)
    else:
        name = short(repr(compression[:20]))
        raise DamagedError(f"a chunk is compressed by {name}; lz4 and zstd are known")
    if len(unpacked) != size:
        raise DamagedError(f"a chunk does not unpack to the {size} bytes that it names")
    return unpacked


def _lz4(packed: memoryview, size: int) -> bytes:
    import lz4.frame

    # Memory is allocated for the declared size: LZ4 cannot compress better than this.
    if size > _LZ4_TIMES * len(packed) + _LZ4_BYTES:
        raise DamagedError(f"a chunk of {size} bytes cannot be packed in {len(packed)}")
    unpacker = lz4.frame.LZ4FrameDecompressor()
    try:
        # One byte more than declared shows whether there are more.
        unpacked: bytes = unpacker.decompress(packed, max_length=size + 1)
    except (RuntimeError, ValueError, EOFError) as error:
        raise DamagedError(f"a chunk cannot be unpacked: {short(error)}") from None
    return unpacked


def unpacked_zstd(packed: memoryview | bytes, max_bytes: int) -> bytes:
    """Decompresses one frame.

    Raises:
        DamagedError: if it is damaged or larger than `max_bytes`.
    """
    import zstandard

    try:
        # Memory is allocated for the size in the frame, whatever the limit is.
        named = zstandard.frame_content_size(packed)
        if named > max_bytes:
            raise DamagedError(f"{named} bytes are packed where {max_bytes} may be")
        unpacker = zstandard.ZstdDecompressor()
        if named >= 0:
            return unpacker.decompress(packed)
        pieces, left = [], max_bytes
        for piece in unpacker.read_to_iter(packed):
            left -= len(piece)
            if left < 0:
                raise DamagedError(f"more than {max_bytes} bytes are packed")
            pieces.append(piece)
        return b"".join(pieces)
    except zstandard.ZstdError as error:
        raise DamagedError(f"it cannot be unpacked: {short(error)}") from None


def messages(
    chunk: bytes, channel_ids: frozenset[int], start_ns: int, end_ns: int
) -> Iterator[StoredMessage]:
    """Messages of some channels received from `start_ns` on and before `end_ns`.

    Messages with an impossible time are left out, and such a time of publication is not used.

    Raises:
        DamagedError: at the first incomplete record.
    """
    view, at, end = memoryview(chunk), 0, len(chunk)
    end_ns = min(end_ns, MAX_TIME_NS + 1)
    # A loop over all messages of a bag: written for speed.
    try:
        while at < end:
            opcode, size = _HEAD(chunk, at)
            at += HEAD_BYTES
            after = at + size
            if after > end or not opcode:
                raise DamagedError("a record in a chunk is cut off")
            if opcode == _IS_MESSAGE:
                if size < MESSAGE_BYTES:
                    raise DamagedError("a message is cut off")
                channel_id, sequence, received_ns, published_ns = _MESSAGE(chunk, at)
                if channel_id in channel_ids and start_ns <= received_ns < end_ns:
                    if published_ns > MAX_TIME_NS:
                        published_ns = received_ns
                    data = view[at + MESSAGE_BYTES : after]
                    yield StoredMessage(channel_id, sequence, received_ns, published_ns, data)
            at = after
    except struct.error:
        raise DamagedError("a record in a chunk is cut off") from None


class ChunkContents(NamedTuple):
    """The contents of a chunk.

    Attributes:
        definitions: positions of its schemas and channels.
        counts: messages by channel.
        start_ns: receipt of the first message; meaningless without messages.
        end_ns: receipt of the last one.
        impossible: messages with an impossible time by channel, which are not in `counts`.
    """

    definitions: list[Record]
    counts: dict[int, int]
    start_ns: int
    end_ns: int
    impossible: dict[int, int]


def chunk_contents(chunk: bytes) -> ChunkContents:
    """Scans a chunk.

    Raises:
        DamagedError: if a record is incomplete, or there are too many other than messages.
    """
    definitions: list[Record] = []
    counts: dict[int, int] = {}
    impossible: dict[int, int] = {}
    start_ns, end_ns = _AFTER_EVER, 0
    others, at, end = 0, 0, len(chunk)
    # A loop over all messages of a file without a summary: written for speed.
    try:
        while at < end:
            opcode, size = _HEAD(chunk, at)
            at += HEAD_BYTES
            if at + size > end or not opcode:
                raise DamagedError("a record in a chunk is cut off")
            if opcode == _IS_MESSAGE:
                if size < MESSAGE_BYTES:
                    raise DamagedError("a message is cut off")
                channel_id, received_ns = _CHANNEL_AND_TIME(chunk, at)
                if received_ns > MAX_TIME_NS:
                    impossible[channel_id] = impossible.get(channel_id, 0) + 1
                else:
                    counts[channel_id] = counts.get(channel_id, 0) + 1
                    if received_ns < start_ns:
                        start_ns = received_ns
                    if received_ns > end_ns:
                        end_ns = received_ns
            else:
                others += 1
                if others > _MAX_OTHERS:
                    raise DamagedError(
                        f"a chunk has more than {_MAX_OTHERS} records besides messages"
                    )
                if opcode in _DEFINITIONS:
                    definitions.append(Record(opcode, at, size))
            at += size
    except struct.error:
        raise DamagedError("a record in a chunk is cut off") from None
    return ChunkContents(definitions, counts, start_ns, end_ns, impossible)


def message_head(data: bytes, length: int) -> tuple[int, int]:
    """A message's channel and time of receipt.

    Args:
        data: the beginning of the record's content.
        length: of the whole content.

    Raises:
        DamagedError: if it is too short.
    """
    if length < MESSAGE_BYTES or len(data) < MESSAGE_BYTES:
        raise DamagedError("a message is cut off")
    head: tuple[int, int] = _CHANNEL_AND_TIME(data)
    return head
