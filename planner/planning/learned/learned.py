"""Planner `learned`: a small network that reads the instruction and the memory's changes.

It reads what `react` reads and never the structured goal. Of the calls that the call grammar allows
the one that the network ranks highest is made; nothing is repaired afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planner.planning.dialogues import limit_reached
from planner.planning.learned.choices import DONE, WAIT, ChoiceMaker, Choices
from planner.planning.learned.chooser import best, rank
from planner.planning.learned.network import Reading, read
from planner.planning.learned.progress import progress_of
from planner.planning.learned.situation import Situation
from planner.planning.learned.tokens import InstructionError, Token, read_tokens
from planner.planning.learned.weights import PlannerModel
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.prompts.epm import entity_line, numbered, offered
from planner.planning.repeats import Repeats
from planner.world.instruct import InstructionCode
from planner.world.skill import SkillCall
from planner.world.vocabulary import EntityKind

# EPM-1.1 ends after 50 calls; PARTNR's tasks have up to twelve propositions.
MAX_CALLS = 150
MAX_ENTITIES = 600
_DRAWS = 23


@dataclass(slots=True)
class _Agent:
    """What one agent knows, and what it was last told."""

    situation: Situation
    verbs: tuple[str, ...]
    sequence: int
    repeats: Repeats = field(default_factory=Repeats)
    waited: bool = False
    done: bool = False


class Learned:
    """The planner's state for one task of one team."""

    def __init__(
        self,
        task: Task,
        model: PlannerModel,
        max_calls: int = MAX_CALLS,
        *,
        temperature: float = 0.0,
    ) -> None:
        """Takes a trained model, and how many calls an agent has.

        `temperature` above 0 draws calls by their rank, seeded by the task, as improvement needs.
        """
        self._task, self._model, self._max_calls = task, model, max_calls
        self._temperature = temperature
        self._rng = np.random.default_rng([task.seed, _DRAWS])
        self._read: tuple[tuple[Token, ...], Reading] | None = None
        self._agents: dict[str, _Agent] = {}

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return "learned"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps how calls ended."""
        for ended in results:
            agent = self._agents.get(ended.agent)
            if agent is not None:
                agent.repeats.take(ended.call, ended.result)
                agent.situation.ended(str(ended.call), succeeded=ended.result.succeeded)

    async def decide(self, context: Context) -> Decision:
        """The highest-ranked call of each idle agent; waiting agents get none."""
        if self._read is None:
            try:
                tokens = read_tokens(self._task.instruction, self._model.vocabulary)
            except InstructionError as error:
                return Decision(failure=str(error), end=InstructionCode.BAD_REQUEST)
            self._read = tokens, read(self._model.weights, self._model.vocabulary, tokens)
        if len(context.belief.nodes) > MAX_ENTITIES:
            count = len(context.belief.nodes)
            words = f"the planner `learned` reads up to {MAX_ENTITIES} entities; {count} are known"
            return Decision(failure=words)
        calls: dict[str, SkillCall] = {}
        running = dict(context.running)
        for name in context.idle:
            agent = self._caught_up(name, context, running)
            if agent.situation.calls >= self._max_calls:
                return limit_reached(self._max_calls, {"planner_limit": name})
            call = self._chosen(agent, len(context.task.agents))
            agent.waited = call == WAIT
            if call != WAIT:
                calls[name] = running[name] = call
        thought = "; ".join(f"{name}: {call}" for name, call in calls.items())
        return Decision(calls, thought)

    def choices(self, name: str, context: Context) -> Choices:
        """What an agent could do now, for tests and figures.

        Raises:
            InstructionError: as `read_tokens`.
        """
        if self._read is None:
            tokens = read_tokens(self._task.instruction, self._model.vocabulary)
            self._read = tokens, read(self._model.weights, self._model.vocabulary, tokens)
        agent = self._caught_up(name, context, dict(context.running))
        return self._choices(agent, len(context.task.agents))

    def _choices(self, agent: _Agent, team: int) -> Choices:
        assert self._read is not None  # noqa: S101 - set by the callers
        tokens, reading = self._read
        progress = progress_of(tokens, reading, agent.situation)
        maker = ChoiceMaker(
            tokens, reading, agent.situation, progress, agent.verbs, team, waited=agent.waited
        )
        return maker.choices(agent.repeats.blocked)

    def _chosen(self, agent: _Agent, team: int) -> SkillCall:
        choices = self._choices(agent, team)
        ranks = rank(self._model.weights, choices.features)
        if self._temperature > 0:
            noise = self._rng.gumbel(size=len(ranks)).astype(np.float32)
            ranks = ranks / np.float32(self._temperature) + noise
            return choices.calls[int(ranks.argmax())]
        return choices.calls[best([call.name for call in choices.calls], ranks)]

    def _caught_up(self, name: str, context: Context, running: dict[str, SkillCall]) -> _Agent:
        agent, belief = self._agents.get(name), context.belief
        if agent is None:
            situation = Situation()
            agent = _Agent(situation, offered(context.capabilities.get(name)), belief.sequence)
            positions = {
                node.entity_id: (node.position_m[0], node.position_m[1])
                for node in belief.nodes.values()
                if node.kind is EntityKind.FURNITURE and node.entity_id is not None
            }
            situation.begin((entity_line(node) for node in numbered(belief)), positions)
            self._agents[name] = agent
        else:
            agent.situation.told(context.deltas(agent.sequence))
            agent.sequence = belief.sequence
        others = {a: str(call) for a, call in running.items() if a != name and call != DONE}
        agent.situation.see_others(others)
        return agent
