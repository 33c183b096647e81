"""What the memory and the skills say, from planner_msgs' messages, live or from a bag.

The messages are taken by their fields, as in `planner.world.wire`: nothing here needs ROS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.world.belief import Source
from planner.world.entity import Edit, Entity, MemoryChange, OperationKind
from planner.world.skill import SkillCall, SkillCode, SkillResult, parse_call

# The constants of Operation.msg.
OPERATION_KINDS: Mapping[int, OperationKind] = {
    0: OperationKind.ADD,
    1: OperationKind.UPDATE,
    2: OperationKind.REMOVE,
}


def stamp_seconds(stamp: Any) -> float:
    """Seconds of a builtin_interfaces/Time."""
    return float(stamp.sec) + float(stamp.nanosec) * 1e-9


def entity_record(message: Any) -> Entity:
    """What a planner_msgs/Entity tells of an entity: its class is read from its name."""
    seen_s = stamp_seconds(message.seen)
    distance_m = float(message.seen_distance_m)
    at = message.position
    return Entity(
        entity_id=int(message.id),
        name=message.name,
        class_name=message.name.rpartition("_")[0],
        is_furniture=bool(message.is_furniture),
        description=message.description,
        position_m=(float(at.x), float(at.y), float(at.z)),
        seen_distance_m=None if math.isnan(distance_m) else distance_m,
        picked=bool(message.picked),
        room=message.room or None,
        source=Source.SEEN if seen_s else Source.TOLD,
        stamp_s=seen_s,
        seen_s=seen_s or None,
    )


def change_record(message: Any) -> MemoryChange:
    """The numbered change of a planner_msgs/MemoryUpdate; entities as `entity_record` has them.

    Raises:
        KeyError: for an operation of a kind that is none.
    """
    return MemoryChange(
        sequence=int(message.sequence),
        stamp_s=stamp_seconds(message.header.stamp),
        author=message.source,
        edits=tuple(
            Edit(OPERATION_KINDS[int(operation.kind)], entity_record(operation.entity))
            for operation in message.operations
        ),
    )


def report_record(message: Any) -> tuple[str, SkillCall, SkillResult, float]:
    """What a planner_msgs/SkillReport tells: agent, call, result and when it ended, seconds.

    Raises:
        CallError: where the call is none.
        ValueError: for a code that is none.
    """
    evidence = {item.key: item.value for item in message.evidence}
    result = SkillResult(SkillCode(int(message.code)), message.text, evidence)
    return message.agent, parse_call(message.call), result, stamp_seconds(message.header.stamp)
