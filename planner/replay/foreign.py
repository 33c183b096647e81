"""Bags of `ros2 bag record` that are not plain MCAP: sqlite3, and rosbag2's compression."""

from __future__ import annotations

import shutil
import tempfile
import urllib.parse
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader

from planner.replay.mcap_records import MAX_RECORD_BYTES, DamagedError, unpacked_zstd
from planner.replay.storage import (
    MAX_TIME_NS,
    Storage,
    StoredMessage,
    TopicInfo,
    UnreadableError,
    msg_text,
    short,
    standard_text,
)
from planner.world.errors import FileError
from planner.world.files import parse_yaml, read_bytes

# The newest supported version of rosbag2's metadata.yaml.
NEWEST_METADATA = 9
MAX_METADATA_BYTES = 1 << 20
# Maximum compression ratio accepted for a file.
_MAX_UNPACKED_TIMES = 1000
_UNPACKED_AT_ONCE = 1 << 20
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Description:
    """Metadata that the files themselves do not have.

    Attributes:
        packs_messages: whether each message is compressed.
        ros_distro: name of the ROS 2 distribution; "" = not known.
    """

    packs_messages: bool = False
    ros_distro: str = ""


def read_description(folder: Path) -> Description:
    """Reads metadata.yaml; a missing file yields defaults.

    Raises:
        FileError: if it cannot be read, is of a newer version, or names a compression other than
            zstd.
    """
    path = folder / "metadata.yaml"
    if not path.is_file():
        return Description()
    content = read_bytes(path, MAX_METADATA_BYTES)
    try:
        document = parse_yaml(content.decode("utf-8"), path)
    except (FileError, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, FileError) else str(error)
        raise FileError(path, "", f"is not valid YAML: {short(reason)}") from None
    top = "rosbag2_bagfile_information"
    found = document.get(top) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise FileError(path, top, "expected an object")
    version = found.get("version")
    if not isinstance(version, int) or version > NEWEST_METADATA:
        reason = f"{short(repr(version))} is not supported; the newest known is {NEWEST_METADATA}"
        raise FileError(path, f"{top}.version", reason)
    mode, how = (str(found.get(key) or "") for key in ("compression_mode", "compression_format"))
    if mode.lower() not in ("", "none", "file", "message", "storage"):
        raise FileError(path, f"{top}.compression_mode", f"{short(repr(mode))} is not known")
    if mode.lower() in ("file", "message") and how != "zstd":
        raise FileError(path, f"{top}.compression_format", f"{short(repr(how))} is not known")
    return Description(mode.lower() == "message", str(found.get("ros_distro") or ""))


