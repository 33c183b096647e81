"""The odometry frame in the map: by GraphNav, or by the markers of the layout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from bosdyn.api import world_object_pb2

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from sim_bridge.spot.convert import pose_in
from sim_bridge.spot.graph_link import GraphLink
from sim_bridge.spot.layout import Fiducial
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.marker_fit import MOST_OFF_M, Pair, align, contradiction, name_markers

LOCALISE_S = 2.0
# The robot lists a marker for 15 s after it was last detected.
MAX_AGE_S = 20.0
# Uncertainty of a detection: close up and new, more per metre from the robot, more per second of
# age, in which odometry drifts; and of the direction that the page faces.
_NEAR_M, _PER_M, _PER_S, _FACING_RAD = 0.03, 0.02, 0.01, 0.05
# Drift of odometry that a jump between markers is allowed per metre walked.
MOST_DRIFT = 0.1
_STATUS = world_object_pb2.AprilTagProperties
# Before there was a status, poses came without one.
_GOOD = (_STATUS.STATUS_OK, _STATUS.STATUS_UNKNOWN)


class Localisation:
    """Localises the robot periodically; odometry is used in between."""

    def __init__(
        self, link: SpotLink, fiducials: Sequence[Fiducial], clock_s: Callable[[], float]
    ) -> None:
        self._link, self._clock_s = link, clock_s
        self._known = {fiducial.tag: fiducial for fiducial in fiducials}
        self.graph: GraphLink | None = None
        self.odom_in_map = Pose((0.0, 0.0, 0.0))
        # Why the last update was refused, or empty.
        self.trouble = ""
        self._done_s = self._tried_s = -math.inf
        self._odometry: Pose | None = None
        # The markers by which it was last localised, where they put it, and the way since.
        self._last: tuple[list[Pair], Pose] | None = None
        self._walked_m = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time for an update."""
        return self._clock_s() - self._tried_s >= LOCALISE_S

    def forget_the_way(self) -> None:
        """The robot may have been carried elsewhere: its next markers are taken as they are."""
        self._last = None

    def update(self, odometry: Pose) -> None:
        """Updates the odometry frame's pose.

        Args:
            odometry: `base_link`, on the ground, in the odometry frame. Its height is that of the
                map's floor, as odometry drifts in height too.

        Raises:
            PlannerError: if it was never found, with what to do; or if the markers of the layout
                contradict each other, and by how much. The pose stays as it was then.
        """
        self._tried_s = self._clock_s()
        if self._odometry is not None:
            self._walked_m += math.dist(self._odometry.position_m, odometry.position_m)
        self._odometry = odometry
        found = None if self.graph is None else self.graph.odom_in_map()
        if found is None:
            found = self._by_markers()
        if found is not None:
            x, y, _ = found.position_m
            self.odom_in_map = Pose.planar(x, y, found.yaw_rad, -odometry.position_m[2])
            self._done_s, self.trouble = self._tried_s, ""
        elif math.isinf(self._done_s):
            tags = ", ".join(map(str, sorted(self._known))) or "none is configured"
            raise PlannerError(
                f"spot: it sees none of the markers of the layout ({tags}); put it where it sees "
                "one, or add the markers that hang there to the layout (fiducials)"
            )

    def _by_markers(self) -> Pose | None:
        """By all markers that are seen; None if they determine no pose.

        Raises:
            PlannerError: if they contradict each other, or those seen before.
        """
        pairs = self._seen()
        found = align(pairs)
        if found is None:
            return None
        self.trouble = contradiction(pairs) or self._jump(pairs, found)
        if self.trouble:
            raise PlannerError(f"spot: {self.trouble}")
        self._last, self._walked_m = (pairs, found), 0.0
        return found

    def _jump(self, pairs: list[Pair], found: Pose) -> str:
        """How markers contradict others that were seen before them; empty if they do not."""
        if self._last is None or self._odometry is None:
            return ""
        before, where = self._last
        if {pair.tag for pair in pairs} & {pair.tag for pair in before}:
            return ""
        here = self._odometry.position_m
        gap_m = math.dist(found.apply(here)[:2], where.apply(here)[:2])
        allowed_m = MOST_OFF_M + MOST_DRIFT * self._walked_m
        if gap_m <= allowed_m:
            return ""
        return (
            f"the layout's {name_markers(pairs)} and, {self._walked_m:.1f} m before, "
            f"{name_markers(before)} contradict each other by {gap_m:.2f} m; at most "
            f"{allowed_m:.2f} m is allowed; measure them again (fiducials), or if the robot was "
            "carried, claim it again"
        )

    def _seen(self) -> list[Pair]:
        """The layout's markers as the robot detects them, without unreliable and old ones."""
        pairs = []
        for marker, age_s in self._link.markers():
            known = self._known.get(marker.apriltag_properties.tag_id)
            frame, facing = _frame_of(marker)
            if known is None or not frame or age_s > MAX_AGE_S:
                continue
            seen = pose_in(marker.transforms_snapshot, "odom", frame)
            far_m = math.hypot(*pose_in(marker.transforms_snapshot, "body", frame).position_m)
            sigma_m = _NEAR_M + _PER_M * far_m + _PER_S * max(0.0, age_s)
            pairs.append(
                Pair(known.tag, seen, known.in_map, sigma_m, _FACING_RAD if facing else math.inf)
            )
        return pairs


def _frame_of(marker: Any) -> tuple[str, bool]:
    """The frame of the better pose of a marker, and whether its direction is known; or empty.

    The filtered pose is steadier. One of high error is not used, one of ambiguous orientation only
    for its position.
    """
    tag = marker.apriltag_properties
    poses = [
        (tag.frame_name_fiducial_filtered, tag.fiducial_filtered_pose_status),
        (tag.frame_name_fiducial, tag.fiducial_pose_status),
    ]
    edges = marker.transforms_snapshot.child_to_parent_edge_map
    there = [(frame, status) for frame, status in poses if frame and frame in edges]
    for frame, status in there:
        if status in _GOOD:
            return frame, True
    for frame, status in there:
        if status == _STATUS.STATUS_AMBIGUOUS:
            return frame, False
    return "", False
