"""Records of model calls: everything needed to read, count and train on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.models.chat import Message, Timings, Usage, transcript
from planner.models.role import Role


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call, or one decision of a planner without a model (`model` is empty then).

    Attributes:
        planner: name of the caller: the planner, or another part with its role.
        cycle: planning cycle of this planner, from 1.
        messages: the full dialogue sent.
        grammar: GBNF that constrained the reply; "" = none.
        reply: the full text received.
        finish: how the reply ended, as in `Completion`.
        calls: parsed skill calls, one for each of `agents`; "" for none.
        error: why the reply was rejected or is missing; "" = accepted.
        answered: whether there is a reply.
        role: what the call is for.
    """

    planner: str
    model: str
    agents: tuple[str, ...]
    cycle: int
    messages: tuple[Message, ...] = ()
    grammar: str = ""
    reply: str = ""
    finish: str = "stop"
    calls: tuple[str, ...] = ()
    error: str = ""
    answered: bool = True
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    parameters: Mapping[str, str] = field(default_factory=dict)
    role: Role = Role.PLANNER

    @property
    def prompt(self) -> str:
        """The dialogue as one text."""
        return transcript(self.messages)


OnCall = Callable[[ModelCall], None]


def ignore_call(_call: ModelCall) -> None:
    """Ignores the call."""
