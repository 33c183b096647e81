"""Files that survive a power cut: SQLite with a write-ahead log, and synchronised files."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Self

from planner.world.errors import FileError

# Objects that are closed at the end of a `with` block.


class ClosedOnExit(ABC):
    """A context manager whose exit is `close`."""

    @abstractmethod
    def close(self) -> None:
        """Releases what it uses."""

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes it."""
        self.close()


BUSY_S = 10.0
PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class FileKind:
    """What is kept in a file.

    Attributes:
        name: with its article, such as "a program memory".
        application: SQLite's application id of such files.
        version: of the tables.
        tables: statements that create them, each ended by a semicolon and a line's end.
        unmarked: the names of the tables of a file that is known by them, as it has no application
            id; empty where there are no such files.
    """

    name: str
    application: int
    version: int
    tables: str
    unmarked: frozenset[str] = frozenset()


class SqliteFile(ClosedOnExit):
    """An open file. Several processes may have it open.

    Attributes:
        db: the connection; each statement outside `written` is a transaction of its own.
    """

    def __init__(self, path: Path | None, kind: FileKind) -> None:
        """Opens or creates a file; None = in this process's main memory.

        Raises:
            FileError: if the file is of another version, of other software, or damaged.
        """
        self._path, self._kind = path, kind
        try:
            if path is not None and not path.exists():
                path.touch(mode=0o600)
            if path is not None and not path.is_file():
                raise FileError(path, "", "cannot be opened: it is not a regular file")
            self.db = sqlite3.connect(
                ":memory:" if path is None else f"{path.resolve().as_uri()}?mode=rw",
                uri=path is not None,
                timeout=BUSY_S,
                isolation_level=None,
                check_same_thread=False,
            )
        except (OSError, sqlite3.Error) as error:
            raise FileError(path or "", "", f"cannot be opened: {error}") from None
        try:
            with self.reported(f"is not {kind.name}"):
                if not self._is_ours():
                    self._create()
                write_ahead(self.db.execute)
                self.db.execute("PRAGMA synchronous = NORMAL")
                self.db.execute("PRAGMA foreign_keys = ON")
        except FileError:
            self.db.close()
            raise

    def close(self) -> None:
        """Closes the file."""
        self.db.close()

    def error(self, reason: str, field: str = "") -> FileError:
        """An error that names the file."""
        return FileError(self._path or self._kind.name, field, reason)

    def number(self, pragma: str) -> int:
        """The value of a pragma."""
        return int(self.db.execute(f"PRAGMA {pragma}").fetchone()[0])

    @contextmanager
    def reported(self, what: str) -> Iterator[None]:
        """Turns an error of SQLite into one that names the file and says `what`."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.error(f"{what}: {error}") from None

    @contextmanager
    def written(self) -> Iterator[None]:
        """One transaction: all of it is in the file afterwards, or nothing."""
        with self.reported("cannot be written"):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.db.execute("ROLLBACK")
                raise
            self.db.execute("COMMIT")

    def _is_ours(self) -> bool:
        """Whether the tables are there; False for an empty file."""
        # One reading transaction: another process may create the tables at the same time.
        self.db.execute("BEGIN")
        try:
            return self._has_tables()
        finally:
            self.db.execute("ROLLBACK")

    def _has_tables(self) -> bool:
        kind = self._kind
        version, application = self.number("user_version"), self.number("application_id")
        rows = self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {str(name) for (name,) in rows}
        if not (version or application or tables):
            return False
        unmarked = not application and bool(tables) and tables == kind.unmarked
        if application != kind.application and not unmarked:
            raise self.error(f"is not {kind.name}: it is a database of other software")
        if version != kind.version:
            raise self.error(f"is {version}, not {kind.version}", "user_version")
        # SQLite reads what is missing of the last page as zeros.
        if self._path is not None and self._path.stat().st_size % self.number("page_size"):
            raise self.error("is damaged: its end is missing")
        (state,) = self.db.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise self.error(f"is damaged: {state}")
        return True

    def _create(self) -> None:
        kind = self._kind
        with self.written():
            # Another process may have been first.
            if self.number("user_version"):
                return
            for statement in kind.tables.strip().split(";\n"):
                self.db.execute(statement)
            self.db.execute(f"PRAGMA application_id = {kind.application}")
            self.db.execute(f"PRAGMA user_version = {kind.version}")


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


# What survives a power cut: contents and names of files, each once they were synchronised.


def make_folder(folder: Path, *, exist_ok: bool) -> None:
    """Creates a folder and those above it.

    Raises:
        OSError: if one cannot be created, or it exists and must not.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=exist_ok)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Brings a folder's list of files to the disk: their names would not survive a power cut.

    Raises:
        OSError: if that fails.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_synced(path: Path, text: str) -> None:
    """Replaces a file's text, so that even after a power cut it is the old or the new one.

    Raises:
        OSError: if it cannot be written; the old one stays.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
