"""A bag as a stream of typed events in the order of receipt, and the task of each world."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

from planner.memory.effects import report_record
from planner.replay.bag import WORLD_INFO, Bag, RawMessage
from planner.replay.runs import load_task, task_of
from planner.replay.states import STATES, StateReader
from planner.world.belief import Belief, Entity, MemoryChange
from planner.world.episode import MAX_AGENTS, Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_shipped_episode
from planner.world.memory_wire import change_record, entity_record, is_ours, stamp_seconds
from planner.world.observation import Grip
from planner.world.skill import SkillCall, SkillResult
from planner.world.state import WorldState
from planner.world.topics import SIGHTINGS as SIGHTINGS_TOPIC
from planner.world.wire import first_stamp_of, graph_record, grip_record, stamp_of

LINKS, FIXED_LINKS = "/tf", "/tf_static"
CHANGES, LISTS, GRAPHS = "/memory/updates", "/memory/entities", "/world_graph"
RESULTS, TRACES = "/skills/results", "/planner/trace"
STATUS = "/instruct/status"
JUDGEMENTS, VERDICTS = "/evaluation", "/evaluation/result"
CAMERA = "hand"
# A recorder empties one queue after another: a message may be written this much later than others
# that were received after it.
_DISORDER_NS = 10_000_000_000
# The newest of these before the start counts: each is valid until the next one.
_STANDING = frozenset({FIXED_LINKS, LISTS, GRAPHS, STATUS})


@dataclass(frozen=True, slots=True)
class StateReceived:
    """A true state of the world."""

    received_ns: int
    state: WorldState


@dataclass(frozen=True, slots=True)
class TransformsReceived:
    """A message of /tf, not deserialised yet."""

    received_ns: int
    stamp_s: float
    data: bytes


@dataclass(frozen=True, slots=True)
class StaticTransformsReceived:
    """The transforms of a message of /tf_static."""

    received_ns: int
    links: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class PictureReceived:
    """A picture, or sightings, of an agent, not deserialised yet; `kind` is of `CameraTopics`."""

    received_ns: int
    agent: str
    kind: str
    stamp_s: float
    raw: RawMessage


@dataclass(frozen=True, slots=True)
class GripperReceived:
    """The state of an agent's gripper."""

    received_ns: int
    agent: str
    grip: Grip


@dataclass(frozen=True, slots=True)
class SkillEnded:
    """A call that ended; `is_part` of Rearrange."""

    received_ns: int
    agent: str
    call: SkillCall
    result: SkillResult
    ended_s: float

    @property
    def is_part(self) -> bool:
        """Whether it is one step of another call that is reported as well."""
        return bool(self.result.part_of)


@dataclass(frozen=True, slots=True)
class EntityListReceived:
    """The memory's snapshot."""

    received_ns: int
    stamp_s: float
    sequence: int
    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class EntityChangeReceived:
    """The memory's numbered change."""

    received_ns: int
    change: MemoryChange


