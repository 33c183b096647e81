"""The memory's services over ROS; every request gets one answer, none ends the node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from planner_msgs.msg import Operation as OperationMessage
from planner_msgs.srv import EditMemory, LoadMemory, QueryMemory, SaveMemory
from rclpy.node import Node

from planner.memory.memory import Memory
from planner.memory.query import ask
from planner.memory.store import read_file
from planner.memory.updater import Operation
from planner.memory.wording import PICKED, PLACED
from planner.ros.conversions import point_m
from planner.ros.memory_messages import change_message, entity_message
from planner.ros.message_bounds import bounds_of
from planner.world import topics
from planner.world.entity import Entity, OperationKind
from planner.world.errors import PlannerError
from planner.world.memory_wire import OPERATION_KINDS

FAILED = 1
NOT_READY = 2


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
        node.create_service(QueryMemory, topics.QUERY_MEMORY, self._on_query)
        node.create_service(EditMemory, topics.EDIT_MEMORY, self._on_edit)
        node.create_service(SaveMemory, topics.SAVE_MEMORY, self._on_save)
        node.create_service(LoadMemory, topics.LOAD_MEMORY, self._on_load)

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

    def _on_query(
        self, request: QueryMemory.Request, response: QueryMemory.Response
    ) -> QueryMemory.Response:
        try:
            self._check_bounds(request)
            memory = self._ready()
            response.sequence = memory.sequence
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
            response.success = True
        except PlannerError as error:
            self._refuse(response, error)
        return response

    def _on_edit(
        self, request: EditMemory.Request, response: EditMemory.Response
    ) -> EditMemory.Response:
        try:
            self._check_bounds(request)
            memory = self._ready()
            response.sequence = memory.sequence
            operations = [
                _operation(index, message, memory)
                for index, message in enumerate(request.operations)
            ]
            author = request.source or "edited by hand"
            outcome = memory.edit(operations, author, memory.stamp_s)
            response.ids = list(outcome.ids)
            response.sequence = memory.sequence
            response.success = True
            self._on_change()
        except PlannerError as error:
            self._refuse(response, error)
        return response

    def _on_save(
        self, request: SaveMemory.Request, response: SaveMemory.Response
    ) -> SaveMemory.Response:
        try:
            self._check_bounds(request)
            memory = self._ready()
            path = memory.save(self._files(request.path) if request.path else None)
            response.path, response.sequence = str(path), memory.sequence
            response.success = True
        except PlannerError as error:
            self._refuse(response, error)
        return response

    def _on_load(
        self, request: LoadMemory.Request, response: LoadMemory.Response
    ) -> LoadMemory.Response:
        try:
            self._check_bounds(request)
            memory = self._ready()
            response.sequence = memory.sequence
            if not request.path:
                raise PlannerError("name the file to load")
            content = read_file(self._files(request.path))
            _refuse_untold(content.entities)
            memory.load(content)
            response.sequence = memory.sequence
            response.entities = len(memory.snapshot().entities)
            response.success = True
            self._on_change()
        except PlannerError as error:
            self._refuse(response, error)
        return response


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
