"""Practice: a planner that learns acts, and the expert says at each turn what it would have called.

Demonstrations show only what follows from right calls. In practice the learner meets what follows
from its own, and is told how to go on from there (as in DAgger). The expert follows the structured
goal and, where it would search, knows where things are; the learner sees neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.planning.expert.expert import DONE, WAIT, Expert
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.training.traces.demonstrator import holder_of
from planner.world.skill import SkillCall, SkillName
from planner.world.state import WorldState, chain_of
from planner.world.vocabulary import Relation

# Share of turns in which the expert's call is made, so that a run comes past what the learner
# cannot do yet.
HELP = 0.2
_SOUGHT = re.compile(
    r"[^:]+: look for (.*) (?:in|at|inside) \S+(?: \(as the instruction says\))?: .*"
)


class Practice:
    """A learner's run with the expert beside it."""

    def __init__(
        self,
        task: Task,
        learner: Planner,
        truth: Callable[[], WorldState | None],
        rng: np.random.Generator,
        help_share: float = HELP,
    ) -> None:
        """Reads the expert's goal from the task.

        Args:
            task: with a structured goal.
            learner: acts.
            truth: the world's state.
            rng: of whose call is made.
            help_share: of turns in which the expert's call is made.

        Raises:
            FileError: if the goal cannot be read.
        """
        self._learner, self._expert = learner, Expert(task)
        self._truth, self._rng, self._help = truth, rng, help_share
        self._explored: set[str] = set()
        self._at: dict[str, str] = {}
        # The learner speaks of numbers, the expert of names.
        self._names: dict[str, str] = {}
        self._shown: dict[str, SkillCall] = {}

    @property
    def name(self) -> str:
        """The learner's."""
        return self._learner.name

    def shown(self, agent: str) -> SkillCall | None:
        """What the expert would have called in the last decision; None = it does not say."""
        return self._shown.get(agent)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Passes the results on to both."""
        named = tuple(replace(ended, call=self._named(ended.call)) for ended in results)
        for ended in named:
            call = ended.call
            target = call.arguments[0] if call.arguments else None
            if ended.result.succeeded and target is not None:
                if call.name in (SkillName.EXPLORE_FURNITURE, SkillName.NAVIGATE, SkillName.OPEN):
                    self._at[ended.agent] = target
                if call.name == SkillName.EXPLORE_FURNITURE:
                    self._explored.add(target)
        self._learner.observe(results)
        self._expert.observe(named)

    async def decide(self, context: Context) -> Decision:
        """The learner's decision, with the expert's call for some agents."""
        # The learner carries one thing at a time, so its teacher does.
        self._names |= {
            f"Object.{node.entity_id}": node.name
            for node in context.belief.nodes.values()
            if node.entity_id is not None
        }
        running = {agent: self._named(call) for agent, call in context.running.items()}
        hands = {a: replace(able, hands=1) for a, able in context.capabilities.items()}
        seen = replace(context, capabilities=hands, running=running)
        told = await self._expert.decide(seen)
        story = told.thought.split("; ")
        self._shown = {
            agent: self._searched(agent, call, story, seen)
            for agent, call in told.calls.items()
            if call.name != SkillName.WAIT or context.running
        }
        if not told.failure and context.running:
            self._shown |= {a: WAIT for a in context.idle if a not in told.calls}
        decision = await self._learner.decide(context)
        if decision.failure:
            return decision
        calls = dict(decision.calls)
        for agent, call in self._shown.items():
            is_early = calls.get(agent) == DONE and call != DONE
            if not is_early and (call == DONE or self._rng.random() >= self._help):
                continue
            if call == WAIT:
                calls.pop(agent, None)
            else:
                calls[agent] = call
        return replace(decision, calls=calls)

    def _named(self, call: SkillCall) -> SkillCall:
        words = (
            self._names.get(word, word) if word is not None else None for word in call.arguments
        )
        return SkillCall(call.name, tuple(words))

    def _searched(
        self, agent: str, call: SkillCall, story: list[str], context: Context
    ) -> SkillCall:
        """Where the expert looks for something: what leads to it."""
        line = next((line for line in story if line.startswith(f"{agent}: look for ")), "")
        found = _SOUGHT.fullmatch(line)
        state = self._truth()
        if found is None or state is None:
            return call
        going = {word for running in context.running.values() for word in running.arguments}
        holders = {
            name: holder
            for name in found[1].split(" and ")
            if (holder := holder_of(state, name)) is not None and holder not in going
        }
        if not holders:
            return call
        name, holder = min(
            holders.items(), key=lambda item: (item[1] not in self._at.values(), item)
        )
        node = context.belief.nodes.get(holder)
        if holder not in self._explored:
            return SkillCall(SkillName.EXPLORE_FURNITURE, (holder,))
        inside = any(e.relation is Relation.WITHIN for e in chain_of(state.entities, name))
        if inside and node is not None and node.openness is not None and node.openness < 0.5:
            verb = SkillName.OPEN if self._at.get(agent) == holder else SkillName.NAVIGATE
            return SkillCall(verb, (holder,))
        return call
