"""Refuses a task whose agents lack the primitives that a planner's record requires."""

from __future__ import annotations

from collections.abc import Collection

from planner.planning.planner import AgentResult, Context, Decision, Planner, Task


def lacking(planner: str, required: Collection[str], agent: str, able: Collection[str]) -> str:
    """Why a planner cannot be used with an agent, as a sentence; "" = it can.

    Args:
        planner: its name.
        required: primitives.
        agent: its name.
        able: the agent's primitives.
    """
    missing = ", ".join(sorted(set(required) - set(able)))
    return f"{planner} needs agents that can {missing}; {agent} cannot" if missing else ""


class CheckedPlanner:
    """A `planner.planning.planner.Planner` that gives up if an agent cannot do enough."""

    def __init__(self, planner: Planner, required: Collection[str], task: Task) -> None:
        """Checks the task's agents at each decision, by their bodies and the world."""
        self._planner, self._required, self._task = planner, required, task

    @property
    def name(self) -> str:
        """The planner's."""
        return self._planner.name

    async def decide(self, context: Context) -> Decision:
        """The planner's decision; ends the task if an agent lacks a primitive."""
        for agent in self._task.agents:
            able = context.capabilities.get(agent)
            primitives = able.primitives if able is not None else frozenset()
            if why := lacking(self.name, self._required, agent, primitives):
                return Decision(failure=f"{why}.")
        return await self._planner.decide(context)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Passes the results on."""
        self._planner.observe(results)
