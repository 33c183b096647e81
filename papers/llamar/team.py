"""The team's side of a joint step: actions offered, their skill calls and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from papers.llamar.actions import (
    DONE,
    IDLE,
    INTERACTIONS,
    RESCUES,
    Action,
    KnownThing,
    Repertoire,
    Verb,
    admissible,
    fits,
    fixed_actions,
    known_things,
)
from papers.llamar.prompt import (
    SUPPLIES,
    InstanceNames,
    carrying_words,
    note_met,
    note_seen,
    rescue_observation,
    state_words,
)
from papers.llamar.skills import SUBTASK_SEPARATOR
from papers.llamar.state import HOME, MAX_AGENTS, RESCUE, TEAM_NAMES, AgentView, Attempt, Setting
from papers.llamar.translator import Translation, Translator
from planner.models.caller import Remark
from planner.planning.planner import AgentResult, Context
from planner.planning.walking import Sightline, in_the_open, no_sightline, sightline_of
from planner.world.belief import Belief, BeliefNode
from planner.world.errors import PlannerError
from planner.world.geometry import record
from planner.world.house import House
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import Relation

# From actions to skill calls, and from their results to the paper's failures (LLAMAR-3.1).

# The skills that have the paper's preconditions: none walks to what it handles (LLAMAR-D21).
_SKILLS = {
    Verb.MOVE: "Move", Verb.ROTATE: "Rotate", Verb.LOOK_UP: "LookUp", Verb.LOOK_DOWN: "LookDown",
    Verb.NAVIGATE_TO: "NavigateTo", Verb.PICKUP: "PickupObject", Verb.PUT: "PutObject",
    Verb.OPEN: "OpenObject", Verb.CLOSE: "CloseObject", Verb.SLICE: "SliceObject",
    Verb.CLEAN: "CleanObject", Verb.TOGGLE_ON: "ToggleObjectOn",
    Verb.TOGGLE_OFF: "ToggleObjectOff", Verb.EXPLORE: "ExploreByView",
    Verb.IDLE: SkillName.WAIT.value, Verb.DONE: SkillName.DONE.value, Verb.GET_SAND: "TakeSand",
    Verb.GET_WATER: "TakeWater", Verb.USE_SAND: "UseSand", Verb.USE_WATER: "UseWater",
    Verb.STORE_SUPPLY: "StoreSupplies", Verb.CLEAR_INVENTORY: "DiscardSupplies",
    Verb.CARRY: "Carry", Verb.DROP_OFF: "DropOff",
}  # fmt: skip
_MAX_SUBTASK_CHARACTERS = 1500


class Failure(StrEnum):
    """Why an action failed, in the words that models read."""

    UNKNOWN_OBJECT = "unknown object"
    NO_PATH = "no path"
    NOT_INTERACTABLE = "reached but not interactable"
    TOO_FAR = "too far"
    NOT_VISIBLE = "not visible"
    HAND_FULL = "hand full"
    NOTHING_HELD = "nothing held"
    CLOSED = "receptacle closed"
    NO_SPACE = "no space"
    WRONG_STATE = "wrong state"
    BLOCKED = "blocked"
    COLLISION = "collision"
    NOT_APPLICABLE = "not applicable"
    NOT_UNDERSTOOD = "not understood"
    OUT_OF_TIME = "took too long"
    FAULT = "fault"


class RefusedActionError(PlannerError):
    """An action that is not a call: nobody moves, and the agent gets `result` as for a failure."""

    def __init__(self, result: SkillResult) -> None:
        self.result = result
        super().__init__(result.text)


def call_for(
    action: Action,
    known: Mapping[str, KnownThing],
    held: Sequence[str] = (),
    subtasks: Sequence[str] = (),
    repertoire: Repertoire = Repertoire.HOUSEHOLD,
) -> SkillCall:
    """The skill call of an action.

    Args:
        action: of one agent.
        known: what it may name: the team's things, or those that this robot has seen.
        held: the memory's names of what the agent holds.
        subtasks: the open ones, which exploration looks for.
        repertoire: of the team; rescuers explore at random.

    Raises:
        RefusedActionError: for an unknown thing, or one of another kind, and for putting down with
            an empty hand.
    """
    skill = _SKILLS[action.verb]
    if action.verb is Verb.EXPLORE and repertoire is Repertoire.RESCUE:
        return SkillCall("Scout")
    if action.verb is Verb.EXPLORE:
        return SkillCall(skill, (_subtask_text(subtasks),))
    if action.verb.values:
        return SkillCall(skill, (action.argument,))
    if not action.verb.takes_thing:
        return SkillCall(skill)
    thing = known.get(action.argument)
    if thing is None:
        raise _refused(SkillCode.UNKNOWN_ENTITY, f"{action.argument} was never seen.")
    if not fits(action.verb, thing):
        sentence = f"{action.verb} cannot be done to {action.argument}."
        raise _refused(SkillCode.NO_AFFORDANCE, sentence)
    if action.verb is not Verb.PUT:
        return SkillCall(skill, (thing.entity,))
    if not held:
        raise _refused(SkillCode.NOT_HOLDING, "The agent is not holding anything.")
    relation = action.relation or thing.puts or Relation.ON
    return SkillCall(skill, (held[0], relation.value, thing.entity, None, None))


def _refused(code: SkillCode, sentence: str) -> RefusedActionError:
    return RefusedActionError(SkillResult.failure(code, sentence))


def _subtask_text(subtasks: Sequence[str]) -> str:
    """All open subtasks in one argument; brackets and separators in them become spaces."""
    plain = (" ".join(text.translate(_PLAIN).split()) for text in subtasks)
    return SUBTASK_SEPARATOR.join(text for text in plain if text)[:_MAX_SUBTASK_CHARACTERS]


_PLAIN = str.maketrans(dict.fromkeys("[];\n\r", " "))


def failure_of(action: Action, result: SkillResult) -> Failure | None:
    """The paper's class of a failure; None for a success."""
    if result.succeeded:
        return None
    special = _BY_VERB.get((action.verb, result.code))
    return special or _BY_CODE.get(result.code, Failure.FAULT)


