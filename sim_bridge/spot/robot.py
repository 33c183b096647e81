"""The robot's interface for routines."""

from __future__ import annotations

from typing import Protocol

from planner.world.agents import Body
from planner.world.geometry import Pose
from sim_bridge.map_model import MapModel
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.body import BodyState
from sim_bridge.spot.graph_link import GraphLink
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.options import SpotOptions
from sim_bridge.spot.picture import Picture


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
