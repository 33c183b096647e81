"""What a camera frame shows, by the memory's model: movable things in space, open furniture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.memory.camera import color_votes, exposure_gain
from planner.memory.learned.network import (
    CELL_PIXEL,
    FEATURES_OUTPUT,
    HEADS_OUTPUT,
    STRIDE,
    Array,
    network_input,
    onnx_model,
)
from planner.memory.learned.segments import (
    Cells,
    Model,
    cells_of,
    classify,
    describe_segment,
    read_model_file,
    segments,
    shipped_model,
    unnoticed,
)
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, Surface
from planner.world.observation import CameraFrame
from planner.world.shapes import Color

# What rises from furniture, by depth and layout alone, whether or not its colours stand out.

# A point counts if it is so far inside the edge of a surface, above its top and below what is next
# above it; things are no higher than this.
_INSIDE_M, _ABOVE_M, _HIGHEST_M = 0.04, 0.012, 0.4
# Other furniture may stand on it, such as a microwave on a counter.
_BESIDE_M = 0.03
# Farther away a cell shows more than a small thing.
_REACH_M = 3.0


class Rising:
    """Knows where the surfaces of one house are."""

    def __init__(self, layout: House) -> None:
        pairs = [(piece, surface) for piece in layout.furniture for surface in piece.surfaces]
        self._surfaces = [_Patch(layout, piece, surface) for piece, surface in pairs]

    def of(self, points_m: Array, camera_m: Vec3) -> NDArray[np.bool_]:
        """Which of (n, 3) points of `map` rise from a surface near the camera."""
        found = np.zeros(len(points_m), bool)
        for patch in self._surfaces:
            if patch.distance_m(camera_m) <= _REACH_M:
                patch.mark(points_m, found)
        return found


class _Patch:
    """One surface, and the boxes of other furniture on it."""

    def __init__(self, layout: House, piece: Furniture, surface: Surface) -> None:
        self._piece = piece
        self._center_m = piece.pose.apply(surface.center)
        along = piece.pose.apply((surface.center[0] + 1.0, surface.center[1], surface.center[2]))
        self._yaw = math.atan2(along[1] - self._center_m[1], along[0] - self._center_m[0])
        self._half_m = tuple(extent / 2 - _INSIDE_M for extent in surface.size)
        self._radius_m = math.hypot(*surface.size) / 2
        top_m = self._center_m[2]
        self._low_m = top_m + _ABOVE_M
        self._high_m = top_m + min(surface.clearance - _ABOVE_M, _HIGHEST_M)
        self._others = [
            (np.array(p.box.minimum_m) - _BESIDE_M, np.array(p.box.maximum_m) + _BESIDE_M)
            for p in layout.furniture
            if p is not piece
            and p.box.maximum_m[2] > self._low_m
            and p.box.minimum_m[2] < self._high_m
            and p.box.distance_m(self._center_m) < self._radius_m
        ]

    def distance_m(self, camera_m: Vec3) -> float:
        return math.dist(camera_m, self._center_m) - self._radius_m

    def mark(self, points_m: Array, found: NDArray[np.bool_]) -> None:
        """Sets those of `found` whose points rise from it."""
        heights = points_m[:, 2]
        near = np.flatnonzero((heights >= self._low_m) & (heights <= self._high_m) & ~found)
        away = points_m[near, :2] - np.array(self._center_m[:2], points_m.dtype)
        cos, sin = math.cos(self._yaw), math.sin(self._yaw)
        x, y = away[:, 0] * cos + away[:, 1] * sin, away[:, 1] * cos - away[:, 0] * sin
        near = near[(np.abs(x) <= self._half_m[0]) & (np.abs(y) <= self._half_m[1])]
        for low, high in self._others:
            inside = ((points_m[near] >= low) & (points_m[near] <= high)).all(axis=1)
            near = near[~inside]
        found[near] = True


# Pictures must halve evenly as often as the network halves them.
_MULTIPLE = 16
# Two segments are parts of one thing where their middles are this near, by its width.
_MIN_REACH_M, _REACH_SHARE = 0.05, 0.45
_MAX_SEGMENTS = 200
# A look tells so many guesses of what a thing is.
_MAX_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class DetectorOptions:
    """When something counts as seen.

    Attributes:
        min_presence: a cell's probability to show a movable thing.
        min_cells: of four by four pixels that one thing fills.
        min_score: probability of the thing's class.
    """

    min_presence: float = 0.3
    min_cells: int = 4
    min_score: float = 0.4


@dataclass(frozen=True, slots=True)
class Detection:
    """A movable thing in one picture.

    Attributes:
        class_name: of the catalogue.
        score: 0 to 1.
        center_m: the middle of its box in `map`.
        distance_m: depth along the optical axis to what is seen of it.
        pixel: (u, v) of the middle of the cells that show it.
        cells: how many show it.
        candidates: the likeliest classes with their chances, `class_name` first.
        colors: how many of the looked-at pixels have each colour.
    """

    class_name: str
    score: float
    center_m: Vec3
    distance_m: float
    pixel: tuple[float, float]
    cells: int
    candidates: tuple[tuple[str, float], ...] = ()
    colors: Mapping[Color, int] = field(default_factory=dict)

    @property
    def probabilities(self) -> tuple[tuple[str, float], ...]:
        """What it may be; at least `class_name` with its score."""
        return self.candidates or ((self.class_name, self.score),)


@dataclass(frozen=True, slots=True)
class FrameDetections:
    """What one picture shows.

    Attributes:
        detections: the things, best first.
        points_m: (n, 3) points of `map` that show no movable thing.
        open_logits: (n,) how much each of them looks like furniture that is open (above 0)
            rather than closed.
    """

    detections: tuple[Detection, ...]
    points_m: Array
    open_logits: Array


class Detector:
    """Runs a model on frames; one thread at a time."""

    def __init__(
        self,
        model: Model,
        options: DetectorOptions | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        """Takes a model.

        Raises:
            PlannerError: for a model of classes that the catalogue does not have.
        """
        catalogue = catalogue or default_catalogue()
        unknown = [name for name in model.classes if name not in catalogue.objects]
        if unknown:
            raise PlannerError(f"the memory model knows {unknown[0]!r}, the catalogue does not")
        self.classes, self.off_m = model.classes, model.off_m
        self._weights = model.weights
        self._options = options or DetectorOptions()
        self._reach = np.array([_reach(catalogue.objects[name].size_m) for name in model.classes])
        self._nets: dict[tuple[int, int], cv2.dnn.Net] = {}

    @staticmethod
    def load(path: Path | None = None, options: DetectorOptions | None = None) -> Detector:
        """The detector of a model file, by default of the shipped one.

        Raises:
            FileError: where it cannot be read.
        """
        return Detector(read_model_file(path or shipped_model()), options)

    def look(self, frame: CameraFrame, rising: Rising | None = None) -> FrameDetections:
        """What the frame shows.

        Args:
            frame: of one camera.
            rising: where furniture stands; None looks only at what the network notices.

        Raises:
            PlannerError: for pictures of different or too odd sizes.
        """
        _check(frame)
        features, heads = self.outputs(network_input(frame))
        cells = cells_of(frame, features, heads)
        rest = cells.measured & (cells.presence <= self._options.min_presence)
        rotation, origin = frame.pose.rotation(), np.asarray(frame.pose.position_m)
        parts = segments(cells, self._options.min_presence, self._options.min_cells)
        if rising is not None:
            points: Array = (cells.points.reshape(-1, 3) @ rotation.T + origin).astype(np.float32)
            shown = rising.of(points, frame.pose.position_m).reshape(cells.presence.shape)
            parts += unnoticed(cells, shown, self._options.min_presence, self._options.min_cells)
        gain = exposure_gain(frame.rgb)
        detections = [
            Detection(
                class_name=self.classes[thing.label],
                score=thing.score,
                center_m=_vec3(rotation @ thing.center + origin),
                distance_m=thing.distance_m,
                pixel=thing.pixel,
                cells=len(thing.part),
                candidates=tuple((self.classes[i], chance) for i, chance in thing.candidates),
                colors=color_votes(_pixels(frame.rgb, thing.part), gain),
            )
            for thing in self._things(cells, parts)
        ]
        detections.sort(key=lambda d: -d.score)
        world: Array = (cells.points[rest] @ rotation.T + origin).astype(np.float32)
        return FrameDetections(tuple(detections), world, heads[1][rest])

    def knows(self, class_name: str) -> bool:
        """Whether its model was trained on things of a class."""
        return class_name in self.classes

    def outputs(self, image: Array) -> tuple[Array, Array]:
        """The network's (features, heads) of a `network_input`."""
        size = image.shape[1:]
        net = self._nets.get((size[0], size[1]))
        if net is None:
            body = onnx_model(self._weights, size[0], size[1])
            net = cv2.dnn.readNetFromONNX(np.frombuffer(body, np.uint8))
            self._nets[size[0], size[1]] = net
        net.setInput(image[None])
        features, heads = net.forward([FEATURES_OUTPUT, HEADS_OUTPUT])
        return np.asarray(features[0], np.float32), np.asarray(heads[0], np.float32)

    def _things(self, cells: Cells, parts: list[NDArray[np.int64]]) -> list[_Thing]:
        options = self._options
        parts = sorted(parts, key=len, reverse=True)[:_MAX_SEGMENTS]
        if not parts:
            return []
        scores = classify(self._weights, np.stack([describe_segment(cells, p) for p in parts]))
        labels = scores.probabilities[:, 1:].argmax(axis=1)
        things = []
        for index, part in enumerate(parts):
            label = int(labels[index])
            score = float(scores.probabilities[index, 1 + label])
            if score >= options.min_score and score > scores.probabilities[index, 0]:
                candidates = _likeliest(scores.probabilities[index, 1:])
                things.append(_thing(cells, part, candidates, scores.offsets_m[index]))
        return _without_shadows(things, self._reach)


