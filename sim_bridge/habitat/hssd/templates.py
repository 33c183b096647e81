"""Object and articulated configurations, and the models that episodes add to a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, JsonValue

from planner.world.errors import FileError
from planner.world.files import parse_model
from planner.world.geometry import FloatArray, Vec3
from sim_bridge.habitat.hssd.dataset import Lenient, Template
from sim_bridge.habitat.hssd.glb import (
    TO_OURS,
    Factor,
    NoGlbError,
    Number3,
    Oriented,
    Wxyz,
    bounds_of,
    box_corners,
    matrix_of,
    mesh_corners,
)

_PREFIX, _BOX, _MESH = "receptacle_", "receptacle_aabb_", "receptacle_mesh_"
_UserDefined = Annotated[dict[str, JsonValue], Field(max_length=1000)]


class ObjectTemplate(Oriented):
    """`*.object_config.json`."""

    render_asset: str = ""
    COM: Number3 | None = None
    user_defined: _UserDefined = Field(default_factory=dict)


class ArticulatedTemplate(Lenient):
    """`*.ao_config.json`."""

    urdf_filepath: Annotated[str, Field(min_length=1)]
    uniform_scale: Factor = 1.0
    user_defined: _UserDefined = Field(default_factory=dict)


class _ReceptacleNote(Lenient):
    name: str | None = None
    position: Number3
    scale: Number3
    rotation: Wxyz | None = None
    parent_link: str | None = None
    mesh_filepath: str | None = None


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A place to put things: corners of its box in its mesh's or link's axes, and its name."""

    name: str
    corners: FloatArray
    link: str | None


def receptacles_of(config: Path, user_defined: _UserDefined) -> tuple[list[Receptacle], list[str]]:
    """The receptacles of a template, named as habitat-lab names them, and what cannot be read.

    Raises:
        FileError: if one is not as documented, or its mesh is missing.
    """
    found: list[Receptacle] = []
    unread: list[str] = []
    for key, value in user_defined.items():
        if not key.startswith(_PREFIX):
            continue
        note = parse_model(value, _ReceptacleNote, f"{config}: user_defined.{key}")
        name = note.name or key
        if _BOX in key:
            half = np.abs(note.scale)
            corners = box_corners(-half, half)
            if note.rotation is not None:
                corners = corners @ matrix_of(note.rotation).T
            found.append(Receptacle(name, corners + note.position, note.parent_link))
        elif _MESH in key:
            mesh = config.parent / _beside(note.mesh_filepath, config, key)
            try:
                parts = list(mesh_corners(mesh))
            except NoGlbError as error:
                unread.append(f"{name}: {error}")
                continue
            found += [
                Receptacle(f"{name}.{index:04d}", corners, note.parent_link)
                for index, corners in enumerate(parts)
            ]
        else:
            raise FileError(config, f"user_defined.{key}", "is neither a box nor a mesh")
    return found, unread


def read_object(template: Template) -> ObjectTemplate:
    """A rigid template, or a stage.

    Raises:
        FileError: if it is not as documented.
    """
    found = parse_model(template.document(), ObjectTemplate, template.path)
    if not np.linalg.norm(np.cross(found.up, found.front)) > 0.0:
        raise FileError(template.path, "front", "lies along up")
    return found


def mesh_file(template: Template, read: ObjectTemplate) -> Path:
    """The mesh of a rigid template."""
    return template.folder / _beside(read.render_asset, template.path, "render_asset")


def read_articulated(template: Template) -> ArticulatedTemplate:
    """An articulated template.

    Raises:
        FileError: if it is not as documented.
    """
    return parse_model(template.document(), ArticulatedTemplate, template.path)


def _beside(name: str | None, config: Path, field: str) -> str:
    if not name or Path(name).is_absolute():
        raise FileError(config, field, f"{name!r} is not a file of the dataset")
    return name


# The movable models that PARTNR's episodes add to a scene: their sizes and meshes.

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
