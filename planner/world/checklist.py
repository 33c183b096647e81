"""LLaMAR's checklist of a task: its subtasks and the entities that it is about (LLAMAR-D40).

A subtask is written as in the public task list: `PickupObject(apple_0)`, or with what the agent
holds, `PutObject(fridge_0, apple_0)`. Bars separate alternatives: `NavigateTo(table_0|table_1)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from planner.world.files import FileModel


class Act(StrEnum):
    """What an agent does in a subtask; the values are the names of the public task list."""

    NAVIGATE = "NavigateTo"
    PICK_UP = "PickupObject"
    PUT = "PutObject"
    OPEN = "OpenObject"
    CLOSE = "CloseObject"
    SLICE = "SliceObject"
    CLEAN = "CleanObject"
    TOGGLE_ON = "ToggleObjectOn"
    TOGGLE_OFF = "ToggleObjectOff"
    # Of search and rescue (LLAMAR-A6).
    GET_SUPPLY = "GetSupply"
    USE_SUPPLY = "UseSupply"
    END_FIRE = "EndFire"
    SPOT = "Spot"
    CARRY = "Carry"
    DROP_OFF = "DropOff"


# Acts that may depend on what the agent holds; PUT always does.
HOLDING = frozenset({Act.NAVIGATE, Act.PUT, Act.OPEN, Act.CLOSE})

_NAMES = r"[A-Za-z0-9_.-]+(?:\|[A-Za-z0-9_.-]+)*"
_SUBTASK = re.compile(rf"([A-Za-z]+)\(({_NAMES})(?:, ?({_NAMES}))?\)")


@dataclass(frozen=True, slots=True)
class Subtask:
    """An act on any of `entities`, and unless `held` is empty while any of these is held."""

    act: Act
    entities: tuple[str, ...]
    held: tuple[str, ...] = ()

    def __str__(self) -> str:
        held = f", {'|'.join(self.held)}" if self.held else ""
        return f"{self.act}({'|'.join(self.entities)}{held})"


def parse_subtask(text: str) -> Subtask:
    """Reads a subtask.

    Raises:
        ValueError: with the text and the reason.
    """
    match = _SUBTASK.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a subtask such as PutObject(fridge_0, apple_0)")
    word, entities, held = match.groups()
    if word not in set(Act):
        raise ValueError(f"{text!r} has the unknown act {word}; known are {', '.join(Act)}")
    act = Act(word)
    if held is not None and act not in HOLDING:
        raise ValueError(f"{text!r}: {act} does not depend on what is held")
    if held is None and act is Act.PUT:
        raise ValueError(f"{text!r}: {act} needs what is put, as in PutObject(fridge_0, apple_0)")
    return Subtask(act, tuple(entities.split("|")), tuple(held.split("|")) if held else ())


def _written_normally(text: str) -> str:
    return str(parse_subtask(text))


SubtaskText = Annotated[str, AfterValidator(_written_normally)]
Names = Annotated[tuple[str, ...], Field(min_length=1)]


class Checklist(FileModel):
    """The true subtasks of a task and its targets; planners do not see it.

    Attributes:
        ambiguity: LLaMAR's type of the task. 1: things, their number and the target are explicit;
            2: the number is implicit; 3: also the things; 4: also the target.
        subtasks: what has to be done, by any agent; one that is there twice counts twice, and what
            does it does both.
        targets: groups of entities, one of each of which has to be interacted with.
    """

    ambiguity: Literal[1, 2, 3, 4]
    subtasks: Annotated[tuple[SubtaskText, ...], Field(min_length=1, max_length=200)]
    targets: Annotated[tuple[Names, ...], Field(min_length=1)]

    def items(self) -> tuple[Subtask, ...]:
        """The subtasks, read."""
        return tuple(parse_subtask(text) for text in self.subtasks)
