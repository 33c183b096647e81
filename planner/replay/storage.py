"""Interface to one file of a bag, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

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
class StoredChannel:
    """A topic of a file.

    Attributes:
        definition: message definition in ROS 2's format with nested types; "" if the file has none
            that is usable.
        qos: rosbag2's YAML list of the QoS profiles offered by publishers; "" = not recorded.
    """

    topic: str
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
    channels: Mapping[int, StoredChannel]
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
