"""Which entities a camera shows, and of which a look could tell something new."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.memory.camera import unproject
from planner.memory.entity_list import OPENNESS_TOLERANCE
from planner.parts.option import Option
from planner.world.belief import Entity
from planner.world.errors import PlannerError
from planner.world.observation import CameraFrame, Sighting
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation


@dataclass(frozen=True, slots=True)
class Visibility:
    """When an entity in view counts as seen (EPM-1.2).

    Attributes:
        min_fraction: of the view's pixels.
        min_distance_m: least depth.
        max_distance_m: greatest depth.
    """

    min_fraction: float
    min_distance_m: float
    max_distance_m: float

    def shows(self, sighting: Sighting) -> bool:
        """Whether a sighting passes."""
        return (
            sighting.fraction >= self.min_fraction
            and sighting.fraction > 0
            and self.min_distance_m <= sighting.distance_m <= self.max_distance_m
        )


# EPM-1.2: "GT" counts what fills 0.1 % of the view 0.2 m to 6 m away;
# "PARTNR privileged" counts one visible pixel at any distance.
GT_VISIBILITY = Visibility(0.001, 0.2, 6.0)
FULL_VISIBILITY = Visibility(0.0, 0.0, float("inf"))
VISIBILITIES: Mapping[str, Visibility] = {"gt": GT_VISIBILITY, "partnr": FULL_VISIBILITY}
VISIBILITY = Option("visibility", "gt", "what counts as seen", choices=tuple(VISIBILITIES))


def sightings_of_images(frame: CameraFrame, names: Mapping[int, str]) -> list[Sighting]:
    """The named instances in a frame; `position_m` is the seen surface's middle point.

    Raises:
        PlannerError: for a frame without instance ids.
    """
    # Imported here: a third of a second, which a memory from pictures alone does not need.
    from scipy import ndimage

    if frame.instances is None:
        raise PlannerError("the camera gives no instance ids, which this memory needs")
    total = frame.instances.size
    found = []
    labels = np.where(frame.instances > 0, frame.instances, 0)
    for index, window in enumerate(ndimage.find_objects(labels)):
        name = names.get(index + 1)
        if window is None or name is None:
            continue
        mask = labels[window] == index + 1
        depths = frame.depth_m[window][mask]
        depths = depths[depths > 0]
        if depths.size == 0:
            continue
        middle = depths.size // 2
        depth_m = float(np.partition(depths, middle)[middle])
        rows, columns = window
        pixel = ((columns.start + columns.stop) / 2, (rows.start + rows.stop) / 2)
        point_m = unproject(frame.intrinsics, frame.pose, pixel, depth_m)
        share = int(np.count_nonzero(mask)) / total
        found.append(Sighting(name, share, depth_m, pixel, point_m))
    return found


# Which entities a frame could tell something new about.
#
# Updated incrementally, since little changes from one moment to the next.

# An entity this near its stored position has not moved: if it is not seen, something hides it.
MAX_DISPLACEMENT_M: Final = 0.3


class StaleEntities:
    """Entities whose true state differs from what was last reported to the memory.

    Attributes:
        names: entities that the memory would learn about in a frame that shows them.
        misplaced: entities away from their stored position, which a frame may show to be empty.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.misplaced: set[str] = set()
        self._open: dict[str, None] = {}
        self._truths: dict[str, EntityState] = {}
        self._entities: Sequence[Entity] = ()
        self._known: dict[str, Entity] = {}
        self._reported: dict[str, EntityState] = {}
        self._stale: set[str] = set()
        self._revision = -1

    def mark_reported(self, names: Iterable[str], truths: Mapping[str, EntityState]) -> None:
        """Records that the memory was given the current state of these."""
        for name in names:
            self._reported[name] = truths[name]
            self._stale.add(name)

    def is_up_to_date(self, revision: int, entities: Sequence[Entity]) -> bool:
        """Whether nothing but agents and what they carry has changed since `follow`."""
        return (
            revision == self._revision and not self._stale and not _differ(self._entities, entities)
        )

    def follow(self, state: WorldState, entities: Sequence[Entity], revision: int = -1) -> None:
        """Compares the current world and memory."""
        self._revision = revision
        stale = self._stale
        truths = state.entities
        if _differ(self._entities, entities):
            known = {entity.name: entity for entity in entities}
            before = map(self._known.get, known)
            stale.update(itertools.compress(known, map(operator.is_not, known.values(), before)))
            stale.update(self._known.keys() - known.keys())
            self._known, self._entities = known, entities
        if len(truths) != len(self._truths):
            stale.update(truths)
        else:
            pairs = map(operator.is_not, truths.values(), self._truths.values())
            stale.update(itertools.compress(truths, pairs))
        self._truths = dict(truths)
        changed = False
        for name in stale:
            was = name in self._open
            self._classify(name, truths.get(name))
            changed |= was is not (name in self._open)
        stale.clear()
        if changed:
            self.names = tuple(self._open)

    def _classify(self, name: str, truth: EntityState | None) -> None:
        self._open.pop(name, None)
        self.misplaced.discard(name)
        # Differences that an action's effect left in the memory can wait until the next full look.
        if (
            truth is None
            or truth.kind is EntityKind.AGENT
            or _is_unchanged(self._reported.get(name), truth)
        ):
            return
        entity = self._known.get(name)
        if entity is None:
            if truth.kind is EntityKind.OBJECT:
                self._open[name] = None
        elif entity.picked:
            if truth.relation is not Relation.HELD or truth.parent != entity.parent:
                self._open[name] = None
        elif not entity.is_furniture and has_moved(entity, truth):
            self.misplaced.add(name)
        else:
            self._open[name] = None


