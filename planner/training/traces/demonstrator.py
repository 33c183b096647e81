"""The expert as a demonstrator, and as the teacher of a planner that practises (EPM-2.7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planner.planning.expert.expert import DONE, WAIT, Expert
from planner.planning.expert.facts import read_goal
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.skill import SkillCall, SkillName
from planner.world.state import WorldState, chain_of
from planner.world.vocabulary import EntityKind, Relation


@dataclass(frozen=True, slots=True)
class ExplorationRule:
    """How much is explored without finding anything (EPM-2.7).

    Attributes:
        most: N, at most so many explorations that find nothing.
        alpha: of the weights 1 / (i + alpha).
        uniform: all numbers from 0 to N are equally likely, for comparison.
    """

    most: int = 3
    alpha: float = 2.0
    uniform: bool = False

    def shares(self) -> list[float]:
        """The probability of each number of explorations, 0 to N."""
        weights = [1.0 if self.uniform else 1 / (i + self.alpha) for i in range(self.most + 1)]
        return [weight / sum(weights) for weight in weights]


class Demonstrator:
    """The expert, with explorations of its own."""

    name = "expert"

    def __init__(
        self,
        task: Task,
        truth: Callable[[], WorldState | None],
        rng: np.random.Generator,
        rule: ExplorationRule | None = None,
    ) -> None:
        """Reads the goal from the task.

        Args:
            task: with a structured goal.
            truth: the world's state.
            rng: of everything random.
            rule: how much is explored without finding anything.

        Raises:
            FileError: if the goal cannot be read.
        """
        self._expert = Expert(task)
        self._names = read_goal(task.goal).names if task.goal is not None else ()
        self._truth, self._rng, self._rule = truth, rng, rule or ExplorationRule()
        self._queues: dict[str, list[SkillCall]] = {}
        self._explored: set[str] = set()
        self._tried: set[str] = set()
        self.explored = 0

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Passes the results on."""
        for ended in results:
            if not ended.result.succeeded:
                self._queues.pop(ended.agent, None)
        self._expert.observe(results)

    async def decide(self, context: Context) -> Decision:
        """The expert's decision with other searches."""
        decision = await self._expert.decide(context)
        story = decision.thought.split("; ")
        calls = {
            agent: self._shown(agent, call, context)
            if any(line.startswith(f"{agent}: look for ") for line in story)
            else call
            for agent, call in decision.calls.items()
        }
        for agent, call in calls.items():
            if call == decision.calls[agent]:
                self._queues.pop(agent, None)
        return replace(decision, calls=calls)

    def _shown(self, agent: str, call: SkillCall, context: Context) -> SkillCall:
        """The next call of a search."""
        queue = self._queues.get(agent)
        if not queue:
            queue = self._queues[agent] = self._search(context)
        if not queue:
            # The thing is on a floor, or was not seen where it is: the expert's own way.
            return call
        found = queue.pop(0)
        self.explored += found.name == SkillName.EXPLORE_FURNITURE
        return found

    def _search(self, context: Context) -> list[SkillCall]:
        state, belief = self._truth(), context.belief
        if state is None:
            return []
        going = {call for queue in self._queues.values() for call in queue}
        going |= set(context.running.values())
        missing = [
            (name, holder)
            for name in self._names
            if name not in belief.nodes and (holder := holder_of(state, name)) is not None
            if name not in self._tried
            and SkillCall(SkillName.EXPLORE_FURNITURE, (holder,)) not in going
        ]
        if not missing:
            return []
        name, holder = missing[int(self._rng.integers(len(missing)))]
        self._tried.add(name)
        likely = [p for p in _likely(belief, state.entities[name].class_name) if p != holder]
        likely = [piece for piece in likely if piece not in self._explored]
        shares = self._rule.shares()[: len(likely) + 1]
        count = int(self._rng.choice(len(shares), p=np.array(shares) / sum(shares)))
        chosen = [likely[i] for i in self._rng.permutation(len(likely))[:count]]
        self._explored.update([*chosen, holder])
        calls = [SkillCall(SkillName.EXPLORE_FURNITURE, (piece,)) for piece in (*chosen, holder)]
        node = belief.nodes.get(holder)
        inside = any(e.relation is Relation.WITHIN for e in chain_of(state.entities, name))
        if inside and node is not None and node.openness is not None and node.openness < 0.5:
            calls.append(SkillCall(SkillName.OPEN, (holder,)))
        return calls


def holder_of(state: WorldState, name: str) -> str | None:
    """The furniture that a thing is on or in, directly or not; None if on the floor or held."""
    if name not in state.entities or state.entities[name].kind is not EntityKind.OBJECT:
        return None
    for entity in chain_of(state.entities, name):
        if entity.kind is EntityKind.FURNITURE:
            return entity.name if not entity.name.startswith("floor_") else None
    return None


def _likely(belief: Belief, class_name: str) -> list[str]:
    """The furniture on or in which things of a class are usual, or all if none is."""
    cls = default_catalogue().objects.get(class_name)
    usual = {place.furniture for place in cls.places} if cls is not None else set()
    pieces = [node for node in belief.of_kind(EntityKind.FURNITURE) if node.entity_id is not None]
    found = [node.name for node in pieces if node.class_name in usual]
    return found or [node.name for node in pieces]


# Practice: a planner that learns acts, and the expert says at each turn what it would have called.
#
# Demonstrations show only what follows from right calls. In practice the learner meets what
# follows from its own, and is told how to go on from there (as in DAgger). The expert follows the
# structured goal and, where it would search, knows where things are; the learner sees neither.

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
        words = (self._names.get(w, w) if w is not None else None for w in call.arguments)
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
