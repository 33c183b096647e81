"""Traces by hand."""

from made_traces import make_call, make_trace

__all__ = ["make_call", "make_trace"]
