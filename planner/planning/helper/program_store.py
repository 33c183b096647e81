"""The file of a program memory: SQLite with a write-ahead log (HELPER-D23).

A file is looked at before anything is written to it: one of another version, of other software or
damaged is refused and stays as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import sleep

import numpy as np

from planner.planning.helper.program_file import FIRST_LEARNED
from planner.planning.helper.program_record import ProgramRecord, RecordKind
from planner.world.closing import ClosedOnExit
from planner.world.embedding import Vectors
from planner.world.errors import FileError, PlannerError
from planner.world.instruct import one_line

VERSION = 1
# "Hpgm": says that a SQLite file is a program memory.
APPLICATION = 0x4870676D
BUSY_S = 10.0
PAUSE_S = 0.02
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
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""  # noqa: S608 - of numbers of this module
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
        self._path = path
        self._seen = -1
        try:
            if path is not None and not path.exists():
                path.touch(mode=0o600)
            self._db = sqlite3.connect(
                ":memory:" if path is None else f"{path.resolve().as_uri()}?mode=rw",
                uri=path is not None,
                timeout=BUSY_S,
                isolation_level=None,
                check_same_thread=False,
            )
        except (OSError, sqlite3.Error) as error:
            raise FileError(path or "", "", f"cannot be opened: {error}") from None
        try:
            with self._reported("is not a program memory"):
                if not self._is_memory():
                    self._create()
                write_ahead(self._db.execute)
                self._db.execute("PRAGMA synchronous = NORMAL")
                self._db.execute("PRAGMA foreign_keys = ON")
        except FileError:
            self._db.close()
            raise

    def _is_memory(self) -> bool:
        """Whether the tables are there; False for an empty file."""
        # One reading transaction: another process may create the tables at the same time.
        self._db.execute("BEGIN")
        try:
            return self._has_tables()
        finally:
            self._db.execute("ROLLBACK")

    def _has_tables(self) -> bool:
        version, application = self._number("user_version"), self._number("application_id")
        tables = self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        if not (version or application or tables):
            return False
        if application != APPLICATION:
            raise self._error("is not a program memory: it is a database of other software")
        if version != VERSION:
            raise self._error(f"is {version}, not {VERSION}", "user_version")
        # SQLite reads what is missing of the last page as zeros.
        if self._path is not None and self._path.stat().st_size % self._number("page_size"):
            raise self._error("is damaged: its end is missing")
        (state,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise self._error(f"is damaged: {state}")
        return True

    def _create(self) -> None:
        with self._written():
            # Another process may have been first.
            if self._number("user_version"):
                return
            for statement in _TABLES.strip().split(";\n"):
                self._db.execute(statement)

    def _number(self, pragma: str) -> int:
        return int(self._db.execute(f"PRAGMA {pragma}").fetchone()[0])

    def _error(self, reason: str, field: str = "") -> FileError:
        return FileError(self._path or "program memory", field, reason)

    @contextmanager
    def _reported(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(f"{what}: {error}") from None

    @contextmanager
    def _written(self) -> Iterator[None]:
        """One transaction: all of it is in the file afterwards, or nothing."""
        with self._reported("cannot be written"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def changed_elsewhere(self) -> bool:
        """Whether another process, or another store here, wrote since this was last asked."""
        with self._reported("cannot be read"):
            now = self._number("data_version")
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
        with self._written():
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
        with self._written():
            return sum(
                self._db.execute("DELETE FROM record WHERE id = ?", (number,)).rowcount
                for number in ids
            )

    def keep_out(self, instructions: Iterable[str]) -> list[int]:
        """Notes what is used for evaluation; returns the ids of records that are removed for it."""
        with self._written():
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
        with self._reported("cannot be read"):
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
        with self._reported("cannot be read"):
            rows = self._db.execute(
                "SELECT id, vector FROM record JOIN vector ON record = id"
                " WHERE kind = ? AND encoder = ? ORDER BY id",
                (kind, encoder),
            ).fetchall()
        sizes = {len(blob) for _, blob in rows}
        if len(sizes) > 1 or any(size % 4 for size in sizes):
            raise self._error("is damaged: its vectors differ in length", "vector")
        joined = b"".join(blob for _, blob in rows)
        matrix = np.frombuffer(joined, "<f4").reshape(len(rows), -1) if rows else _NONE
        if not np.isfinite(matrix).all():
            raise self._error("is damaged: a vector is not finite", "vector")
        return [int(number) for number, _ in rows], matrix

    def without_vector(self, kind: RecordKind, encoder: str) -> list[ProgramRecord]:
        """The records of a kind that have no vector of an encoder."""
        with self._reported("cannot be read"):
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
        with self._written():
            self._db.executemany(_NOTE, rows)


def write_ahead(execute: Callable[[str], object]) -> None:
    """Switches the log on. SQLite does not wait for another who does so at the same time.

    Args:
        execute: that of the connection.

    Raises:
        sqlite3.OperationalError: if it cannot be, or others hold the file for `BUSY_S`.
    """
    for tries_left in reversed(range(round(BUSY_S / PAUSE_S))):
        try:
            execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or not tries_left:
                raise
        sleep(PAUSE_S)


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
