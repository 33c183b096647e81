"""Model dialogues, one for each agent, and planner `react`, which is EPM's (EPM-2.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from planner.models.caller import OnCall, ignore_call
from planner.models.chat import ChatModel, ContextFullError, Message, Speaker
from planner.models.replies.turn import (
    DONE,
    END_OF_TURN,
    Ability,
    Naming,
    TurnForm,
    TurnGrammar,
    check_reference,
    read_turn,
    turn_grammar,
    word_of,
    words_of,
)
from planner.planning.numbered_dialogue import (
    SYSTEM,
    RightCalls,
    Wording,
    entity_line,
    numbered,
    offered,
    opening,
    result_turn,
    vain_calls,
    whole_list_turn,
    without_list,
)
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_model import (
    Axes,
    CheckedTurn,
    DialogueOptions,
    MemorySource,
    Moment,
    PlannerModel,
    Repeats,
    shorten,
)
from planner.planning.short_dialogue import SHORT_SYSTEM, ShortDialogue
from planner.world.primitive import Capabilities
from planner.world.skill import FAILURE_PREFIX, SkillCall
from planner.world.topics import InstructionCode
from planner.world.vocabulary import EntityKind

NO_ANSWER = "No answer came. Go on as seems best."


class Script(Protocol):
    """How one paper's planner talks to its model."""

    name: str
    form: TurnForm
    naming: Naming
    axes: Axes
    max_cycles: int
    strict: bool

    def verbs(self, able: Capabilities | None) -> tuple[str, ...]:
        """The actions that an agent's dialogue offers."""

    def opening(self, agent: str, context: Context, ability: Ability) -> tuple[Message, ...]:
        """The prompt of the first turn."""

    def result(self, agent: str, result: str, context: Context, since: int) -> str:
        """The user turn after an action: its result, and changes since update `since`."""

    def serving(self, agent: str) -> ShortDialogue | None:
        """What knows which calls of an agent serve the task; None = all may."""

    def shortened(self, turn: str) -> str:
        """A user turn without its optional parts; the turn itself if it has none."""

    def check(self, call: SkillCall, context: Context) -> None:
        """Refuses calls that the grammar cannot exclude.

        Raises:
            CallError: with the reason.
        """


@dataclass
class Dialogue:
    """One agent's dialogue. `sequence` is the last memory update that the model has seen."""

    agent: str
    messages: list[Message] = field(default_factory=list)
    sequence: int = 0
    cycles: int = 0
    result: str | None = None
    answers: int = 0
    questions: int = 0
    repeats: Repeats = field(default_factory=Repeats)
    shortened: int = 0
    forced: int = 0
    exhausted: bool = False
    done: bool = False


def limit_reached(max_cycles: int, evidence: Mapping[str, str]) -> Decision:
    """The end of a task whose planning cycles are used up."""
    words = f"planner limit: {max_cycles} planning cycles without Done[]"
    return Decision(failure=words, end=InstructionCode.CALL_LIMIT, evidence=evidence)


