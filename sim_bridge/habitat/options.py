"""The settings of the backend `habitat`, and of the meshes of a data set that it uses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.world.files import FileModel, read_model
from planner.world.geometry import Vec3
from planner.world.house import ObjectPlacement
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.options import Seconds, WorldOptions

Positive = Annotated[float, Field(gt=0)]


class NavMesh(FileModel):
    """Resolution of the navigation mesh, metres; radius and height are the body's."""

    cell_size: Annotated[float, Field(ge=0.01, le=0.2)] = 0.02
    cell_height: Annotated[float, Field(ge=0.01, le=0.2)] = 0.05
    agent_max_climb: Annotated[float, Field(ge=0.0, le=0.3)] = 0.05


class HabitatOptions(WorldOptions):
    """All settings of the backend.

    Attributes:
        python: the interpreter that has habitat_sim; "" takes PLANNER_HABITAT_PYTHON, else the one
            that runs the bridge.
        gpu_device_id: the GPU to render on; None takes the first one, or -1, the CPU, if there is
            none.
        dataset: a folder that `planner houses export habitat` wrote, or one with such a folder for
            each house, by its name; "" writes the house's own into `cache`.
        cache: folder of written houses; "" is one for this user.
        models: file with a data set's meshes of things and bodies (`Models`); "" draws ours.
        start_timeout_s: timeout for habitat-sim to start.
        load_timeout_s: timeout for loading a house, things or a navigation mesh.
        answer_timeout_s: timeout for any other request, such as a view. One that takes longer is
            taken for hung: habitat-sim is stopped, and the next load starts another.
    """

    python: str = ""
    gpu_device_id: Annotated[int, Field(ge=-1, le=63)] | None = None
    dataset: str = ""
    cache: str = ""
    models: str = ""
    start_timeout_s: Seconds = 120.0
    load_timeout_s: Seconds = 120.0
    answer_timeout_s: Seconds = 2.0
    navmesh: NavMesh = NavMesh()


@lru_cache(maxsize=1)
def default_options() -> HabitatOptions:
    """The shipped settings."""
    return read_model(config_dir() / "habitat.yaml", HabitatOptions)


# Meshes of a data set for things and bodies: the file that the setting `models` names.

# A model that would be stretched more than this along an axis is another kind of thing.
_MOST_STRETCH = 2.0
_Length = Annotated[float, Field(gt=0, le=100)]
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=200)]
_File = Annotated[str, Field(min_length=1)]


class ThingModel(FileModel):
    """A mesh for things of one class.

    Attributes:
        name: of the model in its data set.
        class_name: of the things.
        mesh: a GLB file.
        turn: rows of a 3 x 3 matrix, from the file's axes to ours, in metres.
        low_m: lowest corner of the box around it, in our axes.
        size_m: extent of that box.
    """

    name: _Name
    class_name: str
    mesh: _File
    turn: tuple[Vec3, Vec3, Vec3]
    low_m: Vec3
    size_m: tuple[_Length, _Length, _Length]

    def stretch(self, item: ObjectPlacement) -> Vec3:
        """Factors along our axes that give it the size of a thing."""
        x, y, z = (want / have for want, have in zip(item.size_m, self.size_m, strict=True))
        return (x, y, z)


class BodyModel(FileModel):
    """A body's URDF, drawn with its joints as near to 0 as their limits allow.

    `up` is its upward axis: x is ahead with z up, as in ROS, and z ahead with y up.
    """

    urdf: _File
    up: Literal["y", "z"] = "z"


class Models(FileModel):
    """All meshes that are there; what has none is drawn with this project's."""

    version: Literal[1]
    things: tuple[ThingModel, ...] = ()
    bodies: Mapping[AgentKind, BodyModel] = Field(default_factory=dict)

    def of(self, item: ObjectPlacement) -> ThingModel | None:
        """The model of a thing's class whose size is nearest; None if there is none like it."""
        fit = [
            (max(abs(math.log(factor)) for factor in model.stretch(item)), model.name, model)
            for model in self.things
            if model.class_name == item.class_name
        ]
        near = [entry for entry in fit if entry[0] <= math.log(_MOST_STRETCH)]
        return min(near, key=lambda entry: entry[:2])[2] if near else None


def read_models(path: str) -> Models:
    """The file; none for "".

    Raises:
        FileError: naming file, field and reason.
    """
    return read_model(Path(path), Models) if path else Models(version=1)
