"""The memory's content and calls of models, converted between records and messages."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Quaternion, Vector3
from planner_msgs.msg import Entity as EntityMessage
from planner_msgs.msg import (
    EntityList,
    MemoryUpdate,
    NamedState,
    PlannerTrace,
    WorldGraph,
    WorldGraphEdge,
    WorldGraphNode,
)
from planner_msgs.msg import Operation as OperationMessage
from rclpy.node import Node

from planner.models.caller import ModelCall
from planner.ros import qos
from planner.ros.conversions import header, point_message, time_message
from planner.ros.guard import SafePublisher
from planner.world.belief import (
    Belief,
    BeliefNode,
    Entity,
    MemoryChange,
    OperationKind,
    Source,
    guess_states,
)
from planner.world.geometry import quaternion_from_yaw
from planner.world.person import person_states
from planner.world.shapes import look_states
from planner.world.vocabulary import EntityKind, Relation

MAP = "map"
_OPERATIONS = {
    OperationKind.ADD: OperationMessage.ADD,
    OperationKind.UPDATE: OperationMessage.UPDATE,
    OperationKind.REMOVE: OperationMessage.REMOVE,
}
_SOURCES = {
    Source.SEEN: WorldGraphNode.SOURCE_SEEN,
    Source.TOLD: WorldGraphNode.SOURCE_TOLD,
    Source.INFERRED: WorldGraphNode.SOURCE_INFERRED,
}
_KINDS = {
    EntityKind.ROOM: WorldGraphNode.KIND_ROOM,
    EntityKind.FURNITURE: WorldGraphNode.KIND_FURNITURE,
    EntityKind.OBJECT: WorldGraphNode.KIND_OBJECT,
    EntityKind.AGENT: WorldGraphNode.KIND_AGENT,
}
# The edge of furniture and agents to their room has no relation.
_RELATIONS = {None: "in", Relation.ON: "on", Relation.WITHIN: "within", Relation.HELD: "held_by"}


# Entities and changes


def entity_message(entity: Entity) -> EntityMessage:
    """An entity of the list."""
    unseen = entity.seen_distance_m is None
    return EntityMessage(
        id=entity.entity_id,
        name=entity.name,
        is_furniture=entity.is_furniture,
        description=entity.description,
        room=entity.room or "",
        position=point_message(entity.position_m),
        seen_distance_m=math.nan if unseen else entity.seen_distance_m,
        seen=Time() if entity.seen_s is None else time_message(entity.seen_s),
        picked=entity.picked,
    )


def change_message(change: MemoryChange) -> MemoryUpdate:
    """A numbered change."""
    return MemoryUpdate(
        header=header(change.stamp_s, MAP),
        sequence=change.sequence,
        source=change.author,
        operations=[
            OperationMessage(kind=_OPERATIONS[edit.kind], entity=entity_message(edit.entity))
            for edit in change.edits
        ],
    )


class ListMessages:
    """Makes snapshots; messages of unchanged entities are reused."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Entity, EntityMessage]] = {}

    def message(self, stamp_s: float, sequence: int, entities: Iterable[Entity]) -> EntityList:
        """The list after change `sequence`."""
        made = {}
        for entity in entities:
            old = self._made.get(entity.entity_id)
            kept = old is not None and old[0] is entity
            made[entity.entity_id] = old if old and kept else (entity, entity_message(entity))
        self._made = made
        return EntityList(
            header=header(stamp_s, MAP),
            sequence=sequence,
            entities=[message for _, message in made.values()],
        )


# The world graph


