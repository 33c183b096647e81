"""What a bag needs of each of its files, whatever their format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class StoredMessage(NamedTuple):
    """One message of a file.

    Attributes:
        channel_id: number of its channel in the file.
        sequence: the publisher's count of its messages, modulo 2**32; 0 if none is kept.
        received_ns: when the recorder received it.
        published_ns: when it was published; as `received_ns` where that is not kept.
        data: in CDR. Not copied: whoever keeps it keeps some megabyte of the file in memory.
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
        definition: of the type in ROS 2's own language, with those of all messages in it; "" where
            the file has none that can be used.
        qos: rosbag2's YAML list of the profiles that its publishers offered; "" = not kept.
    """

    topic: str
    type_name: str
    definition: str
    count: int
    qos: str = ""


@dataclass(frozen=True, slots=True)
class Metadatum:
    """A named record of texts beside the messages."""

    name: str
    texts: Mapping[str, str]


class Storage(ABC):
    """A file of a bag that was opened. It is never written.

    Attributes:
        path: of the file.
        closed: whether it ends as a closed file does.
        is_open: whether its recorder is still writing.
        library: who wrote it, by its own words; "" = it does not say.
        channels: by their numbers.
        start_ns: when the first message was received; 0 without one.
        end_ns: when the last one was.
        metadata: the metadata records.
    """

    path: Path
    closed: bool = True
    is_open: bool = False
    library: str = ""
    channels: Mapping[int, StoredChannel]
    start_ns: int = 0
    end_ns: int = 0
    metadata: tuple[Metadatum, ...] = ()

    @abstractmethod
    def attachments(self) -> Mapping[str, bytes]:
        """The attached files by their names; of one name the last.

        Raises:
            FileError: if they cannot be read.
        """

    @abstractmethod
    def messages(
        self, wanted: frozenset[int], start_ns: int | None, end_ns: int | None
    ) -> Iterator[StoredMessage]:
        """Messages of some channels, received from `start_ns` on and before `end_ns`.

        Raises:
            FileError: if the file cannot be read.
        """
