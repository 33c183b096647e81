"""Planners and models by the names that parameters use."""

from __future__ import annotations

from pathlib import Path

from planner.planning.expert import Expert
from planner.planning.llm.chat import ChatModel
from planner.planning.llm.openai_compatible import OpenAiCompatible
from planner.planning.llm.recorded import RecordedModel, RecordingModel
from planner.planning.llm.scripted import ScriptedModel
from planner.planning.planner import Planner, Task
from planner.planning.react import MOST_CALLS, React, ReactOptions
from planner.planning.trace import Tell
from planner.world.errors import FileError, PlannerError

PLANNERS = ("expert", "react")
SCRIPTED, RECORDED = "scripted:", "recorded:"
NEEDS_MODEL = (
    "The planner `react` needs a language model: set the parameter `model` to the model's name "
    "and `model_url` to the address of its OpenAI-compatible server, such as "
    "http://127.0.0.1:8000/v1."
)


def make_model(model: str, url: str, record: str = "") -> ChatModel | None:
    """The model that the parameters name, or None where they name none.

    Args:
        model: a server's name for it, `scripted:FILE` (replies separated by blank lines) or
            `recorded:FILE`.
        url: base address of the server.
        record: file that gets every call of the model; "" = none.

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
    elif url:
        made = OpenAiCompatible(url, model)
    else:
        raise PlannerError(f"the parameter model is {model}, but model_url names no server")
    return RecordingModel(made, Path(record)) if record else made


def _replies(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return [part.strip() for part in text.split("\n\n") if part.strip()]


def make_planner(
    name: str, task: Task, model: ChatModel | None, tell: Tell, most_calls: int = 0
) -> Planner:
    """A planner for one task.

    Args:
        name: one of `PLANNERS`.
        task: what it shall do.
        model: for those that talk to one.
        tell: hears each call of the model.
        most_calls: of each agent's dialogue; 0 = the planner's own limit.

    Raises:
        PlannerError: for an unknown name, a goal that cannot be read, or a missing model.
    """
    if name == "expert":
        return Expert(task)
    if name == "react":
        if model is None:
            raise PlannerError(NEEDS_MODEL)
        return React(task, model, ReactOptions(most_calls=most_calls or MOST_CALLS), tell)
    raise PlannerError(f"there is no planner {name!r}; there are {', '.join(PLANNERS)}")
