"""The settings of the backend `external` (config/external.yaml)."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from planner.world.files import FileModel, read_model
from planner.world.geometry import Pose
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind
from sim_bridge.external.readings import FrameNames

Seconds = Annotated[float, Field(gt=0, le=600)]


class ExternalOptions(FileModel):
    """All settings of the backend."""

    version: Literal[1] = 1
    namespace: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_/]*$")] = "spot"
    agent_kind: AgentKind = AgentKind.ROBOT
    cameras: tuple[Literal["hand"], ...] = ("hand",)
    map_frame: str = ""
    odom_in_map: tuple[float, float, float] = (0.0, 0.0, 0.0)
    transport: Literal["raw", "compressed"] = "raw"
    silent_after_s: Annotated[float, Field(ge=0.2, le=60)] = 0.7
    picture_age_s: Annotated[float, Field(gt=0, le=4)] = 2.0
    triggers: bool = True
    wait_s: Seconds = 10.0
    trigger_s: Seconds = 20.0

    @property
    def frames(self) -> FrameNames:
        """The robot's frames, which have its name as prefix."""
        return FrameNames(
            map=self.map_frame,
            body=f"{self.namespace}/body",
            hand=f"{self.namespace}/hand",
            odometry_in_map=Pose.planar(*self.odom_in_map),
        )


@lru_cache(maxsize=1)
def default_external() -> ExternalOptions:
    """The shipped settings."""
    return read_model(config_dir() / "external.yaml", ExternalOptions)
