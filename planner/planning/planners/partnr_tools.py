"""Planner `partnr_tools`: PARTNR's, which queries the memory by perception tools."""

from functools import partial

from planner.planning.axes import MemorySource
from planner.planning.part import PlannerPart
from planner.planning.partnr.factory import make_partnr

PLANNER = PlannerPart(
    summary="PARTNR's ReAct planner that asks the memory with tools",
    make=partial(make_partnr, source=MemorySource.TOOLS),
    needs_model=True,
    tells_replies=True,
)
