"""Planner `partnr_rag`: PARTNR's, with the most similar solved task as an example."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from planner.parts.option import Option
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.partnr.factory import make_partnr
from planner.planning.planner import Planner
from planner.world.errors import PlannerError

if TYPE_CHECKING:
    from planner.world.embedding import Embedder


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.trace_store import TraceStore

    traces, encoder = request.text("traces"), request.text("encoder")
    if not traces:
        raise PlannerError("the planner `partnr_rag` needs the parameter `traces`: its store")
    embedder = _encoder(Path(encoder)) if encoder else None
    with TraceStore.existing(Path(traces), embedder) as store:
        example = store.example_for(request.task.instruction)
    return make_partnr(request, example=example)


@lru_cache(maxsize=1)
def _encoder(folder: Path) -> Embedder:
    """Cached: every episode needs it, and loading takes longer than encoding."""
    from planner.world.embedding import SentenceEncoder

    return SentenceEncoder(folder)


PLANNER = PlannerPart(
    summary="PARTNR's ReAct planner with an example from solved tasks",
    make=_make,
    needs_model=True,
    tells_replies=True,
    needs_options=("traces",),
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
