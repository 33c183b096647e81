"""What detections say over time: a thing's class and support, duplicates, open furniture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.memory.camera import Support, color_by_votes, support_of
from planner.memory.learned.detector import FrameDetections
from planner.memory.learned.network import Array
from planner.memory.updater import Facts, Operation
from planner.memory.wording import describe
from planner.world.belief import Entity, Guesses, OperationKind
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.shapes import Color, Look
from planner.world.vocabulary import floor_name

# The probability of a class that is not a candidate; detections of so many cells have full weight.
_FLOOR: Final = 0.02
_FULL_CELLS: Final = 32
# Detections are correlated: old ones must not outweigh new ones.
_MAX_WEIGHT: Final = 40.0
# Second guesses that are kept: how many, and the least share of the weight of what it is taken for.
# Scores are in coarse steps, as every look changes them a little.
_GUESSES, _LEAST_SHARE, _STEPS = 3, 0.3, 20


@dataclass(slots=True)
class Evidence:
    """Summed log probabilities of classes above the floor; 0 where absent."""

    weights: dict[str, float] = field(default_factory=dict)
    colors: dict[Color, float] = field(default_factory=dict)

    def add(
        self,
        probabilities: Sequence[tuple[str, float]],
        cells: int,
        colors: Mapping[Color, int] | None = None,
    ) -> None:
        """Adds a detection: (class, probability) pairs, its number of cells, pixels by colour."""
        for color, count in (colors or {}).items():
            self.colors[color] = self.colors.get(color, 0.0) + count
        share = min(1.0, math.sqrt(cells / _FULL_CELLS))
        for name, chance in probabilities:
            gain = share * math.log(max(chance, _FLOOR) / _FLOOR)
            self.weights[name] = self.weights.get(name, 0.0) + gain
        highest = max(self.weights.values(), default=0.0)
        if highest > _MAX_WEIGHT:
            self.weights = {n: w * _MAX_WEIGHT / highest for n, w in self.weights.items()}

    @property
    def look(self) -> Look:
        """What it looks like; nothing tells what it is made of."""
        return Look(color=color_by_votes(self.colors))

    @property
    def best(self) -> str:
        """The most likely class; "" before the first detection."""
        return max(self.weights, key=lambda name: self.weights[name], default="")

    def second_guesses(self, name: str) -> Guesses:
        """What else a thing may be that is taken for a class, likeliest first."""
        taken_for = max(self.weights.get(name, 0.0), 1e-9)
        shares = sorted(
            (-weight / taken_for, other)
            for other, weight in self.weights.items()
            if other != name and weight >= _LEAST_SHARE * taken_for
        )
        return tuple(
            (other, round(min(1.0, -share) * _STEPS) / _STEPS) for share, other in shares[:_GUESSES]
        )

    def margin_over(self, name: str) -> float:
        """Log ratio of the best class to `name`; 0 for the best."""
        return self.weights.get(self.best, 0.0) - self.weights.get(name, 0.0)

    @property
    def margin(self) -> float:
        """Log ratio of the best class to the second."""
        first, second, *_ = (*sorted(self.weights.values(), reverse=True), 0.0, 0.0)
        return first - second


# What a seen thing rests on, forgiving of a few centimetres where the eye was off.

# How far beside its place a thing may rest in truth, in rings, and how far above or below.
_RINGS_M, _DIRECTIONS = (0.0, 0.08, 0.16, 0.25), 8
_HEIGHTS_M = (0.02, 0.1, -0.05)


def anchor(layout: House, center_m: Vec3, size_m: Vec3, openness: Mapping[str, float]) -> Support:
    """The support of a thing of which the middle of its box was seen.

    The point of its underside is tried first, then points ever farther from it; what lies on
    none of them in a room is said to lie on that room's floor where it is low enough.
    """
    x, y, z = center_m
    under = z - size_m[2] / 2
    fallback = support_of(layout, (x, y, max(0.0, under)), None, openness)
    for point in _nearby((x, y, under)):
        found = support_of(layout, point, None, openness)
        if found.parent is not None and not found.parent.startswith("floor_"):
            return found
    if fallback.parent is not None or fallback.room is None or under > 0.3:
        return fallback
    return support_of(layout, (x, y, 0.0), floor_name(fallback.room), openness)


def _nearby(point_m: Vec3) -> Iterator[Vec3]:
    x, y, z = point_m
    for ring in _RINGS_M:
        for height in _HEIGHTS_M:
            for turn in range(_DIRECTIONS if ring else 1):
                angle = 2 * math.pi * turn / _DIRECTIONS
                yield (x + ring * math.cos(angle), y + ring * math.sin(angle), max(0.0, z + height))


# One thing that is remembered twice: by two of its parts, or after a first wrong class.
#
# In full tours of `heldout_0` and `heldout_4` 21 of the 32 remembered things that did not exist
# were of the class of a thing at most 0.18 m away, which was remembered as well.

# Of the breadth of a class. Of 335 pairs of things of a class in one shipped house, the middles of
# one pair are nearer.
_SHARE, _LEAST_M = 0.75, 0.08


def apart_m(size_m: Vec3) -> float:
    """The least distance between the middles of two things of this size."""
    return max(_LEAST_M, _SHARE * sorted(size_m)[1])


def is_remembered(
    class_name: str, size_m: Vec3, center_m: Vec3, things: Sequence[Entity], off_m: float
) -> bool:
    """Whether a thing of the class, seen `off_m` off its place, is so near that it is the same."""
    limit_m = apart_m(size_m) + off_m
    return any(
        thing.class_name == class_name and math.dist(thing.position_m, center_m) < limit_m
        for thing in things
    )


def seen_twice(
    things: Sequence[Entity],
    matched: set[int],
    is_known_apart: Callable[[Entity], bool],
    off_m: float,
) -> list[Entity]:
    """Things that no detection shows while one shows a thing of their class in their place.

    Detections show what is `matched`; that others exist may be known from more than pictures.
    """
    shown = [thing for thing in things if thing.entity_id in matched]
    return [
        thing
        for thing in things
        if thing.entity_id not in matched
        and not is_known_apart(thing)
        and is_remembered(thing.class_name, thing.size_m, thing.position_m, shown, off_m)
    ]


# Which furniture stands open, by what pictures show of it.

# Points that a look must show of a piece; how much each look counts; when it is one or the other.
_MIN_POINTS, _OPENINGS_SHARE, _OPEN_LOGIT, _MAX_LOGIT = 40, 0.3, 1.5, 4.0
_BESIDE_M = 0.03
# Of the points of a piece with doors, so many must lie behind where its doors are when closed: of
# closed furniture a narrow strip seen from near looks open, yet shows nothing of what is behind its
# doors. In a run of the demo's house closed pieces had at most 0.02 there, and open ones mostly
# more than 0.3. Walls of hollows are so far from them at most, doors at least.
_BEHIND_SHARE, _WALL_M, _DOOR_M = 0.05, 0.01, 0.03


class Openings:
    """How open each piece of a house looks, smoothed: one odd picture opens nothing.

    Attributes:
        seen: how much each piece that was seen looks open (above 0) rather than closed.
    """

    def __init__(self, layout: House) -> None:
        self._pieces = {p.name: p for p in layout.furniture if p.joints}
        self._limits = {name: _limits(piece) for name, piece in self._pieces.items()}
        self.seen: dict[str, float] = {}

    def update(self, look: FrameDetections, entities: Iterable[Entity]) -> list[Operation]:
        """Updates of furniture that is seen open or closed and was thought otherwise."""
        operations = []
        columns = np.ascontiguousarray(look.points_m.T)
        for entity in entities:
            limits = self._limits.get(entity.name)
            if limits is None:
                continue
            own = _inside(limits, columns)
            logits = look.open_logits[own]
            if len(logits) < _MIN_POINTS:
                continue
            mean = float(np.mean(np.clip(logits, -_MAX_LOGIT, _MAX_LOGIT)))
            now = (1 - _OPENINGS_SHARE) * self.seen.get(entity.name, 0.0) + _OPENINGS_SHARE * mean
            self.seen[entity.name] = now
            was_open = (entity.openness or 0.0) >= 0.5
            opens = now > _OPEN_LOGIT and not was_open
            if opens and not _shows_inside(self._pieces[entity.name], look.points_m[own]):
                continue
            if opens or (now < -_OPEN_LOGIT and was_open):
                operations.append(_opened(entity, open_=opens))
        return operations


def _limits(piece: Furniture) -> Array:
    """(3, 2) least and greatest coordinates of what belongs to the piece."""
    box = piece.box
    limits: Array = np.array([box.minimum_m, box.maximum_m], np.float32).T
    return limits + np.array([-_BESIDE_M, _BESIDE_M], np.float32)


def _inside(limits: Array, columns: Array) -> NDArray[np.intp]:
    """Which of the points, as (3, n) coordinates, lie within; axis by axis, for speed."""
    found = np.arange(columns.shape[1])
    for values, (low, high) in zip(columns, limits, strict=True):
        part = values[found]
        found = found[(part >= low) & (part <= high)]
        if not found.size:
            break
    return found


def _shows_inside(piece: Furniture, points_m: Array) -> bool:
    """Whether enough of a piece's points, (n, 3), are behind its doors; True if it has none."""
    hollows = [hollow for hollow in piece.interiors if hollow.joint and not hollow.moves]
    if not hollows:
        return True
    rotation = piece.pose.rotation()
    own = (points_m - np.array(piece.pose.position_m)) @ rotation
    behind = np.zeros(len(own), bool)
    for hollow in hollows:
        doors = [part for part in piece.parts if part.joint == hollow.joint]
        outside = [~_within(own, door.center, door.size, _DOOR_M) for door in doors]
        behind |= np.all([_within(own, hollow.center, hollow.size, _WALL_M), *outside], axis=0)
    return bool(behind.mean() >= _BEHIND_SHARE)


def _within(
    points_m: NDArray[np.floating], center: Vec3, size: Vec3, margin_m: float
) -> NDArray[np.bool_]:
    """Which points, (n, 3), are in a box of their frame, or so near to it."""
    half = np.array(size) / 2 + margin_m
    return np.asarray(np.all(np.abs(points_m - np.array(center)) < half, axis=1))


def _opened(entity: Entity, *, open_: bool) -> Operation:
    openness = 1.0 if open_ else 0.0
    facts = Facts(
        entity.class_name, entity.size_m, entity.parent, None, entity.room, entity.states, openness
    )
    return Operation(
        OperationKind.UPDATE,
        entity_id=entity.entity_id,
        description=describe(entity.class_name, entity.states, "open" if open_ else "closed"),
        position_m=entity.position_m,
        facts=facts,
    )
