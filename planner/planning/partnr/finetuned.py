"""Planner `partnr_finetuned`: PARTNR's planner for a model trained on traces (PARTNR-7.7).

Every prompt is composed from the task, the house and all past actions of both agents; the model
answers with only the next call. The adapter is served under its own name, which is the `model`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.models.chat import ChatModel, Message, Speaker
from planner.models.replies.turn_grammar import Ability, Naming, TurnForm, turn_grammar, words_of
from planner.models.replies.turn_parser import DONE
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, Control, MemorySource
from planner.planning.dialogues import limit_reached
from planner.planning.partnr.react import MAX_CYCLES
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_model import DialogueOptions, PlannerModel
from planner.planning.prompts.partnr import offered, world_description
from planner.planning.prompts.partnr_state import PastAction, prompt
from planner.planning.repeats import Repeats
from planner.planning.right_calls import RightCalls
from planner.world.skill import FAILURE_PREFIX, SkillCall

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

    def __init__(
        self,
        task: Task,
        model: ChatModel,
        options: DialogueOptions | None = None,
        on_call: OnCall = ignore_call,
        axes: Axes | None = None,
    ) -> None:
        """`on_call` is called after each call of the model."""
        control = Control.SINGLE if len(task.agents) == 1 else Control.DECENTRALIZED
        self._axes = replace(axes or Axes(), control=control, memory_source=MemorySource.STATE)
        self._options = options or DialogueOptions()
        self._max_cycles = self._options.max_cycles or MAX_CYCLES
        self._model = PlannerModel(
            NAME, task, model, Naming.NAMES, self._axes, self._options, on_call
        )
        self._seats = {agent: _Seat(agent) for agent in task.agents}
        self._right = RightCalls(task)

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return NAME

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
