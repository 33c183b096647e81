"""The effects of successful skills on the world, as data.

The memory applies them, since cameras may miss them (PARTNR-5.3), and planners wait until their
belief shows them. Arguments are given by their index in the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class PickedUp:
    """A thing is in the agent's hand."""

    thing: int = 0


@dataclass(frozen=True, slots=True)
class PutDown:
    """A thing is on or within furniture; if no argument names it, the position determines it."""

    thing: int = 0
    furniture: int = 2
    relation: int | None = 1


@dataclass(frozen=True, slots=True)
class OpenedTo:
    """Furniture is open (1) or closed (0)."""

    openness: float
    furniture: int = 0


@dataclass(frozen=True, slots=True)
class StateSet:
    """A thing or a piece of furniture has a state."""

    state: str
    value: bool
    entity: int = 0


@dataclass(frozen=True, slots=True)
class HeldStateSet:
    """What the agent holds has a state."""

    state: str
    value: bool


@dataclass(frozen=True, slots=True)
class StatesPoured:
    """A thing has those of some states that what the agent holds has."""

    states: tuple[str, ...]
    entity: int = 0


@dataclass(frozen=True, slots=True)
class Divided:
    """A thing whose class has slices is gone; the slices appear at its place."""

    entity: int = 0


@dataclass(frozen=True, slots=True)
class AsReported:
    """What the result's evidence says, see `planner.world.reported`: only the world knows it."""


SkillEffect: TypeAlias = (
    PickedUp | PutDown | OpenedTo | StateSet | HeldStateSet | StatesPoured | Divided | AsReported
)