def unpacked_file(path: Path) -> tuple[Path, Callable[[], object]]:
    """Decompresses a file (`bag_0.mcap.zstd`) outside of its bag.

    Returns:
        The decompressed file and a function that removes it; it is also removed at process exit.

    Raises:
        FileError: if it cannot be decompressed, or there is no space for it.
    """
    import zstandard

    folder = Path(tempfile.mkdtemp(prefix="planner-bag-"))
    try:
        left = path.stat().st_size * _MAX_UNPACKED_TIMES
        out = folder / path.stem
        with path.open("rb") as packed, out.open("xb") as stream:
            for data in zstandard.ZstdDecompressor().read_to_iter(
                packed, write_size=_UNPACKED_AT_ONCE
            ):
                left -= len(data)
                if left < 0:
                    reason = f"unpacks to more than {_MAX_UNPACKED_TIMES} times its size"
                    raise FileError(path, "", reason)
                stream.write(data)
    except (OSError, zstandard.ZstdError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise FileError(path, "", f"cannot be unpacked: {short(error)}") from None
    except FileError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return out, lambda: shutil.rmtree(folder, ignore_errors=True)


class _Wrapped(Storage):
    """A file that is read through another one, which has all but the path."""

    def __init__(self, path: Path, file: Storage) -> None:
        self.path, self._file = path, file
        self.closed, self.is_open, self.library = file.closed, file.is_open, file.library
        self.channels, self.metadata = file.channels, file.metadata
        self.start_ns, self.end_ns, self.impossible = file.start_ns, file.end_ns, file.impossible

    def attachments(self) -> Mapping[str, bytes]:
        """As `Storage`."""
        return self._file.attachments()

    def messages(
        self, channel_ids: frozenset[int], start_ns: int | None, end_ns: int | None
    ) -> Iterator[StoredMessage]:
        """As `Storage`."""
        return self._file.messages(channel_ids, start_ns, end_ns)


class UnpackedFile(_Wrapped):
    """A decompressed file of a bag, under its original name."""

    def __init__(self, path: Path, open_unpacked: Callable[[Path], Storage]) -> None:
        """Decompresses and opens it.

        Raises:
            FileError: if it cannot be decompressed or read.
        """
        unpacked, remove = unpacked_file(path)
        self._remove = weakref.finalize(self, remove)
        try:
            super().__init__(path, open_unpacked(unpacked))
        except FileError as error:
            self._remove()
            raise FileError(path, error.field, error.reason) from None


class PackedMessages(_Wrapped):
    """A file in which each message is compressed."""

    def __init__(self, file: Storage) -> None:
        super().__init__(file.path, file)

    def messages(
        self, channel_ids: frozenset[int], start_ns: int | None, end_ns: int | None
    ) -> Iterator[StoredMessage]:
        """As `Storage`."""
        for message in super().messages(channel_ids, start_ns, end_ns):
            try:
                data = unpacked_zstd(message.data, MAX_RECORD_BYTES)
            except DamagedError as error:
                topic = self.channels[message.channel_id].name
                raise FileError(
                    self.path, topic, f"has a message that is damaged: {error}"
                ) from None
            yield message._replace(data=memoryview(data))


class SqliteFile(Storage):
    """A .db3 file of rosbag2. It has neither sequence numbers nor times of publication."""

    def __init__(self, path: Path) -> None:
        """Opens a file.

        Raises:
            FileError: if it is not such a file.
        """
        self.path = path
        reader = self._opened()
        try:
            self.channels = self._checked(lambda: {c.id: _stored(c) for c in reader.connections})
            said = reader.metadata
            if said.message_count:
                self.start_ns, self.end_ns = int(said.start_time), int(said.end_time) - 1
            if self.start_ns < 0 or self.end_ns > MAX_TIME_NS:
                self._count_impossible(reader)
        finally:
            reader.close()

    def _count_impossible(self, reader: Sqlite3Reader) -> None:
        """Counts what `messages` leaves out, and finds the times of the others."""
        counts: Counter[str] = Counter()
        times_ns = []
        rows = iter(reader.messages(reader.connections))
        while (row := self._checked(lambda: next(rows, None))) is not None:
            if _is_possible(row[1]):
                times_ns.append(row[1])
            else:
                counts[row[0].topic] += 1
        self.impossible = counts
        self.start_ns, self.end_ns = min(times_ns, default=0), max(times_ns, default=0)

    def attachments(self) -> Mapping[str, bytes]:
        """As `Storage`; there are none."""
        return {}

    def messages(
        self, channel_ids: frozenset[int], start_ns: int | None, end_ns: int | None
    ) -> Iterator[StoredMessage]:
        """As `Storage`, in the order of receipt."""
        reader = self._opened()
        try:
            connections = [c for c in reader.connections if c.id in channel_ids]
            rows = iter(reader.messages(connections, start_ns, end_ns))
            while (row := self._checked(lambda: next(rows, None))) is not None:
                connection, received_ns, data = row
                # Types are checked: sqlite3 columns can have values of any type.
                if type(received_ns) is not int or type(data) is not bytes:
                    raise FileError(self.path, "messages", "has a row that is not a message")
                if not _is_possible(received_ns):
                    continue
                view = memoryview(data)
                yield StoredMessage(connection.id, 0, received_ns, received_ns, view)
        finally:
            reader.close()

    def _opened(self) -> Sqlite3Reader:
        # The library makes a URI of the path.
        reader = Sqlite3Reader(Path(urllib.parse.quote(str(self.path.absolute()))))
        self._checked(reader.open)
        return reader

    def _checked(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        # The library raises undocumented exceptions.
        except Exception as error:
            raise FileError(self.path, "", f"cannot be read: {short(error)}") from None


def _is_possible(received_ns: object) -> bool:
    return isinstance(received_ns, int) and 0 <= received_ns <= MAX_TIME_NS


def _stored(connection: Connection) -> TopicInfo:
    if type(connection.topic) is not str or type(connection.msgtype) is not str:
        raise UnreadableError("a topic has no name or no type")
    encoding = getattr(connection.ext, "serialization_format", "")
    definition = connection.msgdef.data if encoding == "cdr" else ""
    if connection.msgdef.format == MessageDefinitionFormat.IDL:
        try:
            definition = msg_text(connection.msgtype, definition)
        except UnreadableError:
            definition = ""
    return TopicInfo(
        connection.topic, connection.msgtype, definition or "", int(connection.msgcount)
    )


def with_standard_definitions(file: Storage, ros_distro: str) -> Storage:
    """Adds missing definitions of messages that are part of ROS 2."""
    file.channels = {
        number: channel
        if channel.definition
        else replace(channel, definition=standard_text(channel.type_name, ros_distro))
        for number, channel in file.channels.items()
    }
    return file
