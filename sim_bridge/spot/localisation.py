"""The odometry frame in the map: by GraphNav, or by the markers of the layout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from sim_bridge.spot.convert import pose_in
from sim_bridge.spot.graph_link import GraphLink
from sim_bridge.spot.layout import Fiducial
from sim_bridge.spot.link import SpotLink

LOCALISE_S = 2.0


class Localisation:
    """Localises the robot periodically; odometry is used in between."""

    def __init__(
        self, link: SpotLink, fiducials: Sequence[Fiducial], clock_s: Callable[[], float]
    ) -> None:
        self._link, self._clock_s = link, clock_s
        self._known = {fiducial.tag: fiducial for fiducial in fiducials}
        self.graph: GraphLink | None = None
        self.odom_in_map = Pose((0.0, 0.0, 0.0))
        self.done_s = -math.inf

    @property
    def due(self) -> bool:
        """Whether it is time for an update."""
        return self._clock_s() - self.done_s >= LOCALISE_S

    def update(self) -> None:
        """Updates the odometry frame's pose.

        Raises:
            PlannerError: if it was never found, with what to do.
        """
        found = None if self.graph is None else self.graph.odom_in_map()
        if found is None:
            found = self._by_markers()
        if found is not None:
            self.odom_in_map, self.done_s = found.on_ground(), self._clock_s()
        elif math.isinf(self.done_s):
            tags = ", ".join(map(str, sorted(self._known))) or "none is configured"
            raise PlannerError(
                f"spot: it sees none of the markers of the layout ({tags}); put it where it sees "
                "one, or add the markers that hang there to the layout (fiducials)"
            )

    def _by_markers(self) -> Pose | None:
        for marker in self._link.markers():
            tag = marker.apriltag_properties
            if tag.tag_id in self._known:
                frame = tag.frame_name_fiducial_filtered or tag.frame_name_fiducial
                in_odom = pose_in(marker.transforms_snapshot, "odom", frame)
                return self._known[tag.tag_id].in_map.compose(in_odom.inverse())
        return None
