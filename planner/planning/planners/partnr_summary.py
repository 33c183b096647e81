"""Planner `partnr_summary`: PARTNR's, with a summary of the memory in each prompt."""

from functools import partial

from planner.planning.axes import MemorySource
from planner.planning.part import PlannerPart
from planner.planning.partnr.factory import make_partnr

PLANNER = PlannerPart(
    summary="PARTNR's ReAct planner with a summary of the memory",
    make=partial(make_partnr, source=MemorySource.SUMMARY),
    needs_model=True,
    tells_replies=True,
)
