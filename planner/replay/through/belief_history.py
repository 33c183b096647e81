"""What a bag has of a memory: pictures with poses, entity lists over time, differences of lists."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from planner.memory.entity_list import POSITION_TOLERANCE_M
from planner.memory.maps.occupancy import hand_observation
from planner.memory.scores import DEFAULT_DISTANCE_M, Placed, score
from planner.replay.through.recorded import (
    COLOUR,
    DEPTH,
    INSTANCES,
    SIGHTINGS,
    EntityChangeReceived,
    EntityListReceived,
    PictureReceived,
)
from planner.world.belief import Entity, OperationKind
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.memory_wire import FrameLinks, sightings_record
from planner.world.observation import CameraFrame, Grip, Intrinsics, Observation
from planner.world.picture_codec import decode_colour, decode_depth, decode_instances

# Observations of recorded agents: pictures of one exposure with the poses at that time.
#
# The rules are those of the memory node: a picture that is not due is not read, pictures of one
# exposure make one observation, and an observation waits until its frames are known.

# Exposures that wait for their missing pictures; older ones are dropped.
_MAX_PENDING = 4


@dataclass(frozen=True, slots=True)
class Exposure:
    """The pictures of one instant by their kind, not deserialised yet."""

    agent: str
    stamp_s: float
    pictures: Mapping[str, PictureReceived]


class Exposures:
    """Groups one agent's pictures by stamp."""

    def __init__(self, kinds: Sequence[str], is_due: Callable[[float], bool]) -> None:
        """Takes the kinds of a complete exposure, and whether the exposure at a stamp is needed."""
        self._kinds, self._is_due = tuple(kinds), is_due
        self._waiting: dict[float, dict[str, PictureReceived]] = {}
        self.stamps: set[float] = set()
        self.incomplete = 0

    def take(self, picture: PictureReceived) -> Exposure | None:
        """Takes a picture; returns the exposure that it completes."""
        self.stamps.add(picture.stamp_s)
        if not self._is_due(picture.stamp_s):
            return None
        taken = self._waiting.setdefault(picture.stamp_s, {})
        taken[picture.kind] = picture
        if len(taken) == len(self._kinds):
            self._waiting.clear()
            return Exposure(picture.agent, picture.stamp_s, taken)
        if len(self._waiting) > _MAX_PENDING:
            self._waiting.pop(next(iter(self._waiting)))
            self.incomplete += 1
        return None


class Observer:
    """Makes observations of exposures."""

    def __init__(self, frames: FrameLinks, intrinsics: Mapping[str, Intrinsics]) -> None:
        """Takes the frames, and the intrinsics of each agent's camera."""
        self._frames, self._lenses = frames, intrinsics
        self.grips: dict[str, Grip] = {}
        self.unreadable: Counter[str] = Counter()

    def observation(self, exposure: Exposure) -> Observation | None:
        """What the agent observed; None while its frames are not known.

        Raises:
            PlannerError: for pictures that cannot be read.
        """
        agent, stamp_s = exposure.agent, exposure.stamp_s
        content = {kind: taken.raw.content() for kind, taken in exposure.pictures.items()}
        observe = partial(
            hand_observation, self._frames, agent, stamp_s, self.grips.get(agent, Grip())
        )
        if SIGHTINGS in content:
            return observe(sightings=sightings_record(content[SIGHTINGS]))
        first = next(iter(content.values()))
        return observe(
            optical_frame=first.header.frame_id,
            pictures=lambda optical: _frame(content, self._lenses[agent], optical),
        )


def _frame(content: Mapping[str, Any], intrinsics: Intrinsics, optical: Pose) -> CameraFrame:
    depth_m = decode_depth(content[DEPTH])
    instances = decode_instances(content[INSTANCES]) if INSTANCES in content else None
    if COLOUR in content:
        rgb = decode_colour(content[COLOUR])
    else:
        # The privileged updater does not use colours: a black picture takes their place.
        rgb = np.broadcast_to(np.zeros(1, np.uint8), (*depth_m.shape, 3))
    for name, picture in (("colours", rgb), ("ids", instances)):
        if picture is not None and picture.shape[:2] != depth_m.shape:
            raise PlannerError(f"depth is {depth_m.shape} and {name} are {picture.shape[:2]}")
    return CameraFrame(rgb, depth_m, instances, intrinsics, optical)


# Differences between two entity lists of one house.