class GraphMessages:
    """Makes world graphs; messages of unchanged nodes are reused."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[BeliefNode, WorldGraphNode, WorldGraphEdge | None]] = {}

    def message(self, belief: Belief) -> WorldGraph:
        """The graph of a belief."""
        made = {}
        for name, node in belief.nodes.items():
            old = self._made.get(name)
            if old is None or old[0] is not node:
                old = (node, _node_message(node), _edge_message(node))
            age_s = max(0.0, belief.stamp_s - node.stamp_s)
            old[1].age_s = age_s
            if old[2] is not None:
                old[2].age_s = age_s
            made[name] = old
        self._made = made
        return WorldGraph(
            header=header(belief.stamp_s, MAP),
            sequence=belief.sequence,
            nodes=[node for _, node, _ in made.values()],
            edges=[edge for _, _, edge in made.values() if edge is not None],
        )


def _node_message(node: BeliefNode) -> WorldGraphNode:
    states = {**node.states, **look_states(node.look), **guess_states(node.maybe)}
    states |= person_states(node.person)
    message = WorldGraphNode(
        kind=_KINDS[node.kind],
        name=node.name,
        class_name=node.class_name,
        entity_id=node.entity_id or 0,
        description=node.description,
        room=node.room or "",
        size=Vector3(x=node.size_m[0], y=node.size_m[1], z=node.size_m[2]),
        affordances=[str(affordance) for affordance in node.affordances],
        states=[NamedState(name=str(name), value=value) for name, value in states.items()],
        openness=-1.0 if node.openness is None else node.openness,
        holding=node.holding or "",
        hands=[name or "" for name in node.hands],
        source=_SOURCES[node.source],
    )
    message.pose.position = point_message(node.position_m)
    if node.kind is EntityKind.AGENT:
        message.pose.orientation = _heading(node.heading_rad)
    return message


def _heading(heading_rad: float | None) -> Quaternion:
    """A turn about the vertical axis; of length zero where it is unknown."""
    if heading_rad is None:
        return Quaternion(x=0.0, y=0.0, z=0.0, w=0.0)
    x, y, z, w = quaternion_from_yaw(heading_rad)
    return Quaternion(x=x, y=y, z=z, w=w)


def _edge_message(node: BeliefNode) -> WorldGraphEdge | None:
    if node.parent is None:
        return None
    return WorldGraphEdge(
        child=node.name,
        relation=_RELATIONS[node.relation],
        parent=node.parent,
        source=_SOURCES[node.source],
    )


# Calls of models as planner_msgs/PlannerTrace.


class ModelTrace:
    """Publishes a node's model calls, from any thread."""

    def __init__(self, node: Node, topic: str, losses: Counter[str]) -> None:
        self._node = node
        self._publisher = SafePublisher(node, PlannerTrace, topic, qos.EVENTS, losses)
        self._pending: deque[ModelCall] = deque()
        self._wake = node.create_guard_condition(self._publish_pending)

    def publish(self, call: ModelCall) -> None:
        """Queues an answered call, to be published in the executor's thread."""
        if call.answered:
            self._pending.append(call)
            self._wake.trigger()

    def _publish_pending(self) -> None:
        while self._pending:
            now_s = self._node.get_clock().now().nanoseconds * 1e-9
            self._publisher.publish(trace_message(self._pending.popleft(), now_s))


def trace_message(call: ModelCall, now_s: float) -> PlannerTrace:
    """A call with the time of its answer."""
    return PlannerTrace(
        header=header(now_s, "map"),
        planner=call.planner,
        model=call.model,
        agents=list(call.agents),
        cycle=call.cycle,
        prompt=call.prompt,
        grammar=call.grammar,
        reply=call.reply,
        calls=list(call.calls),
        error=call.error,
        prompt_tokens=call.usage.prompt_tokens,
        cached_tokens=call.usage.cached_tokens,
        reply_tokens=call.usage.reply_tokens,
        first_token_s=call.timings.first_token_s,
        latency_s=call.timings.total_s,
        parameters=key_values(call.parameters),
        role=call.role.value,
    )


def key_values(pairs: Mapping[str, str]) -> list[KeyValue]:
    """Pairs as messages."""
    return [KeyValue(key=key, value=value) for key, value in pairs.items()]
