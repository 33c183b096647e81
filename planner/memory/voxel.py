"""A baseline in the manner of DynaMem: voxels with features and times (EPM-2.9).

Each voxel keeps the mean feature of what was seen in it and when it was last seen. A voxel
through which a camera now looks is empty and goes. Words are compared with the features; what
is alike and near each other is one answer. Three forms: plain; with the room's name in the label;
and with that, exploring by the time of the last look alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from planner.memory.camera import in_image, project
from planner.memory.features import FeatureExtractor, Features, load_features, region_points, unit
from planner.memory.part import MakeUpdater, UpdaterRequest
from planner.memory.updater import Operation
from planner.memory.wording import words_of
from planner.world.belief import Entity, OperationKind, Source
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.observation import CameraFrame, Observation

CAMERA = "hand"
Key = tuple[int, int, int]


class VoxelForm(StrEnum):
    """The paper's three forms."""

    PLAIN = "plain"
    ROOM = "room"
    ROOM_TIME_ONLY = "room-time-only"


# Ours; the paper gives no values: the side of a voxel, the stride between pixels and the depth up
# to which they are believed; a camera that measures so much farther looks through a voxel.
_SIDE_M, _STRIDE_PX, _MAX_DISTANCE_M, _THROUGH_M = 0.05, 4, 6.0, 0.1
# The least cosine of words and a voxel; an object so near an entity of its class is that entity.
_ALIKE, _SAME_M = 0.6, 0.5
# Cells of the floor for what to explore next, and the weight of likeness against age in it.
_CELL_M, _ALIKE_WEIGHT = 1.0, 0.5


@dataclass(slots=True)
class Voxel:
    """What was seen in it: the sum of features, how many, and when last."""

    feature: Features
    count: int
    seen_s: float


@dataclass(frozen=True, slots=True)
class Found:
    """Voxels that are alike and touch: one thing.

    Attributes:
        position_m: their middle in `map`.
        score: the best cosine among them.
        seen_s: when one of them was last seen.
    """

    position_m: Vec3
    score: float
    seen_s: float
    room: str | None
    voxels: int


