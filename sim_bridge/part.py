"""What a backend says of itself to those who start it and list it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planner.parts.option import Option
from sim_bridge.backend import Backend

INTERFACE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendPart:
    """The record of a backend.

    Attributes:
        summary: one line for the help.
        make: makes the backend, without an episode loaded. Takes the file of its settings, None
            for those that it ships; what is wrong or missing it raises as `PlannerError`.
        simulated: whether its time is simulated (/clock) and its true state is known; else it is
            a robot that an operator attends.
        options: none yet; settings are in a file.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[Path | None], Backend]
    simulated: bool
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE
