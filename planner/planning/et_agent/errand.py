"""What a task asks for, in words: its class, and what to find and where to put it (ETPLAN-2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TaskClass(StrEnum):
    """The classes of tasks, in the paper's words (ETPLAN-2.4).

    NEST_AND_PLACE is ours: the paper has no class for one thing into another and both to a place.
    """

    NAVIGATION = "simple navigation"
    NAVIGATION_RELATION = "constrained simple navigation"
    PLACE = "pick and place"
    PLACE_RELATION = "constrained pick and place"
    PLACE_TWO = "pick two objects and place jointly"
    NEST_AND_PLACE = "nest and place"


class Where(StrEnum):
    """How a thing stands to another one, as the relations of ETPLAN-3.1."""

    INSIDE = "inside"
    ON = "on"
    CLOSE = "close to"
    FACING = "facing"


@dataclass(frozen=True, slots=True)
class Sought:
    """One thing, piece of furniture or room that the words name.

    Attributes:
        word: its class in words, such as `apple` or `kitchen table`.
        where: how it stands to `anchor`; None if nothing is said about that.
        anchor: what it stands in relation to; None if nothing is said about that.
    """

    word: str
    where: Where | None = None
    anchor: Sought | None = None

    def __str__(self) -> str:
        """As `apple inside fridge`."""
        if self.where is None or self.anchor is None:
            return self.word
        return f"{self.word} {self.where} {self.anchor}"


@dataclass(frozen=True, slots=True)
class Errand:
    """One part of a task: to find something, and, if it has a `place`, to put it there.

    Attributes:
        target: what to find.
        where: INSIDE or ON `place`; None where the words leave it open, or nothing is to be put.
        place: where to put it; None = it only has to be found.
    """

    target: Sought
    where: Where | None = None
    place: Sought | None = None