class AgentDialogues:
    """One task of one team, with a dialogue for each agent."""

    def __init__(
        self,
        script: Script,
        task: Task,
        model: ChatModel,
        options: DialogueOptions | None = None,
        on_call: OnCall = ignore_call,
    ) -> None:
        self._script, self._task = script, task
        self._options = options or DialogueOptions()
        self._max_cycles = self._options.max_cycles or script.max_cycles
        self._model = PlannerModel(
            script.name, task, model, script.naming, script.axes, self._options, on_call
        )
        self._dialogues: dict[str, Dialogue] = {}
        self._right = RightCalls(task)

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return self._script.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps the results for the next turn."""
        self._right.observe(results)
        for ended in results:
            dialogue = self._dialogues.get(ended.agent)
            if dialogue is not None:
                notice = dialogue.repeats.take(ended.call, ended.result)
                dialogue.result = f"{ended.result.text} {notice}".strip()

    async def decide(self, context: Context) -> Decision:
        """Asks the model for every idle agent.

        Raises:
            ModelError: if the model gives no usable answer in time.
        """
        for agent in context.idle:
            if agent not in self._dialogues:
                self._dialogues[agent] = self._begin(agent, context)
        asked = [self._dialogues[agent] for agent in context.idle]
        replies = await asyncio.gather(*(self._next(dialogue, context) for dialogue in asked))
        calls, questions = {}, []
        for dialogue, reply in zip(asked, replies, strict=True):
            if isinstance(reply, str):
                questions.append(reply)
            else:
                calls[dialogue.agent] = reply
                dialogue.done = reply == DONE
        return self._decision(calls, " ".join(questions), context)

    def _decision(
        self, calls: Mapping[str, SkillCall], question: str, context: Context
    ) -> Decision:
        over = [self._dialogues.get(agent) for agent in context.task.agents]
        exhausted = any(d is not None and d.exhausted for d in over)
        evidence = self._evidence()
        if exhausted and all(d is not None and d.done for d in over):
            return limit_reached(self._max_cycles, evidence)
        thought = "; ".join(f"{agent}: {call}" for agent, call in calls.items())
        return Decision(calls, thought, question, evidence=evidence)

    def _evidence(self) -> Mapping[str, str]:
        all_of = self._dialogues.values()
        return {
            **self._script.axes.as_parameters(),
            "cycles_by_agent": ", ".join(f"{d.agent} {d.cycles}" for d in all_of),
            "planner_limit": ", ".join(d.agent for d in all_of if d.exhausted),
            "repeats_broken": str(sum(d.repeats.broken for d in all_of)),
            "summaries_dropped": str(sum(d.shortened for d in all_of)),
            "questions": str(sum(d.questions for d in all_of)),
            "without_choice": str(sum(d.forced for d in all_of)),
        }

    def _ability(self, dialogue: Dialogue, context: Context) -> Ability:
        able = context.capabilities.get(dialogue.agent)
        verbs = self._script.verbs(able)
        may_ask = dialogue.questions < self._options.max_questions
        if not self._script.strict:
            return Ability(verbs, dialogue.repeats.blocked, may_ask)
        repeats, naming = dialogue.repeats, self._script.naming
        nodes = context.belief.of_kind(EntityKind.FURNITURE)
        doors = {word: node.openness for node in nodes if (word := word_of(node, naming))}
        shut = frozenset(word for word, how in doors.items() if how is not None and how < 0.5)
        may_end = repeats.acted or len(context.task.agents) > 1 or doors.keys() <= repeats.explored
        held = frozenset(repeats.held)
        at, cramped = repeats.at or "", repeats.cramped
        moment = Moment(at, held, shut, repeats.explored, may_end, cramped)
        short = self._script.serving(dialogue.agent)
        if short is not None:
            vain = (*repeats.blocked, *short.needless(moment))
            return Ability(verbs, vain, may_ask, repeats.held, relations=short.relations())
        vain = (*repeats.blocked, *vain_calls(context.belief, verbs, naming, moment))
        return Ability(verbs, vain, may_ask, repeats.held, able.hands if able is not None else 1)

    def _begin(self, agent: str, context: Context) -> Dialogue:
        dialogue = Dialogue(agent, sequence=context.belief.sequence)
        dialogue.repeats.strict = self._script.strict
        ability = self._ability(dialogue, context)
        dialogue.messages = list(self._script.opening(agent, context, ability))
        return dialogue

    async def _next(self, dialogue: Dialogue, context: Context) -> SkillCall | str:
        """The next call, or a question; each refused reply is reported to the model as a cycle."""
        self._append_events(dialogue, context)
        while dialogue.cycles < self._max_cycles:
            asked = await self._ask(dialogue, context)
            if asked is not None:
                return asked
        dialogue.exhausted = True
        return DONE

    def _append_events(self, dialogue: Dialogue, context: Context) -> None:
        """Appends what happened since the last turn: an action's result, or an answer."""
        text = dialogue.result
        for exchange in context.answers[dialogue.answers :]:
            answer = exchange.answer if exchange.answer is not None else NO_ANSWER
            text = f"{text or ''}\nAnswer to {exchange.question!r}: {answer}".strip()
        dialogue.answers = len(context.answers)
        if text is not None:
            self._append_result(dialogue, text, context)
            dialogue.result = None

    def _append_result(self, dialogue: Dialogue, result: str, context: Context) -> None:
        turn = self._script.result(dialogue.agent, result, context, dialogue.sequence)
        dialogue.sequence = context.belief.sequence
        dialogue.messages.append(Message(Speaker.USER, turn))

    async def _ask(self, dialogue: Dialogue, context: Context) -> SkillCall | str | None:
        grammar, agent = self._grammar(dialogue, context), dialogue.agent
        short = self._script.serving(agent)
        only = short.only_call() if short else ""
        if only and grammar.allows(agent, only):
            # A model that may say one thing alone need not be asked.
            dialogue.cycles += 1
            dialogue.forced += 1
            self._append_reply(dialogue, only)
            return read_turn(only, grammar, context.belief, self._script.naming).calls[agent]
        asked = await self._ask_shortening(dialogue, grammar, context)
        # Updated after the call, so that a cancelled or failed one leaves the dialogue unchanged.
        dialogue.cycles += 1
        if asked.error is None and asked.turn.question:
            dialogue.questions += 1
            self._append_reply(dialogue, asked.reply_text)
            return asked.turn.question
        self._append_reply(dialogue, asked.reply_text)
        if asked.error is not None:
            self._append_result(dialogue, f"{FAILURE_PREFIX}{asked.error}.", context)
            return None
        return asked.turn.calls[dialogue.agent]

    def _grammar(self, dialogue: Dialogue, context: Context) -> TurnGrammar:
        """Of what serves the task; where none of that is left, of all that may be tried."""
        ability = self._ability(dialogue, context)
        known, agent = words_of(context.belief, self._script.naming), dialogue.agent
        short = self._script.serving(agent)
        words = short.usable(known) if short else known
        grammar = turn_grammar(words, {agent: ability}, self._script.form)
        if not grammar.is_empty:
            return grammar
        ability = Ability(ability.verbs, dialogue.repeats.blocked, held=ability.held)
        return turn_grammar(known, {agent: ability}, self._script.form)

    def _append_reply(self, dialogue: Dialogue, reply_text: str) -> None:
        dialogue.messages.append(Message(Speaker.ASSISTANT, f"{reply_text}\n{END_OF_TURN}"))

    async def _ask_shortening(
        self, dialogue: Dialogue, grammar: TurnGrammar, context: Context
    ) -> CheckedTurn:
        """Asks the model; if its context is full, shortens old summaries first (PARTNR-D52)."""
        while True:
            notes = {"blocked": "; ".join(str(call) for call in dialogue.repeats.blocked)}
            if dialogue.shortened:
                notes["summaries_dropped"] = str(dialogue.shortened)
            try:
                return await self._model.ask(
                    tuple(dialogue.messages),
                    grammar,
                    context.belief,
                    dialogue.cycles + 1,
                    notes,
                    lambda call: self._script.check(call, context),
                    self._right.reference(
                        dialogue.agent, context, self._script.form, self._script.naming
                    ),
                )
            except ContextFullError:
                count = shorten(dialogue.messages, self._script.shortened)
                dialogue.shortened += count
                if not count:
                    raise


