"""PARTNR's relations as habitat-lab computes them: by rays through a simulator's geometry.

Our evaluator judges boxes (`planner.evaluation.predicates`, PARTNR-D8 to PARTNR-D11). Here are the
rules of the public code beside the paper's (PARTNR-3.1), so that both can be compared on the same
states (PARTNR-D63).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from planner.evaluation.predicates import IN_ROOM_SHARE, INSIDE_RAY_M, ON_FLOOR_M
from planner.evaluation.scene import RAISED_M, Scene
from planner.world.geometry import Vec3
from planner.world.state import EntityState
from sim_bridge.geometry import GeometrySource, Ray

# What is farther below than this is not looked for.
_FAR_M = 100.0
# More corners than this have to be between walls of one body, unless the middle is.
_VOTES = 2
_PADDING_M = 0.1
_NEXT_TO_M = 0.5
_DOWN: Vec3 = (0.0, 0.0, -1.0)
_AXES: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class GeometricJudge:
    """One state of a simulator's world, judged by its own geometry.

    Attributes:
        source: the simulator, in this state.
        scene: the same state; only boxes and room volumes are taken from it.
    """

    source: GeometrySource
    scene: Scene

    def below(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        """What rays straight down from the middle and the corners of an entity enter.

        Returns:
            What is first on a ray, and everything on one: the public `above` takes the second. For
            the first they begin 1 cm higher (PARTNR-D9): a ray from a corner that has sunk into
            what the entity lies on does not enter that, and meets what lies in a drawer below it.
        """
        points = self.key_points(name)
        raised = [(x, y, z + RAISED_M) for x, y, z in points]
        first = frozenset(hit[0] for hit in self._down(raised, name) if hit)
        return first, frozenset(itertools.chain.from_iterable(self._down(points, name)))

    def _down(self, points: Iterable[Vec3], name: str) -> list[list[str]]:
        """What a ray straight down from each point enters, other than the entity."""
        hits = self.source.crossed([Ray(point, _DOWN) for point in points], _FAR_M)
        return [[other for other in hit if other != name] for hit in hits]

    def around(self, name: str) -> frozenset[str]:
        """What an entity is within: opposite rays of 1 m, along an axis of the map, both enter it.

        Those of the middle suffice; of the corners it takes three.
        """
        points = self.key_points(name)
        rays = [
            Ray(point, (sign * x, sign * y, sign * z))
            for point in points
            for x, y, z in _AXES
            for sign in (1.0, -1.0)
        ]
        hits = iter(self.source.crossed(rays, INSIDE_RAY_M))
        between = [
            {other for _ in _AXES for other in set(next(hits)) & set(next(hits))} for _ in points
        ]
        votes = Counter(itertools.chain.from_iterable(between[1:]))
        found = between[0] | {other for other, count in votes.items() if count > _VOTES}
        return frozenset(found - {name})

    def on_floor(self, name: str) -> bool:
        """Whether the nearest floor for a robot is as near to the middle as half the height.

        0.04 m more are allowed, and half of the floor's resolution in height.
        """
        entity = self._entity(name)
        x, y, z = self._middle(entity)
        away_m = math.hypot(self.source.off_floor_m(x, y), z)
        spare_m = ON_FLOOR_M + self.source.floor_step_m / 2
        return away_m - entity.size_m[2] / 2 <= spare_m

    def in_room(self, name: str, room: str) -> bool:
        """Whether a quarter of the middle and the corners is in the room's volume."""
        points = self.key_points(name)
        within = sum(self.scene.in_room(point, room) for point in points)
        return within >= IN_ROOM_SHARE * len(points)

    def next_to(self, one: str, other: str) -> bool:
        """Whether two entities overlap in height, with 0.1 m to spare, and are 0.5 m apart.

        Their distance is that of their middles, less the size of each in that direction.
        """
        a, b = self._entity(one), self._entity(other)
        (low_a, high_a), (low_b, high_b) = _heights(a), _heights(b)
        if high_a + _PADDING_M < low_b or high_b + _PADDING_M < low_a:
            return False
        (ax, ay, _), (bx, by, _) = self._middle(a), self._middle(b)
        apart_m = math.hypot(bx - ax, by - ay)
        if apart_m == 0.0:
            return True
        towards = ((bx - ax) / apart_m, (by - ay) / apart_m)
        return apart_m - _reach_m(a, towards) - _reach_m(b, towards) <= _NEXT_TO_M

    def key_points(self, name: str) -> tuple[Vec3, ...]:
        """The middle of an entity's own box, which is turned with it, then its eight corners."""
        entity = self._entity(name)
        x, y, z = entity.size_m
        corners = itertools.product((-x / 2, x / 2), (-y / 2, y / 2), (0.0, z))
        return (self._middle(entity), *(entity.pose.apply(corner) for corner in corners))

    def _middle(self, entity: EntityState) -> Vec3:
        return entity.pose.apply((0.0, 0.0, entity.size_m[2] / 2))

    def _entity(self, name: str) -> EntityState:
        return self.scene.entities[name]

    @cached_property
    def rooms(self) -> tuple[str, ...]:
        """The names of the house's rooms."""
        return tuple(room.name for room in self.scene.house.rooms)


def _heights(entity: EntityState) -> tuple[float, float]:
    low = entity.pose.position_m[2]
    return low, low + entity.size_m[2]


def _reach_m(entity: EntityState, towards: tuple[float, float]) -> float:
    """How far an entity reaches from its middle: an ellipse in its box."""
    yaw = entity.pose.yaw_rad
    x = towards[0] * math.cos(yaw) + towards[1] * math.sin(yaw)
    y = towards[1] * math.cos(yaw) - towards[0] * math.sin(yaw)
    return math.hypot(x * entity.size_m[0] / 2, y * entity.size_m[1] / 2)
