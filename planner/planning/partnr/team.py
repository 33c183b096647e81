"""Planner `partnr_react`, centralized: one dialogue decides for all agents (PARTNR-7.3).

The model is called whenever an agent's skill ends, and must repeat the running actions of the
others; repeating an action does not restart it (PARTNR-D55), and naming another does not stop it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.models.chat import ChatModel, ContextFullError, Message, Speaker
from planner.models.replies.turn_grammar import (
    END_OF_TURN,
    Ability,
    Naming,
    TurnForm,
    TurnGrammar,
    agent_label,
    turn_grammar,
    words_of,
)
from planner.models.replies.turn_parser import DONE
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, Control, MemorySource
from planner.planning.dialogues import limit_reached
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_model import CheckedTurn, DialogueOptions, PlannerModel
from planner.planning.prompts import partnr
from planner.planning.repeats import Repeats
from planner.planning.right_calls import RightCalls
from planner.planning.summaries import shorten
from planner.world.skill import FAILURE_PREFIX, SkillCall, SkillName

# PARTNR-1.4: for one planner of all agents.
MAX_CYCLES = 100


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
        """`on_call` is called after each call of the model."""
        self._task, self._name, self._examples = task, name, examples
        self._options = options or DialogueOptions()
        self._max_cycles = self._options.max_cycles or MAX_CYCLES
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

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return self._name

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
            offered = partnr.offered(able, with_tools=self._with_tools)
            verbs = tuple(verb for verb in offered if verb != SkillName.DONE)
            found[agent] = Ability(verbs, self._repeats[agent].blocked)
        return found

    def _opening(self, context: Context, abilities: Mapping[str, Ability]) -> list[Message]:
        kinds = [
            (agent, able.kind if (able := context.capabilities.get(agent)) else "agent")
            for agent in context.task.agents
        ]
        system = partnr.team_system(kinds)
        if self._examples:
            system = f"{system}\n{self._examples}"
        world = partnr.world_description(
            context.belief, objects=not self._with_tools, states=self._options.show_states
        )
        verbs = [ability.verbs for ability in abilities.values()]
        first = partnr.team_opening(context.task.instruction, world, verbs)
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
            world = [partnr.summary(context.belief, "", states=self._options.show_states)]
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
                count = shorten(self._messages, partnr.shortened)
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
