"""Planner `partnr_react`: PARTNR's, with the memory source set by the axes."""

from planner.planning.part import PlannerPart
from planner.planning.partnr.factory import make_partnr

PLANNER = PlannerPart(
    summary="PARTNR's ReAct planner; memory_source says how it reads the memory",
    make=make_partnr,
    needs_model=True,
    tells_replies=True,
)
