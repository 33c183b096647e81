"""The report's time, and where agents and things were over that time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.memory.scores import Placed
from planner.replay.report.document import Place, Thing
from planner.world.geometry import Pose
from planner.world.state import EntityState, WorldState, chain_of
from planner.world.vocabulary import EntityKind, Relation, holding_hand_words
from planner.world.wire import first_stamp_of, stamp_of

T = TypeVar("T")
# Stamps of several publishers are out of order by less than this.
_RESTART_S = 1.0
# A stamp this long before the beginning or after the end is of another clock.
_OFF_S = 60.0
# Anchors closer together than this, on both clocks, add nothing.
_ANCHOR_NS, _ANCHOR_S = 50_000_000, 0.05


class ClockAnchors:
    """Pairs of receipt and stamp from one topic."""

    def __init__(self, stamp: Callable[[memoryview], float | None] = stamp_of) -> None:
        """Takes what reads the stamp of a serialised message; None = it has none."""
        self._stamp = stamp
        self.received_ns: list[int] = []
        self.stamps_s: list[float] = []

    def take(self, received_ns: int, data: memoryview) -> None:
        """Keeps a message's stamp, unless it is close to the last one on both clocks.

        Raises:
            ValueError: if the bytes are no message that starts with a stamp.
        """
        stamp_s = self._stamp(data)
        if stamp_s is None or (
            self.received_ns
            and received_ns - self.received_ns[-1] < _ANCHOR_NS
            and abs(stamp_s - self.stamps_s[-1]) < _ANCHOR_S
        ):
            return
        self.received_ns.append(received_ns)
        self.stamps_s.append(stamp_s)


@dataclass(frozen=True, slots=True)
class Restart:
    """The world's clock went back: when on the report's axis, and from where to where."""

    t_s: float
    from_stamp_s: float
    to_stamp_s: float


class WorldClock:
    """Maps receipts and stamps to seconds since the run began."""

    def __init__(
        self, start_ns: int, received_ns: Sequence[int] = (), stamps_s: Sequence[float] = ()
    ) -> None:
        """Takes the bag's start and pairs of receipt and stamp; without any, receipts count."""
        self._start_ns = start_ns
        self._received = np.asarray(received_ns, np.float64) - start_ns
        stamps = np.asarray(stamps_s, np.float64)
        order = np.argsort(self._received, kind="stable")
        self._received, self._stamps = self._received[order], stamps[order]
        steps = np.diff(self._stamps, prepend=self._stamps[:1])
        back = steps < -_RESTART_S
        self._times: NDArray[np.float64] = np.cumsum(np.where(back, 0.0, np.maximum(steps, 0.0)))
        self._zero_s = float(self._stamps[0]) if len(self._stamps) else 0.0
        self.restarts = tuple(
            Restart(
                round(float(self._times[i]), 3),
                round(float(self._stamps[i - 1]), 3),
                round(float(self._stamps[i]), 3),
            )
            for i in np.flatnonzero(back)
        )

    @staticmethod
    def extended(
        start_ns: int, anchors: ClockAnchors, later: Sequence[tuple[int, float]]
    ) -> WorldClock:
        """A clock that continues with other messages' receipts and stamps if its own end early."""
        received_ns, stamps_s = list(anchors.received_ns), list(anchors.stamps_s)
        for at_ns, stamp_s in sorted(later):
            if at_ns > received_ns[-1] and 0 < stamp_s - stamps_s[-1] < _OFF_S:
                received_ns.append(at_ns)
                stamps_s.append(stamp_s)
        return WorldClock(start_ns, received_ns, stamps_s)

    @property
    def from_stamps(self) -> bool:
        """Whether there is a clock of the world, or only times of receipt."""
        return len(self._stamps) > 0

    def at_receipt(self, received_ns: int) -> float:
        """The report's time of a receipt."""
        since = float(received_ns - self._start_ns)
        if not self.from_stamps:
            return round(max(since * 1e-9, 0.0), 3)
        return round(float(np.interp(since, self._received, self._times)), 3)

    def at(self, stamp_s: float | None, received_ns: int) -> float:
        """The report's time of a stamp; of the receipt for no stamp or one of another clock."""
        received_s = self.at_receipt(received_ns)
        if stamp_s is None or not self.from_stamps or self.restarts:
            return received_s
        t_s = stamp_s - self._zero_s
        length_s = float(self._times[-1])
        if not -_OFF_S < t_s < 2 * length_s + _OFF_S:
            return received_s
        return round(max(t_s, 0.0), 3)


# Where the agents are on the map: /tf, chained from map to each base.
#
# Odometry alone is not enough: its frame drifts, or starts wherever the robot was switched on.

