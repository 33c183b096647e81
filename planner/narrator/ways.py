"""The ways of agents on the map, through the frame tree: odometry has a frame of its own."""

from __future__ import annotations

import math

from planner.narrator.picture import Point
from planner.world.frame_links import FrameLinks

# Closer points add nothing to a picture.
MOVED_M = 0.1


class Ways:
    """Where agents have been, in `map`.

    Attributes:
        points: of each agent, metres, oldest first.
    """

    def __init__(self, frames: FrameLinks) -> None:
        """Follows nobody yet; `frames` hears /tf and /tf_static."""
        self._frames = frames
        self.points: dict[str, list[Point]] = {}

    def follow(self, agent: str) -> None:
        """Begins with an agent."""
        self.points.setdefault(agent, [])

    def look(self) -> None:
        """Notes where the agents are now; one whose place on the map is not known is left out."""
        if self._frames.went_back:
            self._frames.forget()
        stamp_s = self._frames.newest_s
        if stamp_s is None:
            return
        for agent, way in self.points.items():
            pose = self._frames.pose(f"{agent}/base_link", stamp_s)
            if pose is None:
                continue
            here = (pose.position_m[0], pose.position_m[1])
            if not way or math.dist(here, way[-1]) > MOVED_M:
                way.append(here)

    def clear(self) -> None:
        """Forgets the ways: what was done is undone."""
        for way in self.points.values():
            way.clear()
