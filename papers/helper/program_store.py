"""The records of a program memory, and their files: SQLite, exports and imports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import yaml
from pydantic import Field

from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import Program
from planner.world.embedding import Vectors
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model, replacing
from planner.world.share import config_dir
from planner.world.sqlite_file import ClosedOnExit, FileKind, SqliteFile
from planner.world.topics import one_line

# Pairs of language and program, as the program memory keeps them (HELPER-D20).

MAX_KEY_CHARACTERS = 20_000
MAX_PROGRAM_CHARACTERS = 40_000
MAX_NOTE_CHARACTERS = 1000


class RecordKind(StrEnum):
    """What a record is an example of."""

    PLAN = "plan"
    CORRECTION = "correction"


class CorrectionKey(StrEnum):
    """Which words of a correction are embedded (HELPER-D22)."""

    BOTH = "both"
    DIALOGUE = "dialogue"
    FAILURE = "failure"


class UnconfirmedError(PlannerError):
    """A record that nobody has confirmed."""


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """A dialogue or instruction and the program that fulfils it.

    Attributes:
        id: unique within a memory and never used twice; 0 = not in a memory yet.
        key: the dialogue or instruction, on one line.
        program: the program's text.
        person: who taught it; "" = nobody in particular.
        confirmed: whether a person, or the judge of a run, said that it did what was asked.
        when_s: when it was learned, seconds since 1970; 0 = unknown.
        source: where it comes from, such as "shipped" or a run and its episode.
        failure: the sentence of the failure that a correction repairs; "" for a plan.
    """

    id: int
    kind: RecordKind
    key: str
    program: str
    person: str = ""
    confirmed: bool = False
    when_s: float = 0.0
    source: str = ""
    failure: str = ""

    def parsed(self) -> Program:
        """The program.

        Raises:
            ProgramError: if the text is not a program of this kind.
        """
        return parse_program(self.program, corrective=self.kind is RecordKind.CORRECTION)


def embedded_text(
    kind: RecordKind, key: str, failure: str, form: CorrectionKey = CorrectionKey.BOTH
) -> str:
    """The words that are compared: of a plan its key, of a correction what `form` says.

    A program is never among them, so that a record's distance depends on its language alone.
    """
    if kind is RecordKind.PLAN or form is CorrectionKey.DIALOGUE:
        return key
    if form is CorrectionKey.FAILURE or not failure:
        return failure or key
    return f"{key}\n{failure}"


def checked(record: ProgramRecord) -> ProgramRecord:
    """The record with its language on one line.

    Raises:
        UnconfirmedError: if nobody has confirmed it.
        PlannerError: naming the field that is empty, too long or out of place.
        ProgramError: if its program is none.
    """
    if not record.confirmed:
        raise UnconfirmedError(
            f"the program memory keeps what was confirmed only, and {record.key[:60]!r} was not"
        )
    key, failure = one_line(record.key), one_line(record.failure)
    if not key:
        raise PlannerError("key: a record needs the words that it is found by")
    if failure and record.kind is RecordKind.PLAN:
        raise PlannerError("failure: only a correction has one")
    if not failure and record.kind is RecordKind.CORRECTION:
        raise PlannerError("failure: a correction needs the sentence of the failure")
    notes = {"failure": failure, "person": record.person, "source": record.source}
    limits = {"key": (key, MAX_KEY_CHARACTERS), "program": (record.program, MAX_PROGRAM_CHARACTERS)}
    limits |= {name: (text, MAX_NOTE_CHARACTERS) for name, text in notes.items()}
    for name, (text, limit) in limits.items():
        if len(text) > limit:
            raise PlannerError(f"{name}: has {len(text)} characters, at most {limit}")
    if not math.isfinite(record.when_s):
        raise PlannerError(f"when_s: {record.when_s} is not a time")
    record.parsed()
    return ProgramRecord(
        record.id,
        record.kind,
        key,
        record.program,
        one_line(record.person),
        confirmed=True,
        when_s=record.when_s,
        source=one_line(record.source),
        failure=failure,
    )


# Files of records of the program memory: the shipped examples, exports and imports.

SHIPPED = "shipped"
FIRST_LEARNED = 1001
"""Smaller ids are those of the shipped examples."""

_Text = Annotated[str, Field(min_length=1)]


class _Entry(FileModel):
    kind: RecordKind
    key: _Text
    failure: str = ""
    program: _Text
    person: str = ""
    confirmed: bool = False
    when_s: float = 0.0
    source: str = ""


class _RecordFile(FileModel):
    version: Literal[1]
    records: tuple[_Entry, ...]


class _Example(FileModel):
    key: _Text
    failure: str = ""
    program: _Text


class _ExampleFile(FileModel):
    version: Literal[1]
    plans: tuple[_Example, ...]
    corrections: tuple[_Example, ...]


@lru_cache(maxsize=1)
def shipped_records() -> tuple[ProgramRecord, ...]:
    """The examples that every memory begins with, of config/programs/examples.yaml.

    Raises:
        FileError: naming the file, the record and the reason.
    """
    return read_examples(config_dir() / "programs" / "examples.yaml")


def read_examples(path: Path) -> tuple[ProgramRecord, ...]:
    """A file in the layout of the shipped examples, checked; ids from 1, plans first.

    Raises:
        FileError: naming the file, the record and the reason.
    """
    found = read_model(path, _ExampleFile)
    groups = ((RecordKind.PLAN, found.plans), (RecordKind.CORRECTION, found.corrections))
    records: list[ProgramRecord] = []
    for kind, examples in groups:
        for place, example in enumerate(examples):
            record = ProgramRecord(
                len(records) + 1,
                kind,
                example.key,
                example.program,
                confirmed=True,
                source=SHIPPED,
                failure=example.failure,
            )
            records.append(_checked(record, path, f"{kind}s.{place}"))
    if len(records) >= FIRST_LEARNED:
        raise FileError(path, "", f"has {len(records)} records, at most {FIRST_LEARNED - 1}")
    return tuple(records)


def read_records(path: Path) -> tuple[ProgramRecord, ...]:
    """The records of an export, checked; their ids are 0.

    Raises:
        FileError: naming the file, the record and the reason.
    """
    found = read_model(path, _RecordFile)
    return tuple(
        _checked(ProgramRecord(id=0, **dict(entry)), path, f"records.{place}")
        for place, entry in enumerate(found.records)
    )


def _checked(record: ProgramRecord, path: Path, field: str) -> ProgramRecord:
    try:
        return checked(record)
    except PlannerError as error:
        raise FileError(path, field, str(error)) from None


def write_records(path: Path, records: Iterable[ProgramRecord]) -> int:
    """Writes an export; a file that is there is replaced as a whole. Returns how many.

    Raises:
        FileError: if it cannot be written.
    """
    entries = [_Entry.model_validate(_fields(record)).model_dump(mode="json") for record in records]
    text = yaml.dump(
        {"version": 1, "records": entries},
        Dumper=_BlockText,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")
    return len(entries)


def _fields(record: ProgramRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in _Entry.model_fields}


class _BlockText(yaml.SafeDumper):
    """Writes texts of several lines as blocks, so that programs can be read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_BlockText.add_representer(str, _text)


