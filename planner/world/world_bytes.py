"""Reading /world/state's bytes: entities whose bytes did not change are the records they were.

A message tells the whole house with every tick in which an agent moves, and reading its fields
takes some 20 ms. Here the bytes are compared with those of the message before and only what
differs is read. The layout is that of CDR in its first version, little-endian, which every ROS 2
middleware sends and bags hold. Needs no ROS.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import Affordance, EntityKind, Relation, State

ItemT = TypeVar("ItemT")

CDR_LITTLE_ENDIAN = b"\x00\x01"
_KINDS = (EntityKind.ROOM, EntityKind.FURNITURE, EntityKind.OBJECT, EntityKind.AGENT)
_U32 = struct.Struct("<I").unpack_from
_I32 = struct.Struct("<i").unpack_from
_F32 = struct.Struct("<f").unpack_from
_STAMP = struct.Struct("<iI").unpack_from
_COUNTS = struct.Struct("<QQ").unpack_from
_BOX = struct.Struct("<10d").unpack_from


class WorldBytes:
    """Reads one message after another.

    Attributes:
        changed: names of all entities that are other records than in the message before; None
            where a message had to be read as a whole.
    """

    def __init__(self) -> None:
        self.changed: tuple[str, ...] | None = None
        self._known: dict[tuple[int, bytes], EntityState] = {}
        self._last: dict[str, EntityState] = {}
        # Frame, house and episode as bytes, and what the latter two say.
        self._head = b""
        self._world = ("", "")
        # The last message as it was read: its body, and where each entity begins and ends.
        self._body = memoryview(b"")
        self._ends: list[int] = [0]
        self._names: list[str] = []
        # Where an entity's pose and size are, by its place.
        self._boxes: dict[int, int] = {}
        # Which bytes belong to a field: CDR leaves those between fields as they happen to be. They
        # are found out for an entity when its bytes first differ.
        self._fields = np.zeros(0, np.bool_)
        self._marked: set[int] = set()
        # Which bytes differ from the last message's: as bytes to search, as an array to fill.
        self._found = bytearray()
        self._differs = np.zeros(0, np.bool_)

    def read(self, data: bytes | memoryview) -> WorldState:
        """The state that a serialised WorldState carries.

        Raises:
            PlannerError: for data that are no such message.
        """
        if data[:2] != CDR_LITTLE_ENDIAN:
            raise PlannerError("the bytes are no WorldState: not little-endian CDR")
        try:
            return self._read(memoryview(data)[4:])
        except (struct.error, IndexError, ValueError) as error:
            self._body = memoryview(b"")
            raise PlannerError(f"the bytes are no WorldState: {error}") from None

    def _read(self, body: memoryview) -> WorldState:
        sec, nanosec = _STAMP(body, 0)
        at = len(self._head)
        if not at or body[8 : 8 + at] != self._head:
            self._read_head(body)
            at = len(self._head)
        at += 8
        house, episode = self._world
        revision, step = _COUNTS(body, at)
        (count,) = _U32(body, at + 16)
        at += 20
        entities = self._patched(body, at, count)
        if entities is None:
            entities = self._read_all(body, at, count)
        self._body, self._last = body, entities
        stamp_s = float(sec) + float(nanosec) * 1e-9
        return WorldState(stamp_s, int(step), int(revision), house, episode, entities)

    def _read_head(self, body: memoryview) -> None:
        """The texts between the stamp and the counts, the same in all messages of an episode."""
        _, at = _text(body, 8)
        house, at = _text(body, at)
        episode, at = _text(body, at)
        self._head, self._world = bytes(body[8 : -(-at // 8) * 8]), (house, episode)

    def _read_all(self, body: memoryview, at: int, count: int) -> dict[str, EntityState]:
        self.changed = None
        entities: dict[str, EntityState] = {}
        known: dict[tuple[int, bytes], EntityState] = {}
        ends = [at]
        for _ in range(count):
            end = _end_of_entity(body, at)
            # How the fields are padded depends on where the entity begins.
            key = (at % 8, bytes(body[at:end]))
            entity = self._known.get(key) or self._same(_entity(body, at))
            known[key] = entity
            entities[entity.name] = entity
            ends.append(end)
            at = end
        self._known, self._ends, self._names, self._boxes = known, ends, list(entities), {}
        self._fields, self._marked = np.ones(len(body), np.bool_), set()
        self._found = bytearray(len(body))
        self._differs = np.frombuffer(self._found, np.bool_)
        return entities

    def _patched(self, body: memoryview, at: int, count: int) -> dict[str, EntityState] | None:
        """The last message's entities with those that differ read anew.

        None where the message is laid out otherwise: another length, number or name.
        """
        if len(body) != len(self._body) or len(self._names) != count or self._ends[0] != at:
            return None
        old, new = np.frombuffer(self._body, np.uint8), np.frombuffer(body, np.uint8)
        np.not_equal(old, new, out=self._differs)
        np.logical_and(self._differs, self._fields, out=self._differs)
        entities, changed = self._last.copy(), []
        found, stop = self._found, self._ends[-1]
        while (at := found.find(1, at, stop)) >= 0:
            place = bisect.bisect_right(self._ends, at) - 1
            begin, end = self._ends[place], self._ends[place + 1]
            if place not in self._marked:
                self._mark(place)
                self._differs[begin:end] &= self._fields[begin:end]
                at = begin
                continue
            last = found.rfind(1, at, end)
            entity = self._moved(body, place, at, last) or self._anew(body, place)
            if entity is None:
                return None
            entities[entity.name] = entity
            changed.append(entity.name)
            at = end
        self.changed = tuple(changed)
        return entities

    def _moved(self, body: memoryview, place: int, first: int, last: int) -> EntityState | None:
        """The entity where only its pose or size differs; None where other bytes do."""
        box = self._boxes.get(place)
        if box is None:
            box = self._boxes[place] = _box_of(body, self._ends[place])
        if first < box or last >= box + 80:
            return None
        old = self._last[self._names[place]]
        x, y, z, qx, qy, qz, qw, *size = _BOX(body, box)
        return EntityState(
            name=old.name,
            kind=old.kind,
            class_name=old.class_name,
            instance_id=old.instance_id,
            pose=Pose((x, y, z), (qx, qy, qz, qw)),
            size_m=(size[0], size[1], size[2]),
            parent=old.parent,
            relation=old.relation,
            room=old.room,
            affordances=old.affordances,
            states=old.states,
            openness=old.openness,
            holding=old.holding,
        )

    def _anew(self, body: memoryview, place: int) -> EntityState | None:
        begin, end = self._ends[place], self._ends[place + 1]
        if _end_of_entity(body, begin) != end:
            return None
        self._boxes.pop(place, None)
        self._fields[begin:end] = True
        self._marked.discard(place)
        entity = self._same(_entity(body, begin))
        return entity if entity.name == self._names[place] else None

    def _mark(self, place: int) -> None:
        """Notes which bytes of an entity of the last message belong to no field."""
        begin = self._ends[place]
        for start, stop in _gaps(self._body, begin):
            self._fields[start:stop] = False
        self._marked.add(place)

    def _same(self, entity: EntityState) -> EntityState:
        """The record of the last message, where only the bytes between the fields differ.

        CDR leaves the bytes that align a field unset, so equal entities may be unequal bytes.
        """
        last = self._last.get(entity.name)
        return last if last == entity else entity


def _skip_text(body: memoryview, at: int) -> int:
    at = (at + 3) & ~3
    end: int = at + 4 + _U32(body, at)[0]
    return end


def _text(body: memoryview, at: int) -> tuple[str, int]:
    at = (at + 3) & ~3
    (length,) = _U32(body, at)
    end = at + 4 + length
    if length == 0 or end > len(body):
        raise IndexError(f"a text of {length} bytes at {at}")
    return str(body[at + 4 : end - 1], "utf-8"), end


def _box_of(body: memoryview, at: int) -> int:
    at = _skip_text(body, _skip_text(body, at + 1))
    at = ((at + 3) & ~3) + 4
    at = _skip_text(body, _skip_text(body, _skip_text(body, at)))
    return (at + 7) & ~7


def _gaps(body: memoryview, at: int) -> Iterator[tuple[int, int]]:
    """Between which bytes of an entity there is no field."""

    def aligned(at: int, size: int) -> int:
        return -(-at // size) * size

    yield at + 1, (at := aligned(at + 1, 4))
    for _ in ("name", "class_name"):
        at = _skip_text(body, at)
        yield at, (at := aligned(at, 4))
    at += 4
    for size in (4, 4, 8):
        # Parent and relation, then the room, after which comes the pose.
        at = _skip_text(body, at)
        yield at, (at := aligned(at, size))
    at += 80
    (affordances,) = _U32(body, at)
    at += 4
    for _ in range(affordances):
        at = _skip_text(body, at)
        yield at, (at := aligned(at, 4))
    (states,) = _U32(body, at)
    at += 4
    for _ in range(states):
        at = _skip_text(body, at) + 1
        yield at, (at := aligned(at, 4))


def _end_of_entity(body: memoryview, at: int) -> int:
    at = _box_of(body, at) + 80
    (affordances,) = _U32(body, at)
    at += 4
    for _ in range(affordances):
        at = _skip_text(body, at)
    at = (at + 3) & ~3
    (states,) = _U32(body, at)
    at += 4
    for _ in range(states):
        at = _skip_text(body, at) + 1
    return _skip_text(body, ((at + 3) & ~3) + 4)


def _entity(body: memoryview, at: int) -> EntityState:
    kind = _KINDS[body[at]]
    name, at = _text(body, at + 1)
    class_name, at = _text(body, at)
    at = (at + 3) & ~3
    (instance_id,) = _I32(body, at)
    parent, at = _text(body, at + 4)
    relation, at = _text(body, at)
    room, at = _text(body, at)
    at = (at + 7) & ~7
    x, y, z, qx, qy, qz, qw, *size = _BOX(body, at)
    affordances, at = _items(body, at + 80, _text)
    states, at = _items(body, (at + 3) & ~3, _named_state)
    at = (at + 3) & ~3
    (openness,) = _F32(body, at)
    holding, _ = _text(body, at + 4)
    return EntityState(
        name=name,
        kind=kind,
        class_name=class_name,
        instance_id=instance_id,
        pose=Pose((x, y, z), (qx, qy, qz, qw)),
        size_m=(size[0], size[1], size[2]),
        parent=parent or None,
        relation=Relation(relation) if relation else None,
        room=room or None,
        affordances=tuple(Affordance(word) for word in affordances),
        states={State(word): value for word, value in states} or None,
        openness=None if openness < 0 else float(openness),
        holding=holding or None,
    )


def _named_state(body: memoryview, at: int) -> tuple[tuple[str, bool], int]:
    name, at = _text(body, at)
    return (name, body[at] != 0), at + 1


def _items(
    body: memoryview, at: int, read: Callable[[memoryview, int], tuple[ItemT, int]]
) -> tuple[list[ItemT], int]:
    (count,) = _U32(body, at)
    at += 4
    found = []
    for _ in range(count):
        item, at = read(body, at)
        found.append(item)
    return found, at
