"""Segments of a picture, the perceptron that classifies them, and the file of trained models."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.memory.learned.network import (
    FEATURES,
    OFFSET_UNIT_M,
    STRIDE,
    Array,
    Weights,
    cell_points,
    clean_depth,
    network_shapes,
)
from planner.world.errors import FileError
from planner.world.observation import CameraFrame
from planner.world.share import config_dir
from planner.world.weights_file import header_names, read_weights, require_shapes, write_weights

# Colours: hues by saturation and brightness, and greys by brightness.
_HUES, _VALUES, _GREYS = 16, 3, 8
_GREY_BELOW = 40
COLOURS = _HUES * _VALUES * 2 + _GREYS
GEOMETRY = 14
DESCRIPTION = 2 * COLOURS + GEOMETRY + FEATURES
# Neighbours of one segment lie this near in space, more where cells are wide, and vote so.
_STEP_M, _STEP_CELLS, _VOTE_M = 0.03, 2.5, 0.06
_NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))
_GEOMETRY_SCALE = np.array([3, 3, 3, 3, 3, 10, 10, 0.5, 0.3, 1, 5, 5, 5, 1], np.float32)


@dataclass(frozen=True, slots=True)
class Cells:
    """What the network says of one frame, with the frame's geometry.

    Attributes:
        presence: (h, w) probability that a cell shows a movable thing.
        features: (FEATURES, h, w).
        points: (h, w, 3) in the optical frame; `votes` likewise, the middles of things.
        measured: (h, w) where there is depth.
        heights: (h, w) metres above the floor of `map`.
        colours: (4h, 4w) index of each pixel's colour.
    """

    presence: Array
    features: Array
    points: Array
    votes: Array
    measured: NDArray[np.bool_]
    heights: Array
    colours: NDArray[np.uint8]
    focal_px: float


def cells_of(frame: CameraFrame, features: Array, heads: Array) -> Cells:
    """Puts the network's outputs and the frame's geometry together."""
    points, measured = cell_points(frame.intrinsics, clean_depth(frame.depth_m))
    down = frame.pose.rotation()[2].astype(np.float32)
    return Cells(
        presence=(1 / (1 + np.exp(-heads[0]))).astype(np.float32),
        features=features,
        points=points,
        votes=points + np.moveaxis(heads[2:5], 0, 2) * np.float32(OFFSET_UNIT_M),
        measured=measured,
        heights=points @ down + np.float32(frame.pose.position_m[2]),
        colours=colour_indices(frame.rgb),
        focal_px=frame.intrinsics.fx_px,
    )


def colour_indices(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(h, w) index of each pixel's colour, 0 to COLOURS - 1."""
    hsv = cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV)
    hue = hsv[..., 0].astype(np.int32) * _HUES // 180
    vivid = (hsv[..., 1] > 120).astype(np.int32)
    value = np.minimum(hsv[..., 2].astype(np.int32) * _VALUES // 256, _VALUES - 1)
    index = (hue * _VALUES + value) * 2 + vivid
    grey = hsv[..., 1] < _GREY_BELOW
    shade = hsv[..., 2].astype(np.int32) * _GREYS // 256
    return np.where(grey, _HUES * _VALUES * 2 + shade, index).astype(np.uint8)


def segments(cells: Cells, min_presence: float, min_cells: int) -> list[NDArray[np.int64]]:
    """Flat indices of the cells of each segment."""
    return _linked(cells, cells.measured & (cells.presence > min_presence), min_cells, _VOTE_M)


def unnoticed(
    cells: Cells, rising: NDArray[np.bool_], min_presence: float, min_cells: int
) -> list[NDArray[np.int64]]:
    """Segments of what rises from furniture where the network sees nothing, nor beside it."""
    present = cells.presence > min_presence
    parts = _linked(cells, cells.measured & rising & ~present, min_cells, math.inf)
    beside = cv2.dilate(present.astype(np.uint8), np.ones((3, 3), np.uint8)).ravel()
    return [part for part in parts if not beside[part].any()]


def _linked(
    cells: Cells, shown: NDArray[np.bool_], min_cells: int, vote_m: float
) -> list[NDArray[np.int64]]:
    """Groups of neighbouring cells without a step between them, whose votes agree."""
    rows, columns = np.nonzero(shown)
    if not len(rows):
        return []
    number = np.full(shown.shape, -1, np.int64)
    number[rows, columns] = np.arange(len(rows))
    starts, ends = [], []
    height, width = shown.shape
    for down, across in _NEIGHBOURS:
        left, right = max(0, -across), width - max(0, across)
        here = np.s_[: height - down, left:right]
        there = np.s_[down:, left + across : right + across]
        linked = (number[here] >= 0) & (number[there] >= 0)
        step = np.linalg.norm(cells.points[here] - cells.points[there], axis=2)
        width_m = cells.points[here][..., 2] * STRIDE / cells.focal_px
        linked &= step < _STEP_M + _STEP_CELLS * width_m
        apart = np.linalg.norm(cells.votes[here] - cells.votes[there], axis=2)
        linked &= apart < vote_m
        starts.append(number[here][linked])
        ends.append(number[there][linked])
    # Here and not above: a memory that looks otherwise need not wait for SciPy.
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    first, second = np.concatenate(starts), np.concatenate(ends)
    links = coo_matrix((np.ones(len(first)), (first, second)), shape=(len(rows), len(rows)))
    count, labels = connected_components(links, directed=False)
    flat = rows * width + columns
    order = np.argsort(labels, kind="stable")
    parts = np.split(flat[order], np.searchsorted(labels[order], np.arange(1, count)))
    return [part for part in parts if len(part) >= min_cells]


def describe_segment(cells: Cells, part: NDArray[np.int64]) -> Array:
    """(DESCRIPTION,) numbers of a segment."""
    rows, columns = np.divmod(part, cells.presence.shape[1])
    heights = cells.heights.ravel()[part]
    low, high = np.quantile(heights, (0.03, 0.97))
    relative = np.clip((heights - low) / max(float(high - low), 0.02), 0, 1)
    histogram = np.zeros(COLOURS, np.float32)
    lifted = np.zeros(COLOURS, np.float32)
    for down in (1, 3):
        for across in (1, 3):
            index = cells.colours[rows * STRIDE + down, columns * STRIDE + across]
            np.add.at(histogram, index, 1)
            np.add.at(lifted, index, relative)
    share = histogram / max(1.0, float(histogram.sum()))
    mean_height = np.where(histogram > 0, lifted / np.maximum(histogram, 1), 0) * (share > 0.02)
    pooled = cells.features.reshape(FEATURES, -1)[:, part].mean(axis=1)
    shape = _geometry(cells, part, float(low), float(high)) * _GEOMETRY_SCALE
    return np.concatenate([np.sqrt(share), mean_height, shape, pooled]).astype(np.float32)


def _geometry(cells: Cells, part: NDArray[np.int64], low_m: float, high_m: float) -> Array:
    points = cells.points.reshape(-1, 3)[part]
    rows, columns = np.divmod(part, cells.presence.shape[1])
    middle = points.mean(axis=0)
    spread = points - middle
    _, _, axes = np.linalg.svd(spread, full_matrices=False) if len(part) >= 3 else (0, 0, np.eye(3))
    extents = [float(np.ptp(np.quantile(spread @ axis, (0.03, 0.97)))) for axis in axes]
    distance = float(np.median(points[:, 2]))
    cell_m = distance * STRIDE / cells.focal_px
    border = float(
        rows.min() == 0
        or columns.min() == 0
        or rows.max() == cells.presence.shape[0] - 1
        or columns.max() == cells.presence.shape[1] - 1
    )
    way = (cells.votes.reshape(-1, 3)[part] - points).mean(axis=0)
    return np.array(
        [
            *extents,
            high_m - low_m,
            cell_m * np.ptp(columns),
            cell_m * cell_m * len(part) * 10,
            cell_m,
            distance,
            np.log(len(part)),
            low_m,
            *way,
            border,
        ],
        np.float32,
    )


# Classifies segments: a small perceptron on a segment's descriptor, in NumPy.

HIDDEN = 192
# Outputs: "no thing", the classes, and the offset to the centre of the thing's box.
_OFFSET = 3


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The classifier's outputs.

    Attributes:
        chances: (n, 1 + classes); the first is "no movable thing".
        ways_m: (n, 3) from the centre of the segment's points to the thing's, optical frame.
    """

    probabilities: Array
    offsets_m: Array


def classifier_shapes(classes: int) -> dict[str, tuple[int, ...]]:
    """The classifier's weights by name."""
    return {
        "look.1.weight": (HIDDEN, DESCRIPTION),
        "look.1.bias": (HIDDEN,),
        "look.2.weight": (1 + classes + _OFFSET, HIDDEN),
        "look.2.bias": (1 + classes + _OFFSET,),
    }


def classify(weights: Weights, descriptions: Array) -> ClassScores:
    """The outputs for (n, DESCRIPTION) descriptors."""
    hidden = np.maximum(descriptions @ weights["look.1.weight"].T + weights["look.1.bias"], 0)
    made = hidden @ weights["look.2.weight"].T + weights["look.2.bias"]
    logits, offsets = made[:, :-_OFFSET], made[:, -_OFFSET:]
    logits = logits - logits.max(axis=1, keepdims=True)
    probabilities = np.exp(logits)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return ClassScores(
        probabilities.astype(np.float32), (offsets * OFFSET_UNIT_M).astype(np.float32)
    )


# The file of a trained model: safetensors, half precision, with its class list in the header.

VERSION = "1"


@dataclass(frozen=True, slots=True)
class Model:
    """Trained weights.

    Attributes:
        classes: names of the movable things it tells apart, in the network's order.
        weights: float32 by the names of `network_shapes` and `classifier_shapes`.
        notes: how it was trained, for the record.
        off_m: how far off their places the sensors that it is for show things.
    """

    classes: tuple[str, ...]
    weights: Mapping[str, Array]
    notes: Mapping[str, str]
    off_m: float = 0.0


def shipped_model(name: str = "") -> Path:
    """The model that comes with the package, or the one for the sensors of a preset's name."""
    return config_dir() / "models" / f"memory{name and '.'}{name}.safetensors"


def write_model(path: Path, model: Model) -> None:
    """Writes a model.

    Raises:
        FileError: where it cannot be written.
    """
    metadata = {
        **model.notes,
        "off_m": f"{model.off_m:.3f}",
        "planner_memory_model": VERSION,
        "classes": json.dumps(model.classes),
    }
    write_weights(path, model.weights, metadata)


def read_model_file(path: Path) -> Model:
    """Reads a model.

    Raises:
        FileError: where it is missing, of another kind or version, or does not fit the network.
    """
    weights, metadata = read_weights(path)
    if metadata.pop("planner_memory_model", "") != VERSION:
        raise FileError(path, "planner_memory_model", f"is not a memory model of version {VERSION}")
    classes = header_names(path, metadata, "classes")
    require_shapes(path, weights, {**network_shapes(), **classifier_shapes(len(classes))})
    # Models had no such note before.
    off = metadata.pop("off_m", "0")
    if not re.fullmatch(r"0(\.\d+)?|1(\.0+)?", off):
        raise FileError(path, "off_m", f"{off!r} is not a distance of a metre at most")
    return Model(classes, weights, metadata, float(off))
