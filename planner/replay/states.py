"""The true states of the world in a bag, from /world/state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from planner.replay.bag import Bag, RawMessage
from planner.replay.storage import Gap, SequenceGaps, UnreadableError, fields_of, message_reader
from planner.world.errors import FileError
from planner.world.state import UpdateDecoder, WorldState
from planner.world.wire import state_update

STATES = "/world/state"
WORLD_STATE = "planner_msgs/msg/WorldState"
# In real time, a keyframe arrived within this time.
_FIRST_LOOK_NS = 2_000_000_000


class RecordedState(NamedTuple):
    """A state, its time of receipt, changed entities and the gap before it.

    Attributes:
        changed: as `UpdateDecoder.changed`.
        gap: missing states between the previous one and this one.
    """

    received_ns: int
    state: WorldState
    changed: tuple[str, ...] | None
    gap: Gap | None


class StateReader:
    """Deserializes messages of /world/state in order."""

    def __init__(self, bag: Bag) -> None:
        """Takes the message definition from the bag.

        Raises:
            FileError: if the topic has messages of another type.
        """
        self._folder = bag.folder
        self._decoder = UpdateDecoder()
        self._read: Callable[[bytes | memoryview], object] | None = None
        recorded = bag.type_of(STATES)
        if recorded is None:
            return
        if recorded[0] != WORLD_STATE:
            raise FileError(bag.folder, STATES, f"is of type {recorded[0]}, not {WORLD_STATE}")
        try:
            self._read = message_reader(*recorded)
        except UnreadableError as error:
            raise FileError(bag.folder, STATES, str(error)) from None

    @property
    def changed(self) -> tuple[str, ...] | None:
        """As `UpdateDecoder.changed`."""
        return self._decoder.changed

    @property
    def waiting(self) -> bool:
        """As `UpdateDecoder.waiting`."""
        return self._decoder.waiting

    def read(self, data: bytes | memoryview, number: int | None = None) -> WorldState | None:
        """The state after a message; None if the message does not complete one.

        Args:
            data: the message.
            number: its number in the bag, for errors.

        Raises:
            FileError: for invalid data.
        """
        if self._read is None:
            raise FileError(self._folder, STATES, "the bag does not have the topic")
        where = STATES if number is None else f"{STATES}, message {number}"
        try:
            message = self._read(data)
        except UnreadableError as error:
            raise FileError(self._folder, where, str(error)) from None
        with fields_of(self._folder, where):
            return self._decoder.decode(state_update(message))


def recorded_states(bag: Bag) -> Iterator[RecordedState]:
    """The states of a bag, starting at its first keyframe.

    Raises:
        FileError: if the topic cannot be read.
    """
    reader = StateReader(bag)
    jumps = SequenceGaps(STATES) if bag.is_numbered(STATES) else None
    missing, last_ns = 0, 0
    for number, (received_ns, sequence, data) in enumerate(bag.numbered(STATES)):
        jump = jumps.take(sequence, received_ns) if jumps is not None else None
        if jump is not None:
            missing, last_ns = missing + jump.missing, last_ns or jump.from_ns
        state = reader.read(data, number)
        if state is not None:
            gap = Gap(STATES, last_ns, received_ns, missing) if missing else None
            yield RecordedState(received_ns, state, reader.changed, gap)
            missing, last_ns = 0, received_ns
        elif reader.waiting and last_ns:
            # A change whose base state is missing.
            missing += 1


def updates_before(bag: Bag, end_ns: int) -> list[RawMessage]:
    """The messages needed for the state at a time: the newest keyframe before it and the changes.

    Raises:
        FileError: if the bag cannot be read.
    """
    span_ns = _FIRST_LOOK_NS
    while True:
        begin_ns = max(bag.start_ns, end_ns - span_ns)
        found = list(bag.raw((STATES,), start_ns=begin_ns, end_ns=end_ns))
        for place in reversed(range(len(found))):
            if _is_keyframe(found[place]):
                return found[place:]
        if begin_ns == bag.start_ns:
            return found[-1:]
        span_ns *= 8


def _is_keyframe(raw: RawMessage) -> bool:
    try:
        return bool(getattr(raw.content(), "keyframe", True))
    except UnreadableError:
        return False
