"""Object and articulated configurations: meshes and receptacles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, JsonValue

from planner.houses.hssd.files import Lenient
from planner.houses.hssd.glb import NoGlbError, mesh_corners
from planner.houses.hssd.handles import Template
from planner.houses.hssd.transforms import (
    Factor,
    Number3,
    Oriented,
    Wxyz,
    box_corners,
    matrix_of,
)
from planner.world.errors import FileError
from planner.world.files import parse_model
from planner.world.geometry import FloatArray

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
