"""One entity of /world/state in its bytes: CDR in its first version, little-endian.

    kind | name class_name instance_id parent relation room | pose size affordances ... holding

CDR aligns fields to their size from the message's start. Of an entity only two places depend on
where it begins: the space after `kind`, and that before `pose`, whose numbers have eight bytes.
So its bytes are two parts, front and back, that stay as they are wherever the entity comes to lie.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from planner.world.geometry import Pose
from planner.world.state import EntityState
from planner.world.vocabulary import Affordance, EntityKind, Relation, State

ItemT = TypeVar("ItemT")

_KINDS = (EntityKind.ROOM, EntityKind.FURNITURE, EntityKind.OBJECT, EntityKind.AGENT)
_U32 = struct.Struct("<I").unpack_from
_I32 = struct.Struct("<i").unpack_from
_F32 = struct.Struct("<f").unpack_from
_BOX = struct.Struct("<10d").unpack_from
BOX_BYTES = 80
_NOTHING = (b"", b"\0", b"\0\0", b"\0\0\0", b"\0" * 4)


class EntityBytes(NamedTuple):
    """An entity and what its bytes were.

    Attributes:
        kind: its first byte.
        front, back: the values of the two parts as numbers, without the bytes of no field.
        front_size, back_size: how many bytes they have.
        front_mask, back_mask: those numbers' bits that belong to fields.
        front_fields, back_fields: for each byte 1 where it belongs to a field, else 0.
    """

    entity: EntityState
    kind: int
    front: int
    back: int
    front_size: int
    back_size: int
    front_mask: int
    back_mask: int
    front_fields: bytes
    back_fields: bytes

    def box_at(self, at: int) -> int:
        """Where pose and size are if the entity begins at `at`."""
        return (((at + 4) & ~3) + self.front_size + 7) & ~7

    def end_at(self, at: int) -> int:
        """Where the next entity begins then."""
        return self.box_at(at) + self.back_size

    def end_if_at(self, body: bytes, at: int) -> int | None:
        """Where the next entity begins if the same one, with the same values, begins at `at`."""
        # At one go: this is asked of every entity when the first of them has grown.
        _, kind, front, back, front_size, back_size, front_mask, back_mask, _, _ = self
        begin = (at + 4) & ~3
        stop = begin + front_size
        box = (stop + 7) & ~7
        end = box + back_size
        if (
            end <= len(body)
            and body[at] == kind
            and int.from_bytes(body[begin:stop], "little") & front_mask == front
            and int.from_bytes(body[box:end], "little") & back_mask == back
        ):
            return end
        return None

    def fields_at(self, at: int) -> tuple[bytes, ...]:
        """For each of its bytes from `at` whether it belongs to a field, in pieces."""
        front = (at + 4) & ~3
        stop = front + self.front_size
        before, between = front - at - 1, (-stop) % 8
        return (b"\1", _NOTHING[before], self.front_fields, _NOTHING[between], self.back_fields)

    def of(self, entity: EntityState) -> EntityBytes:
        """These bytes for an equal record."""
        return self._replace(entity=entity)

    def with_box(self, body: memoryview, at: int) -> EntityState:
        """The record with the pose and size that are in a message, beginning there."""
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


def read_entity(body: memoryview, at: int) -> EntityBytes:
    """The entity that begins at `at` of a message without its encapsulation.

    Raises:
        struct.error, IndexError, ValueError: for bytes that are no entity.
    """
    number = body[at]
    ends: list[int] = []
    front = (at + 4) & ~3
    name, at = text(body, front, ends)
    class_name, at = text(body, at, ends)
    (instance_id,) = _I32(body, at)
    parent, at = text(body, at + 4, ends)
    relation, at = text(body, at, ends)
    room, stop = text(body, at, ends)
    box = (stop + 7) & ~7
    x, y, z, qx, qy, qz, qw, depth, width, height = _BOX(body, box)
    back_ends: list[int] = []
    affordances, at = _items(body, box + BOX_BYTES, back_ends, text)
    states, at = _items(body, at, back_ends, _named_state)
    (openness,) = _F32(body, at)
    holding, _ = text(body, at + 4, back_ends)
    end = back_ends.pop()
    entity = EntityState(
        name=name,
        kind=_KINDS[number],
        class_name=class_name,
        instance_id=instance_id,
        pose=Pose((x, y, z), (qx, qy, qz, qw)),
        size_m=(depth, width, height),
        parent=parent or None,
        relation=Relation(relation) if relation else None,
        room=room or None,
        affordances=tuple(map(Affordance, affordances)),
        states={State(word): value for word, value in states} or None,
        openness=None if openness < 0 else float(openness),
        holding=holding or None,
    )
    front_fields, front_mask = fields_of(front, stop, ends)
    back_fields, back_mask = fields_of(box, end, back_ends)
    return EntityBytes(
        entity,
        number,
        int.from_bytes(body[front:stop], "little") & front_mask,
        int.from_bytes(body[box:end], "little") & back_mask,
        stop - front,
        end - box,
        front_mask,
        back_mask,
        front_fields,
        back_fields,
    )


def text(body: memoryview, at: int, ends: list[int]) -> tuple[str, int]:
    """The text at an aligned place, and where the next field of four bytes may begin.

    Adds to `ends` where the text itself ends.
    """
    (length,) = _U32(body, at)
    end = at + 4 + length
    if length == 0 or end > len(body):
        raise IndexError(f"a text of {length} bytes at {at}")
    ends.append(end)
    return str(body[at + 4 : end - 1], "utf-8"), (end + 3) & ~3


def fields_of(begin: int, end: int, ends: list[int]) -> tuple[bytes, int]:
    """Which bytes of texts and numbers belong to them, as 0 or 1 each and as a mask of bits.

    From each of `ends`, where texts end, to the next multiple of four there is nothing.
    """
    fields = bytearray(b"\1") * (end - begin)
    for stop in ends:
        size = -stop % 4
        fields[stop - begin : stop - begin + size] = _NOTHING[size]
    return bytes(fields), int.from_bytes(fields, "little") * 0xFF


def _named_state(body: memoryview, at: int, ends: list[int]) -> tuple[tuple[str, bool], int]:
    name, _ = text(body, at, ends)
    at = ends.pop()
    ends.append(at + 1)
    return (name, body[at] != 0), (at + 4) & ~3


def _items(
    body: memoryview,
    at: int,
    ends: list[int],
    read: Callable[[memoryview, int, list[int]], tuple[ItemT, int]],
) -> tuple[list[ItemT], int]:
    (count,) = _U32(body, at)
    at += 4
    found = []
    for _ in range(count):
        item, at = read(body, at, ends)
        found.append(item)
    return found, at
