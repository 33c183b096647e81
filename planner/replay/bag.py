"""Reading our bags without ROS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader, AnyReaderError

from planner.replay.recovery import is_complete, recover
from planner.world.errors import FileError
from planner.world.state import WorldState
from planner.world.wire import world_record


@dataclass(frozen=True, slots=True)
class BagMessage:
    """One message: its topic, when it was received (nanoseconds) and its content."""

    topic: str
    received_ns: int
    content: Any


def read_bag(bag: Path, topics: Sequence[str] = ()) -> Iterator[BagMessage]:
    """The messages of some topics (none named: all) in the order of their receipt.

    A bag whose recorder was killed is completed first.

    Raises:
        FileError: where the folder is no readable bag.
    """
    if not is_complete(bag):
        recover(bag)
    try:
        with AnyReader([bag]) as reader:
            wanted = [c for c in reader.connections if not topics or c.topic in topics]
            for connection, stamp, raw in reader.messages(wanted):
                content = reader.deserialize(raw, connection.msgtype)
                yield BagMessage(connection.topic, stamp, content)
    except AnyReaderError as error:
        raise FileError(bag, "", f"cannot be read: {error}") from None


def world_states(bag: Path) -> Iterator[WorldState]:
    """The true world over time, as the evaluator takes it."""
    for message in read_bag(bag, ("/world/state",)):
        yield world_record(message.content)
