"""Rows: one line of JSON for each episode of a run (docs/schema/bench_row.schema.json).

Each row is synced to disk before the next is written, so a run that is killed loses only the
episodes that were running. An incomplete last line is removed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import Field

from planner.app.run import End
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode
from planner.models.recorded import LINES
from planner.planning.planner_model import Control, MemorySource, Observability, Privilege
from planner.skills.kind import SkillKind
from planner.world.errors import FileError
from planner.world.files import FileModel, read_line, read_lines, writing

ROW_VERSION = 1
ROWS_NAME = "rows.jsonl"
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class RowAxes(FileModel):
    """The axes of the experiment (PARTNR-1.3)."""

    control: Control
    observability: Observability
    skills: SkillKind
    privilege: Privilege
    memory_source: MemorySource


class RowCost(FileModel):
    """The cost of the episode's model calls; `failed_calls` counts the failed ones."""

    calls: Count = 0
    failed_calls: Count = 0
    prompt_tokens: Count = 0
    cached_tokens: Count = 0
    reply_tokens: Count = 0
    seconds: Seconds = 0.0
    money: Seconds = 0.0


class RowVerdict(FileModel):
    """The verdict, and why the run stopped: `end`, and `reason` in the planner's words."""

    success: bool
    percent_complete: Annotated[float, Field(ge=0, le=1)]
    satisfied: tuple[bool, ...]
    sim_steps: Count
    explanation: str = ""
    end: End
    reason: str
    decisions: Count
    skill_calls: Count
    failed_skills: Count


class Fault(StrEnum):
    """Why an episode has no verdict.

    REFUSED: it cannot be run with these settings; the text says why. CRASH: an exception; the text
    says which and where. DIED: its process died. AWAY: the model's server could not be reached;
    then the run stops and the episode gets no row.
    """

    REFUSED = "refused"
    CRASH = "crash"
    DIED = "died"
    AWAY = "away"


class RowError(FileModel):
    """An episode without a verdict."""

    fault: Fault
    text: str


class Row(FileModel):
    """One episode.

    Attributes:
        memory: what the memory learned from.
        metrics: all papers' metrics that have a value (`planner.evaluation.metrics.table`).
        portions: part and whole for metrics that are ratios of sums over episodes.
        left_out: why other metrics have no value.
        evidence: from the planner, such as cycles per agent and broken repetitions.
        trace: common prefix of the names of its files in `traces/`.
        wall_s, cpu_s: the episode's run time.
    """

    version: Literal[1] = 1
    episode_id: str
    seed: int
    house: str
    task_types: tuple[str, ...]
    instruction: str
    planner: str
    model: str
    agents: tuple[str, ...]
    memory: str
    axes: RowAxes
    mode: Mode
    variant: Variant = Variant.BOXES
    verdict: RowVerdict | None = None
    error: RowError | None = None
    metrics: dict[str, float] = Field(default_factory=dict)
    portions: dict[str, tuple[float, float]] = Field(default_factory=dict)
    left_out: dict[str, str] = Field(default_factory=dict)
    cost: RowCost = Field(default_factory=RowCost)
    evidence: dict[str, str] = Field(default_factory=dict)
    trace: str = ""
    wall_s: Seconds = 0.0
    cpu_s: Seconds = 0.0
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        """The episode and seed, unique within the run."""
        return self.episode_id, self.seed


def read_rows(path: Path) -> Iterator[Row]:
    """Reads the rows of a file; a repeated episode has several. Ignores an incomplete last line.

    Raises:
        FileError: with line, field and reason.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if not line.endswith(b"\n"):
            return
        yield read_line(path, number, line, Row.model_validate_json)


def newest_rows(path: Path) -> dict[tuple[str, int], Row]:
    """The last row of each episode.

    Raises:
        FileError: with line, field and reason; or the folder has no run.
    """
    if not path.is_file():
        raise FileError(path.parent, "", f"is no run of planner bench: it has no {path.name}")
    return {row.key: row for row in read_rows(path)}


class RowFile:
    """Appends the rows of a run; use it with `with`."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the file and removes an incomplete last line.

        Raises:
            FileError: if it cannot be written.
        """
        self._path = path
        with writing(path):
            self._stream: IO[bytes] = path.open("ab+")
            self._stream.truncate(_whole_bytes(self._stream))

    def append(self, row: Row) -> None:
        """Appends a row, which is on disk when this returns.

        Raises:
            FileError: if it cannot be written.
        """
        with writing(self._path):
            self._stream.write(row.model_dump_json(exclude_defaults=False).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def __enter__(self) -> RowFile:
        """Returns the object itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes the file."""
        self._stream.close()


def _whole_bytes(stream: IO[bytes]) -> int:
    """The length up to the last complete line."""
    end = stream.seek(0, os.SEEK_END)
    step = 1 << 16
    while end > 0:
        begin = max(0, end - step)
        stream.seek(begin)
        found = stream.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


# The JSON Schemas of rows and dialogues, published in docs/schema/.
#
# `python -m planner.bench.runs.rows docs/schema` regenerates them.


def schema_texts() -> Mapping[str, str]:
    """The text of each schema file by name."""
    schemas = {
        "bench_row.schema.json": {"title": "One row of a benchmark", **Row.model_json_schema()},
        "dialogue.schema.json": {"title": "One line of a dialogue", **LINES.json_schema()},
    }
    return {
        name: json.dumps(schema, indent=2, sort_keys=True) + "\n"
        for name, schema in schemas.items()
    }


if __name__ == "__main__":
    for name, text in schema_texts().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
