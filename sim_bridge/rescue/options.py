"""The settings of the backend `rescue` (config/rescue.yaml)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

Seconds = Annotated[float, Field(gt=0, le=600)]


class RescueOptions(FileModel):
    """All settings of the backend.

    Attributes:
        gather_s: how long a joint step waits for further agents.
        turn_s: how long a joint step lasts; bodies cross the whole grid in that time.
        look_s: how long a look takes, which is not a joint step.
        default_timeout_s: of a primitive that names none.
        scene: a file of a scene; None = the shipped one with the house's name.
    """

    version: Literal[1] = 1
    gather_s: Seconds = 0.2
    turn_s: Annotated[float, Field(ge=7, le=600)] = 8.0
    look_s: Seconds = 0.4
    default_timeout_s: Seconds = 120.0
    scene: Path | None = None


@lru_cache(maxsize=1)
def default_rescue_options() -> RescueOptions:
    """The shipped settings."""
    return read_model(config_dir() / "rescue.yaml", RescueOptions)
