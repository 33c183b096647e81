"""Asks and corrects a running memory over its services."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import rclpy
from planner_msgs.msg import Operation as OperationMessage
from planner_msgs.srv import EditMemory, QueryMemory
from rclpy.node import Node

from planner.memory.updater import Operation
from planner.memory.wording import PLACED
from planner.network import confine
from planner.ros.client_node import client_node
from planner.ros.conversions import point_message
from planner.ros.guard import GuardedExecutor
from planner.security.enclave import join_as
from planner.security.policy import OPERATOR
from planner.world import topics
from planner.world.entity import Entity, OperationKind
from planner.world.errors import PlannerError
from planner.world.memory_wire import OPERATION_KINDS, entity_record

WAIT_S = 10.0
_NUMBERS = {kind: number for number, kind in OPERATION_KINDS.items()}


class RemoteMemory:
    """A running memory; close it in the end."""

    def __init__(self, namespace: str = "/") -> None:
        """Joins the graph of nodes; on the loopback alone, see `planner.network`."""
        self._own = not rclpy.ok()
        if self._own:
            confine(os.environ)
            join_as(os.environ, OPERATOR, namespace)
            rclpy.init()
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
