"""Reads messages of the world and of cameras, live, serialised or from a bag, without ROS."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

from planner.world.belief import Belief, BeliefNode, Source, take_guesses
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.observation import Grip, Intrinsics
from planner.world.person import take_person
from planner.world.shapes import take_look
from planner.world.state import EntityState, StateUpdate, WorldState
from planner.world.vocabulary import EntityKind, Hands, Relation

_CLOSED = 0.05
# The constants KIND_* of EntityState.msg.
_KINDS = (EntityKind.ROOM, EntityKind.FURNITURE, EntityKind.OBJECT, EntityKind.AGENT)
# The constants SOURCE_* of WorldGraphNode.msg; its KIND_* are those of EntityState.msg.
_SOURCES = (Source.SEEN, Source.TOLD, Source.INFERRED)
# The edges of furniture and agents to their room have no relation of their own.
_RELATIONS = {"in": None, "on": Relation.ON, "within": Relation.WITHIN, "held_by": Relation.HELD}


T = TypeVar("T")
# How a message's field becomes a record's, by the type that the record declares.
_READ: Mapping[str, Callable[[Any], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "tuple[str, ...]": lambda texts: tuple(map(str, texts)),
    "tuple[float, ...]": lambda numbers: tuple(map(float, numbers)),
}


def record_of(kind: type[T], message: Any, **given: object) -> T:
    """A record of plain values: what is not given is the message's field of the same name.

    Raises:
        AttributeError, TypeError, ValueError: for a message of another type.
    """
    declared: Any = kind
    for field in fields(declared):
        if field.name not in given:
            given[field.name] = _READ[str(field.type)](getattr(message, field.name))
    return kind(**given)


def graph_record(message: Any) -> Belief:
    """The belief in a WorldGraph message; ages have single precision."""
    stamp = message.header.stamp
    stamp_s = float(stamp.sec) + float(stamp.nanosec) * 1e-9
    edges = {edge.child: edge for edge in message.edges}
    nodes = {node.name: _node_record(node, edges.get(node.name), stamp_s) for node in message.nodes}
    return Belief(stamp_s, int(message.sequence), nodes)


def _node_record(node: Any, edge: Any, stamp_s: float) -> BeliefNode:
    at, size = node.pose.position, node.size
    states, look = take_look({item.name: bool(item.value) for item in node.states})
    states, maybe = take_guesses(states)
    known, person = take_person(node.class_name, states)
    return BeliefNode(
        name=node.name,
        kind=_KINDS[node.kind],
        class_name=node.class_name,
        entity_id=int(node.entity_id) or None,
        position_m=(float(at.x), float(at.y), float(at.z)),
        size_m=(float(size.x), float(size.y), float(size.z)),
        room=node.room or None,
        parent=edge.parent if edge is not None else None,
        relation=_RELATIONS[edge.relation] if edge is not None else None,
        affordances=tuple(node.affordances),
        states=known,
        openness=None if node.openness < 0 else float(node.openness),
        hands=hands_record(node),
        source=_SOURCES[node.source],
        stamp_s=stamp_s - float(node.age_s),
        description=node.description,
        look=look,
        heading_rad=_heading_rad(node),
        maybe=maybe,
        person=person,
    )


def _heading_rad(node: Any) -> float | None:
    """Of an agent; None where the turn has no length, as for a heading that is unknown."""
    turn = node.pose.orientation
    if _KINDS[node.kind] is not EntityKind.AGENT or not (turn.z or turn.w):
        return None
    return 2 * math.atan2(float(turn.z), float(turn.w))


def state_update(message: Any) -> StateUpdate:
    """The update in a WorldState message.

    Raises:
        AttributeError, KeyError, LookupError, TypeError, ValueError: for an invalid message.
    """
    stamp = message.header.stamp
    state = WorldState(
        stamp_s=float(stamp.sec) + float(stamp.nanosec) * 1e-9,
        step=int(message.sim_step),
        revision=int(message.revision),
        house=message.house,
        episode_id=message.episode_id,
        entities={item.name: entity_record(item) for item in message.entities},
    )
    if not hasattr(message, "keyframe"):
        # In older bags every message is the whole world.
        return StateUpdate(state)
    removed = tuple(str(name) for name in message.removed)
    return StateUpdate(state, removed, bool(message.keyframe), int(message.sequence))


def entity_record(message: Any) -> EntityState:
    """The entity in an EntityState message; `openness` has single precision."""
    at, turn = message.pose.position, message.pose.orientation
    given, look = take_look({item.name: bool(item.value) for item in message.states})
    states, person = take_person(message.class_name, given)
    return EntityState(
        name=message.name,
        kind=_KINDS[message.kind],
        class_name=message.class_name,
        instance_id=int(message.instance_id),
        pose=Pose(
            (float(at.x), float(at.y), float(at.z)),
            (float(turn.x), float(turn.y), float(turn.z), float(turn.w)),
        ),
        size_m=(float(message.size.x), float(message.size.y), float(message.size.z)),
        parent=message.parent or None,
        relation=Relation(message.relation) if message.relation else None,
        room=message.room or None,
        affordances=tuple(message.affordances),
        states=states or None,
        openness=None if message.openness < 0 else float(message.openness),
        hands=hands_record(message),
        look=look,
        person=person,
    )


def hands_record(message: Any) -> Hands:
    """What each hand holds by the fields `hands` and `holding` of a message.

    In bags of before there is only `holding`, and an empty hand is none that is known of.
    """
    if hasattr(message, "hands"):
        return tuple(str(name) or None for name in message.hands)
    return (str(message.holding),) if message.holding else ()


def grip_record(message: Any) -> Grip | None:
    """The grip in a sensor_msgs/JointState of `gripper_state`; None if it has no position.

    In bags of before it has no effort either: there a closed gripper counts as one that holds.
    """
    if not len(message.position):
        return None
    opening = float(message.position[0])
    if len(message.effort):
        return Grip(opening, float(message.effort[0]) > 0.0)
    return Grip(opening, opening < _CLOSED)


def intrinsics_of(message: Any) -> Intrinsics:
    """The intrinsics of a sensor_msgs/CameraInfo.

    Raises:
        PlannerError: if the camera is not calibrated, or its picture is mirrored.
    """
    fx, cx, fy, cy = (float(message.k[i]) for i in (0, 2, 4, 5))
    if fx < 0 or fy < 0:
        raise PlannerError(f"camera_info of a mirrored picture (k[0] is {fx:g}, k[4] is {fy:g})")
    if not (fx > 0 and fy > 0):
        raise PlannerError("camera_info of a camera that is not calibrated (k[0] or k[4] is 0)")
    return Intrinsics(int(message.width), int(message.height), fx, fy, cx, cy)


# Reads stamps from serialised messages (CDR), to avoid deserialising all of them.

# The encapsulation's second byte is the byte order; the data start after four bytes.
_BODY = 4
Serialised: TypeAlias = bytes | bytearray | memoryview


def stamp_of(data: Serialised) -> float:
    """The stamp, in seconds, of a serialised message that starts with a std_msgs/Header.

    Raises:
        ValueError: if the data are too short.
    """
    return _stamp(data, _BODY)


def first_stamp_of(data: Serialised) -> float | None:
    """The stamp of the first item in a message that is a list of stamped items, such as /tf's.

    Raises:
        ValueError: if the data are too short.
    """
    if len(data) < _BODY + 4:
        raise ValueError(f"a message of {len(data)} bytes has no items")
    (count,) = struct.unpack_from(f"{byte_order(data)}I", data, _BODY)
    return _stamp(data, _BODY + 4) if count else None


def frame_of(data: Serialised) -> str:
    """The frame_id of a serialised message that starts with a std_msgs/Header.

    Raises:
        ValueError: if the data are too short, or no text.
    """
    return _text(data, _BODY + 8)[0]


def first_child_of(data: Serialised) -> str:
    """The child_frame_id of the first transform of a serialised tf2_msgs/TFMessage that has one.

    Raises:
        ValueError: if the data are too short, or no text.
    """
    # After the number of transforms, the stamp and the frame_id.
    _, ends = _text(data, _BODY + 12)
    return _text(data, ends + (_BODY - ends) % 4)[0]


def _text(data: Serialised, at: int) -> tuple[str, int]:
    """The string at an offset, and where it ends."""
    if len(data) < at + 4:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    (length,) = struct.unpack_from(f"{byte_order(data)}I", data, at)
    name = bytes(data[at + 4 : at + 4 + length])
    if len(name) < length:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    return name.rstrip(b"\0").decode(), at + 4 + length


def byte_order(data: Serialised) -> str:
    """The byte order of a serialised message, in `struct`'s notation."""
    return "<" if data[1] & 1 else ">"


def _stamp(data: Serialised, at: int) -> float:
    if len(data) < at + 8:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    sec, nanosec = struct.unpack_from(f"{byte_order(data)}iI", data, at)
    return float(sec) + float(nanosec) * 1e-9
