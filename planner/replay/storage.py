"""Files of a bag whatever their format: messages, their definitions and fields, and gaps."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

from planner.recorder.topic_counts import Gap
from planner.world.errors import FileError

# Nanoseconds are signed 64-bit numbers in ROS and in every array of times: the year 2262. A message
# with a later receipt, or one before 0, has an impossible time. It is left out and counted.
MAX_TIME_NS = 2**63 - 1


class StoredMessage(NamedTuple):
    """One message of a file.

    Attributes:
        channel_id: number of its channel in the file.
        sequence: the publisher's sequence number, modulo 2**32; 0 if not recorded.
        received_ns: time of receipt by the recorder.
        published_ns: time of publication; equals `received_ns` if not recorded.
        data: CDR. Not copied: keeping it keeps about a megabyte of the file in memory.
    """

    channel_id: int
    sequence: int
    received_ns: int
    published_ns: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic of a file, or of a bag.

    Attributes:
        type_name: such as `sensor_msgs/msg/Image`.
        definition: message definition in ROS 2's format with nested types; "" if the file has none
            that is usable.
        qos: rosbag2's YAML list of the QoS profiles offered by publishers; "" = not recorded.
    """

    name: str
    type_name: str
    definition: str
    count: int
    qos: str = ""


@dataclass(frozen=True, slots=True)
class Metadatum:
    """A named record of key-value texts."""

    name: str
    texts: Mapping[str, str]


class Storage(ABC):
    """An open file of a bag; read-only.

    Attributes:
        path: of the file.
        closed: whether it ends as a closed file does.
        is_open: whether its recorder is still writing.
        library: the software that wrote it, as it says itself; "" = unknown.
        channels: by number.
        start_ns: receipt of the first message; 0 without one.
        end_ns: receipt of the last message.
        metadata: the metadata records.
        impossible: by topic, how many messages have an impossible time; `messages` leaves them out.
    """

    path: Path
    closed: bool = True
    is_open: bool = False
    library: str = ""
    channels: Mapping[int, TopicInfo]
    start_ns: int = 0
    end_ns: int = 0
    metadata: tuple[Metadatum, ...] = ()
    impossible: Mapping[str, int] = MappingProxyType({})

    @abstractmethod
    def attachments(self) -> Mapping[str, bytes]:
        """The attachments by name; the last one of each name.

        Raises:
            FileError: if they cannot be read.
        """

    @abstractmethod
    def messages(
        self, channel_ids: frozenset[int], start_ns: int | None, end_ns: int | None
    ) -> Iterator[StoredMessage]:
        """Messages of some channels, received from `start_ns` on and before `end_ns`.

        None has an impossible time.

        Raises:
            FileError: if the file cannot be read.
        """


# Message definitions found in bags, and deserialization with them.
#
# The library generates and runs Python code from message definitions. A bag may come from anywhere,
# so definitions are checked first: names must be identifiers, and array sizes are limited because
# code is generated for each element.

# The longest definition of a standard message, with nested types, has 20 kB.
_MAX_DEFINITION_CHARS = 400_000
# Code is generated for each element of an array of strings or messages.
_MAX_UNROLLED = 10_000
_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*){1,3}")
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CONSTANT = (bool, int, float, str)
_MAX_REASON_CHARS = 200


class UnreadableError(ValueError):
    """Data that do not match their type, or a definition that cannot be used."""


def printable(text: str) -> str:
    """Text from a bag without control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def short(reason: object) -> str:
    """A library's error as one printable line of bounded length."""
    if isinstance(reason, BaseException):
        text = str(reason) or type(reason).__name__
    else:
        text = str(reason)
    line = "".join(c if c.isprintable() else " " for c in text[: 2 * _MAX_REASON_CHARS])
    return line if len(line) <= _MAX_REASON_CHARS else line[:_MAX_REASON_CHARS] + "..."


