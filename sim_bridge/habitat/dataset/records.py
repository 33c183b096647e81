"""Paths and ids of a written dataset, for loading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class JointHandle:
    """A joint of an articulated object: URDF joint `name`, which moves link `link`.

    `travel` is its position when open, metres or radians above 0; closed is 0. These are the limits
    in the URDF, whose axis is reversed if our own joint opens the other way.
    """

    name: str
    kind: Literal["slide", "hinge"]
    travel: float

    @property
    def link(self) -> str:
        """The link that it moves."""
        return link_name(self.name)


def link_name(joint: str) -> str:
    """The URDF's name of the link that a joint moves."""
    return f"{joint}_link"


@dataclass(frozen=True, slots=True)
class Template:
    """How an entity is made in Habitat.

    Attributes:
        name: ours.
        config: `*.object_config.json`, or `*.ao_config.json` for articulated objects.
        semantic_id: the entity's id in instance images; several things may share one config, which
            then says 0.
        joints: empty for a rigid object.
        model: of another data set, whose mesh it shows; "" = ours.
    """

    name: str
    config: Path
    semantic_id: int
    joints: tuple[JointHandle, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class HabitatDataset:
    """A Habitat scene dataset on disk.

    Attributes:
        config: value for `scene_dataset_config_file`.
        scene: value for `scene_id`, for the house with the things of its file.
        empty_scene: the same without things, for an episode's own.
        stage: the structure.
        furniture: by name.
        things: by name.
    """

    directory: Path
    config: Path
    scene: str
    empty_scene: str
    stage: Path
    furniture: Mapping[str, Template]
    things: Mapping[str, Template]
