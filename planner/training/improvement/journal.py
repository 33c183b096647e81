"""What a run of policy improvement has finished, on disk: its journal and its curve."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.world.errors import FileError
from planner.world.files import FileModel, read_line, read_versioned, writing

# Success on held-out tasks by the number of roll-outs: the file `curve.json`.

CURVE, CURVE_VERSION = "curve.json", 1
Count = Annotated[int, Field(ge=0)]


class CurvePoint(FileModel):
    """A policy.

    Attributes:
        iteration: that fitted it; 0 = the first policy.
        samples: roll-outs made before it was fitted, of which it learned from the `traces`
            successful ones.
        episodes, successes: of its evaluation.
        by_task: the outcomes of each task there; empty in files from before it was written.
    """

    iteration: Count
    samples: Count
    traces: Count
    episodes: Count
    successes: Count
    by_task: tuple[tuple[bool, ...], ...] = ()


class Curve(FileModel):
    """A run of an algorithm; `learner` is what was fitted, `seed` that of the draws."""

    version: Literal[1] = 1
    algorithm: str
    learner: str
    seed: int
    points: tuple[CurvePoint, ...]


def read_curve(folder: Path) -> Curve:
    """The curve of a run's folder.

    Raises:
        FileError: if it is missing or wrong.
    """
    return read_versioned(folder / CURVE, Curve, CURVE_VERSION)


JOURNAL = "journal.jsonl"


class Stage(StrEnum):
    """A part of an iteration."""

    FITTED = "fitted"
    ROLLED_OUT = "rolled_out"
    EVALUATED = "evaluated"


class Step(FileModel):
    """A finished stage.

    Attributes:
        traces: successful traces that were fitted, or roll-outs.
        successes: of roll-outs.
        without_verdict: roll-outs that could not be judged.
    """

    version: Literal[1] = 1
    stage: Stage
    iteration: int
    traces: int
    successes: int = 0
    without_verdict: int = 0


class Journal:
    """The journal of a folder; its first line says what the run is."""

    def __init__(self, folder: Path, identity: Mapping[str, object]) -> None:
        """Opens or begins it, and cuts off an incomplete last line.

        Args:
            folder: of the run; created.
            identity: what determines the results.

        Raises:
            FileError: if the run there is another one, a line is wrong, or nothing can be written.
        """
        self._path = folder / JOURNAL
        self.steps: list[Step] = []
        kept = json.loads(json.dumps(identity, sort_keys=True))
        with writing(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            before = self._path.read_bytes() if self._path.exists() else b""
            whole = before[: before.rfind(b"\n") + 1]
            if whole != before:
                os.truncate(self._path, len(whole))
        lines = whole.decode("utf-8", "replace").splitlines()
        if not lines:
            self._append(json.dumps({"begun": kept}, sort_keys=True))
        else:
            self._check(lines[0], kept)
            self.steps = [
                read_line(self._path, n, line, Step.model_validate_json)
                for n, line in enumerate(lines[1:], 2)
            ]

    def has(self, stage: Stage, iteration: int) -> bool:
        """Whether a stage is finished."""
        return any(step.stage is stage and step.iteration == iteration for step in self.steps)

    def add(self, step: Step) -> None:
        """Adds a finished stage unless it is there.

        Raises:
            FileError: if it is there with other numbers, or cannot be written.
        """
        same = [s for s in self.steps if (s.stage, s.iteration) == (step.stage, step.iteration)]
        if not same:
            self._append(step.model_dump_json())
            self.steps.append(step)
        elif same[0] != step:
            raise FileError(
                self._path, f"{step.stage} {step.iteration}", f"was {same[0]}, now is {step}"
            )

    def _check(self, line: str, identity: Mapping[str, object]) -> None:
        try:
            begun = json.loads(line)["begun"]
            differ = [k for k in sorted({*begun, *identity}) if begun.get(k) != identity.get(k)]
        except (ValueError, KeyError, TypeError):
            raise FileError(self._path, "line 1", "does not say what the run is") from None
        if differ:
            key = differ[0]
            raise FileError(
                self._path,
                key,
                f"is {begun.get(key)!r}, not {identity.get(key)!r}: resume with the same settings, "
                "or give another folder",
            )

    def _append(self, line: str) -> None:
        with writing(self._path), self._path.open("ab") as stream:
            stream.write(line.encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
