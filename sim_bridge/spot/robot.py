"""The robot's interface for routines, and the types of routines."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from planner.world.agents import Body
from planner.world.geometry import Pose, Vec3
from planner.world.primitive import PrimitiveCode, PrimitiveResult
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.body import BodyState
from sim_bridge.spot.graph_link import GraphLink
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.map_model import MapModel
from sim_bridge.spot.options import SpotOptions
from sim_bridge.spot.picture import Picture

# Phase and progress.
Stage = tuple[str, float]
Routine = Generator[Stage, None, PrimitiveResult]
Motion = Generator[Stage, None, None]
Check = Generator[Stage, None, bool]


class Robot(Protocol):
    """The backend as seen by routines."""

    @property
    def link(self) -> SpotLink:
        """The connection."""

    @property
    def options(self) -> SpotOptions:
        """The backend's settings."""

    @property
    def safety(self) -> SafetyOptions:
        """The parameters of the safety rules."""

    @property
    def map(self) -> MapModel:
        """The layout."""

    @property
    def graph(self) -> GraphLink | None:
        """The recorded map, if configured."""

    @property
    def physique(self) -> Body:
        """The dimensions of its body."""

    @property
    def state(self) -> BodyState:
        """Its last known state."""

    @property
    def base(self) -> Pose:
        """`base_link` in the map."""

    def clock_s(self) -> float:
        """The clock of commands' end times."""

    def to_odom(self, pose: Pose) -> Pose:
        """A pose of the map in the odometry frame."""

    def look(self) -> Picture:
        """Takes a picture with the hand camera.

        Raises:
            PlannerError: if there is none.
        """


class Ended(Exception):  # noqa: N818 - an end, not always an error
    """Ends a routine with a result."""

    def __init__(self, code: PrimitiveCode, text: str, **evidence: str) -> None:
        super().__init__(text)
        self.result = PrimitiveResult(code, text, evidence)


def success(text: str, position_m: Vec3 | None = None, /, **evidence: str) -> PrimitiveResult:
    """The result of a successful routine."""
    return PrimitiveResult(PrimitiveCode.SUCCESS, text, evidence, position_m)
