"""Planner `react`: EPM's dialogue with a language model (EPM-2.5).

The entity list is sent once, then only changes, so every prompt starts with the previous one and
the server's prefix cache applies. Or, to compare with that, the whole list in each turn.
"""

from __future__ import annotations

from planner.models.chat import ChatModel, Message, Speaker
from planner.models.replies.turn_grammar import Ability, Naming, TurnForm
from planner.models.replies.turn_parser import check_reference
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, MemorySource
from planner.planning.dialogues import AgentDialogues
from planner.planning.planner import Context, Task
from planner.planning.planner_model import DialogueOptions
from planner.planning.prompts.epm import (
    SYSTEM,
    offered,
    opening,
    result_turn,
    whole_list_turn,
    without_list,
)
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall

# EPM-1.1: an episode ends after this many calls.
MAX_CALLS = 50


class EpmScript:
    """EPM's wording: entities by number, a turn is a call and `Assigned!`."""

    name = "react"
    form = TurnForm.CALL
    naming = Naming.NUMBERS
    max_cycles = MAX_CALLS

    def __init__(self, axes: Axes | None = None, *, whole_list: bool = False) -> None:
        """Sets the form of the turns.

        Args:
            axes: recorded with each call.
            whole_list: whether each turn has all entities instead of their changes.
        """
        self.axes = axes or Axes(memory_source=MemorySource.DELTAS)
        self._whole_list = whole_list

    def verbs(self, able: Capabilities | None) -> tuple[str, ...]:
        """The common skills, and those of the agent's body."""
        return offered(able)

    def opening(self, agent: str, context: Context, ability: Ability) -> tuple[Message, ...]:
        """Header, then task, entities, hint, actions and question."""
        del agent
        first = opening(
            context.task.instruction, context.belief, ability.verbs, may_ask=ability.may_ask
        )
        return Message(Speaker.SYSTEM, SYSTEM), Message(Speaker.USER, first)

    def result(self, agent: str, result: str, context: Context, since: int) -> str:
        """The action's result and the memory's changes since then, or its whole list."""
        del agent
        if self._whole_list:
            return whole_list_turn(result, context.belief)
        return result_turn(result, context.deltas(since))

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
) -> AgentDialogues:
    """The planner for one task; `whole_list` as of `EpmScript`."""
    script = EpmScript(axes, whole_list=whole_list)
    return AgentDialogues(script, task, model, options, on_call)
