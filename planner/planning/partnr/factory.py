"""Which of PARTNR's planners with a dialogue a request asks for."""

from __future__ import annotations

from dataclasses import replace

from planner.planning.axes import Control, MemorySource
from planner.planning.part import PlannerRequest
from planner.planning.planner import Planner
from planner.world.errors import PlannerError


def make_partnr(
    request: PlannerRequest, *, source: MemorySource | None = None, example: str = ""
) -> Planner:
    """One dialogue an agent, or one for the team, as the axis `control` says.

    Args:
        request: what is asked.
        source: how the memory is read, whatever the axes say; None = as they say.
        example: a solved task for the prompt.

    Raises:
        PlannerError: where no model is named, or one agent's planner shall plan for several.
    """
    from planner.planning.partnr.react import make_partnr_react
    from planner.planning.partnr.team import PartnrTeam

    task, dialogue, on_call, name = request.task, request.dialogue, request.on_call, request.name
    axes = request.axes if source is None else replace(request.axes, memory_source=source)
    if axes.control is Control.SINGLE and len(task.agents) > 1:
        raise PlannerError(f"control single plans for one agent, not for {len(task.agents)}")
    if axes.control is Control.CENTRALIZED and len(task.agents) > 1:
        return PartnrTeam(task, request.model, dialogue, on_call, axes, examples=example, name=name)
    return make_partnr_react(
        task, request.model, dialogue, on_call, axes, name=name, examples=example
    )
