"""The settings of the backend `spot` (config/spot.yaml)."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field, field_validator

from planner.world.files import FileModel, read_model
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.options import Noise
from sim_bridge.spot.emulator.faults import Trouble
from sim_bridge.spot.layout import Fiducial


class Target(StrEnum):
    """What the backend connects to."""

    EMULATOR = "emulator"
    ROBOT = "robot"


class Dock(FileModel):
    """The robot's dock: the number of its marker, and where to stand in front of it, in the map."""

    number: Annotated[int, Field(ge=1)]
    pose: tuple[float, float, float]


class SpotOptions(FileModel):
    """All settings of the backend."""

    version: Literal[1] = 1
    target: Target = Target.ROBOT
    address: str = ""
    port: Annotated[int, Field(ge=1, le=65535)] = 443
    certificate: str = ""
    agent_kind: AgentKind = AgentKind.ROBOT
    cameras: dict[str, tuple[str, str]] = Field(
        default_factory=lambda: {"hand": ("hand_color_image", "hand_depth_in_hand_color_frame")}
    )
    fiducials: tuple[Fiducial, ...] = ()
    layout: str = ""
    graph: str = ""
    dock: Dock | None = None
    noise: Noise = Noise()
    grasp_tries: Annotated[int, Field(ge=1, le=10)] = 3
    place_tries: Annotated[int, Field(ge=1, le=10)] = 3
    jpeg_quality: Annotated[int, Field(ge=1, le=100)] = 90
    troubles: tuple[Trouble, ...] = ()

    @field_validator("cameras")
    @classmethod
    def _cameras_are_ours(cls, cameras: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
        unknown = set(cameras) - {"hand", "body"}
        if unknown or "hand" not in cameras:
            raise ValueError("cameras are hand, which must be there, and body")
        return cameras


@lru_cache(maxsize=1)
def default_spot() -> SpotOptions:
    """The shipped settings."""
    return read_model(config_dir() / "spot.yaml", SpotOptions)


def emulated(options: SpotOptions | None = None) -> SpotOptions:
    """The same settings with the emulator as target."""
    return (options or default_spot()).model_copy(update={"target": Target.EMULATOR})
