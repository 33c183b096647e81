"""PARTNR's planners: a dialogue for each agent, one for the team, a fine-tuned model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from papers.partnr import prompts
from papers.partnr.prompts import offered
from planner.models.caller import OnCall, ignore_call
from planner.models.chat import ChatModel, ContextFullError, Message, Speaker
from planner.models.replies.turn import (
    DONE,
    END_OF_TURN,
    Ability,
    Naming,
    TurnForm,
    TurnGrammar,
    agent_label,
    turn_grammar,
    words_of,
)
from planner.planning.belief_text import summary, world_description
from planner.planning.dialogues import AgentDialogues, limit_reached
from planner.planning.numbered_dialogue import RightCalls
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_model import (
    Axes,
    CheckedTurn,
    Control,
    DialogueOptions,
    MemorySource,
    PastAction,
    PlannerModel,
    Repeats,
    prompt,
    shorten,
)
from planner.world.primitive import Capabilities
from planner.world.skill import FAILURE_PREFIX, SkillCall, SkillName
from planner.world.vocabulary import AgentKind

# PARTNR-1.4: for each planner, if each agent has its own.
MAX_CYCLES = 50


class PartnrScript:
    """PARTNR's wording for one agent: a thought, a call by names, `Assigned!`."""

    form = TurnForm.THOUGHT
    naming = Naming.NAMES
    max_cycles = MAX_CYCLES
    strict = False

    def __init__(
        self,
        axes: Axes,
        *,
        name: str = "partnr_react",
        examples: str = "",
        show_states: bool = False,
    ) -> None:
        """`examples` are the traces retrieved for the task."""
        self.name, self.axes = name, axes
        self._examples, self._states = examples, show_states
        self._with_tools = axes.memory_source is MemorySource.TOOLS
        self._tells_objects = axes.memory_source not in (MemorySource.TOOLS, MemorySource.CAPTIONS)

    def verbs(self, able: Capabilities | None) -> tuple[str, ...]:
        """The skills of the body; the tools only if there is no summary (PARTNR-7.4)."""
        return prompts.offered(able, with_tools=self._with_tools)

    def opening(self, agent: str, context: Context, ability: Ability) -> tuple[Message, ...]:
        """System, examples, task, world, actions, question, in the paper's order."""
        able = context.capabilities.get(agent)
        seat = prompts.Seat(
            agent,
            is_giver=able is not None and able.kind == AgentKind.HUMAN.value,
            is_alone=len(context.task.agents) == 1,
        )
        world = world_description(context.belief, objects=self._tells_objects, states=self._states)
        first = prompts.opening(
            context.task.instruction,
            self.described(agent, world),
            ability.verbs,
            may_ask=ability.may_ask,
        )
        return (
            Message(Speaker.SYSTEM, prompts.system(seat, self._examples)),
            Message(Speaker.USER, first),
        )

    def result(self, agent: str, result: str, context: Context, since: int) -> str:
        """The action's result and, if the memory is a summary, what is known now."""
        del since
        known = ""
        if self._tells_objects:
            known = summary(context.belief, agent, states=self._states)
        return prompts.result_turn(result, self.described(agent, known))

    def described(self, agent: str, known: str) -> str:  # noqa: ARG002 - for cameras
        """What an agent is told of the world, from what the memory says of it."""
        return known

    def serving(self, agent: str) -> None:
        """Nothing: its model chooses among all calls."""

    def shortened(self, turn: str) -> str:
        """A result without what was known then."""
        return prompts.shortened(turn)

    def check(self, call: SkillCall, context: Context) -> None:
        """Accepts every call: the skill executor decides (PARTNR-7.4)."""


def make_partnr_react(
    task: Task,
    model: ChatModel,
    options: DialogueOptions | None = None,
    on_call: OnCall = ignore_call,
    axes: Axes | None = None,
    *,
    name: str = "partnr_react",
    examples: str = "",
) -> AgentDialogues:
    """The planner for one task; control is `single` if the task has one agent."""
    cell = axes or Axes()
    control = Control.SINGLE if len(task.agents) == 1 else Control.DECENTRALIZED
    script = PartnrScript(
        replace(cell, control=control),
        name=name,
        examples=examples,
        show_states=options is not None and options.show_states,
    )
    return AgentDialogues(script, task, model, options, on_call)


# Planner `partnr_react`, centralized: one dialogue decides for all agents (PARTNR-7.3).
#
# The model is called whenever an agent's skill ends, and must repeat the running actions of the
# others; repeating an action does not restart it (PARTNR-D55), and naming another does not stop it.

# PARTNR-1.4: for one planner of all agents.
TEAM_MAX_CYCLES = 100


