"""What backends of one real robot share: its one agent, and what none of them has by itself."""

from __future__ import annotations

import math

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.state import WorldState
from sim_bridge.backend import Handle


class OneRobot:
    """The base of backends of one robot; `_agent` is its name once an episode is loaded."""

    def __init__(self) -> None:
        self._agent = ""

    @property
    def agents(self) -> tuple[str, ...]:
        """The one robot, once an episode is loaded."""
        return (self._agent,) if self._agent else ()

    def world_state(self) -> WorldState | None:
        """None: ground truth of a real world is unknown."""
        return None

    def dock(self, agent: str) -> Handle | None:
        """None: no dock is known here."""
        self._check_agent(agent)
        return None

    def undock(self, agent: str) -> Handle | None:
        """None: no dock is known here."""
        self._check_agent(agent)
        return None

    def _check_agent(self, agent: str) -> None:
        if not agent or agent != self._agent:
            raise PlannerError(f"there is no agent {agent!r}; there are {', '.join(self.agents)}")

    def _check_step(self, dt_s: float) -> None:
        if not (math.isfinite(dt_s) and dt_s > 0):
            raise PlannerError(f"expected a step of a finite time above 0, got {dt_s}")
        if not self._agent:
            raise PlannerError("no episode is loaded")

    @staticmethod
    def _check_team(episode: Episode) -> None:
        if len(episode.agents) != 1:
            many = len(episode.agents)
            raise PlannerError(f"{episode.title}: one robot is one agent, not {many}")
