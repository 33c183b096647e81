"""A planner's calls of its model: everything needed to read, count and train on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.models.chat import Timings, Usage


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call, or one decision of a planner without a model (`model` is empty then).

    Attributes:
        cycle: planning cycle of this planner, from 1.
        prompt: the full text sent.
        grammar: GBNF that constrained the answer; "" = none.
        reply: the full text received.
        calls: parsed skill calls, one an agent, in the order of `agents`; "" for none.
        error: why the reply was refused; "" = accepted.
    """

    planner: str
    model: str
    agents: tuple[str, ...]
    cycle: int
    prompt: str = ""
    grammar: str = ""
    reply: str = ""
    calls: tuple[str, ...] = ()
    error: str = ""
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    parameters: Mapping[str, str] = field(default_factory=dict)


Tell = Callable[[ModelCall], None]


def tell_nobody(_call: ModelCall) -> None:
    """For those who only want decisions."""