MAP = "map"
# Names of an agent's base frame, in order of preference.
_BASES = ("base_link", "body")
_MAX_CHAIN = 32
_MAX_DISTANCE_M = 1e6
# A point of a path is kept if the agent moved or turned this far, or after this time.
_MOVED_M, _TURNED_RAD, _STILL_S = 0.03, math.radians(6.0), 5.0


@dataclass(frozen=True, slots=True)
class PathPoint:
    """An agent's position: the message's receipt and stamp, and the planar pose on the map."""

    received_ns: int
    stamp_s: float
    x_m: float
    y_m: float
    yaw_rad: float


class FrameTree:
    """The newest transforms, and the paths of the agents' bases on the map.

    Attributes:
        paths: of each agent whose base is connected to the map.
    """

    def __init__(
        self, agents: Iterable[str], read: Callable[[memoryview], Any], period_s: float = 0.1
    ) -> None:
        """Makes a tree without frames.

        Args:
            agents: their names, which are the first part of their frames' names.
            read: deserialises a TFMessage, or raises ValueError.
            period_s: minimum time between two readings of the same frames, by their stamps.
        """
        self._period_s = period_s
        self._agents, self._read = tuple(agents), read
        self._parents: dict[str, tuple[str, Pose]] = {}
        self._last_s: dict[int, float] = {}
        self.paths: dict[str, list[PathPoint]] = {}

    def take_static(self, _received_ns: int, data: memoryview) -> None:
        """Takes a message of /tf_static.

        Raises:
            ValueError: if the bytes are no TFMessage.
        """
        for link in self._read(data).transforms:
            at, turn = link.transform.translation, link.transform.rotation
            place, turned = (at.x, at.y, at.z), (turn.x, turn.y, turn.z, turn.w)
            # Skip what is neither a rotation nor a place in a house, NaN included.
            if 0.9 < math.hypot(*turned) < 1.1 and math.hypot(*place) < _MAX_DISTANCE_M:
                parent = link.header.frame_id.removeprefix("/")
                self._parents[link.child_frame_id.removeprefix("/")] = parent, Pose(place, turned)

    def take(self, received_ns: int, data: memoryview) -> None:
        """Takes a message of /tf; skips frames that were just read.

        Raises:
            ValueError: if the bytes are no TFMessage.
        """
        stamp_s = first_stamp_of(data)
        if stamp_s is None:
            return
        # Messages of one length have the same frames.
        last_s = self._last_s.get(len(data))
        if last_s is not None and 0.0 <= stamp_s - last_s < self._period_s:
            return
        self._last_s[len(data)] = stamp_s
        self.take_static(received_ns, data)
        for agent in self._agents:
            self._follow(agent, received_ns, stamp_s)

    def in_map(self, frame: str) -> Pose | None:
        """A frame's pose in the map by the newest transforms; None if it is not connected."""
        pose = Pose((0.0, 0.0, 0.0))
        for _ in range(_MAX_CHAIN):
            if frame == MAP:
                return pose
            above = self._parents.get(frame)
            if above is None:
                return None
            frame, transform = above
            pose = transform.compose(pose)
        return None

    def _follow(self, agent: str, received_ns: int, stamp_s: float) -> None:
        poses = (self.in_map(f"{agent}/{base}") for base in _BASES)
        pose = next((pose for pose in poses if pose is not None), None)
        if pose is None:
            return
        x, y, _ = pose.position_m
        add_point(
            self.paths.setdefault(agent, []), PathPoint(received_ns, stamp_s, x, y, pose.yaw_rad)
        )


def add_point(path: list[PathPoint], point: PathPoint) -> None:
    """Adds a point to a path if it differs from the last one, or the last one is old."""
    if path:
        last = path[-1]
        turned = math.remainder(point.yaw_rad - last.yaw_rad, math.tau)
        moved = math.hypot(point.x_m - last.x_m, point.y_m - last.y_m)
        still = 0.0 <= point.stamp_s - last.stamp_s < _STILL_S
        if moved < _MOVED_M and abs(turned) < _TURNED_RAD and still:
            return
    path.append(point)


def thinned(path: Sequence[T], max_points: int) -> list[T]:
    """At most this many points of a path or of time, including the first and the last."""
    if len(path) <= max_points:
        return list(path)
    step = (len(path) - 1) / (max_points - 1)
    return [path[round(i * step)] for i in range(max_points)]


# True positions over time: tracks of objects and agents from /world/state.

_THINGS_MOVED_M = 0.02


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
    return (
        math.dist((last.x_m, last.y_m, last.z_m), (spot.x_m, spot.y_m, spot.z_m)) > _THINGS_MOVED_M
    )


def _at(spots: list[Location], received_ns: int) -> Location | None:
    found = None
    for spot in spots:
        if spot.received_ns > received_ns:
            break
        found = spot
    return found
