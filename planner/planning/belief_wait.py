"""Waiting, with a timeout, until the memory's node shows the effects of skills."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from planner.planning.effects_shown import is_shown
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall

# Wall seconds to wait for the effects of skills; then planning continues with the current belief.
EFFECT_TIMEOUT_S = 2.0
# Wall seconds that a restarted memory has to publish the agents again.
AGENTS_TIMEOUT_S = 10.0


class BeliefSource(Protocol):
    """A belief that is updated from outside."""

    @property
    def belief(self) -> Belief:
        """The newest belief."""

    async def changed(self) -> None:
        """Returns when the belief has changed."""


class BeliefWait:
    """The waits of one session."""

    def __init__(self, source: BeliefSource, log: Callable[[str], None]) -> None:
        self._source, self._log = source, log
        self._known: set[str] = set()

    async def until_shown(self, succeeded: Mapping[str, SkillCall]) -> None:
        """Waits until the belief shows the effects of calls, or the timeout."""
        if not succeeded:
            return
        try:
            async with asyncio.timeout(EFFECT_TIMEOUT_S):
                while not all(
                    is_shown(self._source.belief, agent, call) for agent, call in succeeded.items()
                ):
                    await self._source.changed()
        except TimeoutError:
            late = ", ".join(f"{agent} did {call}" for agent, call in succeeded.items())
            self._log(f"the memory does not show that {late}; going on with what it shows")

    async def until_known(self, agents: Sequence[str]) -> None:
        """Waits for known agents that a restarted memory lacks.

        Raises:
            PlannerError: after the timeout.
        """
        try:
            async with asyncio.timeout(AGENTS_TIMEOUT_S):
                while not self._known <= self._source.belief.nodes.keys():
                    await self._source.changed()
        except TimeoutError:
            lost = ", ".join(sorted(self._known - self._source.belief.nodes.keys()))
            raise PlannerError(f"the memory no longer has {lost}") from None
        self._known.update(a for a in agents if a in self._source.belief.nodes)
