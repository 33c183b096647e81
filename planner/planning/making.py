"""Planners and models by the names that parameters use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from planner.planning.asking import AskOptions
from planner.planning.axes import Axes, Control, MemorySource
from planner.planning.expert import Expert
from planner.planning.heuristic_expert import HeuristicExpert
from planner.planning.llm.chat import ChatModel
from planner.planning.llm.in_process import InProcessModel
from planner.planning.llm.openai_compatible import OpenAiCompatible
from planner.planning.llm.recorded import RecordedModel, RecordingModel
from planner.planning.llm.scripted import ScriptedModel
from planner.planning.partnr_finetuned import PartnrFinetuned
from planner.planning.partnr_react import make_partnr_react
from planner.planning.partnr_team import PartnrTeam
from planner.planning.planner import Planner, Task
from planner.planning.react import make_react
from planner.planning.trace import Tell, tell_nobody
from planner.planning.trace_store import TraceStore
from planner.world.embedding import Embedder, SentenceEncoder
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
        temperature: of sampling; 0 = the likeliest token (spec/partnr.md D-58).

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
        name: one of `PLANNERS`.
        axes: the cell of the experiment; `control` and `memory_source` choose how the PARTNR
            planners work, the rest is recorded.
        options: how a model is asked.
        traces: file of successful traces, for `partnr_rag`.
        encoder: folder of a sentence transformer that finds traces; None = words are compared.
    """

    name: str = "expert"
    axes: Axes = field(default_factory=Axes)
    options: AskOptions = field(default_factory=AskOptions)
    traces: Path | None = None
    encoder: Path | None = None


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
    if choice.name == "expert":
        return Expert(task)
    if choice.name == "heuristic_expert":
        return HeuristicExpert(task, choice.axes)
    if choice.name not in _WITH_MODEL:
        raise PlannerError(f"there is no planner {choice.name!r}; there are {', '.join(PLANNERS)}")
    if model is None:
        raise PlannerError(needs_model(choice.name))
    return _WITH_MODEL[choice.name](choice, task, model, tell)


def _react(choice: PlannerChoice, task: Task, model: ChatModel, tell: Tell) -> Planner:
    axes = replace(choice.axes, memory_source=MemorySource.DELTAS)
    return make_react(task, model, choice.options, tell, axes)


def _partnr_react(choice: PlannerChoice, task: Task, model: ChatModel, tell: Tell) -> Planner:
    return _partnr(choice, task, model, tell)


def _partnr(
    choice: PlannerChoice, task: Task, model: ChatModel, tell: Tell, examples: str = ""
) -> Planner:
    axes, name = choice.axes, choice.name
    if axes.control is Control.SINGLE and len(task.agents) > 1:
        raise PlannerError(f"control single plans for one agent, not for {len(task.agents)}")
    if axes.control is Control.CENTRALIZED and len(task.agents) > 1:
        return PartnrTeam(task, model, choice.options, tell, axes, examples=examples, name=name)
    return make_partnr_react(task, model, choice.options, tell, axes, name=name, examples=examples)


def _partnr_summary(choice: PlannerChoice, task: Task, model: ChatModel, tell: Tell) -> Planner:
    axes = replace(choice.axes, memory_source=MemorySource.SUMMARY)
    return _partnr(replace(choice, axes=axes), task, model, tell)


def _partnr_tools(choice: PlannerChoice, task: Task, model: ChatModel, tell: Tell) -> Planner:
    axes = replace(choice.axes, memory_source=MemorySource.TOOLS)
    return _partnr(replace(choice, axes=axes), task, model, tell)


def _partnr_rag(choice: PlannerChoice, task: Task, model: ChatModel, tell: Tell) -> Planner:
    if choice.traces is None:
        raise PlannerError("the planner `partnr_rag` needs the parameter `traces`: its store")
    embedder = _encoder(choice.encoder) if choice.encoder else None
    with TraceStore.existing(choice.traces, embedder) as store:
        example = store.example_for(task.instruction)
    return _partnr(choice, task, model, tell, example)


@lru_cache(maxsize=1)
def _encoder(folder: Path) -> Embedder:
    """Kept, as every episode needs it and reading it takes longer than asking it."""
    return SentenceEncoder(folder)


def _partnr_finetuned(choice: PlannerChoice, task: Task, model: ChatModel, tell: Tell) -> Planner:
    return PartnrFinetuned(task, model, choice.options, tell, choice.axes)


_WITH_MODEL: Mapping[str, Callable[[PlannerChoice, Task, ChatModel, Tell], Planner]] = {
    "react": _react,
    "partnr_react": _partnr_react,
    "partnr_summary": _partnr_summary,
    "partnr_tools": _partnr_tools,
    "partnr_rag": _partnr_rag,
    "partnr_finetuned": _partnr_finetuned,
}
PLANNERS = ("expert", "heuristic_expert", *_WITH_MODEL)


def needs_model(name: str) -> str:
    """What to do where a planner has no model."""
    return (
        f"The planner `{name}` needs a language model: set the parameter `model` to the model's "
        "name and `model_url` to the address of its OpenAI-compatible server, such as "
        "http://127.0.0.1:8000/v1."
    )
