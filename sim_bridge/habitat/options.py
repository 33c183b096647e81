"""The settings of the backend `habitat` (config/habitat.yaml)."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import Field

from planner.world.files import FileModel, read_model
from planner.world.share import config_dir
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
