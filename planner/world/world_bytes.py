"""Reading /world/state's bytes: entities whose bytes did not change are the records they were.

A message tells the whole house with every tick in which an agent moves, and reading its fields
takes some 20 ms. Here the bytes are compared with those of the message before and only what
differs is read. The layout is that of CDR in its first version, little-endian, which every ROS 2
middleware sends and bags hold. Needs no ROS.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.world.entity_bytes import BOX_BYTES, EntityBytes, fields_of, read_entity, text
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

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Flags: TypeAlias = npt.NDArray[np.bool_]


class WorldBytes:
    """Reads one message after another.

    A message's bytes are looked at again with the next one: they have to stay as they are.

    Attributes:
        changed: names of all entities that are other records than in the message before, or
            are gone; None with the first message and with one of another house or episode.
    """

    def __init__(self) -> None:
        self.changed: tuple[str, ...] | None = None
        self._forget()

    def _forget(self) -> None:
        # House and episode; which bytes of their texts and the frame's belong to fields.
        self._world = ("", "")
        self._head = b""
        self._entities: dict[str, EntityState] = {}
        # By place in the message: each entity with its bytes, and where it begins; then where
        # the last one ends.
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
        except (struct.error, IndexError, ValueError) as error:
            self._forget()
            raise PlannerError(f"the bytes are no WorldState: {error}") from None

    def _read(self, body: memoryview) -> WorldState:
        new = np.frombuffer(body, np.uint8)
        if not self._patched(body, new):
            self._read_all(body)
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
        np.logical_and(self._differs, self._fields, out=self._differs)
        found, begins = self._found, self._begins
        at = found.find(1)
        if 0 <= at < begins[0]:
            return False
        entities, changed = self._entities.copy(), []
        while at >= 0:
            place = bisect.bisect_right(begins, at) - 1
            begin, end = begins[place], begins[place + 1]
            known = self._known[place]
            box = known.box_at(begin)
            if at >= box and found.rfind(1, at, end) < box + BOX_BYTES:
                entity = known.with_box(body, box)
            else:
                name = known.entity.name
                known = read_entity(body, begin)
                entity = known.entity
                if known.end_at(begin) != end or entity.name != name:
                    return False
                self._known[place] = known
                self._fields[begin:end] = _flags(known.fields_at(begin))
            entities[entity.name] = entity
            changed.append(entity.name)
            at = found.find(1, end)
        self._entities, self.changed = entities, tuple(changed)
        return True

    def _read_all(self, body: memoryview) -> None:
        """Reads every entity but those that are the same as before, wherever they are now."""
        begin = self._read_head(body)
        (count,) = _U32(body, begin - 4)
        last, old, place, places = self._entities, self._known, 0, None
        entities: dict[str, EntityState] = {}
        self._known, self._begins = [], [begin]
        whole, pieces = bytes(body), self._head_fields(begin)
        for _ in range(count):
            known = old[place] if place < len(old) else None
            end = known and known.end_if_at(whole, begin)
            if known is None or end is None:
                known = read_entity(body, begin)
                end = known.end_at(begin)
                same = last.get(known.entity.name)
                if same == known.entity:
                    known = known.of(same)
                if places is None:
                    places = {known.entity.name: i for i, known in enumerate(old)}
                # Where others came or went before it, those after it follow it.
                place = places.get(known.entity.name, place - 1)
            place += 1
            entities[known.entity.name] = known.entity
            self._known.append(known)
            pieces += known.fields_at(begin)
            self._begins.append(begin := end)
        # Prepares the comparison with a message of the same layout.
        self._fields = _flags((*pieces, bytes(len(body) - begin)))
        self._found = bytearray(len(body))
        self._differs = np.frombuffer(self._found, np.bool_)
        if len(entities) < count:
            # One name twice: places do not tell which of the two it is.
            self._known = []
        if self.changed is not None:
            self.changed = (
                *(name for name, entity in entities.items() if last.get(name) is not entity),
                *(name for name in last if name not in entities),
            )
        self._entities = entities

    def _read_head(self, body: memoryview) -> int:
        """The texts between stamp and counts; returns where entities begin."""
        ends: list[int] = []
        _, at = text(body, _STAMP_BYTES, ends)
        house, at = text(body, at, ends)
        episode, _ = text(body, at, ends)
        self._head, _ = fields_of(_STAMP_BYTES, ends[-1], ends)
        # With the first message and in another world nothing is as before.
        self.changed = () if self._begins[0] and (house, episode) == self._world else None
        self._world = (house, episode)
        return ((ends[-1] + 7) & ~7) + _COUNTS_BYTES + 4

    def _head_fields(self, begin: int) -> list[bytes]:
        """Which bytes before the entities belong to fields; stamp and counts are not looked at."""
        gap = begin - 4 - _STAMP_BYTES - len(self._head)
        return [bytes(_STAMP_BYTES), self._head, bytes(gap), _ONES]


def _flags(pieces: Iterable[bytes]) -> _Flags:
    return np.frombuffer(bytearray().join(pieces), np.bool_)
