"""Converts planner_msgs of the memory to records, live or from a bag.

Messages are accessed by their fields, as in `planner.world.wire`, without ROS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.world.belief import Source
from planner.world.entity import Edit, Entity, MemoryChange, OperationKind
from planner.world.geometry import Vec3
from planner.world.observation import Sighting
from planner.world.skill import SkillCode, SkillResult
from planner.world.wire import hands_record

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
    """The entity in a planner_msgs/Entity; its class is derived from its name."""
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


def sightings_record(message: Any) -> tuple[Sighting, ...]:
    """The sightings in a planner_msgs/EntityList of a world without pictures.

    There are no pixels: what is seen at all is seen whole, in the middle of the view.
    """
    return tuple(
        Sighting(
            seen.name,
            1.0,
            float(seen.seen_distance_m),
            (0.0, 0.0),
            (float(seen.position.x), float(seen.position.y), float(seen.position.z)),
        )
        for seen in message.entities
    )


def change_record(message: Any) -> MemoryChange:
    """The numbered change in a planner_msgs/MemoryUpdate; entities as in `entity_record`.

    Raises:
        KeyError: for an unknown kind of operation.
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


def result_record(message: Any) -> SkillResult:
    """The result in a planner_msgs/SkillReport or a result of ExecuteSkill.

    Raises:
        ValueError: for an unknown code.
    """
    evidence = {str(item.key): str(item.value) for item in message.evidence}
    result = SkillResult(SkillCode(int(message.code)), message.text, evidence)
    if not hasattr(message, "has_position"):
        return _from_evidence(result)
    at = message.position
    position_m = (float(at.x), float(at.y), float(at.z))
    return replace(
        result,
        position_m=position_m if message.has_position and _all_finite(position_m) else None,
        hands=hands_record(message) if message.has_holding else None,
        duration_s=_known(float(message.duration_s)),
        part_of=str(getattr(message, "part_of", "")),
        rule=int(message.rule),
        ended_s=_ended_s(message),
    )


def _ended_s(message: Any) -> float | None:
    """A SkillReport has a header instead."""
    stamp = message.stamp if hasattr(message, "stamp") else message.header.stamp
    return stamp_seconds(stamp) or None


def duration_of(message: Any) -> float | None:
    """The duration of the call in a planner_msgs/SkillReport, seconds; None = unknown."""
    if hasattr(message, "duration_s"):
        return _known(float(message.duration_s))
    return _known_text({str(item.key): str(item.value) for item in message.evidence})


def _from_evidence(result: SkillResult) -> SkillResult:
    """The fields of a result from an older bag, which has them only as text in the evidence."""
    words = result.evidence.get("position_m", "").split(",")
    try:
        x, y, z = (float(word) for word in words)
        position_m: Vec3 | None = (x, y, z) if _all_finite((x, y, z)) else None
    except ValueError:
        position_m = None
    holding = result.evidence.get("holding")
    return replace(
        result,
        position_m=position_m,
        hands=None if holding is None else (holding,) if holding else (),
        duration_s=_known_text(result.evidence),
        part_of=result.evidence.get("part_of", ""),
    )


def _known_text(evidence: Mapping[str, str]) -> float | None:
    try:
        return _known(float(evidence.get("sim_seconds", "nan")))
    except ValueError:
        return None


def _known(duration_s: float) -> float | None:
    return duration_s if math.isfinite(duration_s) and duration_s >= 0 else None


def _all_finite(point_m: Vec3) -> bool:
    return all(map(math.isfinite, point_m))
