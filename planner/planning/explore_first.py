"""Lets a robot explore the house before a planner begins, for any planner (HELPER-2.8.6)."""

from __future__ import annotations

from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.world.skill import SkillCall

EXPLORE = SkillCall("ExploreHouse", ())


class ExploreFirst:
    """A `planner.planning.planner.Planner` whose task's first agent explores the house first.

    The others wait. If the house cannot be explored, the task ends with the reason: without a map
    of its own the robot has nothing to plan its ways on.
    """

    def __init__(self, planner: Planner, task: Task) -> None:
        """The planner begins after that."""
        self._planner, self._explorer = planner, task.agents[0]
        self._is_explored = False
        self._failure = ""

    @property
    def name(self) -> str:
        """The planner's."""
        return self._planner.name

    async def decide(self, context: Context) -> Decision:
        """Exploring until that has ended, then the planner's decisions."""
        if self._failure:
            return Decision(failure=f"The house could not be explored: {self._failure}")
        if self._is_explored:
            return await self._planner.decide(context)
        if self._explorer not in context.idle:
            return Decision()
        thought = "There is no map of the house yet."
        return Decision({self._explorer: EXPLORE}, thought=thought)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Passes on the results of the planner's own calls."""
        if self._is_explored:
            self._planner.observe(results)
            return
        for each in results:
            self._is_explored |= each.result.succeeded
            self._failure = "" if each.result.succeeded else each.result.text