@lru_cache(maxsize=1024)
def message_reader(type_name: str, definition: str) -> Callable[[bytes | memoryview], Any]:
    """A function that deserializes (CDR) messages of a type.

    It raises `UnreadableError` for data that do not match the type.

    Raises:
        UnreadableError: if the definition is missing or cannot be used.
    """
    if not definition:
        raise UnreadableError(f"the bag has no ROS 2 definition of {short(type_name)}")
    types = _types(type_name, definition, get_types_from_msg)
    try:
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        # Generates the code now, so that an incomplete definition is reported as such.
        store.get_msgdef(type_name)
    except Exception as error:
        raise UnreadableError(f"its definition cannot be used: {short(error)}") from None

    def read(data: bytes | memoryview) -> Any:
        try:
            return store.deserialize_cdr(data, type_name)
        except Exception as error:
            raise UnreadableError(f"is not a {type_name}: {short(error)}") from None

    return read


@lru_cache(maxsize=1024)
def msg_text(type_name: str, definition: str) -> str:
    """An OMG IDL definition converted to ROS 2's .msg format, with nested types.

    Raises:
        UnreadableError: if it cannot be used.
    """
    types = _types(type_name, definition, lambda text, _: get_types_from_idl(text))
    try:
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        return store.generate_msgdef(type_name, ros_version=2)[0]
    # The parser fails with any exception on untrusted definitions.
    except Exception as error:
        raise UnreadableError(f"its definition cannot be used: {short(error)}") from None


@lru_cache(maxsize=1024)
def standard_text(type_name: str, ros_distro: str = "") -> str:
    """The definition of a message that is part of ROS 2; "" for others."""
    stores = {store.name: store for store in Stores if store.name.startswith("ROS2_")}
    store = get_typestore(stores.get(f"ROS2_{ros_distro.upper()}", Stores.LATEST))
    if type_name not in store.fielddefs:
        return ""
    return store.generate_msgdef(type_name, ros_version=2)[0]


def _types(type_name: str, definition: str, parse: Callable[[str, str], Any]) -> Any:
    if not _TYPE_NAME.fullmatch(type_name):
        raise UnreadableError(f"{short(repr(type_name))} is not a message type's name")
    if len(definition) > _MAX_DEFINITION_CHARS:
        raise UnreadableError(f"its definition has more than {_MAX_DEFINITION_CHARS} characters")
    try:
        types = parse(definition, type_name)
    # The parser raises undocumented exceptions for damaged text, and its messages repeat the whole
    # text.
    except Exception:
        raise UnreadableError("its definition is not in ROS 2's format") from None
    if type_name not in types:
        raise UnreadableError(f"its definition does not define {type_name}")
    _check(types)
    return types


def _check(types: Mapping[str, Any]) -> None:
    unrolled = 0
    for name, (constants, fields) in types.items():
        if not _TYPE_NAME.fullmatch(name):
            raise UnreadableError(f"its definition has a type {short(repr(name))}")
        for constant, _, value in constants:
            if not _FIELD_NAME.fullmatch(constant) or not isinstance(value, _CONSTANT):
                raise UnreadableError(f"its definition has a constant {short(repr(constant))}")
        for field, (node, content) in fields:
            if not _FIELD_NAME.fullmatch(field):
                raise UnreadableError(f"its definition has a field {short(repr(field))}")
            inner, length = content if node in _ARRAYS else ((node, content), 1)
            if inner[0] == Nodetype.NAME and not _TYPE_NAME.fullmatch(inner[1]):
                raise UnreadableError(f"its definition has a type {short(repr(inner[1]))}")
            if node == Nodetype.ARRAY:
                # Empty arrays would allow endless elements without data.
                if length < 1:
                    raise UnreadableError(f"its field {field} is an array of {length}")
                if inner[0] == Nodetype.NAME or inner[1][0] == "string":
                    unrolled += length
    if unrolled > _MAX_UNROLLED:
        raise UnreadableError(f"its arrays have more than {_MAX_UNROLLED} elements")


_ARRAYS = (Nodetype.ARRAY, Nodetype.SEQUENCE)


# Access to the fields of a bag's messages.


