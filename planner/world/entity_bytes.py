"""One entity of /world/state in its bytes: CDR in its first version, little-endian.

    kind | name class_name instance_id parent relation room | pose size affordances ... holding

CDR aligns fields to their size, counted from the message's start, and leaves the bytes between
them as they happen to be. An entity that lies eight bytes further on, or a multiple of that, has
its fields and gaps at the same places of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from planner.world.geometry import Pose
from planner.world.state import EntityState
from planner.world.vocabulary import Affordance, EntityKind, Relation, State

ItemT = TypeVar("ItemT")

ALIGNMENT = 8
BOX_BYTES = 80
_KINDS = (EntityKind.ROOM, EntityKind.FURNITURE, EntityKind.OBJECT, EntityKind.AGENT)
_AFFORDANCES = {affordance.value: affordance for affordance in Affordance}
_RELATIONS: dict[str, Relation | None] = {"": None, **{r.value: r for r in Relation}}
_STATES = {state.value: state for state in State}
_U32 = struct.Struct("<I").unpack_from
_I32 = struct.Struct("<i").unpack_from
_F32 = struct.Struct("<f").unpack_from
_BOX = struct.Struct("<10d").unpack_from
_NOTHING = tuple(bytes(size) for size in range(ALIGNMENT))
# By alignment and name, so many entities as they were last read; one has about a kilobyte.
_MOST_KEPT = 10_000


class EntityBytes(NamedTuple):
    """An entity and where its bytes are, counted from its first.

    Attributes:
        box: where pose and size begin.
        fields: for each byte 1 where it belongs to a field, else 0.
    """

    entity: EntityState
    box: int
    fields: bytes

    def with_box(self, body: memoryview, at: int) -> EntityState:
        """The record with the pose and size that begin at a place of another message."""
        old = self.entity
        x, y, z, qx, qy, qz, qw, depth, width, height = _BOX(body, at)
        return EntityState(
            old.name,
            old.kind,
            old.class_name,
            old.instance_id,
            Pose((x, y, z), (qx, qy, qz, qw)),
            (depth, width, height),
            old.parent,
            old.relation,
            old.room,
            old.affordances,
            old.states,
            old.openness,
            old.holding,
        )


def read_entity(body: bytes, begin: int) -> EntityBytes:
    """The entity that begins at a place of a message without its encapsulation.

    Raises:
        struct.error, IndexError, KeyError, ValueError: for bytes that are no entity.
    """
    kind = body[begin]
    ends = [begin + 1]
    name, at = text(body, (begin + 4) & ~3, ends)
    class_name, at = text(body, at, ends)
    (instance_id,) = _I32(body, at)
    parent, at = text(body, at + 4, ends)
    relation, at = text(body, at, ends)
    room, box = text(body, at, ends)
    stop = ends.pop()
    box = (box + ALIGNMENT - 1) & -ALIGNMENT
    x, y, z, qx, qy, qz, qw, depth, width, height = _BOX(body, box)
    affordances, at = _items(body, box + BOX_BYTES, ends, text)
    states, at = _items(body, at, ends, _named_state)
    (openness,) = _F32(body, at)
    holding, _ = text(body, at + 4, ends)
    end = ends.pop()
    entity = EntityState(
        name,
        _KINDS[kind],
        class_name,
        instance_id,
        Pose((x, y, z), (qx, qy, qz, qw)),
        (depth, width, height),
        parent or None,
        _RELATIONS[relation],
        room or None,
        tuple([_AFFORDANCES[word] for word in affordances]),
        {_STATES[word]: value for word, value in states} or None,
        None if openness < 0 else float(openness),
        holding or None,
    )
    fields = fields_of(begin, end, ends)
    fields[stop - begin : box - begin] = _NOTHING[box - stop]
    return EntityBytes(entity, box - begin, bytes(fields))


class EntityReader:
    """Reads entities; one that it read before with the same bytes is the same record.

    The bags of a house have most entities in common, and reading one anew takes ten times as long
    as comparing its bytes.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, bytes], tuple[bytes, EntityBytes]] = {}

    def read(self, body: bytes, begin: int) -> EntityBytes:
        """As `read_entity`."""
        at = (begin + 4) & ~3
        (length,) = _U32(body, at)
        # What a field is aligned to counts from the message's start.
        key = (begin % ALIGNMENT, body[at + 4 : at + 4 + length])
        kept = self._kept.get(key)
        if kept is not None and body.startswith(kept[0], begin):
            return kept[1]
        found = read_entity(body, begin)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[key] = (body[begin : begin + len(found.fields)], found)
        return found


def text(body: bytes, at: int, ends: list[int]) -> tuple[str, int]:
    """The text at an aligned place, and where the next field of four bytes may begin.

    Adds to `ends` where the text itself ends.
    """
    (length,) = _U32(body, at)
    end = at + 4 + length
    if length == 0 or end > len(body):
        raise IndexError(f"a text of {length} bytes at {at}")
    ends.append(end)
    return body[at + 4 : end - 1].decode(), (end + 3) & ~3


def fields_of(begin: int, end: int, ends: list[int]) -> bytearray:
    """Which bytes of a range belong to fields, as 0 or 1 each.

    From each of `ends` to the next multiple of four there is nothing.
    """
    fields = bytearray(b"\1") * (end - begin)
    for stop in ends:
        size = -stop % 4
        fields[stop - begin : stop - begin + size] = _NOTHING[size]
    return fields


def _named_state(body: bytes, at: int, ends: list[int]) -> tuple[tuple[str, bool], int]:
    name, _ = text(body, at, ends)
    # The value follows its name at once.
    at = ends.pop()
    ends.append(at + 1)
    return (name, body[at] != 0), (at + 4) & ~3


def _items(
    body: bytes,
    at: int,
    ends: list[int],
    read: Callable[[bytes, int, list[int]], tuple[ItemT, int]],
) -> tuple[list[ItemT], int]:
    (count,) = _U32(body, at)
    at += 4
    found = []
    for _ in range(count):
        item, at = read(body, at, ends)
        found.append(item)
    return found, at
