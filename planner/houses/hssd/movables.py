"""The movable models that PARTNR's episodes add to a scene: their sizes and meshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from planner.houses.hssd.glb import bounds_of
from planner.houses.hssd.handles import Template
from planner.houses.hssd.templates import mesh_file, read_object
from planner.houses.hssd.transforms import TO_OURS, box_corners
from planner.world.errors import FileError
from planner.world.geometry import FloatArray, Vec3

_ENDING = ".object_config.json"
_MIN_SIZE_M = 0.001


@dataclass(frozen=True, slots=True)
class MovableMesh:
    """The mesh of a model.

    Attributes:
        file: a GLB file.
        turn: (3, 3), from the file's axes to ours, in metres.
        low_m: (3,), lowest corner of the box around it, in our axes.
        high_m: (3,), highest corner.
    """

    file: Path
    turn: FloatArray
    low_m: FloatArray
    high_m: FloatArray


class Movables:
    """Folders of `*.object_config.json`, indexed once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Opens the folders.

        Raises:
            FileError: if one is missing.
        """
        for folder in folders:
            if not folder.is_dir():
                raise FileError(
                    folder, "", "is not a folder; get the data set ai-habitat/OVMM_objects"
                )
        self._folders = tuple(folders)

    @cached_property
    def _configs(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for folder in self._folders:
            for path in sorted(folder.rglob(f"*{_ENDING}")):
                found.setdefault(path.name.removesuffix(_ENDING), path)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All models, sorted by folder and file."""
        return tuple(self._configs)

    def mesh_of(self, model: str) -> MovableMesh | None:
        """The mesh of a model; None for an unknown one.

        Raises:
            FileError: if its files are invalid.
        """
        config = self._configs.get(model)
        if config is None:
            return None
        named = Template(model, config)
        template = read_object(named)
        file = mesh_file(named, template)
        bounds = bounds_of(file)
        turn = TO_OURS @ template.sizes(np.ones(3)) @ template.turn_of_mesh()
        corners = box_corners(bounds.low, bounds.high) @ turn.T
        return MovableMesh(file, turn, corners.min(axis=0), corners.max(axis=0))

    def size_of(self, model: str) -> Vec3 | None:
        """The extent of a model along its own axes, upright; None for an unknown model.

        Raises:
            FileError: if its files are invalid.
        """
        mesh = self.mesh_of(model)
        if mesh is None:
            return None
        extent = mesh.high_m - mesh.low_m
        x, y, z = (round(max(float(value), _MIN_SIZE_M), 4) for value in extent)
        return (x, y, z)
