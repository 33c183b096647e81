"""The team's side of a joint step, the same for all of the paper's centralised planners.

What is written for each agent becomes a call; when all calls have ended, what each agent tried and
whether that worked is in the next prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from planner.models.caller import Remark
from planner.planning.llamar.action_calls import (
    RefusedActionError,
    call_for,
    not_understood,
    outcome_words,
)
from planner.planning.llamar.actions import DONE, IDLE, Action, Repertoire, Verb, admissible
from planner.planning.llamar.known import KnownThing, known_things
from planner.planning.llamar.names import InstanceNames
from planner.planning.llamar.observations import in_the_open, note_met, note_seen, state_words
from planner.planning.llamar.rescue_view import SUPPLIES, carrying_words, rescue_observation
from planner.planning.llamar.setting import HOME, RESCUE, Setting
from planner.planning.llamar.sightlines import Sightline, no_sightline, sightline_of
from planner.planning.llamar.state import MAX_AGENTS, TEAM_NAMES, AgentView, Attempt
from planner.planning.llamar.translator import Translation, Translator
from planner.planning.planner import AgentResult, Context
from planner.world.belief import Belief, BeliefNode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.record import record
from planner.world.skill import SkillCall, SkillName, SkillResult

WAIT = SkillCall(SkillName.WAIT)
_DONE = SkillCall(SkillName.DONE)


@record
class ActionOptions:
    """What agents are offered.

    Attributes:
        exploration: whether the paper's exploration routine is an action.
        small_steps: whether agents also move, turn and look step by step.
        per_robot: whether an agent can only name what it has seen itself, not what the team has.
        pictures: whether prompts have a picture of each agent's camera.
        repertoire: what the agents' bodies are for.
    """

    exploration: bool = True
    small_steps: bool = True
    per_robot: bool = False
    pictures: bool = False
    repertoire: Repertoire = Repertoire.HOUSEHOLD


def setting_of(options: ActionOptions) -> Setting:
    """What the prompts say of the world."""
    return RESCUE if options.repertoire is Repertoire.RESCUE else HOME


@record
class Planned:
    """One agent's part of a joint step.

    Attributes:
        translation: how its text was read.
        call: what it is asked to do.
        refused: the failure of an action that is not a call, while the agent waits; None = none.
    """

    translation: Translation
    call: SkillCall
    refused: SkillResult | None = None


@record
class JointPlan:
    """A joint step, by agent; `messages` are what some say to all others."""

    parts: Mapping[str, Planned]
    messages: Mapping[str, str] = field(default_factory=dict)

    @property
    def calls(self) -> Mapping[str, SkillCall]:
        """By agent, for the session."""
        return {agent: part.call for agent, part in self.parts.items()}

    @property
    def is_done(self) -> bool:
        """Whether every agent claims that the whole task is complete."""
        return all(part.call == _DONE for part in self.parts.values())


@record
class _Offer:
    """What an agent may name, and all that it may do now."""

    known: Mapping[str, KnownThing]
    actions: tuple[Action, ...]


class Team:
    """The agents of one task: their names, what they have seen and what became of their actions."""

    def __init__(
        self, agents: Sequence[str], translator: Translator, options: ActionOptions | None = None
    ) -> None:
        """Names the agents.

        Raises:
            PlannerError: for more agents than there are names.
        """
        if not 1 <= len(agents) <= MAX_AGENTS:
            raise PlannerError(f"the team has {len(agents)} agents; it may have 1 to {MAX_AGENTS}")
        self.agents = tuple(agents)
        self.instances = InstanceNames()
        self.options = options or ActionOptions()
        self._translator = translator
        self._plan: JointPlan | None = None
        self._layout: House | None = None
        self._sightline: Sightline = no_sightline
        self._results: dict[str, SkillResult] = {}
        self._attempts: dict[str, Attempt] = {}
        # What rescuers carry, as their last results say.
        self._carried: dict[str, Mapping[str, str]] = {}
        self._failures: dict[str, list[str]] = {agent: [] for agent in self.agents}

    @property
    def names(self) -> tuple[str, ...]:
        """The agents' names in prompts."""
        return TEAM_NAMES[: len(self.agents)]

    @property
    def translator_id(self) -> str:
        """What reads the texts."""
        return self._translator.translator_id

    @property
    def has_acted(self) -> bool:
        """Whether a joint step was begun and not yet taken account of."""
        return self._plan is not None

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """What the agents did in the step before; empty before the first."""
        return tuple(self._attempts[agent] for agent in self.agents if agent in self._attempts)

    def views(self, context: Context) -> tuple[AgentView, ...]:
        """What each agent sees now, where it is, and what became of its last action."""
        belief = context.belief
        among = in_the_open(belief)
        seen = {agent: self._seen(agent, context, among) for agent in self.agents}
        note_met(self.instances, belief)
        return tuple(
            AgentView(
                agent=agent,
                name=name,
                observation=seen[agent],
                state=self._state(belief, agent),
                previous_action=self._attempts[agent].text if agent in self._attempts else None,
                previous_failures=tuple(self._failures[agent]),
                picture=context.picture(agent) if self.options.pictures else None,
            )
            for agent, name in zip(self.agents, self.names, strict=True)
        )

    def _seen(self, agent: str, context: Context, among: Sequence[BeliefNode]) -> tuple[str, ...]:
        if self._rescues:
            return rescue_observation(self.instances, context.belief, agent)
        if self._layout is not context.layout:
            self._layout, self._sightline = context.layout, sightline_of(context.layout)
        return note_seen(self.instances, context.belief, agent, self._sightline, among)

    @property
    def _rescues(self) -> bool:
        return self.options.repertoire is Repertoire.RESCUE

    def _state(self, belief: Belief, agent: str) -> str:
        words = state_words(belief, agent, self.instances)
        return carrying_words(words, self._carried.get(agent)) if self._rescues else words

    # A joint step

    def admissible(self, agent: str, context: Context) -> tuple[Action, ...]:
        """All actions of the moment."""
        return self._offers(context)[agent].actions

    def plan(
        self, written: Mapping[str, str], context: Context, subtasks: Sequence[str] = ()
    ) -> JointPlan:
        """Reads what was written for each agent, by its name in prompts.

        `subtasks` are the open ones, which exploration looks for. An agent that claims to be done,
        while another is not, waits; so does one whose action is refused.
        """
        offers = self._offers(context)
        parts = {
            agent: self._part(written[name], offers[agent], _held(agent, context), subtasks)
            for agent, name in zip(self.agents, self.names, strict=True)
        }
        plan = JointPlan(parts)
        if plan.is_done:
            return plan
        return JointPlan({agent: _waiting_if_done(part) for agent, part in parts.items()})

    def idle(self) -> JointPlan:
        """A step in which nobody does anything."""
        part = Planned(Translation(IDLE, str(IDLE), 1.0, understood=True), WAIT)
        return JointPlan(dict.fromkeys(self.agents, part))

    def begin(self, plan: JointPlan) -> None:
        """The plan's calls are started."""
        self._plan, self._results = plan, {}

    def take(self, results: Sequence[AgentResult]) -> None:
        """Receives the ends of calls."""
        self._results.update({ended.agent: ended.result for ended in results})
        self._carried.update(
            {e.agent: e.result.evidence for e in results if SUPPLIES & e.result.evidence.keys()}
        )

    def finish(self) -> tuple[Attempt, ...]:
        """Takes account of the step; an agent's failures are kept until its next success."""
        plan, self._plan = self._plan, None
        if plan is None or not plan.parts.keys() <= self._results.keys():
            raise PlannerError("a joint step was not begun, or has not ended for all agents")
        self._attempts = {agent: self._attempt(agent, part) for agent, part in plan.parts.items()}
        for agent, attempt in self._attempts.items():
            if attempt.succeeded:
                self._failures[agent].clear()
            else:
                self._failures[agent].append(attempt.text)
        return self.attempts

    # Details

    def _offers(self, context: Context) -> dict[str, _Offer]:
        """By agent; the same for all where what one has seen all know."""
        if not self.options.per_robot:
            return dict.fromkeys(self.agents, self._offer(self.instances.names, context))
        seen = self.instances.was_seen_by
        return {
            agent: self._offer([n for n in self.instances.names if seen(n, agent)], context)
            for agent in self.agents
        }

    def _offer(self, names: Sequence[str], context: Context) -> _Offer:
        known = known_things(names, self.instances, context.belief, context.layout)
        actions = admissible(
            tuple(known.values()),
            small_steps=self.options.small_steps,
            explores=self.options.exploration,
            repertoire=self.options.repertoire,
        )
        return _Offer(known, actions)

    def _part(
        self, text: str, offer: _Offer, held: Sequence[str], subtasks: Sequence[str]
    ) -> Planned:
        translation = self._translator.translate(text, offer.actions)
        if not translation.understood:
            return Planned(translation, WAIT, not_understood(text))
        try:
            return Planned(translation, self._call(translation.action, offer, held, subtasks))
        except RefusedActionError as error:
            return Planned(translation, WAIT, error.result)

    def _call(
        self, action: Action, offer: _Offer, held: Sequence[str], subtasks: Sequence[str]
    ) -> SkillCall:
        return call_for(action, offer.known, held, subtasks, self.options.repertoire)

    def _attempt(self, agent: str, part: Planned) -> Attempt:
        action, raw = part.translation.action, part.translation.raw
        if action.verb in (Verb.IDLE, Verb.DONE) and part.refused is None:
            # These never fail, whatever became of the call that waits.
            result = SkillResult.success()
        else:
            result = part.refused or self._results[agent]
        words = outcome_words(action, result) if part.translation.understood else result.text
        return Attempt(agent, raw, str(action), result.succeeded, self._spoken(words))

    def _spoken(self, text: str) -> str:
        """A result's sentence with the team's names in place of the memory's."""
        return self.instances.spoken(text)


def _held(agent: str, context: Context) -> list[str]:
    node = context.belief.nodes.get(agent)
    return [thing for thing in node.hands if thing is not None] if node is not None else []


def as_remark(plan: JointPlan, **more: str) -> Remark:
    """What the trace has of a joint step: calls, and how each text was read."""
    read = {
        f"{agent}.action": f"{part.translation.action} ({part.translation.similarity:.2f})"
        for agent, part in plan.parts.items()
    }
    return Remark(tuple(str(call) for call in plan.calls.values()), parameters={**read, **more})


def _waiting_if_done(part: Planned) -> Planned:
    return Planned(part.translation, WAIT) if part.translation.action == DONE else part