@contextmanager
def fields_of(bag: Path, topic: str) -> Iterator[None]:
    """Turns errors from an unexpected message layout into a `FileError`.

    A bag brings its own type definitions: fields may be missing or of another type.

    Raises:
        FileError: naming the topic.
    """
    try:
        yield
    except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        reason = f"has another type than expected: {short(error)}"
        raise FileError(bag, topic, reason) from None


# Gaps in a topic's messages: losses noted by the recorder, and jumps in sequence numbers.
#
# MCAP stores a sequence number with each message. A jump means that messages were lost, a decrease
# that the publisher was restarted.

# Metadata record that a recorder writes for messages that it knows are missing, with `topic`,
# `from_ns`, `to_ns`, `missing` and perhaps `cause`.
GAP = "planner.gap"
_MAX_NS = (1 << 63) - 1


class SequenceGaps:
    """Finds jumps in the sequence numbers of a topic's messages."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._last: tuple[int, int] | None = None

    def take(self, sequence: int, received_ns: int) -> Gap | None:
        """Takes the next message; returns the gap before it, if any."""
        last, self._last = self._last, (sequence, received_ns)
        if last is None or sequence <= last[0] + 1:
            return None
        return Gap(self._topic, last[1], received_ns, sequence - last[0] - 1)


def has_one_publisher(qos: str) -> bool:
    """Whether a topic's sequence numbers come from one publisher.

    Args:
        qos: rosbag2's YAML list of the offered profiles, one for each publisher; "" = not recorded,
            as by recorders that number messages themselves.
    """
    return len(re.findall(r"^- ", qos, re.MULTILINE)) <= 1


def recorded_gaps(metadata: Iterable[Metadatum], topic: str) -> list[Gap]:
    """Losses on a topic that the recorder noted.

    Raises:
        ValueError: naming the field of an invalid record.
    """
    found = []
    for record in metadata:
        if record.name == GAP and record.texts.get("topic") == topic:
            begin, end, missing = (_count(record, k) for k in ("from_ns", "to_ns", "missing"))
            found.append(Gap(topic, begin, end, missing, record.texts.get("cause", "")))
    return found


def _count(record: Metadatum, key: str) -> int:
    text = record.texts.get(key, "")
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > _MAX_NS:
        raise ValueError(f"{GAP}.{key}: expected a number of at most 19 digits")
    return int(text)


def merged(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """In the order of time, overlapping gaps merged: they are the same messages."""
    found: list[Gap] = []
    for gap in sorted(gaps, key=lambda g: (g.from_ns, g.to_ns)):
        last = found[-1] if found else None
        if last is not None and gap.from_ns < last.to_ns:
            missing = max(last.missing, gap.missing)
            end, cause = max(last.to_ns, gap.to_ns), last.cause or gap.cause
            found[-1] = Gap(gap.topic, last.from_ns, end, missing, cause)
        else:
            found.append(gap)
    return tuple(found)


def described(gaps: Mapping[str, Sequence[Gap]]) -> list[str]:
    """What is missing of topics, for people: a line for each cause."""
    by_cause: dict[str, list[Gap]] = defaultdict(list)
    for several in gaps.values():
        for gap in merged(several):
            by_cause[gap.cause].append(gap)
    lines = []
    for cause, found in sorted(by_cause.items()):
        count, names = sum(gap.missing for gap in found), sorted({gap.topic for gap in found})
        where = f"of {names[0]}" if len(names) == 1 else f"of {len(names)} topics"
        since = min(gap.from_ns for gap in found)
        begin = f"between {moment(since)} and" if since else "before"
        end = moment(max(gap.to_ns for gap in found))
        lines.append(f"{count} messages {where} {begin} {end}: {cause or 'they never arrived'}")
    return lines


def moment(nanoseconds: int) -> str:
    """Wall-clock time as UTC, or in nanoseconds if out of range."""
    try:
        found = datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{nanoseconds} ns"
    return found.isoformat(timespec="milliseconds")