_TABLES = f"""
CREATE TABLE record (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('plan', 'correction')),
    key TEXT NOT NULL,
    failure TEXT NOT NULL,
    program TEXT NOT NULL,
    person TEXT NOT NULL,
    when_s REAL NOT NULL,
    source TEXT NOT NULL,
    UNIQUE (kind, key, failure, program, person)
);
CREATE TABLE vector (
    record INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    encoder TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (record, encoder)
);
CREATE TABLE evaluated (key TEXT PRIMARY KEY);
INSERT INTO sqlite_sequence (name, seq) VALUES ('record', {FIRST_LEARNED - 1});
"""  # noqa: S608 - of a number of this package
# "Hpgm": says that a SQLite file is a program memory.
KIND = FileKind("a program memory", 0x4870676D, 1, _TABLES)
_NOTE = "INSERT OR REPLACE INTO vector SELECT id, ?, ? FROM record WHERE id = ?"
_COLUMNS = "id, kind, key, program, person, when_s, source, failure"


class EvaluatedError(PlannerError):
    """A record whose instruction is used for evaluation."""


class ProgramStore(ClosedOnExit):
    """The records of one file; use it with `with`. Several processes may have it open."""

    def __init__(self, path: Path | None) -> None:
        """Opens or creates a file; None = in this process's main memory.

        Raises:
            FileError: if the file is of another version, of other software, or damaged.
        """
        self._seen = -1
        self._file = SqliteFile(path, KIND)
        self._db = self._file.db

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def changed_elsewhere(self) -> bool:
        """Whether another process, or another store here, wrote since this was last asked."""
        with self._file.reported("cannot be read"):
            now = self._file.number("data_version")
        changed, self._seen = now != self._seen, now
        return changed

    def add(
        self, records: Sequence[ProgramRecord], encoders: Sequence[str], vectors: Vectors
    ) -> list[ProgramRecord]:
        """Adds the records that are missing, all or none; returns all with their ids.

        Args:
            records: checked.
            encoders: the name of what made each one's vector.
            vectors: one row a record.

        Raises:
            EvaluatedError: for an instruction that is used for evaluation.
            FileError: if the file cannot be written.
        """
        added = []
        with self._file.written():
            for record, encoder, vector in zip(records, encoders, vectors, strict=True):
                if self._is_evaluated(record.key):
                    raise EvaluatedError(
                        f"{record.key[:80]!r} is an instruction of an evaluation: not learned"
                    )
                kept = replace(record, id=self._insert(record))
                self._db.execute(_NOTE, (encoder, vector.astype("<f4").tobytes(), kept.id))
                added.append(kept)
        return added

    def _is_evaluated(self, key: str) -> bool:
        found = self._db.execute("SELECT 1 FROM evaluated WHERE key = ?", (key,))
        return found.fetchone() is not None

    def _insert(self, record: ProgramRecord) -> int:
        same = (record.kind, record.key, record.failure, record.program, record.person)
        known = self._db.execute(
            "SELECT id FROM record WHERE kind = ? AND key = ? AND failure = ? AND program = ?"
            " AND person = ?",
            same,
        ).fetchone()
        if known:
            return int(known[0])
        added = self._db.execute(
            "INSERT INTO record (kind, key, failure, program, person, when_s, source)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*same, record.when_s, record.source),
        )
        return int(added.lastrowid or 0)

    def remove(self, ids: Iterable[int]) -> int:
        """Removes records; returns how many there were. Their ids are not used again."""
        with self._file.written():
            return sum(
                self._db.execute("DELETE FROM record WHERE id = ?", (number,)).rowcount
                for number in ids
            )

    def keep_out(self, instructions: Iterable[str]) -> list[int]:
        """Notes what is used for evaluation; returns the ids of records that are removed for it."""
        with self._file.written():
            self._db.executemany(
                "INSERT OR IGNORE INTO evaluated VALUES (?)",
                [(one_line(instruction),) for instruction in instructions],
            )
            rows = self._db.execute(
                "DELETE FROM record WHERE key IN (SELECT key FROM evaluated) RETURNING id"
            ).fetchall()
        return [int(number) for (number,) in rows]

    def records(self, ids: Sequence[int] | None = None) -> list[ProgramRecord]:
        """Some records, or all, by id."""
        where, values = "", list(ids or ())
        if ids is not None:
            where = f" WHERE id IN ({', '.join('?' * len(values))})"
        with self._file.reported("cannot be read"):
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM record{where} ORDER BY id",  # noqa: S608
                values,
            ).fetchall()
        return [_record(row) for row in rows]

    def vectors(self, kind: RecordKind, encoder: str) -> tuple[list[int], Vectors]:
        """The ids of the records of a kind with an encoder's vector, and these, by id.

        Raises:
            FileError: if they are damaged, or cannot be read.
        """
        with self._file.reported("cannot be read"):
            rows = self._db.execute(
                "SELECT id, vector FROM record JOIN vector ON record = id"
                " WHERE kind = ? AND encoder = ? ORDER BY id",
                (kind, encoder),
            ).fetchall()
        sizes = {len(blob) for _, blob in rows}
        if len(sizes) > 1 or any(size % 4 for size in sizes):
            raise self._file.error("is damaged: its vectors differ in length", "vector")
        joined = b"".join(blob for _, blob in rows)
        matrix = np.frombuffer(joined, "<f4").reshape(len(rows), -1) if rows else _NONE
        if not np.isfinite(matrix).all():
            raise self._file.error("is damaged: a vector is not finite", "vector")
        return [int(number) for number, _ in rows], matrix

    def without_vector(self, kind: RecordKind, encoder: str) -> list[ProgramRecord]:
        """The records of a kind that have no vector of an encoder."""
        with self._file.reported("cannot be read"):
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM record WHERE kind = ? AND id NOT IN"  # noqa: S608
                " (SELECT record FROM vector WHERE encoder = ?) ORDER BY id",
                (kind, encoder),
            ).fetchall()
        return [_record(row) for row in rows]

    def note_vectors(self, encoder: str, ids: Sequence[int], vectors: Vectors) -> None:
        """Keeps vectors of an encoder; of records that are gone meanwhile, none."""
        rows = [
            (encoder, vector.astype("<f4").tobytes(), number)
            for number, vector in zip(ids, vectors, strict=True)
        ]
        with self._file.written():
            self._db.executemany(_NOTE, rows)


_NONE: Vectors = np.zeros((0, 0), np.float32)
_Row = tuple[int, str, str, str, str, float, str, str]


def _record(row: _Row) -> ProgramRecord:
    number, kind, key, program, person, when_s, source, failure = row
    return ProgramRecord(
        number,
        RecordKind(kind),
        key,
        program,
        person,
        confirmed=True,
        when_s=when_s,
        source=source,
        failure=failure,
    )
