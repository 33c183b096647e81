"""The verdicts of a review, kept in a file, so that a review can be continued."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.episodes.episode_file import write_text
from planner.world.errors import FileError
from planner.world.files import FileModel, read_model

FILE_NAME = "review.json"
MAX_REASON = 2000


class Mode(StrEnum):
    """What is wrong with a task or with its evaluation (PARTNR-4.7)."""

    HALLUCINATION = "hallucination"
    UNRESOLVABLE_AMBIGUITY = "unresolvable ambiguity"
    CONTRADICTION = "contradiction"
    ALREADY_SATISFIED = "already satisfied"
    TEMPORAL_GROUPING = "incorrect temporal grouping"
    PREDICATE_OTHER = "incorrect predicate (other)"
    PREDICATE_ROOM = "incorrect predicate (room vs furniture)"
    ENTITY = "incorrect object, furniture or room"
    AMBIGUITY = "incorrect ambiguity"


class Verdict(FileModel):
    """A person's verdict on one episode.

    Attributes:
        modes, reason: only of a wrong one.
        digest: of the episode's file, which a later change makes another.
    """

    right: bool
    modes: tuple[Mode, ...] = ()
    reason: Annotated[str, Field(max_length=MAX_REASON)] = ""
    digest: str = ""

    @property
    def remark(self) -> str:
        """The modes and the reason as one text."""
        return ": ".join(filter(None, (", ".join(self.modes), self.reason)))


class ReviewFile(FileModel):
    """The content of review.json, verdicts by episode."""

    version: Literal[1]
    verdicts: dict[str, Verdict] = Field(default_factory=dict)


def read_verdicts(folder: Path) -> dict[str, Verdict]:
    """The verdicts of an earlier review; none if there was none.

    Raises:
        FileError: if the file is broken.
    """
    path = folder / FILE_NAME
    return dict(read_model(path, ReviewFile).verdicts) if path.exists() else {}


def write_verdicts(folder: Path, verdicts: dict[str, Verdict]) -> None:
    """Replaces the file, atomically.

    Raises:
        FileError: if it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, "", f"cannot be made: {error.strerror}") from None
    document = ReviewFile(version=1, verdicts=verdicts).model_dump(mode="json")
    write_text(folder / FILE_NAME, json.dumps(document, indent=1, sort_keys=True) + "\n")