# Planner `react`: EPM's dialogue with a language model (EPM-2.5).
#
# The entity list is sent once, then only changes, so every prompt starts with the previous one and
# the server's prefix cache applies. Or, to compare with that, the whole list in each turn.

# EPM-1.1: an episode ends after this many calls.
MAX_CALLS = 50


class NumberedScript:
    """EPM's wording: entities by number, a turn is a call and `Assigned!`; or the short one."""

    name = "react"
    form = TurnForm.CALL
    max_cycles = MAX_CALLS

    def __init__(
        self,
        axes: Axes | None = None,
        *,
        whole_list: bool = False,
        wording: Wording = Wording.PAPER,
        serves: bool = True,
    ) -> None:
        """Sets the form of the turns.

        Args:
            axes: recorded with each call.
            whole_list: whether each turn has all entities instead of their changes.
            wording: of the turns. With the short one, the grammar has only calls that can succeed
                by what the memory and the agent's own calls tell of where it is and what it holds,
                and none that is repeated in vain.
            serves: in the short wording, whether these have to serve the task as well.
        """
        self.axes = axes or Axes(memory_source=MemorySource.DELTAS)
        self.strict = wording is Wording.SHORT
        self.naming = Naming.CLASSES if self.strict else Naming.NUMBERS
        self._whole_list, self._serves = whole_list, serves
        # Of each agent, in the short wording.
        self._short: dict[str, ShortDialogue] = {}

    def verbs(self, able: Capabilities | None) -> tuple[str, ...]:
        """The common skills, and those of the agent's body."""
        return offered(able)

    def opening(self, agent: str, context: Context, ability: Ability) -> tuple[Message, ...]:
        """Header, then task, entities, hint, actions and question."""
        told, may_ask = context.task.instruction, ability.may_ask
        if self.strict:
            lines = [entity_line(node) for node in numbered(context.belief)]
            dialogue = self._short[agent] = ShortDialogue(told, lines)
            first = dialogue.opening(ability.verbs, may_ask=may_ask)
            return Message(Speaker.SYSTEM, SHORT_SYSTEM), Message(Speaker.USER, first)
        first = opening(told, context.belief, ability.verbs, may_ask=may_ask)
        return Message(Speaker.SYSTEM, SYSTEM), Message(Speaker.USER, first)

    def result(self, agent: str, result: str, context: Context, since: int) -> str:
        """The action's result and the memory's changes since then, or its whole list."""
        if self._whole_list:
            return whole_list_turn(result, context.belief)
        if self.strict:
            return self._short[agent].result(result, context.deltas(since))
        return result_turn(result, context.deltas(since))

    def serving(self, agent: str) -> ShortDialogue | None:
        """Only the short wording knows it."""
        return self._short.get(agent) if self._serves else None

    def shortened(self, turn: str) -> str:
        """The turn itself, as each change is sent only once; without the list if it has one."""
        return without_list(turn) if self._whole_list else turn

    def check(self, call: SkillCall, context: Context) -> None:
        """EPM-C29: the reference object of a placement must be on the furniture."""
        check_reference(call, context.belief)


def make_react(
    task: Task,
    model: ChatModel,
    options: DialogueOptions | None = None,
    on_call: OnCall = ignore_call,
    axes: Axes | None = None,
    *,
    whole_list: bool = False,
    wording: Wording = Wording.PAPER,
    serves: bool = True,
) -> AgentDialogues:
    """The planner for one task; the last options as of `NumberedScript`."""
    script = NumberedScript(axes, whole_list=whole_list, wording=wording, serves=serves)
    return AgentDialogues(script, task, model, options, on_call)
