"""Traces of solved tasks: found by similarity, or turned into samples for fine-tuning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.planning.planner_model import PastAction, prompt
from planner.world.embedding import Embedder, HashedWords, Vectors
from planner.world.errors import FileError, PlannerError
from planner.world.skill import SkillCall, SkillName
from planner.world.sqlite_file import ClosedOnExit, FileKind, SqliteFile
from planner.world.topics import one_line

EXAMPLE = "An example of another task that was solved:"
_TABLES = """
CREATE TABLE trace (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    instruction TEXT NOT NULL,
    transcript TEXT NOT NULL,
    source TEXT NOT NULL,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX trace_key ON trace (key);
CREATE TABLE evaluated (key TEXT PRIMARY KEY);
"""
# "Ptrc": says that a SQLite file is a trace store. Older ones are known by their tables.
KIND = FileKind("a trace store", 0x50747263, 1, _TABLES, unmarked=frozenset({"trace", "evaluated"}))


@dataclass(frozen=True, slots=True)
class SolvedTask:
    """The dialogue of a solved task, for use as an example.

    Attributes:
        source: where it comes from, such as a run's folder and episode.
    """

    instruction: str
    transcript: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A trace and the dot product of its instruction's vector with the query's."""

    task: SolvedTask
    similarity: float


class EvaluatedError(PlannerError):
    """A trace whose instruction is used for evaluation."""


class TraceStore(ClosedOnExit):
    """The store; use it with `with`."""

    def __init__(self, path: Path, embedder: Embedder | None = None) -> None:
        """Opens or creates the file. Vectors of another embedder are recomputed.

        Args:
            path: the SQLite file.
            embedder: None = `HashedWords`, which compares words only.

        Raises:
            FileError: if the file is of another version, of other software, or damaged.
        """
        self.embedder = embedder or HashedWords()
        self._matrix: Vectors | None = None
        self._ids: list[int] = []
        self._file = SqliteFile(path, KIND)
        self._db = self._file.db

    @classmethod
    def existing(cls, path: Path, embedder: Embedder | None = None) -> TraceStore:
        """Opens an existing store.

        Raises:
            FileError: if there is none.
        """
        if not path.is_file():
            raise FileError(
                path, "", "there is no trace store; create one with planner bench examples"
            )
        return cls(path, embedder)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __len__(self) -> int:
        return int(self._db.execute("SELECT COUNT(*) FROM trace").fetchone()[0])

    def keep_out(self, instructions: Iterable[str]) -> int:
        """Registers evaluation instructions; returns how many of their traces were removed."""
        keys = [(one_line(instruction),) for instruction in instructions]
        with self._file.written():
            self._db.executemany("INSERT OR IGNORE INTO evaluated VALUES (?)", keys)
            removed = self._db.execute(
                "DELETE FROM trace WHERE key IN (SELECT key FROM evaluated)"
            ).rowcount
        self._matrix = None
        return removed

    def holding(self, instructions: Iterable[str]) -> list[str]:
        """Those of the instructions that have a trace here."""
        return [said for said in instructions if self._has("key = ?", one_line(said))]

    def add(self, tasks: Sequence[SolvedTask]) -> int:
        """Adds the traces that are missing, all or none; returns how many.

        Raises:
            EvaluatedError: for an instruction registered as used for evaluation.
        """
        self._refuse_evaluated(tasks)
        new = [task for task in dict.fromkeys(tasks) if not self._has_task(task)]
        vectors = self.embedder.embed([task.instruction for task in new])
        rows = [
            (
                one_line(task.instruction),
                task.instruction,
                task.transcript,
                task.source,
                self.embedder.embedder_id,
                vector.astype("<f4").tobytes(),
            )
            for task, vector in zip(new, vectors, strict=True)
        ]
        with self._file.written():
            # Another process may have registered it meanwhile.
            self._refuse_evaluated(tasks)
            self._db.executemany(
                "INSERT INTO trace (key, instruction, transcript, source, embedder, vector) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                rows,
            )
        self._matrix = None
        return len(new)

    def _refuse_evaluated(self, tasks: Sequence[SolvedTask]) -> None:
        for task in tasks:
            key = one_line(task.instruction)
            if self._db.execute("SELECT 1 FROM evaluated WHERE key = ?", (key,)).fetchone():
                raise EvaluatedError(f"{key[:80]!r} is an instruction of an evaluation")

    def _has_task(self, task: SolvedTask) -> bool:
        return self._has("key = ? AND transcript = ?", one_line(task.instruction), task.transcript)

    def _has(self, where: str, *values: str) -> bool:
        found = self._db.execute(f"SELECT 1 FROM trace WHERE {where}", values)  # noqa: S608
        return found.fetchone() is not None

    def nearest(self, instruction: str, count: int = 1) -> list[Found]:
        """The most similar traces, best first; among equals the older one first."""
        matrix = self._vectors()
        if not self._ids:
            return []
        likeness = matrix @ self.embedder.embed([instruction])[0]
        best = np.argsort(-likeness, kind="stable")[:count]
        return [Found(self._task(self._ids[i]), float(likeness[i])) for i in best]

    def example_for(self, instruction: str) -> str:
        """The best trace in the format of a prompt; "" if the store is empty."""
        found = self.nearest(instruction)
        return f"{EXAMPLE}\n{found[0].task.transcript}" if found else ""

    def _task(self, number: int) -> SolvedTask:
        row = self._db.execute(
            "SELECT instruction, transcript, source FROM trace WHERE id = ?", (number,)
        ).fetchone()
        return SolvedTask(*row)

    def _vectors(self) -> Vectors:
        """All vectors, one per row; reread after each change."""
        if self._matrix is None:
            self._embed_anew()
            rows = self._db.execute("SELECT id, vector FROM trace ORDER BY id").fetchall()
            self._ids = [int(number) for number, _ in rows]
            self._matrix = np.array([np.frombuffer(v, dtype="<f4") for _, v in rows], dtype="f4")
        return self._matrix

    def _embed_anew(self) -> None:
        embedder_id = self.embedder.embedder_id
        rows = self._db.execute(
            "SELECT id, instruction FROM trace WHERE embedder != ?", (embedder_id,)
        ).fetchall()
        if not rows:
            return
        vectors = self.embedder.embed([instruction for _, instruction in rows])
        with self._file.written():
            self._db.executemany(
                "UPDATE trace SET embedder = ?, vector = ? WHERE id = ?",
                [
                    (embedder_id, vector.astype("<f4").tobytes(), number)
                    for (number, _), vector in zip(rows, vectors, strict=True)
                ],
            )


# Turns traces into training samples for PARTNR's fine-tuned planner (PARTNR-7.7).
#
# Uses solved episodes, cut after the step that solved them, with one sample for each successful
# action of the trained agent, without thoughts. The loss covers only the text after the special
# token.

DONE = SkillCall(SkillName.DONE)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """An action that ended.

    Attributes:
        result: its literal text.
        complete: whether the evaluator counted the whole task as solved after it.
    """

    agent: str
    call: SkillCall
    succeeded: bool
    result: str
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """A prompt, without loss, and the target text."""

    prompt: str
    target: str


def samples_of(
    instruction: str, world: str, steps: Sequence[TraceStep], agent: str
) -> list[Sample]:
    """The samples of one episode; none if it was never solved.

    Args:
        instruction: the task's words.
        world: description of the house and of what was known at the start.
        steps: of all agents, in the order in which they ended.
        agent: the agent whose actions are learned.
    """
    solved = [number for number, step in enumerate(steps) if step.complete]
    if not solved:
        return []
    if steps[-1].complete:
        kept = [step for step in steps if step.call.name != SkillName.DONE]
    else:
        # An episode that was solved once and then spoilt is still useful up to the solution.
        kept = list(steps[: solved[0] + 1])
    samples: list[Sample] = []
    past: list[PastAction] = []
    for step in kept:
        if not step.succeeded:
            continue
        own = step.agent == agent
        if own:
            samples.append(Sample(prompt(instruction, world, past), str(step.call)))
        past.append(PastAction(str(step.call), step.result, own))
    samples.append(Sample(prompt(instruction, world, past), str(DONE)))
    return samples
