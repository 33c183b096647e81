"""The small house of the planners' tests, and traces by hand."""

from made_traces import make_call, make_trace
from planning_toys import toy_world

__all__ = ["make_call", "make_trace", "toy_world"]
