"""Planner `react`: EPM's, which reads the memory's changes."""

from dataclasses import replace

from planner.models.replies.turn_grammar import Naming
from planner.parts.option import Option
from planner.planning.axes import MemorySource
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.react import make_react

    axes = replace(request.axes, memory_source=MemorySource.DELTAS)
    return make_react(
        request.task,
        request.model,
        request.dialogue,
        request.on_call,
        axes,
        whole_list=request.flag("whole_list"),
    )


PLANNER = PlannerPart(
    summary="EPM's planner: a language model that is told what changes in the memory",
    make=_make,
    needs_model=True,
    tells_replies=True,
    reads_changes=True,
    naming=Naming.NUMBERS,
    bare_replies=True,
    options=(
        Option(
            "whole_list", False, "whether each turn has all entities instead of what has changed"
        ),
    ),
)
