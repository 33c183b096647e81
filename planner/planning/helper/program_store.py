"""The file of a program memory: SQLite with a write-ahead log (HELPER-D23)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from planner.planning.helper.program_file import FIRST_LEARNED
from planner.planning.helper.program_record import ProgramRecord, RecordKind
from planner.world.closing import ClosedOnExit
from planner.world.embedding import Vectors
from planner.world.errors import PlannerError
from planner.world.instruct import one_line
from planner.world.sqlite_file import FileKind, SqliteFile

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