class VoxelMap:
    """The voxels of one house."""

    def __init__(
        self,
        layout: House,
        extractor: FeatureExtractor,
        form: VoxelForm = VoxelForm.PLAIN,
    ) -> None:
        self.form = form
        self._layout = layout
        self._extractor = extractor
        self._voxels: dict[Key, Voxel] = {}
        self._texts: dict[str, Features] = {}
        self._looked_s: dict[tuple[int, int], float] = {}

    def __len__(self) -> int:
        return len(self._voxels)

    @property
    def bytes(self) -> int:
        """Memory of features and bookkeeping, about."""
        return sum(v.feature.nbytes + 100 for v in self._voxels.values())

    def look(self, frame: CameraFrame, stamp_s: float) -> None:
        """Clears what the camera looks through, then adds what it shows."""
        self._clear(frame)
        self._note_floor(frame, stamp_s)
        for region in self._extractor.regions(frame):
            points = region_points(frame, region.mask, _STRIDE_PX, _MAX_DISTANCE_M)
            for key in _keys(points, _SIDE_M):
                old = self._voxels.get(key)
                if old is None:
                    self._voxels[key] = Voxel(region.feature.copy(), 1, stamp_s)
                else:
                    old.feature = old.feature + region.feature
                    old.count += 1
                    old.seen_s = stamp_s

    def _clear(self, frame: CameraFrame) -> None:
        if not self._voxels:
            return
        keys = list(self._voxels)
        middles = (np.array(keys, np.float64) + 0.5) * _SIDE_M
        seen = project(frame.intrinsics, frame.pose, middles)
        with np.errstate(invalid="ignore"):
            inside = np.flatnonzero(in_image(frame.intrinsics, seen, 0))
        columns, rows = seen[inside, 0].astype(int), seen[inside, 1].astype(int)
        measured = frame.depth_m[rows, columns]
        with np.errstate(invalid="ignore"):
            through = np.isfinite(measured) & (
                measured > seen[inside, 2] + max(_THROUGH_M, _SIDE_M)
            )
        for index in inside[through].tolist():
            del self._voxels[keys[index]]

    def _note_floor(self, frame: CameraFrame, stamp_s: float) -> None:
        every = np.ones(frame.depth_m.shape, bool)
        points = region_points(frame, every, 4 * _STRIDE_PX, _MAX_DISTANCE_M)
        for x, y in np.unique(np.floor(points[:, :2] / _CELL_M), axis=0).tolist():
            self._looked_s[int(x), int(y)] = stamp_s

    def find(self, words: str, room: str = "") -> list[Found]:
        """What the words mean, best first, equals the newest first.

        In the forms with rooms `room`, or a room that the words end with (`cup in bedroom_2`),
        is where it must be.
        """
        if self.form is not VoxelForm.PLAIN and not room:
            words, room = self._split(words)
        wanted = self._extractor.text(words)
        if not self._voxels or not wanted.any():
            return []
        keys = list(self._voxels)
        found = self._alike(keys, self._features(keys) @ wanted)
        if room and self.form is not VoxelForm.PLAIN:
            found = [f for f in found if f.room is not None and room in (f.room, _class(f.room))]
        return sorted(found, key=lambda f: (-round(f.score, 3), -f.seen_s, f.position_m))

    def name_all(self, names: Sequence[str]) -> list[list[Found]]:
        """What each of the names means most of all, where nothing is two of them at once."""
        keys = list(self._voxels)
        if not keys or not names:
            return [[] for _ in names]
        wanted = np.stack([self._text(name) for name in names])
        cosines = self._features(keys) @ wanted.T
        best = cosines.argmax(axis=1)
        return [
            self._alike(keys, np.where(best == number, cosines[:, number], -1.0))
            for number in range(len(names))
        ]

    def _features(self, keys: Sequence[Key]) -> NDArray[np.float64]:
        return np.stack([unit(self._voxels[key].feature) for key in keys])

    def _text(self, words: str) -> Features:
        """What words mean; a model is asked once for each."""
        if words not in self._texts:
            self._texts[words] = self._extractor.text(words)
        return self._texts[words]

    def _alike(self, keys: Sequence[Key], cosines: NDArray[np.float64]) -> list[Found]:
        alike: list[int] = np.flatnonzero(cosines >= _ALIKE).tolist()
        return [
            self._found([keys[i] for i in block], float(cosines[block].max()))
            for block in _blocks(keys, alike)
        ]

    def _found(self, keys: Sequence[Key], score: float) -> Found:
        x, y, z = ((np.array(keys) + 0.5) * _SIDE_M).mean(axis=0).tolist()
        seen_s = max(self._voxels[key].seen_s for key in keys)
        return Found((x, y, z), score, seen_s, self._layout.room_at(x, y), len(keys))

    def _split(self, words: str) -> tuple[str, str]:
        """`cup in bedroom_2` is a cup, in bedroom_2."""
        thing, separator, where = words.lower().rpartition(" in ")
        where = where.removeprefix("the ").strip().replace(" ", "_")
        known = {r.name for r in self._layout.rooms} | {r.class_name for r in self._layout.rooms}
        return (thing, where) if separator and where in known else (words, "")

    def explore(self, words: str, now_s: float) -> str | None:
        """The room to look into next: not seen for the longest, or likely by likeness too."""
        best: tuple[float, str] | None = None
        likely = {f.room: f.score for f in reversed(self.find(words))}
        weight = 0.0 if self.form is VoxelForm.ROOM_TIME_ONLY else _ALIKE_WEIGHT
        for room in self._layout.rooms:
            age = self._age(room.name, now_s)
            value = (1 - weight) * age + weight * likely.get(room.name, 0.0)
            if best is None or value > best[0]:
                best = (value, room.name)
        return best[1] if best is not None else None

    def _age(self, room: str, now_s: float) -> float:
        """0 just seen, 1 never: mean over the room's floor cells."""
        x0, y0, x1, y1 = self._layout.rooms_by_name[room].shape.bounds
        side = _CELL_M
        ages = []
        for x in range(int(np.floor(x0 / side)), int(np.ceil(x1 / side))):
            for y in range(int(np.floor(y0 / side)), int(np.ceil(y1 / side))):
                if self._layout.room_at((x + 0.5) * side, (y + 0.5) * side) == room:
                    seen_s = self._looked_s.get((x, y))
                    ages.append(1.0 if seen_s is None else 1 - 1 / (1 + max(0.0, now_s - seen_s)))
        return float(np.mean(ages)) if ages else 0.0