class PartnrTeam:
    """One task of one team, decided in one dialogue."""

    def __init__(
        self,
        task: Task,
        model: ChatModel,
        options: DialogueOptions | None = None,
        on_call: OnCall = ignore_call,
        axes: Axes | None = None,
        *,
        examples: str = "",
        name: str = "partnr_react",
    ) -> None:
        self._task, self.name, self._examples = task, name, examples
        self._options = options or DialogueOptions()
        self._max_cycles = self._options.max_cycles or TEAM_MAX_CYCLES
        self._axes = replace(axes or Axes(), control=Control.CENTRALIZED)
        self._with_tools = self._axes.memory_source is MemorySource.TOOLS
        self._model = PlannerModel(
            name, task, model, Naming.NAMES, self._axes, self._options, on_call
        )
        self._messages: list[Message] = []
        self._results: dict[str, str] = {}
        self._repeats = {agent: Repeats() for agent in task.agents}
        self._cycles = self._dropped = 0
        self._over = False
        self._right = RightCalls(task)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps the results for the next turn."""
        self._right.observe(results)
        for ended in results:
            if ended.agent in self._repeats:
                notice = self._repeats[ended.agent].take(ended.call, ended.result)
                self._results[ended.agent] = f"{ended.result.text} {notice}".strip()

    async def decide(self, context: Context) -> Decision:
        """Asks the model once for all agents; each refused reply is reported to it as a cycle.

        Raises:
            ModelError: if the model gives no usable answer in time.
        """
        if self._over:
            return Decision(dict.fromkeys(context.idle, DONE), "done", evidence=self._evidence())
        abilities = self._abilities(context)
        if not self._messages:
            self._messages = self._opening(context, abilities)
        elif self._results:
            self._append_result(self._result_lines(context), context)
        self._results.clear()
        while self._cycles < self._max_cycles:
            words = words_of(context.belief, Naming.NAMES)
            grammar = turn_grammar(words, abilities, TurnForm.TEAM)
            asked = await self._ask_shortening(grammar, context)
            self._cycles += 1
            self._messages.append(Message(Speaker.ASSISTANT, f"{asked.reply_text}\n{END_OF_TURN}"))
            if asked.error is not None:
                self._append_result(f"Result: {FAILURE_PREFIX}{asked.error}.", context)
                continue
            return self._decision(asked.turn.calls, context)
        return limit_reached(self._max_cycles, self._evidence())

    def _decision(self, calls: Mapping[str, SkillCall], context: Context) -> Decision:
        given = {agent: calls[agent] for agent in context.idle}
        if DONE in given.values():
            # The task is not over while an agent is acting; waiting counts as done.
            self._over = all(c.name == SkillName.WAIT for c in context.running.values())
            if not self._over:
                given = dict.fromkeys(given, SkillCall(SkillName.WAIT))
        for agent, call in calls.items():
            if agent in context.running and call not in (context.running[agent], DONE):
                self._results[agent] = f"still in progress: {context.running[agent]}"
        thought = "; ".join(f"{agent}: {call}" for agent, call in given.items())
        return Decision(given, thought, evidence=self._evidence())

    def _abilities(self, context: Context) -> Mapping[str, Ability]:
        found = {}
        for agent in context.task.agents:
            able = context.capabilities.get(agent)
            offered = prompts.offered(able, with_tools=self._with_tools)
            verbs = tuple(verb for verb in offered if verb != SkillName.DONE)
            found[agent] = Ability(verbs, self._repeats[agent].blocked)
        return found

    def _opening(self, context: Context, abilities: Mapping[str, Ability]) -> list[Message]:
        kinds = [
            (agent, able.kind if (able := context.capabilities.get(agent)) else "agent")
            for agent in context.task.agents
        ]
        system = prompts.team_system(kinds)
        if self._examples:
            system = f"{system}\n{self._examples}"
        world = world_description(
            context.belief, objects=not self._with_tools, states=self._options.show_states
        )
        verbs = [ability.verbs for ability in abilities.values()]
        first = prompts.team_opening(context.task.instruction, world, verbs)
        return [Message(Speaker.SYSTEM, system), Message(Speaker.USER, first)]

    def _result_lines(self, context: Context) -> str:
        lines = []
        for number, agent in enumerate(context.task.agents):
            text = self._results.get(agent)
            if text is None and agent in context.running:
                text = f"still in progress: {context.running[agent]}"
            if text is not None:
                lines.append(f"Result of {agent_label(number)}: {text}")
        return "\n".join(lines)

    def _append_result(self, result: str, context: Context) -> None:
        world = []
        if not self._with_tools:
            world = [summary(context.belief, "", states=self._options.show_states)]
        self._messages.append(Message(Speaker.USER, "\n".join([result, *world])))

    async def _ask_shortening(self, grammar: TurnGrammar, context: Context) -> CheckedTurn:
        """Asks the model; if its context is full, shortens old summaries first (PARTNR-D52)."""
        blocked = {call for repeats in self._repeats.values() for call in repeats.blocked}
        while True:
            notes = {"blocked": "; ".join(str(call) for call in blocked)}
            if self._dropped:
                notes["summaries_dropped"] = str(self._dropped)
            try:
                return await self._model.ask(
                    tuple(self._messages),
                    grammar,
                    context.belief,
                    self._cycles + 1,
                    notes,
                    reference=self._right.team_reference(context),
                )
            except ContextFullError:
                count = shorten(self._messages, prompts.shortened)
                self._dropped += count
                if not count:
                    raise

    def _evidence(self) -> Mapping[str, str]:
        return {
            **self._axes.as_parameters(),
            "cycles_by_agent": f"team {self._cycles}",
            "planner_limit": "team" if self._cycles >= self._max_cycles else "",
            "repeats_broken": str(sum(r.broken for r in self._repeats.values())),
            "summaries_dropped": str(self._dropped),
        }


# Planner `partnr_finetuned`: PARTNR's planner for a model trained on traces (PARTNR-7.7).
#
# Every prompt is composed from the task, the house and all past actions of both agents; the model
# answers with only the next call. The adapter is served under its own name, which is the `model`.

NAME = "partnr_finetuned"


@dataclass
class _Seat:
    """What one agent's planner knows of the past."""

    agent: str
    world: str = ""
    past: list[PastAction] = field(default_factory=list)
    cycles: int = 0
    repeats: Repeats = field(default_factory=Repeats)
    exhausted: bool = False
    done: bool = False


