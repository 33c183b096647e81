"""One MCAP file: its contents and messages.

A closed file ends in a summary, which has the positions of everything. A file without one, because
it is still being written or its recorder was killed, is scanned from its beginning up to the last
complete record.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from mcap import records as mcap
from mcap.opcode import Opcode

from planner.replay import mcap_records
from planner.replay.definitions import UnreadableError, msg_text
from planner.replay.mcap_contents import (
    FOOTER_BYTES,
    Contents,
    Damage,
    from_records,
    from_summary,
    read_footer,
)
from planner.replay.mcap_records import (
    MAGIC,
    DamagedError,
    content,
    exactly,
    parsed,
    records,
    unpacked_chunk,
)
from planner.replay.storage import Metadatum, Storage, StoredChannel, StoredMessage
from planner.world.errors import FileError

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
            self.channels[number].topic: count
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
) -> StoredChannel:
    return StoredChannel(
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
