"""A planner's calls of its language model, and the axes of the papers' experiments."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property

from planner.models.caller import Caller, OnCall, Remark, ignore_call
from planner.models.chat import DEADLINE_S, ChatModel, Message, Reference, Role, Speaker, plain
from planner.models.replies.turn import END_OF_TURN, Naming, Turn, TurnGrammar, TurnReply, allow
from planner.models.teacher import FAULT, NO_FAULT, PRIVILEGED
from planner.parts.option import Option
from planner.planning.planner import Task
from planner.skills.kind import SkillKind
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.skill import CallError, SkillCall, SkillCode, SkillName, SkillResult


def task_digest(task: Task) -> str:
    """Of what makes a task: its words, its goal and who does it."""
    whole = json.dumps(
        [task.instruction, task.agents, task.goal and dict(task.goal)], sort_keys=True
    )
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


# The axes of the papers' experiments (PARTNR-1.3, EPM-1.2), recorded with each result.
#
# The planner determines `control` and `memory_source`; the other axes describe its surroundings.


class Control(StrEnum):
    """Whose actions a planner decides: one agent's, all agents', or one planner for each agent."""

    SINGLE = "single"
    CENTRALIZED = "centralized"
    DECENTRALIZED = "decentralized"


class Observability(StrEnum):
    """What is known of objects: all from the start, what was seen, or what images gave."""

    FULL = "full"
    PARTIAL = "partial"
    CONCEPTGRAPH = "conceptgraph"


class Privilege(StrEnum):
    """Whether perception uses ground truth, or the planner even reads the goal."""

    NONE = "none"
    PERCEPTION = "perception"
    GOAL = "goal"


class MemorySource(StrEnum):
    """How a planner reads the memory.

    DELTAS: the list once, then only changes (EPM-2.5). SUMMARY: all known objects after every
    action. TOOLS: only what it queries by the Find... tools. STATE: rooms and past actions in each
    prompt, no dialogue. CAPTIONS: descriptions of the pictures that its cameras took. BELIEF: the
    records themselves, not as text.
    """

    DELTAS = "deltas"
    SUMMARY = "summary"
    TOOLS = "tools"
    STATE = "state"
    CAPTIONS = "captions"
    BELIEF = "belief"


@dataclass(frozen=True, slots=True)
class Axes:
    """One combination of the axes."""

    control: Control = Control.DECENTRALIZED
    observability: Observability = Observability.PARTIAL
    skills: SkillKind = SkillKind.ORACLE
    privilege: Privilege = Privilege.PERCEPTION
    memory_source: MemorySource = MemorySource.SUMMARY

    def as_parameters(self) -> Mapping[str, str]:
        """The axes as traces and results store them."""
        return {field.name: str(getattr(self, field.name).value) for field in fields(self)}


# Settings of the task planner's node, also where a planner is run over a bag.
CONTROL = Option(
    "control",
    Axes().control.value,
    "for a planner with a model: a dialogue for each agent, or one for all",
    choices=tuple(word.value for word in Control),
)
MEMORY_SOURCE = Option(
    "memory_source",
    Axes().memory_source.value,
    "how a planner reads the memory",
    choices=tuple(word.value for word in MemorySource),
)
SHOW_STATES = Option(
    "show_states", False, "whether summaries include the states of objects and furniture"
)


# The state-based prompt of PARTNR's fine-tuned planner (PARTNR-7.7).
#
# One text without dialogue or thoughts; a model is trained on what follows the special token.

TOKEN = "<|reserved_special_token_0|>"  # noqa: S105 - a word of the model's vocabulary
NEXT_ACTION = "Next Agent Action:"
ENVIRONMENT, ACTIONS = "Current Environment:", "Previous actions:"


@dataclass(frozen=True, slots=True)
class PastAction:
    """An action that ended: the agent's own with its result, or another agent's."""

    call: str
    result: str
    is_own: bool


def prompt(instruction: str, world: str, past: Iterable[PastAction]) -> str:
    """The prompt up to the special token, after which the model gives the next call."""
    lines = [f"Task: {instruction}", "", ENVIRONMENT, world, "", ACTIONS]
    for action in past:
        if action.is_own:
            lines += [f"Agent_Action: {action.call}", f"Action Result: {action.result}"]
        else:
            lines.append(f"Other_Agent_Action: {action.call}")
    return "\n".join([*lines, f"{NEXT_ACTION}{TOKEN}"])


def world_of(text: str) -> str:
    """The environment that a prompt describes."""
    return text.partition(f"\n{ENVIRONMENT}\n")[2].partition(f"\n\n{ACTIONS}\n")[0]


@dataclass(frozen=True, slots=True)
class DialogueOptions:
    """Limits and options of a planner's dialogues.

    Attributes:
        max_cycles: planning cycles of one dialogue; 0 = the paper's.
        max_tokens: of one reply; 0 = enough for the longest turn that the grammar allows.
        deadline_s: wall seconds for one reply.
        constrained: whether the model gets the grammar; replies are checked against it anyway.
        max_questions: questions to the person in one dialogue; 0 = none.
        show_states: whether summaries include the states of objects and furniture (PARTNR-D41).
    """

    max_cycles: int = 0
    max_tokens: int = 0
    deadline_s: float = DEADLINE_S
    constrained: bool = True
    max_questions: int = 0
    show_states: bool = False


class AsksInRoles:
    """The base of dataclasses with these fields, which ask a model in roles of a paper.

    Attributes:
        planner: its name, for the trace.
        model: of all roles; one that chooses by role may stand here.
        axes, options, on_call: as in `PlannerRequest`.
        faults: how often each fault was put into a privileged model's replies; None = the model
            is not privileged, as far as its replies so far say.
    """

    planner: str
    model: ChatModel
    axes: Axes
    options: DialogueOptions
    on_call: OnCall
    faults: Counter[str] | None

    def caller(self, role: Role, seed: int) -> Caller:
        """Asks in one role."""
        return Caller(
            self.planner,
            self.model,
            role,
            seed=seed,
            deadline_s=self.options.deadline_s,
            constrained=self.options.constrained,
            parameters=self.axes.as_parameters(),
            on_call=self.on_call,
        )

    def count_fault(self, notes: Mapping[str, str]) -> None:
        """Counts the fault of a reply, by its notes."""
        if notes.get(PRIVILEGED) is None:
            return
        if self.faults is None:
            # Only its replies say so: any model may stand behind another one, or behind a role.
            self.faults = Counter()
            self.axes = replace(self.axes, privilege=Privilege.GOAL)
        fault = notes.get(FAULT, NO_FAULT)
        if fault != NO_FAULT:
            self.faults[fault] += 1


@dataclass(frozen=True, slots=True)
class CheckedTurn:
    """A reply: the parsed turn, or why it was refused."""

    turn: Turn
    reply_text: str
    error: PlannerError | CallError | None = None


@dataclass(frozen=True)
class PlannerModel:
    """The language model of one planner."""

    planner: str
    task: Task
    model: ChatModel
    naming: Naming
    axes: Axes
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call

    @cached_property
    def _caller(self) -> Caller:
        return Caller(
            self.planner,
            self.model,
            Role.PLANNER,
            seed=self.task.seed,
            deadline_s=self.options.deadline_s,
            constrained=self.options.constrained,
            parameters={"exact": "false", **self.axes.as_parameters()},
            on_call=self.on_call,
        )

    async def ask(
        self,
        messages: tuple[Message, ...],
        grammar: TurnGrammar,
        belief: Belief,
        cycle: int,
        notes: Mapping[str, str] | None = None,
        check: Callable[[SkillCall], None] = allow,
        reference: Reference | None = None,
    ) -> CheckedTurn:
        """One checked reply of the model; refused replies are traced, too.

        Args:
            messages: the whole prompt.
            grammar: of the turn.
            belief: resolves the names in the reply.
            cycle: of this dialogue, starting at 1.
            notes: further parameters for the trace.
            check: raises `CallError` for what the grammar cannot exclude.
            reference: the right reply, for privileged models.

        Raises:
            ModelError: if there is no reply.
        """
        form = TurnReply(grammar, belief, self.naming, check)
        agents = tuple(grammar.call_rules)
        max_tokens = self.options.max_tokens or form.max_tokens
        reply = await self._caller.ask(
            plain(messages, TOKEN),
            form,
            agents=agents,
            cycle=cycle,
            max_tokens=max_tokens,
            parameters=notes,
            remark=lambda turn: _remark(turn, agents),
            reference=reference,
        )
        reply_text = reply.completion.text.partition(END_OF_TURN)[0].strip()[: max_tokens * 8]
        return CheckedTurn(reply.value or Turn(), reply_text, reply.error)


def _remark(turn: Turn, agents: tuple[str, ...]) -> Remark:
    parameters = {"exact": str(turn.exact).lower()}
    if turn.question:
        parameters["question"] = turn.question
    return Remark(
        tuple(str(turn.calls[a]) if a in turn.calls else "" for a in agents),
        "" if turn.ended else f"no {END_OF_TURN}",
        parameters,
    )


# Breaks an agent's repetition of the same call with the same result.
#
# The papers' traces show models that repeat a failing call until the episode ends (PARTNR-11.2);
# the papers only warn of it in the prompt. Here the call is removed from the grammar for a while,
# and the trace records it.

# Counted whether or not other calls came in between.
MAX_FAILURES = 3
# Consecutive; successful calls are often repeated for a reason, but not indefinitely.
MAX_SUCCESSES = 6
# Other calls that the agent must make before it may try again.
PAUSE_CALLS = 5
# These are repeated by nature.
_FREE = frozenset({SkillName.WAIT, SkillName.DONE})
_GOING = frozenset({SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE})


@dataclass(frozen=True, slots=True)
class Moment:
    """What an agent's calls and the memory tell of now, all in the words of calls.

    Where it has gone to last, what it has in its own hands, what is closed and what it has
    explored as it is now, whether it has done something, or can know of nothing to do, and which
    things had no room on or in which furniture.
    """

    at: str = ""
    held: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()
    explored: frozenset[str] = frozenset()
    may_end: bool = True
    cramped: frozenset[tuple[str, str]] = frozenset()


@dataclass
class Repeats:
    """One agent's calls; `broken` counts how often repetition was broken.

    `at` is what it has gone to last, `acted` whether it has done more than to go and look, and
    `cramped` has things with what they had no room on or in. Where it is `strict`, for models that
    repeat themselves much, a call is not made twice in a row, whether it failed or succeeded, and
    what was explored is explored no more until it is opened or closed.
    """

    broken: int = 0
    strict: bool = False
    _failed: Counter[tuple[SkillCall, SkillCode]] = field(default_factory=Counter)
    _last: SkillCall | None = None
    _in_a_row: int = 0
    _blocked: dict[SkillCall, int] = field(default_factory=dict)
    _explored: dict[SkillCall, None] = field(default_factory=dict)
    _held: dict[str, None] = field(default_factory=dict)
    at: str | None = None
    acted: bool = False
    cramped: frozenset[tuple[str, str]] = frozenset()

    @property
    def blocked(self) -> tuple[SkillCall, ...]:
        """The calls that are currently excluded."""
        # A placement is excluded by its place, where another thing may go next.
        last = self._last if self.strict and self._in_a_row else None
        again = [last] if last is not None and last.name != SkillName.PLACE else []
        return tuple(dict.fromkeys([*self._blocked, *self._explored, *again]))

    @property
    def held(self) -> tuple[str, ...]:
        """What the agent has picked up and not yet put down."""
        return tuple(self._held)

    @property
    def explored(self) -> frozenset[str]:
        """What was explored as it is now."""
        return frozenset(str(call.arguments[0]) for call in self._explored)

    def take(self, call: SkillCall, result: SkillResult) -> str:
        """Records a result; returns a sentence for the model if the call is now excluded."""
        self._blocked = {c: left - 1 for c, left in self._blocked.items() if left > 1}
        if call.name in _FREE:
            return ""
        self._in_a_row = self._in_a_row + 1 if call == self._last else 1
        self._last = call
        self._keep_in_mind(call, result)
        if result.succeeded:
            if self._in_a_row < MAX_SUCCESSES:
                return ""
            return self._block(call, "was done again and again")
        self._failed[call, result.code] += 1
        if self._failed[call, result.code] < MAX_FAILURES:
            return ""
        del self._failed[call, result.code]
        return self._block(call, "failed in the same way again and again")

    def _keep_in_mind(self, call: SkillCall, result: SkillResult) -> None:
        """What the agent holds, and what it has explored as it is now."""
        thing = call.arguments[0] if call.arguments else None
        if thing is None:
            return
        if call.name == SkillName.PICK and result.succeeded:
            self._held[thing] = None
        elif call.name == SkillName.PLACE and (
            result.succeeded or result.code is SkillCode.NOT_HOLDING
        ):
            self._held.pop(thing, None)
        if call.name == SkillName.PLACE and result.code is SkillCode.NO_PLACEMENT:
            self.cramped |= {(thing, str(call.arguments[2]))}
        if result.succeeded and call.name in _GOING:
            self.at = thing
        self.acted |= result.succeeded and call.name not in _GOING
        if self.strict and result.succeeded:
            if call.name == SkillName.EXPLORE_FURNITURE:
                self._explored[call] = None
            elif call.name in (SkillName.OPEN, SkillName.CLOSE):
                self._explored.pop(SkillCall(SkillName.EXPLORE_FURNITURE, (thing,)), None)

    def _block(self, call: SkillCall, how: str) -> str:
        self._blocked[call] = PAUSE_CALLS
        self._in_a_row = 0
        self.broken += 1
        return f"{call} {how}; it is not possible now. Do something else first."


# What a dialogue leaves out when its model's context is full (PARTNR-D52).


def shorten(messages: list[Message], shortened: Callable[[str], str]) -> int:
    """Shortens the older half of the user turns that can be shortened; never the newest one.

    Args:
        messages: the dialogue, changed in place.
        shortened: a turn without its optional parts; the turn itself if it has none.

    Returns:
        The number of shortened turns; 0 = nothing is left to shorten.
    """
    places = [
        (place, short)
        for place, message in enumerate(messages[:-1])
        if message.speaker is Speaker.USER and (short := shortened(message.text)) != message.text
    ]
    oldest = places[: (len(places) + 1) // 2]
    for place, short in oldest:
        messages[place] = Message(Speaker.USER, short)
    return len(oldest)
