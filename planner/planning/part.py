"""What a planner says of itself to those who start it, list it and ask it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.models.chat import ChatModel
from planner.models.replies.turn_grammar import Naming
from planner.models.trace import OnCall, ignore_call
from planner.parts.option import Option, OptionError, OptionValue
from planner.planning.axes import Axes
from planner.planning.planner import Planner, Task
from planner.planning.planner_model import DialogueOptions
from planner.world.errors import PlannerError

INTERFACE = 1


@dataclass(frozen=True, slots=True)
class PlannerRequest:
    """What a planner is made from: one for each task.

    Attributes:
        name: the part's, as it was asked for.
        language_model: for those that talk to one; see `model`.
        axes: the cell of the experiment (PARTNR's `control` and `memory_source` among them).
        dialogue: how a model is asked.
        options: the values of all options that the part declares.
        on_call: called with each call of the model.
    """

    name: str
    task: Task
    language_model: ChatModel | None = None
    axes: Axes = field(default_factory=Axes)
    dialogue: DialogueOptions = field(default_factory=DialogueOptions)
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    on_call: OnCall = ignore_call

    @property
    def model(self) -> ChatModel:
        """The language model.

        Raises:
            PlannerError: where none was named; says which parameters name one.
        """
        if self.language_model is None:
            raise PlannerError(needs_model(self.name))
        return self.language_model

    def text(self, option: str) -> str:
        """The value of an option that is a text.

        Raises:
            OptionError: where the part declares no such option.
        """
        value = self.options.get(option)
        if not isinstance(value, str):
            raise OptionError(option, f"the planner {self.name} declares no text of this name")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerPart:
    """The record of a planner.

    Attributes:
        summary: one line for the help.
        make: makes a planner for one task; what is wrong it raises as `PlannerError`.
        needs_model: whether it talks to a language model.
        needs_goal: whether it reads the structured goal of an episode.
        needs_full_memory: whether the memory has to know everything from the start.
        reads_changes: whether it reads what changes in the memory, not what is there.
        naming: how the model names things in its replies.
        bare_replies: whether a reply is one agent's call alone, without a thought before it.
        options: beyond what all planners have.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[PlannerRequest], Planner]
    needs_model: bool = False
    needs_goal: bool = False
    needs_full_memory: bool = False
    reads_changes: bool = False
    naming: Naming = Naming.NAMES
    bare_replies: bool = False
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


def needs_model(name: str) -> str:
    """What to do where a planner has no model."""
    return (
        f"The planner `{name}` needs a language model: set the parameter `model` to the model's "
        "name and `model_url` to the address of its OpenAI-compatible server, such as "
        "http://127.0.0.1:8000/v1."
    )