@dataclass(frozen=True, slots=True)
class GraphReceived:
    """The memory's belief, deserialised on demand."""

    received_ns: int
    stamp_s: float
    raw: RawMessage
    at: Path

    def belief(self) -> Belief:
        """The belief.

        Raises:
            FileError: if the message is invalid.
        """
        try:
            return graph_record(self.raw.content())
        except (KeyError, IndexError, ValueError) as error:
            raise FileError(self.at, GRAPHS, f"is not a graph: {error}") from None


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A message of a topic whose reader reads its fields."""

    received_ns: int
    topic: str
    content: Any


Event: TypeAlias = (
    StateReceived
    | TransformsReceived
    | StaticTransformsReceived
    | PictureReceived
    | GripperReceived
    | SkillEnded
    | EntityListReceived
    | EntityChangeReceived
    | GraphReceived
    | MessageReceived
)

DEPTH, INSTANCES, COLOUR, SIGHTINGS = "depth", "instances", "colour", "sightings"
_PICTURE_TOPICS = {
    DEPTH: ("depth_registered/{}/image", ("", "/compressedDepth", "/compressed")),
    INSTANCES: ("instances/{}/image", ("", "/compressed")),
    COLOUR: ("camera/{}/image", ("", "/compressed")),
    # What an agent sees in a world without pictures.
    SIGHTINGS: (SIGHTINGS_TOPIC, ("",)),
}


@dataclass(frozen=True, slots=True)
class CameraTopics:
    """The topics of one agent's camera in the bag.

    Attributes:
        pictures: by their kind; sightings count as one.
        infos: of camera_info; the first one available is used.
    """

    agent: str
    pictures: Mapping[str, str]
    infos: tuple[str, ...]


class Recorded:
    """A bag, or a time span of it.

    Attributes:
        bag: to read.
        start_ns: receipt of the first message that counts.
        end_ns: end of the span, exclusive.
    """

    def __init__(self, bag: Bag, start_s: float = 0.0, duration_s: float | None = None) -> None:
        """Takes a bag.

        Args:
            bag: to read.
            start_s: after the bag's first message.
            duration_s: from the start on; None = to the end.
        """
        self.bag = bag
        self.start_ns = bag.start_ns + max(0, round(start_s * 1e9))
        self.end_ns = bag.end_ns + 1
        if duration_s is not None:
            self.end_ns = min(self.end_ns, self.start_ns + round(duration_s * 1e9))

    def has(self, topic: str) -> bool:
        """Whether the bag has messages of a topic."""
        return topic in self.bag.topics and self.bag.topics[topic].count > 0

    @cached_property
    def cameras(self) -> tuple[CameraTopics, ...]:
        """The agents' cameras."""
        found = []
        for number in range(MAX_AGENTS):
            agent = f"agent_{number}"
            pictures = {}
            for kind, (form, endings) in _PICTURE_TOPICS.items():
                base = f"/{agent}/{form.format(CAMERA)}"
                for ending in endings:
                    if kind not in pictures and self.has(base + ending):
                        pictures[kind] = base + ending
            infos = tuple(
                topic
                for folder in ("depth_registered", "camera")
                if self.has(topic := f"/{agent}/{folder}/{CAMERA}/camera_info")
            )
            if pictures:
                found.append(CameraTopics(agent, pictures, infos))
        return tuple(found)

    def first(self, topic: str) -> Any:
        """The first message of a topic, deserialised; None without one."""
        return next((message.content for message in self.bag.messages((topic,))), None)

    def exposures(self) -> Mapping[str, int]:
        """Number of exposures of each agent's camera in the whole bag, by its camera_info."""
        return {
            camera.agent: self.bag.topics[camera.infos[0]].count
            for camera in self.cameras
            if camera.infos
        }

    def pictured(self) -> Mapping[str, int]:
        """Number of each agent's exposures of which the whole bag has every kind of picture."""
        return {
            camera.agent: min(self.bag.topics[topic].count for topic in camera.pictures.values())
            for camera in self.cameras
        }

    def events(
        self, topics: Collection[str], kinds: Collection[str] = (), *, hands: bool = False
    ) -> Iterator[Event]:
        """The events of the bag, in the order of receipt.

        Args:
            topics: of the constants of this module.
            kinds: of pictures, `DEPTH` and so on.
            hands: whether gripper events are included.

        Raises:
            FileError: if the bag cannot be read, or a message does not match its type.
        """
        readers: dict[str, Callable[[RawMessage], Event | None]] = {
            topic: _READERS.get(topic, _message) for topic in topics
        }
        if STATES in readers:
            readers[STATES] = _state_event(StateReader(self.bag))
        if GRAPHS in readers:
            readers[GRAPHS] = partial(_graph, at=self.bag.folder)
        for camera in self.cameras:
            for kind in kinds:
                if kind in camera.pictures:
                    readers[camera.pictures[kind]] = partial(_picture, camera.agent, kind)
            if hands:
                readers[f"/{camera.agent}/gripper_state"] = partial(_hand, camera.agent)
        there = [topic for topic in readers if self.has(topic)]

        def read(raw: RawMessage) -> Event | None:
            try:
                return readers[raw.topic](raw)
            except FileError:
                raise
            except (PlannerError, ValueError, LookupError, AttributeError) as error:
                raise FileError(self.bag.folder, raw.topic, str(error)) from None

        for event in self._in_order(there, read):
            if event is not None:
                yield event

    def _in_order(
        self, topics: Collection[str], read: Callable[[RawMessage], Event | None]
    ) -> Iterator[Event | None]:
        """The events of the time span, preceded by those that are still valid at its start."""
        standing: dict[tuple[str, int], RawMessage] = {}
        state: Event | None = None
        for raw in _sorted(self.bag.raw(tuple(topics)) if topics else iter(())):
            if raw.received_ns < self.start_ns:
                if raw.topic == STATES:
                    # A state is composed of the changes before it.
                    state = read(raw) or state
                elif raw.topic in _STANDING or raw.topic.endswith("/gripper_state"):
                    # Each message of /tf_static has other frames.
                    number = raw.received_ns if raw.topic == FIXED_LINKS else 0
                    standing[raw.topic, number] = raw
                continue
            if raw.received_ns >= self.end_ns:
                break
            yield state
            yield from map(read, standing.values())
            state = None
            standing.clear()
            yield read(raw)


