"""What a skill that succeeds does to the world, as data.

The memory applies it, since cameras may miss it (PARTNR-5.3), and planners wait until their belief
shows it. Arguments are named by their place in the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from planner.world.vocabulary import State


@dataclass(frozen=True, slots=True)
class PickedUp:
    """A thing is in the agent's hand."""

    thing: int = 0


@dataclass(frozen=True, slots=True)
class PutDown:
    """A thing is on or within furniture; without an argument for it, the place says which."""

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

    state: State
    value: bool
    entity: int = 0


@dataclass(frozen=True, slots=True)
class HeldStateSet:
    """What the agent holds has a state."""

    state: State
    value: bool


SkillEffect: TypeAlias = PickedUp | PutDown | OpenedTo | StateSet | HeldStateSet
