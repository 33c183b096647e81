"""Turns recorded frames into samples for the network: square crops with a label per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.memory.learned.inputs import CELL_PIXEL, cell_points, clean_depth, network_input
from planner.memory.learned.network import OFFSET_UNIT_M, STRIDE, Array
from planner.training.frames import RecordedFrame
from planner.world.catalogue import Catalogue
from planner.world.openness import OPEN_FROM

# Objects covering fewer pixels are neither required nor counted as mistakes.
MIN_PIXELS = 30
CLOSED_UP_TO = 0.1
IGNORED = -1
_DIM, _BRIGHT = 0.85, 1.12
_ASTRAY_PX = 44


@dataclass(frozen=True, slots=True)
class Labelled:
    """An image and the labels of its cells.

    Attributes:
        image: (5, h, w), see `network_input`.
        classes: (h / 4, w / 4): 0 nothing movable, 1 + index of the class, -1 ignored.
        offsets: (3, h / 4, w / 4): from the cell's point to the middle of the object's box.
        weights: (h / 4, w / 4): of objects' cells, so that small objects count like large ones.
        open: (h / 4, w / 4): 1 open furniture, 0 closed, -1 neither.
    """

    image: Array
    classes: NDArray[np.int64]
    offsets: Array
    weights: Array
    open: Array

    def crop(self, row: int, column: int, size: int, mirrored: bool) -> Labelled:
        """A square of `size` pixels starting at cell (row, column); mirrored left to right."""
        cells = size // STRIDE
        pixels = np.s_[
            ..., row * STRIDE : row * STRIDE + size, column * STRIDE : column * STRIDE + size
        ]
        part = np.s_[..., row : row + cells, column : column + cells]
        image, offsets = self.image[pixels], self.offsets[part]
        classes, weights, opened = self.classes[part], self.weights[part], self.open[part]
        if mirrored:
            image, classes, weights = image[..., ::-1], classes[..., ::-1], weights[..., ::-1]
            opened = opened[..., ::-1]
            offsets = offsets[..., ::-1] * np.array([-1, 1, 1], np.float32)[:, None, None]
        return Labelled(image, classes, offsets, weights, opened)


def labelled(frame: RecordedFrame, indices: Mapping[str, int]) -> Labelled:
    """The whole frame with its labels.

    Args:
        frame: as recorded.
        indices: of the classes, from 0.
    """
    camera = frame.camera()
    instances = camera.instances if camera.instances is not None else np.zeros((0, 0), np.int32)
    points, measured = cell_points(camera.intrinsics, clean_depth(camera.depth_m))
    cells = instances[CELL_PIXEL::STRIDE, CELL_PIXEL::STRIDE]
    classes = np.zeros(cells.shape, np.int64)
    weights = np.zeros(cells.shape, np.float32)
    offsets = np.zeros((*cells.shape, 3), np.float32)
    pixels = np.bincount(instances.ravel())
    rotation, origin = camera.pose.rotation(), np.asarray(camera.pose.position_m)
    for thing in frame.record.things:
        mask = cells == thing.instance
        count = int(np.count_nonzero(mask))
        if not count:
            continue
        index = indices.get(thing.class_name)
        if index is None or pixels[thing.instance] < MIN_PIXELS:
            classes[mask] = IGNORED
            continue
        center = (np.asarray(thing.center_m) - origin) @ rotation
        classes[mask] = index + 1
        weights[mask] = 1 / np.sqrt(count)
        offsets[mask] = (center - points[mask]) / OFFSET_UNIT_M
    opened = np.full(cells.shape, IGNORED, np.float32)
    for piece in frame.record.furniture:
        if piece.openness is None or CLOSED_UP_TO < piece.openness < OPEN_FROM:
            continue
        opened[cells == piece.instance] = float(piece.openness >= OPEN_FROM)
    weights[~measured] = 0
    opened[~measured] = IGNORED
    return Labelled(network_input(camera), classes, np.moveaxis(offsets, 2, 0), weights, opened)


def crops(whole: Labelled, size: int, count: int, rng: np.random.Generator) -> list[Labelled]:
    """Square crops of a frame, most of them around an object, all objects equally likely."""
    rows, columns = whole.classes.shape
    cells = size // STRIDE
    found = np.argwhere(whole.classes > 0)
    # A cell's weight is the root of its object's: squared, every object has the same sum.
    chances = whole.weights[found[:, 0], found[:, 1]] ** 2 if len(found) else np.zeros(0)
    made = []
    for _ in range(count):
        if len(found) and chances.sum() > 0 and rng.random() < 0.85:
            row, column = found[rng.choice(len(found), p=chances / chances.sum())]
            astray = _ASTRAY_PX // STRIDE
            row, column = (
                v - cells // 2 + rng.integers(-astray, astray + 1) for v in (row, column)
            )
        else:
            row, column = rng.integers(rows), rng.integers(columns)
        row = int(np.clip(row, 0, rows - cells))
        column = int(np.clip(column, 0, columns - cells))
        crop = whole.crop(row, column, size, bool(rng.integers(2)))
        image = crop.image.copy()
        light = rng.uniform(_DIM, _BRIGHT)
        image[:3] = np.clip((image[:3] + 0.5) * light - 0.5, -0.5, 0.5)
        made.append(Labelled(image, crop.classes, crop.offsets, crop.weights, crop.open))
    return made


def classes_in_pictures(catalogue: Catalogue) -> list[str]:
    """The classes that are learned from pictures, sorted: all but what things are sliced into.

    Slices are learned from actions (`planner/memory/effects.py`). In a picture a slice looks like a
    part of the whole thing, which is there far more often.
    """
    sliced = {c.slices.class_name for c in catalogue.objects.values() if c.slices is not None}
    return sorted(set(catalogue.objects) - sliced)


def class_indices(names: Sequence[str]) -> dict[str, int]:
    """Indices of the classes in the network's list."""
    return {name: index for index, name in enumerate(names)}
