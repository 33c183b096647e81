"""Waiting, with a timeout, until the memory's node has heard of skills that ended.

A result, the memory's report of it and pictures travel separately: a decision made in between
would be based on what was before, such as the direction that an agent faced before it turned.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from planner.planning.effects_shown import is_shown
from planner.planning.planner import AgentResult
from planner.world.belief import Belief
from planner.world.errors import PlannerError

# Wall seconds to wait for the memory; then planning continues with the current belief.
EFFECT_TIMEOUT_S = 2.0
# Wall seconds that a restarted memory has to publish the agents again.
AGENTS_TIMEOUT_S = 10.0
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6


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

    async def until_shown(self, ended: Mapping[str, AgentResult]) -> None:
        """Waits until the memory has heard of all calls and shows their effects, or the timeout.

        With its report of a call, the memory publishes all that it learned until then.
        """
        if not ended:
            return
        heard_s = max(_reported_s(ended.values()), default=-math.inf) - _EQUAL_S
        try:
            async with asyncio.timeout(EFFECT_TIMEOUT_S):
                while not self._shows(heard_s, ended):
                    await self._source.changed()
        except TimeoutError:
            late = ", ".join(f"{agent} ended {one.call}" for agent, one in ended.items())
            self._log(f"the memory does not show that {late}; going on with what it shows")

    def _shows(self, heard_s: float, ended: Mapping[str, AgentResult]) -> bool:
        belief = self._source.belief
        return belief.stamp_s >= heard_s and all(
            is_shown(belief, agent, one.call)
            for agent, one in ended.items()
            if one.result.succeeded
        )

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


def _reported_s(ended: Iterable[AgentResult]) -> list[float]:
    """When calls ended of which the memory gets a report.

    One that never began has no duration and no report; nor has one whose executor has died.
    """
    results = (one.result for one in ended)
    return [r.ended_s for r in results if r.ended_s is not None and r.duration_s is not None]
