"""Planners and models by the names that parameters use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.models.chat import ChatModel
from planner.models.in_process import InProcessModel
from planner.models.openai_compatible import OpenAiCompatible
from planner.models.recorded import RecordedModel, RecordingModel
from planner.models.scripted import ScriptedModel
from planner.models.trace import Tell, tell_nobody
from planner.parts.kinds import PLANNERS
from planner.parts.option import OptionValue, read_options
from planner.planning.asking import AskOptions
from planner.planning.axes import Axes
from planner.planning.part import PlannerPart, PlannerRequest, needs_model
from planner.planning.planner import Planner, Task
from planner.world.errors import FileError, PlannerError

SCRIPTED, RECORDED, LOCAL = "scripted:", "recorded:", "local:"


def make_model(
    model: str, url: str, record: str = "", temperature: float = 0.0
) -> ChatModel | None:
    """The model that the parameters name, or None where they name none.

    Args:
        model: a server's name for it, `local:FOLDER` (a model in this process),
            `scripted:FILE` (replies separated by blank lines) or `recorded:FILE`.
        url: base address of the server.
        record: file that gets every call of the model; "" = none.
        temperature: of sampling; 0 = the likeliest token (PARTNR-D58).

    Raises:
        PlannerError: for an address or a file that cannot be used.
    """
    if not model:
        if url:
            raise PlannerError("the parameter model_url is set, but model names no model")
        return None
    made: ChatModel
    if model.startswith(SCRIPTED):
        made = ScriptedModel(_replies(Path(model.removeprefix(SCRIPTED))))
    elif model.startswith(RECORDED):
        made = RecordedModel(Path(model.removeprefix(RECORDED)))
    elif model.startswith(LOCAL):
        made = InProcessModel(Path(model.removeprefix(LOCAL)), temperature=temperature)
    elif url:
        made = OpenAiCompatible(url, model, temperature=temperature)
    else:
        raise PlannerError(f"the parameter model is {model}, but model_url names no server")
    return RecordingModel(made, Path(record)) if record else made


def _replies(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return [part.strip() for part in text.split("\n\n") if part.strip()]


@dataclass(frozen=True, slots=True)
class PlannerChoice:
    """Which planner, and how it is to work.

    Attributes:
        name: in the catalog of planners.
        axes: the cell of the experiment; `control` and `memory_source` choose how the PARTNR
            planners work, the rest is recorded.
        ask: how a model is asked.
        options: of the planner, those that are not as by default.
    """

    name: str = "expert"
    axes: Axes = field(default_factory=Axes)
    ask: AskOptions = field(default_factory=AskOptions)
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    @property
    def part(self) -> PlannerPart:
        """The planner's record.

        Raises:
            PartError: where there is none of this name, or it cannot be used.
        """
        return PLANNERS.get(self.name)


def make_planner(
    choice: PlannerChoice, task: Task, model: ChatModel | None, tell: Tell = tell_nobody
) -> Planner:
    """A planner for one task.

    Args:
        choice: which one, and how it works.
        task: what it shall do.
        model: for those that talk to one.
        tell: hears each call of the model.

    Raises:
        PlannerError: for an unknown name, a goal that cannot be read, or what is missing.
    """
    part = choice.part
    if part.needs_model and model is None:
        raise PlannerError(needs_model(choice.name))
    options = read_options(part.options, choice.options)
    request = PlannerRequest(choice.name, task, model, choice.axes, choice.ask, options, tell)
    return part.make(request)
