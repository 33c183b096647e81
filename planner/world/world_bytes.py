"""Reading /world/state's bytes: entities whose bytes did not change are the records they were.

A message tells the whole house with every tick in which an agent moves, and reading its fields
takes some 20 ms. Here the bytes are compared with those of the message before and only what
differs is read. The layout is that of CDR in its first version, little-endian, which every ROS 2
middleware sends and bags hold. Needs no ROS.
"""

from __future__ import annotations

import bisect
import struct
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.world.entity_bytes import (
    ALIGNMENT,
    BOX_BYTES,
    EntityBytes,
    EntityReader,
    fields_of,
    text,
)
from planner.world.errors import PlannerError
from planner.world.state import EntityState, WorldState

CDR_LITTLE_ENDIAN = b"\x00\x01"
_ENCAPSULATION = 4
_U32 = struct.Struct("<I").unpack_from
_STAMP = struct.Struct("<iI").unpack_from
_STAMP_BYTES = 8
_COUNTS = struct.Struct("<QQ").unpack_from
_COUNTS_BYTES = 16

_ONES = b"\1" * 4
_SHARED = EntityReader()

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Flags: TypeAlias = npt.NDArray[np.bool_]


class WorldBytes:
    """Reads one message after another.

    A message's bytes are looked at again with the next one: they have to stay as they are.

    Attributes:
        changed: names of all entities that are other records than in the message before, or
            are gone; None with the first message and with one of another house or episode.
    """

    def __init__(self, reader: EntityReader = _SHARED) -> None:
        """Takes who reads entities: all streams of a process share one, being of few houses."""
        self._reader = reader
        self.changed: tuple[str, ...] | None = None
        self._forget()

    def _forget(self) -> None:
        # House and episode; which bytes of their texts and the frame's belong to fields.
        self._world = ("", "")
        self._head = b""
        self._entities: dict[str, EntityState] = {}
        # By place in the message: each entity with its bytes, though its pose and size may be
        # older than in `_entities`, and where it begins; then where the last one ends.
        self._known: list[EntityBytes] = []
        self._begins: list[int] = [0]
        # The last message, and which of its bytes belong to fields: CDR leaves those between
        # fields as they happen to be. Stamp and counts are read with every message anyway.
        self._last = np.zeros(0, np.uint8)
        self._fields = np.zeros(0, np.bool_)
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
            return self._read(memoryview(data)[_ENCAPSULATION:])
        except (struct.error, LookupError, ValueError) as error:
            self._forget()
            raise PlannerError(f"the bytes are no WorldState: {error}") from None

    def _read(self, body: memoryview) -> WorldState:
        new = np.frombuffer(body, np.uint8)
        if not (self._patched(body, new) or self._shifted(body, new)):
            self._read_all(bytes(body))
        self._last = new
        sec, nanosec = _STAMP(body, 0)
        revision, step = _COUNTS(body, self._begins[0] - _COUNTS_BYTES - 4)
        house, episode = self._world
        return WorldState(sec + nanosec * 1e-9, step, revision, house, episode, self._entities)

    def _patched(self, body: memoryview, new: _Bytes) -> bool:
        """Reads anew what differs; False where the message is laid out otherwise than the last."""
        if len(new) != len(self._last) or not self._known:
            return False
        np.not_equal(self._last, new, out=self._differs)
        found, begins = self._found, self._begins
        texts, last = _STAMP_BYTES + len(self._head), begins[-1]
        if found.find(1, _STAMP_BYTES, texts) >= 0 and not self._has_head(new):
            return False
        entities, changed, masked = self._entities.copy(), [], False
        at = found.find(1, begins[0], last)
        while at >= 0:
            place = bisect.bisect_right(begins, at) - 1
            begin, end = begins[place], begins[place + 1]
            known = self._known[place]
            box = begin + known.box
            if at < box or found.rfind(1, at, end) >= box + BOX_BYTES:
                if masked:
                    # More than pose and size: where the next one begins may be another place.
                    return False
                # Bytes between fields mostly are as they were: put off until one is not.
                np.logical_and(self._differs, self._fields, out=self._differs)
                masked = True
                at = found.find(1, begin, last)
                continue
            entity = known.with_box(body, box)
            entities[entity.name] = entity
            changed.append(entity.name)
            at = found.find(1, end, last)
        self._entities, self.changed = entities, tuple(changed)
        return True

    def _shifted(self, body: memoryview, new: _Bytes) -> bool:
        """Reads anew what differs, where entities may have become longer or shorter.

        What follows such an entity has its bytes elsewhere; a multiple of eight further on they
        are the same. That is so from the next pose on, because numbers of eight bytes are aligned.
        False where there are other entities, or in another order.
        """
        whole, begins, count = bytes(body), self._begins, len(self._known)
        if not count or not self._has_head(new):
            return False
        entities, known = self._entities.copy(), self._known.copy()
        fields = np.zeros(len(new), np.bool_)
        fields[: begins[0]] = self._fields[: begins[0]]
        found: list[int] = []
        changed: list[str] = []
        place, shift = 0, 0
        while place < count:
            if shift % ALIGNMENT == 0:
                last, place = place, self._first_different(new, place, shift)
                start, stop = begins[last], begins[place]
                fields[start + shift : stop + shift] = self._fields[start:stop]
                found += [begin + shift for begin in begins[last:place]]
                if place == count:
                    break
            begin = begins[place] + shift
            read = self._reader.read(whole, begin)
            old = entities[known[place].entity.name]
            if read.entity.name != old.name:
                return False
            if read.entity == old:
                # Only where its fields are is another place.
                read = read._replace(entity=old)
            else:
                entities[old.name] = read.entity
                changed.append(old.name)
            known[place] = read
            found.append(begin)
            end = begin + len(read.fields)
            fields[begin:end] = np.frombuffer(read.fields, np.bool_)
            place += 1
            shift = end - begins[place]
        if begins[-1] + shift > len(new):
            return False
        self._known, self._begins = known, [*found, begins[-1] + shift]
        self._entities, self.changed = entities, tuple(changed)
        self._expect(fields)
        return True

    def _has_head(self, new: _Bytes) -> bool:
        """Whether all before the entities is as in the last message, but for stamp and counts."""
        end = self._begins[0]
        differs = (self._last[:end] != new[:end]) & self._fields[:end]
        return len(new) >= end and not differs.any()

    def _first_different(self, new: _Bytes, place: int, shift: int) -> int:
        """The first place from one on whose entity is another; how many there are if none is."""
        begins = self._begins
        start = begins[place]
        stop = min(begins[-1], len(new) - shift)
        differs = self._last[start:stop] != new[start + shift : stop + shift]
        differs &= self._fields[start:stop]
        at = int(differs.argmax()) if len(differs) else 0
        if len(differs) and differs[at]:
            return bisect.bisect_right(begins, start + at) - 1
        return len(self._known) if stop == begins[-1] else bisect.bisect_right(begins, stop) - 1

    def _read_all(self, body: bytes) -> None:
        """Reads every entity."""
        begin = self._read_head(body)
        (count,) = _U32(body, begin - 4)
        last = self._entities
        entities: dict[str, EntityState] = {}
        # Of the head, stamp and counts are looked at with every message anyway.
        gap = begin - 4 - _STAMP_BYTES - len(self._head)
        pieces = [bytes(_STAMP_BYTES), self._head, bytes(gap), _ONES]
        self._known, self._begins = [], [begin]
        for _ in range(count):
            known = self._reader.read(body, begin)
            same = last.get(known.entity.name)
            if same == known.entity:
                known = known._replace(entity=same)
            entities[known.entity.name] = known.entity
            self._known.append(known)
            pieces.append(known.fields)
            begin += len(known.fields)
            self._begins.append(begin)
        pieces.append(bytes(len(body) - begin))
        self._expect(np.frombuffer(bytearray().join(pieces), np.bool_))
        if len(entities) < count:
            # One name twice: places do not tell which of the two it is.
            self._known = []
        if self.changed is not None:
            self.changed = (
                *(name for name, entity in entities.items() if last.get(name) is not entity),
                *(name for name in last if name not in entities),
            )
        self._entities = entities

    def _read_head(self, body: bytes) -> int:
        """The texts between stamp and counts; returns where entities begin."""
        ends: list[int] = []
        _, at = text(body, _STAMP_BYTES, ends)
        house, at = text(body, at, ends)
        episode, _ = text(body, at, ends)
        self._head = bytes(fields_of(_STAMP_BYTES, ends[-1], ends[:-1]))
        # With the first message and in another world nothing is as before.
        self.changed = () if self._begins[0] and (house, episode) == self._world else None
        self._world = (house, episode)
        return ((ends[-1] + 7) & ~7) + _COUNTS_BYTES + 4

    def _expect(self, fields: _Flags) -> None:
        """Prepares the comparison with a message of the same layout."""
        self._fields = fields
        if len(self._found) != len(fields):
            self._found = bytearray(len(fields))
            self._differs = np.frombuffer(self._found, np.bool_)
