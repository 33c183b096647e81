"""The expert as a demonstrator: its searches are those of people who know the house (EPM-2.7).

Where the expert looks for something, the demonstrator first explores some likely furniture where
it is not, then the piece that holds the thing. It knows the truth; planners that learn from it do
not, and learn where to look first and how to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planner.planning.expert.expert import Expert
from planner.planning.goal import read_goal
from planner.planning.planner import AgentResult, Context, Decision, Task
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

    @property
    def name(self) -> str:
        """That of the expert."""
        return "expert"

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
