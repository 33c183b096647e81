"""The paths of agents on the map, through the frame tree: odometry has a frame of its own."""

from __future__ import annotations

import math

from planner.houses.ways import Point
from planner.world.frame_links import FrameLinks

# Closer points add nothing visible to a picture.
MIN_STEP_M = 0.1


class AgentPaths:
    """The positions of agents over time, in `map`.

    Attributes:
        points: positions by agent, metres, oldest first.
    """

    def __init__(self, frames: FrameLinks) -> None:
        """Starts without agents; `frames` receives /tf and /tf_static."""
        self._frames = frames
        self.points: dict[str, list[Point]] = {}

    def follow(self, agent: str) -> None:
        """Starts following an agent."""
        self.points.setdefault(agent, [])

    def sample(self) -> None:
        """Records where the agents are now, except those whose pose on the map is unknown."""
        if self._frames.went_back:
            self._frames.forget()
        stamp_s = self._frames.newest_s
        if stamp_s is None:
            return
        for agent, path in self.points.items():
            pose = self._frames.pose(f"{agent}/base_link", stamp_s)
            if pose is None:
                continue
            here = (pose.position_m[0], pose.position_m[1])
            if not path or math.dist(here, path[-1]) > MIN_STEP_M:
                path.append(here)

    def clear(self) -> None:
        """Drops all paths: the world was reset."""
        for path in self.points.values():
            path.clear()
