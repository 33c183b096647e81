"""True positions over time: tracks of objects and agents from /world/state."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from planner.memory.scores import Placed
from planner.replay.report.clock import WorldClock
from planner.replay.report.document import Place, Thing
from planner.replay.report.frames import PathPoint, add_point
from planner.world.hands import holding_hand_words
from planner.world.state import EntityState, WorldState, chain_of
from planner.world.vocabulary import EntityKind, Relation

_MOVED_M = 0.02


@dataclass(frozen=True, slots=True)
class Location:
    """Where an object is from a state on."""

    received_ns: int
    stamp_s: float
    x_m: float
    y_m: float
    z_m: float
    parent: str
    holder: str
    hand: str = ""


@dataclass(slots=True)
class TrueWorld:
    """Tracks from the sampled states of a recording.

    Attributes:
        period_s: minimum time between two sampled states, on their own clock.
        spots: of each object.
        classes: of each object.
        paths: of each agent.
        steps: simulation step, stamp and receipt of the sampled states.
        house, episode_id: from the last state.
    """

    period_s: float = 0.5
    spots: dict[str, list[Location]] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    paths: dict[str, list[PathPoint]] = field(default_factory=dict)
    steps: list[tuple[int, float, int]] = field(default_factory=list)
    house: str = ""
    episode_id: str = ""
    _last_s: float = -math.inf
    # Entities that changed since the last sampled state; None = all.
    _changed: set[str] | None = None

    def take(self, received_ns: int, state: WorldState, changed: Collection[str] | None) -> None:
        """Takes a state; of several close to one another only the first is sampled.

        Args:
            received_ns: its time of receipt.
            state: of the world.
            changed: names of the changed entities; None = unknown.
        """
        if changed is None or self._changed is None:
            self._changed = None
        else:
            self._changed.update(changed)
        if 0.0 <= state.stamp_s - self._last_s < self.period_s:
            return
        self._last_s = state.stamp_s
        self.house, self.episode_id = state.house, state.episode_id
        self.steps.append((state.step, state.stamp_s, received_ns))
        # Only changed objects are examined: most do not move.
        names, self._changed = self._changed, set()
        for name in state.entities if names is None else names:
            entity = state.entities.get(name)
            if entity is not None:
                self._take_entity(received_ns, state, entity)

    def _take_entity(self, received_ns: int, state: WorldState, entity: EntityState) -> None:
        x, y, z = entity.pose.position_m
        if entity.kind is EntityKind.AGENT:
            point = PathPoint(received_ns, state.stamp_s, x, y, entity.pose.yaw_rad)
            add_point(self.paths.setdefault(entity.name, []), point)
        if entity.kind is not EntityKind.OBJECT:
            return
        self.classes[entity.name] = entity.class_name
        # Contents of a held object are at the hand, too.
        *_, base = chain_of(state.entities, entity.name)
        holder = (base.parent or "") if base.relation is Relation.HELD else ""
        hand = holding_hand_words(state.entities[holder].hands, base.name) if holder else ""
        middle_m = z + entity.size_m[2] / 2
        parent = entity.parent or ""
        spot = Location(received_ns, state.stamp_s, x, y, middle_m, parent, holder, hand)
        spots = self.spots.setdefault(entity.name, [])
        if not spots or _differs(spots[-1], spot):
            spots.append(spot)

    def placed_at(self, received_ns: int) -> list[Placed]:
        """Positions of the objects that were not held at a time of receipt."""
        found = []
        for name, spots in self.spots.items():
            spot = _at(spots, received_ns)
            if spot is not None and not spot.holder:
                place = (spot.x_m, spot.y_m, spot.z_m)
                found.append(Placed(name, self.classes[name], place))
        return found

    def changes_ns(self) -> Iterable[int]:
        """When any object was moved."""
        return {spot.received_ns for spots in self.spots.values() for spot in spots}

    def things(self, clock: WorldClock) -> tuple[Thing, ...]:
        """The tracks on the report's axis."""
        return tuple(
            Thing(
                name,
                self.classes[name],
                tuple(
                    Place(
                        clock.at(spot.stamp_s, spot.received_ns),
                        round(spot.x_m, 3),
                        round(spot.y_m, 3),
                        spot.parent,
                        spot.holder,
                        spot.hand,
                    )
                    for spot in spots
                ),
            )
            for name, spots in sorted(self.spots.items())
        )


def _differs(last: Location, spot: Location) -> bool:
    if (last.parent, last.holder, last.hand) != (spot.parent, spot.holder, spot.hand):
        return True
    # A held object is at the hand's position.
    if spot.holder:
        return False
    return math.dist((last.x_m, last.y_m, last.z_m), (spot.x_m, spot.y_m, spot.z_m)) > _MOVED_M


def _at(spots: list[Location], received_ns: int) -> Location | None:
    found = None
    for spot in spots:
        if spot.received_ns > received_ns:
            break
        found = spot
    return found