_BY_CODE = {
    SkillCode.UNKNOWN_ENTITY: Failure.UNKNOWN_OBJECT,
    SkillCode.NOT_GROUNDED: Failure.UNKNOWN_OBJECT,
    SkillCode.UNPARSABLE: Failure.NOT_UNDERSTOOD,
    SkillCode.UNREACHABLE: Failure.NO_PATH,
    SkillCode.TOO_FAR: Failure.TOO_FAR,
    SkillCode.NOT_VISIBLE: Failure.NOT_VISIBLE,
    SkillCode.ALREADY_HOLDING: Failure.HAND_FULL,
    SkillCode.NOT_HOLDING: Failure.NOTHING_HELD,
    SkillCode.FURNITURE_CLOSED: Failure.CLOSED,
    SkillCode.NO_PLACEMENT: Failure.NO_SPACE,
    SkillCode.NEED_UNMET: Failure.NOT_APPLICABLE,
    SkillCode.BLOCKED: Failure.BLOCKED,
    SkillCode.HELD_BY_OTHER: Failure.BLOCKED,
    SkillCode.NOT_ABLE: Failure.NOT_APPLICABLE,
    SkillCode.NO_AFFORDANCE: Failure.NOT_APPLICABLE,
    SkillCode.NOT_ARTICULATED: Failure.NOT_APPLICABLE,
    SkillCode.WRONG_ROLE: Failure.NOT_APPLICABLE,
    SkillCode.TIMED_OUT: Failure.OUT_OF_TIME,
}
_BY_VERB = {
    (Verb.NAVIGATE_TO, SkillCode.TOO_FAR): Failure.NOT_INTERACTABLE,
    (Verb.NAVIGATE_TO, SkillCode.BLOCKED): Failure.NOT_INTERACTABLE,
    (Verb.MOVE, SkillCode.BLOCKED): Failure.COLLISION,
    (Verb.MOVE, SkillCode.UNREACHABLE): Failure.COLLISION,
    (Verb.OPEN, SkillCode.NEED_UNMET): Failure.WRONG_STATE,
    (Verb.CLOSE, SkillCode.NEED_UNMET): Failure.WRONG_STATE,
}


def outcome_words(action: Action, result: SkillResult) -> str:
    """What was tried and whether it worked, as a model reads it in the next step."""
    failed = failure_of(action, result)
    if failed is None:
        return f"{action.words}: success"
    reason = result.text.rpartition(" - ")[2]
    return f"{action.words}: failed ({failed}). {reason}"


def not_understood(raw: str) -> SkillResult:
    """The result of a reply that no admissible action is near to; the agent idles."""
    shown = " ".join(raw.split())[:120]
    return SkillResult.failure(SkillCode.UNPARSABLE, f"not understood: {shown!r}.")


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


# What a robot is offered regardless of whether it would work: every action on everything.

_OF_THINGS = {
    Repertoire.HOUSEHOLD: (Verb.NAVIGATE_TO, *INTERACTIONS),
    Repertoire.RESCUE: (Verb.NAVIGATE_TO, *(verb for verb in RESCUES if verb.takes_thing)),
}


def every_action(names: Sequence[str], options: ActionOptions) -> tuple[Action, ...]:
    """All combinations of actions and things, then the actions on nothing (LLAMAR-2.9).

    Where Put puts things is said, since nothing else can be chosen.

    Args:
        names: of the things.
        options: what agents are offered.
    """
    on_things = [
        Action(verb, name, relation)
        for verb in _OF_THINGS[options.repertoire]
        for name in names
        for relation in ((Relation.ON, Relation.WITHIN) if verb is Verb.PUT else (None,))
    ]
    return (*on_things, *_fixed(options))


def verbs_of(options: ActionOptions) -> tuple[Verb, ...]:
    """What a robot can be told to do in a program: all but the claim that the task is complete."""
    others = dict.fromkeys(action.verb for action in _fixed(options))
    return (*_OF_THINGS[options.repertoire], *(verb for verb in others if verb is not Verb.DONE))


def _fixed(options: ActionOptions) -> tuple[Action, ...]:
    return fixed_actions(
        small_steps=options.small_steps, explores=options.exploration, repertoire=options.repertoire
    )
