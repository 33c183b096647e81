"""The memory over ROS: what it publishes, its services, and their client."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from planner_msgs.msg import EntityList, MemoryUpdate, WorldGraph
from planner_msgs.msg import Operation as OperationMessage
from planner_msgs.srv import EditMemory, LoadMemory, QueryMemory, SaveMemory
from rclpy.node import Node

from planner.memory.memory import Memory
from planner.memory.operations import FoundPerson
from planner.memory.part import DETECTIONS
from planner.memory.query import ask
from planner.memory.settings import Condition
from planner.memory.store import read_file
from planner.memory.updater import Operation
from planner.memory.wording import PICKED, PLACED
from planner.ros import qos
from planner.ros.camera_input import FrameTree
from planner.ros.clients import client_node, start_as_operator
from planner.ros.conversions import point_m, point_message, time_message
from planner.ros.guard import GuardedExecutor, SafePublisher, status_name
from planner.ros.memory_messages import GraphMessages, ListMessages, change_message, entity_message
from planner.ros.qos import message_class
from planner.ros.subscriptions import bounds_of, listen
from planner.world import topics
from planner.world.belief import Entity, MemoryChange, OperationKind
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.memory_wire import OPERATION_KINDS, entity_record, stamp_seconds

FAILED = 1
NOT_READY = 2


# What detectors call a person, and how sure one has to be.
_PERSONS, _MIN_SCORE = frozenset({"person", "human"}), 0.5
# Stamps that are further from those of /tf are of another clock; seconds.
_LATE_S, _AHEAD_S = 10.0, 1.0


class PersonDetections:
    """Persons that somebody else's detector finds, in any frame of /tf, for the memory.

    A detection counts if one of its hypotheses says `person` or `human` with a score of a half; the
    others that are as sure are labels, such as `posture_sitting`. What is lost is counted.
    """

    def __init__(
        self, node: Node, topic: str, frames: FrameTree, lose: Callable[[str], None]
    ) -> None:
        """Subscribes to a topic of detections; `lose` hears why one is dropped."""
        self._frames, self._lose = frames, lose
        self._waiting: tuple[Any, float | None] | None = None
        listen(node, message_class(DETECTIONS), topic, self._take, qos.STATE_INPUT)

    def _take(self, message: Any) -> None:
        self._waiting = message, self._frames.newest_s

    def found(self) -> tuple[float, list[FoundPerson]] | None:
        """The stamp and the persons of the newest message once, when its frames are known."""
        now_s = self._frames.newest_s
        if self._waiting is None or now_s is None:
            return None
        message, came_s = self._waiting
        # Without a stamp they were seen on receipt.
        stamp_s = stamp_seconds(message.header.stamp) or came_s or now_s
        if not now_s - _LATE_S <= stamp_s <= now_s + _AHEAD_S:
            self._waiting = None
            self._lose("persons with a stamp that is not of the frames' clock")
            return None
        pose = self._frames.pose(message.header.frame_id, stamp_s)
        if pose is None:
            if stamp_s <= now_s - _AHEAD_S:
                self._waiting = None
                self._lose(f"persons in the frame {message.header.frame_id!r}, which is not known")
            return None
        self._waiting = None
        return stamp_s, [one for each in message.detections if (one := _person(each, pose))]


def _person(detection: Any, pose: Pose) -> FoundPerson | None:
    sure = {each.hypothesis.class_id for each in detection.results if _is_sure(each.hypothesis)}
    if not sure & _PERSONS:
        return None
    size = detection.bbox.size
    return FoundPerson(
        position_m=pose.apply(point_m(detection.bbox.center.position)),
        size_m=(size.x, size.y, size.z),
        labels=frozenset(sure - _PERSONS),
        track=detection.id,
    )


def _is_sure(hypothesis: Any) -> bool:
    return bool(hypothesis.score >= _MIN_SCORE)


class MemoryServices:
    """Answers /memory/query, /memory/edit, /memory/save and /memory/load."""

    def __init__(
        self,
        node: Node,
        memory: Callable[[], Memory | None],
        on_change: Callable[[], None],
        refusal: Callable[[], str],
        files: Callable[[str], Path],
    ) -> None:
        """Offers the services.

        Args:
            node: that offers them.
            memory: the memory now; None until the world is known.
            on_change: called after each edit and load.
            refusal: why no request is answered now; "" = they are.
            files: the file that a request names; raises a `PlannerError` for one that it may not.
        """
        self._node = node
        self._memory = memory
        self._on_change, self._refusal, self._files = on_change, refusal, files
        for kind, name, work in (
            (QueryMemory, topics.QUERY_MEMORY, self._query),
            (EditMemory, topics.EDIT_MEMORY, self._edit),
            (SaveMemory, topics.SAVE_MEMORY, self._save),
            (LoadMemory, topics.LOAD_MEMORY, self._load),
        ):
            node.create_service(kind, name, partial(self._answer, work))

    def _ready(self) -> Memory:
        if refusal := self._refusal():
            raise _NotReadyError(refusal)
        memory = self._memory()
        if memory is None:
            raise _NotReadyError("the memory does not know its world yet; is a bridge running?")
        return memory

    def _check_bounds(self, request: Any) -> None:
        now_s = float(self._node.get_clock().now().nanoseconds) * 1e-9
        problem = bounds_of(type(request)).problem(request, now_s)
        if problem:
            raise PlannerError(f"the request is out of bounds: {problem}")

    def _refuse(self, response: object, error: PlannerError) -> None:
        code = NOT_READY if isinstance(error, _NotReadyError) else FAILED
        response.success, response.code, response.message = False, code, str(error)  # type: ignore[attr-defined]

    def _answer(self, work: Callable[[Memory, Any, Any], None], request: Any, response: Any) -> Any:
        """Has a request worked on, unless it is out of bounds or there is no memory."""
        try:
            self._check_bounds(request)
            memory = self._ready()
            response.sequence = memory.sequence
            work(memory, request, response)
            response.success = True
        except PlannerError as error:
            self._refuse(response, error)
        return response

    def _query(
        self, memory: Memory, request: QueryMemory.Request, response: QueryMemory.Response
    ) -> None:
        answer = ask(memory, request.text, request.room, int(request.limit))
        response.message = answer.text
        response.entities = [entity_message(entity) for entity in answer.entities]
        if request.text.strip():
            response.scores = list(answer.scores)
        if request.with_updates:
            since = int(request.since_sequence)
            deltas = memory.deltas_since(since)
            if not deltas.complete:
                raise PlannerError(
                    f"the updates after {since} are no longer all kept (now at "
                    f"{deltas.sequence}); request the snapshot"
                )
            response.updates = [change_message(change) for change in deltas.changes]

    def _edit(
        self, memory: Memory, request: EditMemory.Request, response: EditMemory.Response
    ) -> None:
        operations = [
            _operation(index, message, memory) for index, message in enumerate(request.operations)
        ]
        author = request.source or "edited by hand"
        outcome = memory.edit(operations, author, memory.stamp_s)
        response.ids = list(outcome.ids)
        response.sequence = memory.sequence
        self._on_change()

    def _save(
        self, memory: Memory, request: SaveMemory.Request, response: SaveMemory.Response
    ) -> None:
        path = memory.save(self._files(request.path) if request.path else None)
        response.path = str(path)

    def _load(
        self, memory: Memory, request: LoadMemory.Request, response: LoadMemory.Response
    ) -> None:
        if not request.path:
            raise PlannerError("name the file to load")
        content = read_file(self._files(request.path))
        _refuse_untold(content.entities)
        memory.load(content)
        response.sequence = memory.sequence
        response.entities = len(memory.snapshot().entities)
        self._on_change()


def _refuse_untold(entities: Sequence[Entity]) -> None:
    """Refuses what could be loaded, but not be told to anybody.

    Raises:
        PlannerError: naming the entity.
    """
    for entity in entities:
        try:
            entity_message(entity)
        # The message classes raise any of these for a field that is out of its range.
        except (AssertionError, ValueError, TypeError, OverflowError) as error:
            raise PlannerError(f"entities[{entity.entity_id}]: {error}") from None


class _NotReadyError(PlannerError):
    """Asked before there is a memory."""


def _operation(index: int, message: OperationMessage, memory: Memory) -> Operation:
    """An edit by hand, whose entity is as it shall be afterwards."""
    kind = OPERATION_KINDS.get(int(message.kind))
    if kind is None:
        raise PlannerError(f"operation {index}: kind {message.kind} is unknown, expected 0, 1 or 2")
    entity = message.entity
    if kind is OperationKind.REMOVE:
        return Operation(kind, entity_id=int(entity.id))
    distance_m = float(entity.seen_distance_m)
    text = entity.description
    if kind is OperationKind.ADD:
        if entity.picked:
            raise PlannerError(
                f"operation {index}: an Add cannot be held; send an Update afterwards"
            )
    else:
        # EPM's words set the flag; here it stands in a field of its own.
        known = memory.entity(int(entity.id))
        if known is not None and known.picked != entity.picked:
            text = f"{text} {PICKED if entity.picked else PLACED}"
    return Operation(
        kind,
        entity_id=int(entity.id) if kind is OperationKind.UPDATE else None,
        description=text,
        position_m=point_m(entity.position),
        name=entity.name or None,
        distance_m=distance_m if math.isfinite(distance_m) and distance_m > 0 else None,
    )


# Publishes a memory for the node that keeps it: changes, entities and the graph.

# A graph in which only ages changed is published at each so many ticks: to read one is work.
AGES_TICKS = 5


class MemoryPublisher:
    """Publishes /memory/updates, /memory/entities, /world_graph and how the memory is.

    Attributes:
        is_held: whether nothing is published, as nothing of this world has been seen yet: who
            acts on a graph takes what the memory does not know for what is not there.
    """

    def __init__(self, node: Node, losses: Counter[str]) -> None:
        """Makes the publishers.

        Args:
            node: whose publishers they are.
            losses: counts messages that could not be published, by topic.
        """
        self._updates = SafePublisher(node, MemoryUpdate, topics.MEMORY_UPDATES, qos.EVENTS, losses)
        self._list = SafePublisher(node, EntityList, topics.MEMORY_ENTITIES, qos.LATCHED, losses)
        self._graph = SafePublisher(node, WorldGraph, topics.WORLD_GRAPH, qos.LATCHED, losses)
        self._status = SafePublisher(
            node, DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS, losses
        )
        self._node = node
        self._list_messages, self._graph_messages = ListMessages(), GraphMessages()
        # Whether the memory was told something since the newest graph.
        self._is_dirty = False
        # Of the newest graph: what it told but times, and when.
        self._published_graph: tuple[object, ...] = ()
        self._published_tick = 0
        self.is_held = False

    def note(self) -> None:
        """The memory was told something, even if nothing has changed by it."""
        self._is_dirty = True

    def publish_change(self, memory: Memory, change: MemoryChange, tick: int) -> None:
        """Publishes one change and both snapshots after it."""
        if self.is_held:
            return
        self._updates.publish(change_message(change))
        self._publish_list(memory)
        self.publish_graph(memory, tick)

    def publish_all(self, memory: Memory, tick: int) -> None:
        """Publishes the newest change and both snapshots: at the beginning, after edits by hand."""
        if self.is_held:
            return
        for change in memory.deltas_since(memory.sequence - 1).changes:
            self._updates.publish(change_message(change))
        self._publish_list(memory)
        self.publish_graph(memory, tick)

    def publish_graph(self, memory: Memory, tick: int) -> None:
        """Publishes the graph."""
        if self.is_held:
            return
        self._is_dirty = False
        self._published_graph = _graph_content(memory)
        self._published_tick = tick
        self._graph.publish(self._graph_messages.message(memory.belief(memory.stamp_s)))

    def publish_news(self, memory: Memory, tick: int) -> None:
        """Publishes the graph if it has changed; now and then if only its ages have."""
        if not self._is_dirty:
            return
        has_changed = _graph_content(memory) != self._published_graph
        if has_changed or tick - self._published_tick >= AGES_TICKS:
            self.publish_graph(memory, tick)

    def publish_conditions(self, found: Sequence[Condition], stamp_s: float) -> None:
        """Publishes how the memory is, also of a world of which nothing else is told yet."""
        message = DiagnosticArray(status=[_status(condition) for condition in found])
        for status in message.status:
            status.name = status_name(self._node, status.name)
        message.header.stamp = time_message(stamp_s)
        self._status.publish(message)

    def _publish_list(self, memory: Memory) -> None:
        now = memory.snapshot()
        self._list.publish(self._list_messages.message(now.stamp_s, now.sequence, now.entities))


def _status(condition: Condition) -> DiagnosticStatus:
    bad = DiagnosticStatus.ERROR if condition.is_error else DiagnosticStatus.WARN
    return DiagnosticStatus(
        level=bad if condition.problem else DiagnosticStatus.OK,
        name=condition.name,
        message=condition.problem or "ok",
        hardware_id="memory",
        values=[KeyValue(key=key, value=value) for key, value in condition.values.items()],
    )


def _graph_content(memory: Memory) -> tuple[object, ...]:
    """The content of a graph without the times of observations."""
    agents = (
        (agent.name, agent.class_name, agent.position_m, agent.heading_rad)
        for agent in memory.agents
    )
    return (memory.sequence, *agents)


# Asks and corrects a running memory over its services.

WAIT_S = 10.0
_NUMBERS = {kind: number for number, kind in OPERATION_KINDS.items()}


class RemoteMemory:
    """A running memory; close it in the end."""

    def __init__(self, namespace: str = "/") -> None:
        """Joins the graph of nodes; on the loopback alone, see `planner.network`."""
        self._own = not rclpy.ok()
        if self._own:
            start_as_operator(namespace)
        self._node: Node = client_node("memory_client", namespace)
        self._executor = GuardedExecutor()

    def query(self, text: str, room: str, limit: int) -> tuple[str, list[tuple[Entity, float]]]:
        """The answer in words, and its entities with their scores.

        Raises:
            PlannerError: where nobody answers, or the memory says why not.
        """
        request = QueryMemory.Request(text=text, room=room, limit=limit)
        answer = self._call(QueryMemory, topics.QUERY_MEMORY, request)
        entities = [entity_record(message) for message in answer.entities]
        scores = [float(score) for score in answer.scores] or [1.0] * len(entities)
        return answer.message, list(zip(entities, scores, strict=True))

    def correct(self, make: Callable[[list[Entity]], Operation], author: str) -> int:
        """Makes a correction of what is known now; returns the entity's number.

        Raises:
            PlannerError: where nobody answers, or the correction is refused.
        """
        known = [entity for entity, _ in self.query("", "", 0)[1]]
        operation = make(known)
        message = OperationMessage(kind=_NUMBERS[operation.kind])
        entity = message.entity
        entity.id = operation.entity_id or 0
        entity.name = operation.name or ""
        entity.seen_distance_m = float("nan")
        old = next((e for e in known if e.entity_id == operation.entity_id), None)
        # The flag stands in a field of its own here, and not in the text.
        placed = operation.description.endswith(f" {PLACED}")
        entity.description = operation.description.removesuffix(f" {PLACED}")
        entity.picked = old is not None and old.picked and not placed
        if operation.kind is not OperationKind.REMOVE and operation.position_m is not None:
            entity.position = point_message(operation.position_m)
        request = EditMemory.Request(source=author, operations=[message])
        return int(self._call(EditMemory, topics.EDIT_MEMORY, request).ids[0])

    def _call(self, kind: Any, name: str, request: object) -> Any:  # rclpy has no types
        client: Any = self._node.create_client(kind, name)
        if not client.wait_for_service(WAIT_S):
            raise PlannerError(f"no server for {name}; is a memory running? (planner up)")
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self._node, future, self._executor, WAIT_S)
        answer = future.result() if future.done() else None
        if answer is None:
            raise PlannerError(f"{name} did not answer within {WAIT_S:g} s")
        if not answer.success:
            raise PlannerError(answer.message)
        return answer

    def close(self) -> None:
        """Leaves the graph of nodes."""
        self._executor.shutdown()
        self._node.destroy_node()
        if self._own:
            rclpy.shutdown()