def has_moved(entity: Entity, truth: EntityState | None) -> bool:
    """Whether a thing is clearly away from its stored position."""
    if truth is None or truth.relation is Relation.HELD:
        return True
    return math.dist(truth.box.center_m, entity.position_m) > MAX_DISPLACEMENT_M


def _is_unchanged(mark_reported: EntityState | None, truth: EntityState) -> bool:
    """Whether what was reported still holds, ignoring small changes of a joint in motion."""
    if mark_reported is truth:
        return True
    if mark_reported is None or mark_reported.openness is None or truth.openness is None:
        return False
    return (
        truth.openness not in (0.0, 1.0)
        and abs(mark_reported.openness - truth.openness) <= OPENNESS_TOLERANCE
        and mark_reported.states == truth.states
    )


def _differ(old: Sequence[Entity], new: Sequence[Entity]) -> bool:
    if old is new:
        return False
    return len(old) != len(new) or any(map(operator.is_not, old, new))


# When a look through a camera can tell nothing new, because the world has stood still since.

# Between two looks at a world that stands still, its seconds: often enough to keep the times at
# which things were last seen, and to notice twice that something is gone.
STILL_PERIOD_S = 1.0
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6


class StillWorld:
    """Knows at which state of the world each agent looked last.

    A state stands until a newer one comes: while the newest is the one that was looked at, and
    robots are part of the state, the next picture is the same as the last.
    """

    def __init__(self) -> None:
        self._looked: dict[str, tuple[float, float | None]] = {}

    def forget(self) -> None:
        """Another world: every look tells something new."""
        self._looked.clear()

    def note_look(self, agent: str, stamp_s: float, newest_s: float | None) -> None:
        """An agent looked at `stamp_s`; `newest_s` is of the newest state then, None = unknown."""
        # A state that is newer than the picture is not in it.
        settled = newest_s is not None and newest_s <= stamp_s + _EQUAL_S
        self._looked[agent] = (stamp_s, newest_s if settled else None)

    def needs_look(self, agent: str, stamp_s: float, newest_s: float | None) -> bool:
        """Whether a picture of `stamp_s` may tell something, or the last look is too old."""
        if agent not in self._looked:
            return True
        looked_s, seen_s = self._looked[agent]
        if seen_s is None or newest_s != seen_s:
            return True
        return abs(stamp_s - looked_s) >= STILL_PERIOD_S - _EQUAL_S


# Whether pictures come at all, by two clocks: the world may stand still, or run ahead.

# Seconds of both clocks without a complete picture after which a camera counts as silent.
SILENT_S = 5.0
# Wall seconds after which is told what is known of a world of which no picture has come.
BLIND_S = 10.0


class PictureWatch:
    """Knows when each camera's last picture came, and whether one of this world has."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, float]] = {}
        self._begun_s: float | None = None
        self._silent: set[str] = set()

    @property
    def problem(self) -> str:
        """Which pictures are missing; "" = none."""
        if self._begun_s is not None:
            return "no picture has come yet"
        return "; ".join(f"no picture of {agent} comes" for agent in sorted(self._silent))

    def begin(self, wall_s: float) -> None:
        """A world begins, of which nothing was seen yet."""
        self._last.clear()
        self._silent.clear()
        self._begun_s = wall_s

    def note(self, agent: str, stamp_s: float, wall_s: float) -> None:
        """A picture of an agent's camera came."""
        self._last[agent] = stamp_s, wall_s
        self._begun_s = None
        self._silent.discard(agent)

    def is_blind(self, wall_s: float) -> bool:
        """Whether no picture of this world has come, which may still come soon."""
        return self._begun_s is not None and wall_s - self._begun_s < BLIND_S

    def is_silent(self, agent: str, clock_s: float, wall_s: float) -> bool:
        """Whether a camera has shown nothing for long; it is waited for anew from then on."""
        stamp_s, came_s = self._last.setdefault(agent, (clock_s, wall_s))
        found = clock_s - stamp_s >= SILENT_S and wall_s - came_s >= SILENT_S
        if found:
            self._last[agent] = clock_s, wall_s
            self._silent.add(agent)
        return found
