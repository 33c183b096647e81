"""Planner `partnr_react`: PARTNR's ReAct, for a single agent or one dialogue for each agent.

Its memory is a summary of all known objects after every action or, as ReAct-Tools, only what it
queries by the Find... tools (PARTNR-7.1, PARTNR-7.2).
"""

from __future__ import annotations

from dataclasses import replace

from planner.models.chat import ChatModel, Message, Speaker
from planner.models.replies.turn_grammar import Ability, Naming, TurnForm
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, Control, MemorySource
from planner.planning.dialogues import AgentDialogues
from planner.planning.planner import Context, Task
from planner.planning.planner_model import DialogueOptions
from planner.planning.prompts import partnr
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall
from planner.world.vocabulary import AgentKind

# PARTNR-1.4: for each planner, if each agent has its own.
MAX_CYCLES = 50


class PartnrScript:
    """PARTNR's wording for one agent: a thought, a call by names, `Assigned!`."""

    form = TurnForm.THOUGHT
    naming = Naming.NAMES
    max_cycles = MAX_CYCLES

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
        return partnr.offered(able, with_tools=self._with_tools)

    def opening(self, agent: str, context: Context, ability: Ability) -> tuple[Message, ...]:
        """System, examples, task, world, actions, question, in the paper's order."""
        able = context.capabilities.get(agent)
        seat = partnr.Seat(
            agent,
            is_giver=able is not None and able.kind == AgentKind.HUMAN.value,
            is_alone=len(context.task.agents) == 1,
        )
        world = partnr.world_description(
            context.belief, objects=self._tells_objects, states=self._states
        )
        first = partnr.opening(
            context.task.instruction,
            self.described(agent, world),
            ability.verbs,
            may_ask=ability.may_ask,
        )
        return (
            Message(Speaker.SYSTEM, partnr.system(seat, self._examples)),
            Message(Speaker.USER, first),
        )

    def result(self, agent: str, result: str, context: Context, since: int) -> str:
        """The action's result and, if the memory is a summary, what is known now."""
        del since
        known = ""
        if self._tells_objects:
            known = partnr.summary(context.belief, agent, states=self._states)
        return partnr.result_turn(result, self.described(agent, known))

    def described(self, agent: str, known: str) -> str:  # noqa: ARG002 - for cameras
        """What an agent is told of the world, from what the memory says of it."""
        return known

    def shortened(self, turn: str) -> str:
        """A result without what was known then."""
        return partnr.shortened(turn)

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
