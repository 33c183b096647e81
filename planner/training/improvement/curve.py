"""Success on held-out tasks by the number of roll-outs: the file `curve.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.world.files import FileModel
from planner.world.versions import read_versioned

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
