"""The latches on disk, so that a judge that is killed does not forget what was achieved."""

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
    """One evaluator's memory.

    Attributes:
        step: of the last state that changed it.
        evaluation: the task it belongs to, as in the episode.
        latches: what `Evaluator` takes up again.
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
        """Where the file is."""
        return self.folder / f"{self.episode_id}.json"

    def write(self, latched: Latched) -> None:
        """Writes the file as a whole or not at all.

        Raises:
            FileError: where the folder or the disk does not allow it.
        """
        temporary = self.path.with_suffix(".tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(latched.model_dump(mode="json")), encoding="utf-8")
            temporary.replace(self.path)
        except OSError as error:
            raise FileError(self.path, "", f"cannot be written: {error}") from None

    def read(self, mode: Mode, step: int, evaluation: JsonValue) -> Latched | None:
        """What was latched before this step of the same task; None where there is nothing.

        Raises:
            FileError: where the file is broken.
        """
        if not self.path.exists():
            return None
        latched = read_model(self.path, Latched)
        same = (latched.mode, latched.evaluation) == (mode, evaluation)
        # A step that lies before is of a later run of the same episode.
        return latched if same and latched.step <= step else None

    def remove(self) -> None:
        """Forgets the episode, whose verdict is given.

        Raises:
            FileError: where the disk does not allow it.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(self.path, "", f"cannot be removed: {error}") from None