def _sorted(messages: Iterator[RawMessage]) -> Iterator[RawMessage]:
    """Sorted by receipt, but keeping the order within each topic.

    A retransmitted message was received after its successors: their times are raised to its own.
    """
    waiting: list[tuple[int, int, RawMessage]] = []
    newest_ns = 0
    last_ns: dict[str, int] = {}
    for number, raw in enumerate(messages):
        at_ns = max(raw.received_ns, last_ns.get(raw.topic, 0))
        last_ns[raw.topic] = at_ns
        newest_ns = max(newest_ns, at_ns)
        heapq.heappush(waiting, (at_ns, number, raw))
        while waiting[0][0] < newest_ns - _DISORDER_NS:
            yield _received(*heapq.heappop(waiting))
    while waiting:
        yield _received(*heapq.heappop(waiting))


def _received(at_ns: int, _number: int, raw: RawMessage) -> RawMessage:
    return raw if raw.received_ns == at_ns else replace(raw, received_ns=at_ns)


def _state_event(reader: StateReader) -> Callable[[RawMessage], Event | None]:
    def read(raw: RawMessage) -> Event | None:
        state = reader.read(raw.data)
        return None if state is None else StateReceived(raw.received_ns, state)

    return read


def _links(raw: RawMessage) -> Event | None:
    stamp_s = first_stamp_of(raw.data)
    if stamp_s is None or not is_ours(raw.data):
        return None
    return TransformsReceived(raw.received_ns, stamp_s, raw.data)


def _fixed_links(raw: RawMessage) -> Event:
    return StaticTransformsReceived(raw.received_ns, tuple(raw.content().transforms))


def _picture(agent: str, kind: str, raw: RawMessage) -> Event:
    return PictureReceived(raw.received_ns, agent, kind, stamp_of(raw.data), raw)


def _hand(agent: str, raw: RawMessage) -> Event | None:
    grip = grip_record(raw.content())
    return None if grip is None else GripperReceived(raw.received_ns, agent, grip)


def _result(raw: RawMessage) -> Event:
    return SkillEnded(raw.received_ns, *report_record(raw.content()))


def _list(raw: RawMessage) -> Event:
    content = raw.content()
    return EntityListReceived(
        raw.received_ns,
        stamp_seconds(content.header.stamp),
        int(content.sequence),
        tuple(entity_record(entity) for entity in content.entities),
    )


def _change(raw: RawMessage) -> Event:
    return EntityChangeReceived(raw.received_ns, change_record(raw.content()))


def _graph(raw: RawMessage, at: Path) -> Event:
    return GraphReceived(raw.received_ns, stamp_of(raw.data), raw, at)


def _message(raw: RawMessage) -> Event:
    return MessageReceived(raw.received_ns, raw.topic, raw.content())


_READERS: Mapping[str, Callable[[RawMessage], Event | None]] = {
    LINKS: _links,
    FIXED_LINKS: _fixed_links,
    RESULTS: _result,
    LISTS: _list,
    CHANGES: _change,
}


# The house and the episode of each world in a bag.


class RecordedTask:
    """Finds houses and episodes by a bag's messages."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def first(self) -> tuple[Episode | None, House]:
        """The first world in the selected part of the bag.

        Raises:
            FileError: if the bag does not name one.
            PlannerError: if it is not known here.
        """
        state = self._first_state()
        if state is not None:
            return self.of(state)
        bag = self._recorded.bag
        if WORLD_INFO in bag.topics:
            return load_task(bag)
        name = _judged(self._recorded)
        if not name:
            raise FileError(bag.folder, "", "does not say which house and episode it is of")
        return load_shipped_episode(name)

    def of(self, state: WorldState) -> tuple[Episode | None, House]:
        """The world of a state.

        Raises:
            PlannerError: if it is not known here.
        """
        return _of(self._recorded.bag, state)

    def named(self, house: str, episode_id: str) -> tuple[Episode | None, House]:
        """The world of a house and an episode; "" = none.

        Raises:
            PlannerError: if it is not known here.
        """
        return task_of(self._recorded.bag, episode_id, house)

    def _first_state(self) -> WorldState | None:
        for event in self._recorded.events((STATES,)):
            if isinstance(event, StateReceived):
                return event.state
        return None


def _of(bag: Bag, state: WorldState) -> tuple[Episode | None, House]:
    episode, house = task_of(bag, state.episode_id, state.house)
    if house.name != state.house:
        raise PlannerError(
            f"episode {state.episode_id} is of house {house.name}, the recording of {state.house}"
        )
    return episode, house


def _judged(recorded: Recorded) -> str:
    """The episode named by a planner or an evaluator; "" = none."""
    for topic in (STATUS, VERDICTS):
        content: Any = recorded.first(topic)
        if content is not None and content.episode_id:
            return str(content.episode_id)
    return ""