@dataclass(frozen=True, slots=True)
class _Thing:
    candidates: tuple[tuple[int, float], ...]
    center: Array
    distance_m: float
    pixel: tuple[float, float]
    part: NDArray[np.int64]

    @property
    def label(self) -> int:
        return self.candidates[0][0]

    @property
    def score(self) -> float:
        return self.candidates[0][1]


def _pixels(rgb: NDArray[np.uint8], part: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(n, 3) pixels of the cells of a segment, four of each."""
    rows, columns = np.divmod(part, rgb.shape[1] // STRIDE)
    return np.concatenate(
        [rgb[rows * STRIDE + down, columns * STRIDE + right] for down in (1, 3) for right in (1, 3)]
    )


def _likeliest(probabilities: Array) -> tuple[tuple[int, float], ...]:
    best = np.argsort(-probabilities)[:_MAX_CANDIDATES]
    return tuple((int(index), float(probabilities[index])) for index in best)


def _thing(
    cells: Cells,
    part: NDArray[np.int64],
    candidates: tuple[tuple[int, float], ...],
    offset_m: Array,
) -> _Thing:
    points = cells.points.reshape(-1, 3)[part]
    rows, columns = np.divmod(part, cells.presence.shape[1])
    pixel = (np.median(columns) * STRIDE + CELL_PIXEL, np.median(rows) * STRIDE + CELL_PIXEL)
    return _Thing(
        candidates=candidates,
        center=points.mean(axis=0) + offset_m,
        distance_m=float(np.median(points[:, 2])),
        pixel=(float(pixel[0]), float(pixel[1])),
        part=part,
    )


def _without_shadows(things: list[_Thing], reach: NDArray[np.float64]) -> list[_Thing]:
    """Drops small segments inside larger things: parts of a thing that look like another."""
    kept: list[_Thing] = []
    for thing in sorted(things, key=lambda t: -len(t.part) * t.score):
        shadow = any(
            float(np.linalg.norm(thing.center - other.center)) < reach[other.label]
            for other in kept
        )
        if not shadow:
            kept.append(thing)
    return kept


def _reach(size_m: Vec3) -> float:
    """How far the middles of parts of a thing of this size may lie apart."""
    return max(_MIN_REACH_M, _REACH_SHARE * sorted(size_m)[1])


def _vec3(point: NDArray[np.floating]) -> Vec3:
    return (float(point[0]), float(point[1]), float(point[2]))


def _check(frame: CameraFrame) -> None:
    height, width = frame.depth_m.shape
    if frame.rgb.shape != (height, width, 3):
        raise PlannerError(f"depth is {width}x{height}, the picture {frame.rgb.shape}")
    if height % _MULTIPLE or width % _MULTIPLE:
        raise PlannerError(f"pictures of {width}x{height} are not multiples of {_MULTIPLE}")
