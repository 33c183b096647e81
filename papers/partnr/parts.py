"""PARTNR's planners and suites, and the planner that EPM shows DynaMem's memory with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from planner.bench.suite import SuitePart, packed
from planner.parts.command import CommandPart
from planner.parts.option import Option
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest, Reads
from planner.planning.planner import Planner
from planner.planning.planner_model import Control, MemorySource
from planner.world.errors import PlannerError


def _make_partnr(
    request: PlannerRequest, *, source: MemorySource | None = None, example: str = ""
) -> Planner:
    """One dialogue for each agent, or one for the team, according to the axis `control`.

    Args:
        request: the arguments.
        source: how the memory is read, overriding the axes; None = as in the axes.
        example: a solved task for the prompt.

    Raises:
        PlannerError: if no model is given, a single-agent planner has several agents, or the axes
            ask for descriptions of pictures.
    """
    from papers.partnr.react import PartnrTeam, make_partnr_react

    task, dialogue, on_call, name = request.task, request.dialogue, request.on_call, request.name
    axes = request.axes if source is None else replace(request.axes, memory_source=source)
    if axes.memory_source is MemorySource.CAPTIONS:
        raise PlannerError(f"the planner {name} reads no pictures: partnr_views reads captions")
    if axes.control is Control.SINGLE and len(task.agents) > 1:
        raise PlannerError(f"control single plans for one agent, not for {len(task.agents)}")
    if axes.control is Control.CENTRALIZED and len(task.agents) > 1:
        return PartnrTeam(task, request.model, dialogue, on_call, axes, examples=example, name=name)
    return make_partnr_react(
        task, request.model, dialogue, on_call, axes, name=name, examples=example
    )


def _make_partnr_rag(request: PlannerRequest) -> Planner:
    from planner.planning.solved_tasks import TraceStore
    from planner.world.embedding import load_encoder

    traces, encoder = request.text("traces"), request.text("encoder")
    if not traces:
        raise PlannerError("the planner `partnr_rag` needs the parameter `traces`: its store")
    embedder = load_encoder(Path(encoder)) if encoder else None
    with TraceStore.existing(Path(traces), embedder) as store:
        example = store.example_for(request.task.instruction)
    return _make_partnr(request, example=example)


def _make_partnr_finetuned(request: PlannerRequest) -> Planner:
    from papers.partnr.react import PartnrFinetuned

    return PartnrFinetuned(
        request.task, request.model, request.dialogue, request.on_call, request.axes
    )


def _make_captioned(source: MemorySource, request: PlannerRequest) -> Planner:
    from papers.partnr.captions import PartnrCaptioned

    return PartnrCaptioned(request, source)


def _make_open_loop(request: PlannerRequest) -> Planner:
    from papers.partnr.open_loop import OpenLoop
    from planner.models.caller import Caller
    from planner.models.chat import Role

    dialogue = request.dialogue
    caller = Caller(
        request.name,
        request.model,
        Role.PLANNER,
        seed=request.task.seed,
        deadline_s=dialogue.deadline_s,
        constrained=dialogue.constrained,
        parameters=request.axes.as_parameters(),
        on_call=request.on_call,
    )
    return OpenLoop(request.task, caller)


PARTNR_REACT = PlannerPart(
    summary="PARTNR's ReAct planner; memory_source says how it reads the memory",
    make=_make_partnr,
    needs=Needs(model=True),
    asks=Asks(tells_replies=True),
)

PARTNR_SUMMARY = PlannerPart(
    summary="PARTNR's ReAct planner with a summary of the memory",
    make=partial(_make_partnr, source=MemorySource.SUMMARY),
    needs=Needs(model=True),
    asks=Asks(tells_replies=True),
)

PARTNR_TOOLS = PlannerPart(
    summary="PARTNR's ReAct planner that asks the memory with tools",
    make=partial(_make_partnr, source=MemorySource.TOOLS),
    needs=Needs(model=True),
    asks=Asks(tells_replies=True),
)

PARTNR_RAG = PlannerPart(
    summary="PARTNR's ReAct planner with an example from solved tasks",
    make=_make_partnr_rag,
    needs=Needs(model=True, options=("traces",)),
    asks=Asks(tells_replies=True),
    options=(
        Option("traces", "", "file: store of solved tasks, for partnr_rag", is_path=True),
        Option(
            "encoder",
            "",
            "folder of a sentence transformer that finds them; empty = words are compared",
            is_path=True,
        ),
    ),
)

PARTNR_FINETUNED = PlannerPart(
    summary="PARTNR's planner for a model trained on traces: the adapter's name is the model",
    make=_make_partnr_finetuned,
    needs=Needs(model=True),
    asks=Asks(tells_replies=True, bare_replies=True),
)

PARTNR_CAPTIONED = PlannerPart(
    summary="PARTNR's ReAct planner with a summary and a description of its camera's picture",
    make=partial(_make_captioned, MemorySource.SUMMARY),
    needs=Needs(model=True),
    reads=Reads(pictures=True),
    asks=Asks(tells_replies=True),
)

PARTNR_VIEWS = PlannerPart(
    summary="PARTNR's ReAct planner with descriptions of its camera's pictures, no summary",
    make=partial(_make_captioned, MemorySource.CAPTIONS),
    needs=Needs(model=True),
    reads=Reads(pictures=True),
    asks=Asks(tells_replies=True),
)

OPEN_LOOP = PlannerPart(
    summary="DynaMem's in EPM: a model plans picks and places once, without feedback",
    make=_make_open_loop,
    needs=Needs(model=True),
    asks=Asks(tells_replies=True),
)


# PARTNR's suites.

SUITES: Mapping[str, SuitePart] = {
    "partnr_val": SuitePart(
        summary="a thousand generated tasks in the held-out and in other houses",
        places=partial(packed, "partnr_val"),
        version=3,
    ),
    "partnr_test": SuitePart(
        summary="a thousand generated tasks in houses of their own",
        places=partial(packed, "partnr_test"),
        version=3,
    ),
}


# Subcommands of `planner bench`, whose modules are imported when they are called.

_of = CommandPart.of_module

VALIDATION = _of(
    "papers.partnr.validation_split", "PARTNR's own validation split, from its data set"
)
CLAIMS = _of("papers.partnr.claims", "PARTNR's eight claims beside runs")
EXAMPLES = _of(
    "papers.partnr.solved",
    "solved episodes as examples for partnr_rag",
    "add_examples",
    "run_examples",
)
SAMPLES = _of(
    "papers.partnr.solved",
    "solved episodes as samples for partnr_finetuned",
    "add_samples",
    "run_samples",
)
