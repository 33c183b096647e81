"""Settings of simulated worlds: durations, noise, failures (config/embedded.yaml)."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

Seconds = Annotated[float, Field(gt=0, le=600)]
Probability = Annotated[float, Field(ge=0, le=1)]
Deviation = Annotated[float, Field(ge=0, le=10)]


class Durations(FileModel):
    """Simulated seconds of each action; walking and turning follow the body's speeds.

    This is the cost table of PARTNR-D50 and is published with results. Changes of
    states take the times of config/catalogue/states.yaml.
    """

    pick: Seconds = 2.0
    place: Seconds = 2.0
    open: Seconds = 3.0
    close: Seconds = 3.0
    look_dwell: Seconds = 0.25
    # Files written before this name existed say `patience`.
    blocked_timeout: Annotated[
        Seconds, Field(validation_alias=AliasChoices("blocked_timeout", "patience"))
    ] = 20.0
    default_timeout: Seconds = 120.0


class Noise(FileModel):
    """Imperfections, all off by default; each has its own seeded random stream.

    `position_m` and `heading_rad` are standard deviations of the localised base, `odometry_per_m`
    of the odometry's drift per metre walked.
    """

    position_m: Deviation = 0.0
    heading_rad: Deviation = 0.0
    odometry_per_m: Deviation = 0.0
    depth_m: Deviation = 0.0
    failed_grasps: Probability = 0.0
    failed_places: Probability = 0.0
    dropped_frames: Probability = 0.0


class WorldOptions(FileModel):
    """The settings common to all simulated worlds."""

    version: Literal[1] = 1
    durations: Durations = Durations()
    noise: Noise = Noise()


class EmbeddedOptions(WorldOptions):
    """All settings of the embedded simulator."""

    renderer: Literal["auto", "egl", "osmesa", "rays", "none"] = "auto"
    # Without instance ids pictures cost less: for memories that need no ground truth.
    instances: bool = True


@lru_cache(maxsize=1)
def default_options() -> EmbeddedOptions:
    """The shipped settings."""
    return read_model(config_dir() / "embedded.yaml", EmbeddedOptions)
