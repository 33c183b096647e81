"""The true states of the world in a bag, from /world/state."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from planner.recorder.topic_counts import Gap
from planner.replay.bag import Bag, RawMessage
from planner.replay.storage import SequenceGaps, UnreadableError, fields_of, message_reader
from planner.world.errors import FileError, from_validation
from planner.world.files import read_lines
from planner.world.state import EntityState, UpdateDecoder, WorldState
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


# A world over time as JSON lines, for states that are not in a bag.
#
# Version 1: a line `world` starts an episode, followed by a line `state` for each state with the
#     entities that are new or changed, and the names of those that are gone. The schema is
# docs/schema/state_log.schema.json.

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
# Larger numbers indicate a broken file.
MAX_STEPS = 10**9
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=MAX_STEPS)]
SCHEMA_NAME = "state_log.schema.json"


@dataclass(frozen=True, slots=True)
class WorldLine:
    """The start of an episode."""

    __pydantic_config__ = _STRICT

    house: str
    episode_id: str
    version: Literal[1] = 1
    record: Literal["world"] = "world"


def _with_hands(entity: Any) -> Any:
    """An entity of before, whose only hand was called `holding`."""
    if not (isinstance(entity, dict) and "holding" in entity) or "hands" in entity:
        return entity
    rest = {key: value for key, value in entity.items() if key != "holding"}
    return {**rest, "hands": [] if entity["holding"] is None else [entity["holding"]]}


@dataclass(frozen=True, slots=True)
class StateLine:
    """The changes of a state."""

    __pydantic_config__ = _STRICT

    stamp_s: float
    step: Count
    revision: Count
    changed: tuple[Annotated[EntityState, BeforeValidator(_with_hands)], ...] = ()
    removed: tuple[str, ...] = ()
    record: Literal["state"] = "state"


_Line: TypeAlias = WorldLine | StateLine
_LINES: TypeAdapter[_Line] = TypeAdapter(Annotated[_Line, Field(discriminator="record")])


class StateLogWriter:
    """Writes states incrementally."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._last: WorldState | None = None

    def write(self, state: WorldState) -> None:
        """Adds a state; one of another episode or an earlier step starts a new episode."""
        last = self._last
        if last is None or state.episode_id != last.episode_id or state.step < last.step:
            self._put(WorldLine(state.house, state.episode_id))
            last = None
        old = last.entities if last else {}
        changed = tuple(
            e for name, e in state.entities.items() if old.get(name) is not e and old.get(name) != e
        )
        removed = tuple(name for name in old if name not in state.entities)
        self._put(StateLine(state.stamp_s, state.step, state.revision, changed, removed))
        self._last = state

    def _put(self, line: _Line) -> None:
        self._stream.write(_LINES.dump_json(line) + b"\n")


def read_states(path: Path) -> Iterator[WorldState]:
    """The states of a log; unchanged entities are the same objects.

    Raises:
        FileError: naming the file, the line and its field, and the reason.
    """
    return (state for state, _ in read_changes(path))


def read_changes(path: Path) -> Iterator[tuple[WorldState, tuple[str, ...] | None]]:
    """As `read_states`, with the names of new, removed or changed entities.

    None with the first state of an episode.
    """
    world: WorldLine | None = None
    entities: dict[str, EntityState] = {}
    begins = True
    for number, line in _lines(path):
        if isinstance(line, WorldLine):
            world, entities, begins = line, {}, True
            continue
        if world is None:
            raise FileError(path, f"line {number}", "expected the line `world` before a state")
        entities = dict(entities)
        for name in line.removed:
            if entities.pop(name, None) is None:
                at = f"episode {world.episode_id}, line {number}.removed"
                raise FileError(path, at, f"there is no entity {name!r}")
        entities.update((entity.name, entity) for entity in line.changed)
        names = None if begins else (*line.removed, *(entity.name for entity in line.changed))
        begins = False
        state = WorldState(
            line.stamp_s, line.step, line.revision, world.house, world.episode_id, entities
        )
        yield state, names


def _lines(path: Path) -> Iterator[tuple[int, _Line]]:
    at = "line 0"
    episode = ""
    try:
        for number, text in enumerate(read_lines(path), start=1):
            at = f"{episode}line {number}"
            if not text.endswith(b"\n"):
                raise FileError(path, at, "is cut off")
            line = _LINES.validate_json(text)
            if isinstance(line, WorldLine):
                episode = f"episode {line.episode_id}, " if line.episode_id else ""
            yield number, line
    except ValidationError as error:
        plain = from_validation(path, error)
        where = plain.field.partition(".")[2]
        raise FileError(path, f"{at}{'.' if where else ''}{where}", plain.reason) from None


def schema_text() -> str:
    """The published JSON schema of a log's lines."""
    schema = {"title": "One line of a state log", **_LINES.json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    (Path(sys.argv[1]) / SCHEMA_NAME).write_text(schema_text(), encoding="utf-8")