class VoxelUpdater:
    """Puts a voxel map in the updater's seat: its answers for each class become entities."""

    def __init__(self, map_: VoxelMap, classes: Sequence[str]) -> None:
        self.map = map_
        self._classes = tuple(classes)

    @property
    def name(self) -> str:
        """As in the record of changes."""
        return f"voxels-{self.map.form.value}"

    def update(
        self,
        observation: Observation,
        entities: Sequence[Entity],
        last_action: str,  # noqa: ARG002 - the map knows of no actions
    ) -> list[Operation]:
        """The edits that an observation calls for; see `MemoryUpdater`."""
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return []
        self.map.look(frame, observation.stamp_s)
        by_class: dict[str, list[Entity]] = {}
        for entity in entities:
            if not entity.is_furniture and not entity.picked:
                by_class.setdefault(entity.class_name, []).append(entity)
        made: list[Operation] = []
        every = self.map.name_all([words_of(name) for name in self._classes])
        for name, found in zip(self._classes, every, strict=True):
            made += self._paired(name, found, by_class.get(name, []), frame, observation.stamp_s)
        return made

    def _paired(
        self,
        name: str,
        found: Sequence[Found],
        known: Sequence[Entity],
        frame: CameraFrame,
        stamp_s: float,
    ) -> list[Operation]:
        left = list(known)
        made = []
        for thing in found:
            near = sorted((_apart(e.position_m, thing.position_m), e.entity_id) for e in left)
            match = next((n for away, n in near if away <= _SAME_M), None)
            left = [e for e in left if e.entity_id != match]
            if match is not None and thing.seen_s < stamp_s:
                continue
            kind = OperationKind.ADD if match is None else OperationKind.UPDATE
            away_m = _apart(frame.pose.position_m, thing.position_m)
            made.append(
                Operation(
                    kind,
                    match,
                    description=words_of(name),
                    position_m=thing.position_m,
                    distance_m=away_m,
                )
            )
        # What a person told or an action did stays until its place was looked at.
        gone = [e for e in left if e.source is Source.SEEN]
        return made + [Operation(OperationKind.REMOVE, e.entity_id) for e in gone]


def make_voxels(request: UpdaterRequest, form: VoxelForm) -> MakeUpdater:
    """Loads the features; what is returned makes the updater of a house.

    Raises:
        PlannerError: as `load_features`.
    """
    classes = sorted(default_catalogue().objects)
    features = load_features(request, classes)
    return lambda layout: VoxelUpdater(VoxelMap(layout, features, form), classes)


def _keys(points: NDArray[np.float64], side_m: float) -> list[Key]:
    if not len(points):
        return []
    cells = np.unique(np.floor(points / side_m).astype(np.int64), axis=0)
    return [(x, y, z) for x, y, z in cells.tolist()]


def _blocks(keys: Sequence[Key], chosen: Sequence[int]) -> list[list[int]]:
    """Indices of keys that touch each other, also by edges and corners."""
    # Here and not above: a memory that looks otherwise need not wait for SciPy.
    from scipy.ndimage import label as label_blocks

    if not chosen:
        return []
    left: Mapping[Key, int] = {keys[i]: i for i in chosen}
    cells = np.array(list(left), np.int64)
    low = cells.min(axis=0)
    if int(np.prod(cells.max(axis=0) - low + 1)) <= 20_000_000:
        grid = np.zeros(cells.max(axis=0) - low + 1, bool)
        grid[tuple((cells - low).T)] = True
        labels, _ = label_blocks(grid, np.ones((3, 3, 3)))
        blocks: dict[int, list[int]] = {}
        for key, index in left.items():
            where = tuple(np.array(key) - low)
            blocks.setdefault(int(labels[where]), []).append(index)
        return list(blocks.values())
    # A few far points would make a huge grid: each is taken for itself.
    return [[index] for index in chosen]


def _apart(a: Vec3, b: Vec3) -> float:
    return float(np.linalg.norm(np.subtract(a, b)))


def _class(room: str) -> str:
    return room.rpartition("_")[0]