class PartnrFinetuned:
    """One task of one team, with a prompt for each decision of each agent."""

    name = NAME

    def __init__(
        self,
        task: Task,
        model: ChatModel,
        options: DialogueOptions | None = None,
        on_call: OnCall = ignore_call,
        axes: Axes | None = None,
    ) -> None:
        control = Control.SINGLE if len(task.agents) == 1 else Control.DECENTRALIZED
        self._axes = replace(axes or Axes(), control=control, memory_source=MemorySource.STATE)
        self._options = options or DialogueOptions()
        self._max_cycles = self._options.max_cycles or MAX_CYCLES
        self._model = PlannerModel(
            NAME, task, model, Naming.NAMES, self._axes, self._options, on_call
        )
        self._seats = {agent: _Seat(agent) for agent in task.agents}
        self._right = RightCalls(task)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Records every action for every agent; those of other agents without results."""
        self._right.observe(results)
        for ended in results:
            for seat in self._seats.values():
                own = seat.agent == ended.agent
                seat.past.append(PastAction(str(ended.call), ended.result.text, own))
                if own:
                    seat.repeats.take(ended.call, ended.result)

    async def decide(self, context: Context) -> Decision:
        """Asks the model for every idle agent.

        Raises:
            ModelError: if the model gives no usable answer in time.
        """
        seats = [self._seats[agent] for agent in context.idle]
        found = await asyncio.gather(*(self._next(seat, context) for seat in seats))
        calls = dict(zip(context.idle, found, strict=True))
        for seat, call in zip(seats, found, strict=True):
            seat.done = call == DONE
        team = self._seats.values()
        if any(seat.exhausted for seat in team) and all(seat.done for seat in team):
            return limit_reached(self._max_cycles, self._evidence())
        thought = "; ".join(f"{agent}: {call}" for agent, call in calls.items())
        return Decision(calls, thought, evidence=self._evidence())

    async def _next(self, seat: _Seat, context: Context) -> SkillCall:
        verbs = offered(context.capabilities.get(seat.agent), with_tools=False)
        # The environment stays as at the start, and later actions are appended, so consecutive
        # prompts share a long prefix.
        seat.world = seat.world or world_description(
            context.belief, states=self._options.show_states
        )
        while seat.cycles < self._max_cycles:
            ability = Ability(verbs, seat.repeats.blocked)
            words = words_of(context.belief, Naming.NAMES)
            grammar = turn_grammar(words, {seat.agent: ability}, TurnForm.BARE)
            text = prompt(context.task.instruction, seat.world, seat.past)
            asked = await self._model.ask(
                (Message(Speaker.USER, text),),
                grammar,
                context.belief,
                seat.cycles + 1,
                reference=self._right.reference(seat.agent, context, TurnForm.BARE, Naming.NAMES),
            )
            seat.cycles += 1
            if asked.error is None:
                return asked.turn.calls[seat.agent]
            result = f"{FAILURE_PREFIX}{asked.error}."
            reply_text = " ".join(asked.reply_text.split())[:200]
            seat.past.append(PastAction(reply_text, result, is_own=True))
        seat.exhausted = True
        return DONE

    def _evidence(self) -> Mapping[str, str]:
        team = self._seats.values()
        return {
            **self._axes.as_parameters(),
            "cycles_by_agent": ", ".join(f"{seat.agent} {seat.cycles}" for seat in team),
            "planner_limit": ", ".join(seat.agent for seat in team if seat.exhausted),
            "repeats_broken": str(sum(seat.repeats.broken for seat in team)),
        }