class Kind(StrEnum):
    """What differs."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference of the replayed list from the live one.

    Attributes:
        kind: `added`: only the replayed memory has it; `removed`: only the live one.
        live: the live memory's name of the entity; "" if it has none.
        replayed: the replayed memory's.
        text: the difference in words.
    """

    kind: Kind
    live: str
    replayed: str
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies a difference as long as it lasts."""
        return (self.kind.value, self.live, self.replayed)


def differences(live: Sequence[Entity], replayed: Sequence[Entity]) -> list[Difference]:
    """All differences, in the order of the live list's ids, then of the replayed one's.

    Entities are matched by name, unless the memory made up the name from class and number; then by
    class and place.
    """
    pairs = _pairs(live, replayed)
    partner = {a.entity_id: b for a, b in pairs}
    found: list[Difference] = []
    for entity in live:
        other = partner.get(entity.entity_id)
        if other is None:
            found.append(Difference(Kind.REMOVED, entity.name, "", _location(entity)))
        else:
            found += _between(entity, other)
    paired = {b.entity_id for _, b in pairs}
    found += [
        Difference(Kind.ADDED, "", entity.name, _location(entity))
        for entity in replayed
        if entity.entity_id not in paired
    ]
    return found


def is_same(live: Sequence[Entity], replayed: Sequence[Entity]) -> bool:
    """Whether both lists are equal, as far as messages show."""
    return [_text_of(e) for e in live] == [_text_of(e) for e in replayed]


def _text_of(entity: Entity) -> tuple[object, ...]:
    return (
        entity.entity_id, entity.name, entity.is_furniture, entity.description, entity.position_m,
        entity.picked, entity.room,
    )  # fmt: skip


def _pairs(live: Sequence[Entity], replayed: Sequence[Entity]) -> list[tuple[Entity, Entity]]:
    named = {e.name: e for e in replayed if _has_own_name(e)}
    pairs = [
        (entity, named[entity.name])
        for entity in live
        if _has_own_name(entity) and entity.name in named
    ]
    ours = _left(live, (a for a, _ in pairs))
    theirs = _left(replayed, (b for _, b in pairs))
    held = [e for e in theirs if e.picked]
    for entity in [e for e in ours if e.picked]:
        other = next((e for e in held if e.class_name == entity.class_name), None)
        if other is not None:
            held.remove(other)
            pairs.append((entity, other))
    ours = _left(ours, (a for a, _ in pairs))
    theirs = _left(theirs, (b for _, b in pairs))
    by_number = {str(e.entity_id): e for e in ours}
    other_by_number = {str(e.entity_id): e for e in theirs}
    matched = score(_placed(ours), _placed(theirs), DEFAULT_DISTANCE_M)
    return pairs + [
        (by_number[match.remembered], other_by_number[match.true]) for match in matched.matches
    ]


def _has_own_name(entity: Entity) -> bool:
    return entity.is_furniture or not entity.name.endswith(f"_{entity.entity_id}")


def _left(entities: Iterable[Entity], paired: Iterable[Entity]) -> list[Entity]:
    gone = {entity.entity_id for entity in paired}
    return [entity for entity in entities if entity.entity_id not in gone]


def _placed(entities: Iterable[Entity]) -> list[Placed]:
    return [Placed(str(e.entity_id), e.class_name, e.position_m) for e in entities if not e.picked]


def _between(live: Entity, replayed: Entity) -> list[Difference]:
    found = []
    if not ((live.picked and replayed.picked) or live.is_furniture):
        away_m = math.dist(live.position_m, replayed.position_m)
        if away_m > POSITION_TOLERANCE_M:
            text = f"{away_m:.2f} m away, at {_point(replayed)} and not {_point(live)}"
            found.append(Difference(Kind.MOVED, live.name, replayed.name, text))
    parts = [
        f"{what} {now or 'unknown'!r} and not {before or 'unknown'!r}"
        for what, before, now in (
            ("text", live.description, replayed.description),
            ("room", live.room, replayed.room),
            ("picked", _word(live.picked), _word(replayed.picked)),
        )
        if before != now
    ]
    if parts:
        found.append(Difference(Kind.CHANGED, live.name, replayed.name, "; ".join(parts)))
    return found


def _word(flag: bool) -> str:
    return "yes" if flag else "no"


def _location(entity: Entity) -> str:
    where = "picked" if entity.picked else f"at {_point(entity)}"
    return f"{entity.description!r} {where}"


def _point(entity: Entity) -> str:
    return "({:.2f}, {:.2f}, {:.2f})".format(*entity.position_m)


class History:
    """A memory's content over time.

    A change counts from the newest time known when it arrived: what is learned late about an
    earlier picture is known late.
    """

    def __init__(self) -> None:
        self.stamps: list[float] = []
        self.lists: list[tuple[Entity, ...]] = []
        self.authors: set[str] = set()

    def note(self, stamp_s: float, entities: Sequence[Entity]) -> None:
        """Adds the list that is valid from a time on."""
        stamp_s = max(stamp_s, self.stamps[-1] if self.stamps else -math.inf)
        if self.stamps and self.stamps[-1] == stamp_s:
            self.lists[-1] = tuple(entities)
            return
        self.stamps.append(stamp_s)
        self.lists.append(tuple(entities))

    def at(self, stamp_s: float) -> tuple[Entity, ...] | None:
        """The list at a time; None before the first."""
        place = bisect.bisect_right(self.stamps, stamp_s)
        return self.lists[place - 1] if place else None


class LiveList:
    """The live memory's list, from its changes; snapshots start it and repair gaps.

    Attributes:
        history: its content over time.
        mended: number of repaired gaps.
    """

    def __init__(self) -> None:
        self.history = History()
        self.mended = 0
        self._sequence: int | None = None
        self._broken = True
        self._entities: dict[int, Entity] = {}

    def change(self, message: EntityChangeReceived) -> None:
        """Applies the next change; one out of order waits for a snapshot."""
        change = message.change
        if self._sequence is None or change.sequence <= self._sequence:
            return
        if change.sequence != self._sequence + 1:
            self._broken = True
            return
        for edit in change.edits:
            if edit.kind is OperationKind.REMOVE:
                self._entities.pop(edit.entity.entity_id, None)
            else:
                self._entities[edit.entity.entity_id] = edit.entity
        self._sequence = change.sequence
        self.history.authors.add(change.author)
        self._note(change.stamp_s)

    def snapshot(self, message: EntityListReceived) -> None:
        """Takes the whole list, which is right whatever was missed."""
        if self._sequence is not None:
            if message.sequence < self._sequence:
                return
            if message.sequence > self._sequence:
                self.mended += 1
                self._broken = True
        known = self._sequence
        self._sequence = message.sequence
        self._entities = {entity.entity_id: entity for entity in message.entities}
        # Each received change already has its own time, which is that of the picture.
        self._note(message.stamp_s if self._broken or known is None else self.history.stamps[-1])
        self._broken = False

    def _note(self, stamp_s: float) -> None:
        self.history.note(stamp_s, [self._entities[n] for n in sorted(self._entities)])
