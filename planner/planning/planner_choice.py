"""Makes the planner that the parameters select."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.models.chat import ChatModel
from planner.models.trace import OnCall, ignore_call
from planner.parts.kinds import PLANNERS
from planner.parts.option import OptionValue, read_options
from planner.planning.axes import Axes
from planner.planning.explore_first import ExploreFirst
from planner.planning.part import PlannerPart, PlannerRequest, needs_model
from planner.planning.planner import Planner, Task
from planner.planning.planner_model import DialogueOptions
from planner.planning.required_primitives import CheckedPlanner
from planner.world.errors import PlannerError


@dataclass(frozen=True, slots=True)
class PlannerChoice:
    """The chosen planner and its options.

    Attributes:
        name: in the catalog of planners.
        axes: of the experiment; `control` and `memory_source` configure the PARTNR planners, the
            others are only recorded.
        dialogue: limits and options of the dialogues with the model.
        options: values that differ from the defaults.
        explores_first: whether a robot explores the house before the planner begins.
    """

    name: str = "expert"
    axes: Axes = field(default_factory=Axes)
    dialogue: DialogueOptions = field(default_factory=DialogueOptions)
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    explores_first: bool = False

    @property
    def part(self) -> PlannerPart:
        """The planner's record.

        Raises:
            PartError: if there is no planner of this name, or it cannot be used.
        """
        return PLANNERS.get(self.name)

    def for_task(self, task: Task) -> PlannerChoice:
        """The planner that carries out a task: another one if this one cannot read plain text."""
        other = self.part.for_text if task.goal is None else ""
        return replace(self, name=other, options={}) if other else self


def make_planner(
    choice: PlannerChoice, task: Task, model: ChatModel | None, on_call: OnCall = ignore_call
) -> Planner:
    """A planner for one task.

    Args:
        choice: the planner and its options.
        task: to carry out.
        model: for planners that use one.
        on_call: called with each call of the model.

    Raises:
        PlannerError: for an unknown name, an unreadable goal, or a missing model.
    """
    choice = choice.for_task(task)
    part = choice.part
    if part.needs_model and model is None:
        raise PlannerError(needs_model(choice.name))
    options = read_options(part.options, choice.options)
    request = PlannerRequest(
        choice.name, task, model, choice.axes, choice.dialogue, options, on_call
    )
    planner = part.make(request)
    required = part.needs_primitives
    if choice.explores_first:
        planner = ExploreFirst(planner, task)
    return CheckedPlanner(planner, required, task) if required else planner
