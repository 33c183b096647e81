"""Conversion of Habitat's bodies to our frame: poses, scales, and mesh frames."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from planner.houses.hssd.files import Lenient
from planner.world.geometry import FloatArray

MAX_DISTANCE_M = 1000.0
_Number = Annotated[float, Field(ge=-MAX_DISTANCE_M, le=MAX_DISTANCE_M)]
Number3 = tuple[_Number, _Number, _Number]
_SMALLEST, _LARGEST = 1e-4, 1e4


def _nonzero(factor: float) -> float:
    if not _SMALLEST <= abs(factor) <= _LARGEST:
        raise ValueError(
            f"a scale of {factor:g}: expected a size from {_SMALLEST:g} to {_LARGEST:g}"
        )
    return factor


Length = Annotated[float, Field(ge=_SMALLEST, le=_LARGEST)]
Factor = Annotated[float, AfterValidator(_nonzero)]
"""A scale; a negative one mirrors."""
Size3 = tuple[Factor, Factor, Factor]
Wxyz = tuple[_Number, _Number, _Number, _Number]

TO_OURS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Rotates Habitat's axes, y up, into ours, z up: (x, y, z) to (x, -z, y)."""


class Placed(Lenient):
    """The pose of a body in a scene's entry."""

    template_name: Annotated[str, Field(min_length=1, max_length=300)]
    translation: Number3 = (0.0, 0.0, 0.0)
    rotation: Wxyz = (1.0, 0.0, 0.0, 0.0)
    translation_origin: str | None = None
    uniform_scale: Factor = 1.0
    non_uniform_scale: Size3 = (1.0, 1.0, 1.0)

    @property
    def name(self) -> str:
        """The template's own name, without folders and extensions."""
        return self.template_name.split("/")[-1].split(".")[0]

    def factors(self) -> FloatArray:
        """(3,) scale of the body relative to its template, along the mesh's axes."""
        return np.array(self.non_uniform_scale) * self.uniform_scale

    def turn(self) -> FloatArray:
        """(3, 3) rotation into Habitat's world."""
        return matrix_of(self.rotation)


class Oriented(Lenient):
    """The part of a template that defines its mesh's orientation in the body's frame."""

    up: Number3 = (0.0, 1.0, 0.0)
    front: Number3 = (0.0, 0.0, -1.0)
    scale: Size3 = (1.0, 1.0, 1.0)
    units_to_meters: Length = 1.0

    def sizes(self, factors: FloatArray) -> FloatArray:
        """(3, 3) that scales the rotated mesh and the data given in its frame."""
        return np.diag(factors * self.scale) * self.units_to_meters

    def turn_of_mesh(self) -> FloatArray:
        """(3, 3) that brings the mesh's up to y and then its front to -z, as habitat-sim does.

        It applies to the mesh alone, before scaling; receptacles are given in the rotated frame. A
        front opposite to -z is rotated about x, so such a mesh is upside down there, too.
        """
        up = np.array(self.up) / np.linalg.norm(self.up)
        front = np.array(self.front) / np.linalg.norm(self.front)
        first = _shortest_turn(np.array([0.0, 1.0, 0.0]), up)
        second = _shortest_turn(first @ np.array([0.0, 0.0, -1.0]), front)
        back: FloatArray = (second @ first).T
        return back


def _shortest_turn(one: FloatArray, other: FloatArray) -> FloatArray:
    """(3, 3) shortest rotation from one unit vector to another."""
    cosine = float(one @ other)
    axis = np.cross(one, other)
    if cosine < -1.0 + 1e-6:
        axis = np.cross([0.0, 1.0, 0.0], one)
        if not np.linalg.norm(axis) > 1e-3:
            axis = np.cross([1.0, 0.0, 0.0], one)
        x, y, z = axis / np.linalg.norm(axis)
        return matrix_of((0.0, x, y, z))
    half = math.sqrt((1.0 + cosine) * 2.0)
    x, y, z = axis / half
    return matrix_of((half / 2, x, y, z))


def matrix_of(rotation: Wxyz) -> FloatArray:
    """(3, 3) of a quaternion (w, x, y, z), which need not be of length 1."""
    w, x, y, z = np.array(rotation) / (math.hypot(*rotation) or 1.0)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def box_corners(low: FloatArray, high: FloatArray) -> FloatArray:
    """(8, 3) corners of a box."""
    ends = np.stack([low, high])
    return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1)
                     for k in (0, 1)])  # fmt: skip
