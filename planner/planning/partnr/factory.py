"""Makes PARTNR's dialogue planner for a request."""

from __future__ import annotations

from dataclasses import replace

from planner.planning.part import PlannerRequest
from planner.planning.planner import Planner
from planner.planning.planner_model import Control, MemorySource
from planner.world.errors import PlannerError


def make_partnr(
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
    from planner.planning.partnr.react import PartnrTeam, make_partnr_react

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
