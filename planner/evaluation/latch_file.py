"""Stores latches on disk, so that an evaluator that is killed keeps what was achieved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from planner.evaluation.progress import Mode
from planner.world.errors import FileError
from planner.world.files import FileModel, read_model


class Latched(FileModel):
    """One evaluator's latches.

    Attributes:
        step: of the last state that changed them.
        evaluation: the task that they belong to, as in the episode.
        latches: `Evaluator.latches`.
    """

    version: Literal[2] = 2
    episode_id: str
    mode: Mode
    step: Annotated[int, Field(ge=0)]
    evaluation: JsonValue
    latches: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class LatchFile:
    """One episode's file in a folder."""

    folder: Path
    episode_id: str

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / f"{self.episode_id}.json"

    def write(self, latched: Latched) -> None:
        """Writes the file atomically.

        Raises:
            FileError: if the file cannot be written.
        """
        temporary = self.path.with_suffix(".tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(latched.model_dump(mode="json")), encoding="utf-8")
            temporary.replace(self.path)
        except OSError as error:
            raise FileError(self.path, "", f"cannot be written: {error}") from None

    def read(self, mode: Mode, step: int, evaluation: JsonValue) -> Latched | None:
        """The latches of this task up to a step; None if there are none.

        Raises:
            FileError: if the file is invalid.
        """
        if not self.path.exists():
            return None
        latched = read_model(self.path, Latched)
        same = (latched.mode, latched.evaluation) == (mode, evaluation)
        # Latches from a later step belong to an earlier run of the same episode.
        return latched if same and latched.step <= step else None

    def remove(self) -> None:
        """Deletes the file of an episode whose verdict has been given.

        Raises:
            FileError: if it cannot be deleted.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(self.path, "", f"cannot be removed: {error}") from None
