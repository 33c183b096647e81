"""The memory on disk: one SQLite file a run, in write-ahead mode, and the files' names."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from planner.world.belief import Edit, Entity, MemoryChange
from planner.world.errors import FileError, PlannerError
from planner.world.files import open_regular
from planner.world.sqlite_file import make_folder, sync_folder

# Brings an SQLite database's write-ahead journal to the disk at a stated pace.

# A commit survives a power cut no later than this many wall seconds after it was made.
SYNC_S = 1.0


class JournalSync:
    """Synchronises the journal in a thread of its own, as a busy disk takes seconds for it.

    SQLite's `synchronous = NORMAL` brings commits to the disk only when it empties the journal,
    which may be an hour later; `FULL` makes each commit wait for the disk.
    """

    def __init__(self, database: Path) -> None:
        """Waits for the first commit; the thread begins with it."""
        self._journal = database.with_name(f"{database.name}-wal")
        self._changed, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.failure = ""

    def note(self) -> None:
        """A commit was made."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="journal sync", daemon=True)
            self._thread.start()
        self._changed.set()

    def close(self) -> None:
        """Ends the thread; safe to call twice. SQLite itself synchronises what it closes."""
        self._ended.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._changed.wait()
            if self._ended.is_set():
                return
            self._changed.clear()
            try:
                self._sync()
                self.failure = ""
            except OSError as error:
                self.failure = f"cannot be brought to the disk: {error.strerror or error}"
                self._changed.set()
            self._ended.wait(SYNC_S)

    def _sync(self) -> None:
        # Not there = SQLite has just emptied it, and synchronised the database.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(self._journal, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)


# Names of memories' files, and that a file is one before it is opened, replaced or removed.
#
# Who may call `/memory/save` may not thereby write all over the machine: a name is that of a file
# in the memory's own folder, unless the operator opened others. Files of others are left as they
# are.

SUFFIX = ".sqlite"
# SQLite's files beside a database that is in use, or that a killed process left.
JOURNALS = ("-wal", "-shm", "-journal")
# "EPM1": tells a memory from any other SQLite file.
APPLICATION_ID = 0x45504D31
# A million changes leave a file of 4 MB, as only the last ones are kept.
MAX_STORE_BYTES = 1 << 28
# File systems allow 255; SQLite's journals add to the name.
MAX_NAME_BYTES = 240
_MAGIC = b"SQLite format 3\0"
# Where SQLite's header has the application's number.
_APPLICATION = slice(68, 72)
_SHOWN_CHARS = 80


class StoreError(PlannerError):
    """A store that cannot be used or written; its text names the file and the reason."""


def named_file(name: str, folder: Path | None, *, anywhere: bool = False) -> Path:
    """The file that somebody names, without following links out of the folder.

    Args:
        name: untrusted: a file of the folder, or the path of one in it.
        folder: of the memory's files; None = there is none.
        anywhere: whether absolute paths of other folders are allowed too.

    Raises:
        StoreError: in one sentence, for any other name.
    """
    shown = repr(name if len(name) <= _SHOWN_CHARS else name[:_SHOWN_CHARS] + "...")
    path = Path(name)
    if problem := _problem(path):
        raise StoreError(f"{shown}: {problem}")
    if folder is None and not (anywhere and path.is_absolute()):
        if anywhere:
            raise StoreError(f"{shown}: this memory has no folder; name an absolute path")
        raise StoreError(f"{shown}: this memory has no folder (parameter store) for files")
    wanted = path if folder is None else folder / path
    try:
        if wanted.is_symlink():
            raise StoreError(f"{shown}: is a link, which is not followed")
        # Links in the way to the folder itself are the operator's.
        home = None if folder is None else folder.resolve()
        resolved = wanted.parent.resolve() / wanted.name
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(f"{shown}: cannot be used: {_reason(error)}") from None
    if not anywhere and (home is None or not resolved.is_relative_to(home)):
        raise StoreError(
            f"{shown}: is not in the memory's folder {folder}; the operator may allow other "
            "folders by the parameter files_anywhere"
        )
    return wanted


def _problem(path: Path) -> str:
    """Why no memory's file may be named so; "" if it may."""
    try:
        sizes = [len(os.fsencode(part)) for part in path.parts]
    except UnicodeEncodeError:
        return "is not a name that a file can have"
    if "\0" in str(path):
        return "has a NUL character"
    if max(sizes, default=0) > MAX_NAME_BYTES or sum(sizes) + len(sizes) > 4000:
        return f"is too long; a name may have {MAX_NAME_BYTES} bytes"
    if ".." in path.parts:
        return "goes up by '..'"
    if path.suffix != SUFFIX:
        return f"is not the name of a memory's file, which ends in {SUFFIX}"
    return ""


def require_memory(path: Path) -> None:
    """Looks into a file without changing it.

    Raises:
        StoreError: where it is missing, or not a memory's file.
    """
    try:
        with open_regular(path) as stream:
            size, head = os.fstat(stream.fileno()).st_size, stream.read(100)
    except FileError as error:
        raise StoreError(str(error)) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {_reason(error)}") from None
    if not head:
        raise StoreError(f"{path}: is empty")
    if not head.startswith(_MAGIC):
        raise StoreError(f"{path}: file is not a database")
    if int.from_bytes(head[_APPLICATION], "big") != APPLICATION_ID:
        raise StoreError(f"{path}: is an SQLite database, but not a memory store")
    if size > MAX_STORE_BYTES:
        raise StoreError(f"{path}: is larger than {MAX_STORE_BYTES} bytes")


def require_replaceable(path: Path) -> None:
    """Refuses to replace what is not a memory's file, or is in use.

    Raises:
        StoreError: where a file is foreign, or has journals beside it.
    """
    for suffix in JOURNALS:
        beside = path.with_name(path.name + suffix)
        if os.path.lexists(beside):
            raise StoreError(f"{path}: is in use, or was left by a killed process: {beside.name}")
    if os.path.lexists(path):
        require_memory(path)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


SCHEMA_VERSION = 1
# Changes kept for who asks for all since some number. Older ones are dropped, so that a file grows
# with the entities and not with the time that it is used.
HISTORY = 4096
# Beyond any run, and within what messages can hold.
_MAX_ID, _MAX_SEQUENCE, _MAX_STAMP_S = 2**31 - 1, 2**53, 2.0**31 - 1
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entities (id INTEGER PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE changes (
  sequence INTEGER PRIMARY KEY, stamp_s REAL NOT NULL, author TEXT NOT NULL, edits TEXT NOT NULL
);
"""
# Device and number of each file that a `Store` of this process has open. Whoever else opens and
# closes one of them takes SQLite's locks from it (https://www.sqlite.org/howtocorrupt.html, 2.2).
_open_here: list[tuple[int, int]] = []
_ENTITY = TypeAdapter(Entity)
_EDITS: TypeAdapter[tuple[Edit, ...]] = TypeAdapter(tuple[Edit, ...])


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a store holds.

    Attributes:
        house: name of the house whose layout the entities are of.
        episode: of the run, or the house where there is none.
        next_id: number of the next entity.
        sequence: of the last change.
        stamp_s: of the newest thing that was stored.
        entities: sorted by id.
        changes: in order; the list before the first of them is not kept.
    """

    house: str
    episode: str
    next_id: int
    sequence: int
    stamp_s: float
    entities: tuple[Entity, ...]
    changes: tuple[MemoryChange, ...]


class Store:
    """One open file; every method but `close` may raise `StoreError`."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the file.

        Raises:
            StoreError: where it cannot be opened, is no memory, or one of another version.
        """
        self.path = path
        self._database: sqlite3.Connection | None = None
        self._sync = JournalSync(path)
        try:
            make_folder(path.parent, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path}: cannot create its folder: {error.strerror}") from None
        with _as_store_error(path):
            # Autocommit: transactions are begun and ended here, in `_transaction`.
            self._database = sqlite3.connect(path, isolation_level=None, timeout=1.0)
            _check_or_create(self._database, path)
            # The names of the file and of its journal.
            sync_folder(path.parent)
        self._file = _file_id(path)
        _open_here.append(self._file)

    def close(self) -> None:
        """Closes the file; safe to call twice, and with a full disk."""
        self._sync.close()
        if self._database is not None:
            _open_here.remove(self._file)
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def read(self) -> Content | None:
        """What the file holds; None for a new one.

        Raises:
            StoreError: naming the place that is broken.
        """
        database = self._open()
        with _as_store_error(self.path):
            meta = dict(database.execute("SELECT key, value FROM meta"))
            rows = database.execute("SELECT id, record FROM entities ORDER BY id").fetchall()
            logged = database.execute(
                "SELECT sequence, stamp_s, author, edits FROM changes ORDER BY sequence"
            ).fetchall()
        if not meta:
            return None
        return _content(self.path, meta, rows, logged)

    def replace(self, content: Content) -> None:
        """Makes this the file's content, as a whole or not at all."""
        with self._transaction() as database:
            for table in ("meta", "entities", "changes"):
                database.execute(f"DELETE FROM {table}")  # noqa: S608 - a fixed list
            _put_meta(database, house=content.house, episode=content.episode)
            _put_state(database, content.next_id, content.sequence, content.stamp_s)
            _put_entities(database, content.entities)
            for change in content.changes:
                _put_change(database, change)

    def append(
        self, changes: Sequence[MemoryChange], confirmed: Iterable[Entity], next_id: int
    ) -> None:
        """Stores changes in their order, and entities that were seen again, in one transaction."""
        with self._transaction() as database:
            stamps = [change.stamp_s for change in changes]
            touched: dict[int, Entity | None] = {}
            for change in changes:
                _put_change(database, change)
                for edit in change.edits:
                    removed = edit.kind.value == "Remove"
                    touched[edit.entity.entity_id] = None if removed else edit.entity
            for entity in confirmed:
                stamps.append(entity.stamp_s)
                touched[entity.entity_id] = entity
            gone = [(number,) for number, entity in touched.items() if entity is None]
            database.executemany("DELETE FROM entities WHERE id = ?", gone)
            _put_entities(database, [e for e in touched.values() if e is not None])
            sequence = changes[-1].sequence if changes else None
            if sequence is not None:
                database.execute("DELETE FROM changes WHERE sequence <= ?", (sequence - HISTORY,))
            _put_state(database, next_id, sequence, max(stamps, default=None))

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            raise StoreError(f"{self.path}: is closed")
        return self._database

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        database = self._open()
        if self._sync.failure:
            raise StoreError(f"{self.path}: {self._sync.failure}")
        with _as_store_error(self.path):
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise
        self._sync.note()


def read_file(path: Path) -> Content:
    """The content of a memory's file.

    Raises:
        StoreError: where it is missing or cannot be read.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no such file")
    if _file_id(path) not in _open_here:
        require_memory(path)
    store = Store(path)
    try:
        content = store.read()
    finally:
        store.close()
    if content is None:
        raise StoreError(f"{path}: is empty")
    return content


def _file_id(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
    return found.st_dev, found.st_ino


def write_file(path: Path, content: Content) -> None:
    """Writes a memory's file, complete or not at all; only another memory is overwritten.

    Raises:
        StoreError: where the file is something else, or cannot be written.
    """
    require_replaceable(path)
    # Short, whatever the name, and nobody's.
    temporary = path.with_name(f".memory-{secrets.token_hex(8)}.tmp")
    try:
        store = Store(temporary)
        try:
            store.replace(content)
        finally:
            # The last connection's end writes everything into the one file.
            store.close()
        # Again: the writing takes a while.
        require_replaceable(path)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        for suffix in ("", *JOURNALS):
            temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)


def set_aside(path: Path) -> Path | None:
    """Renames the file of an earlier run so that a new one can begin; None where there is none."""
    if not path.exists():
        return None
    number = 1
    while (aside := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    try:
        for suffix in ("-wal", "-shm"):
            journal = path.with_name(path.name + suffix)
            if journal.exists():
                journal.rename(aside.with_name(aside.name + suffix))
        path.rename(aside)
    except OSError as error:
        raise StoreError(f"{path}: cannot be set aside: {error.strerror}") from None
    return aside


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from None


def _check_or_create(database: sqlite3.Connection, path: Path) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise StoreError(f"{path}: is an SQLite database, but not a memory store")
    if tables and version != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema version {version}; this program reads version {SCHEMA_VERSION}"
        )
    if tables and _schema(database) != _our_schema():
        raise StoreError(f"{path}: has other tables than a memory store")
    # Before write-ahead mode, so that the file itself tells that it is a memory.
    if not tables:
        database.executescript(
            f"BEGIN; {_TABLES} PRAGMA application_id = {APPLICATION_ID}; "
            f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )
    database.execute("PRAGMA journal_mode = WAL")
    # Commits survive a killed process; `JournalSync` makes them survive a power cut.
    database.execute("PRAGMA synchronous = NORMAL")


def _schema(database: sqlite3.Connection) -> set[str]:
    """What a file defines; a view or a trigger in it would be run by reading or writing."""
    rows = database.execute("SELECT sql FROM sqlite_master").fetchall()
    return {" ".join(str(sql).split()) for (sql,) in rows}


def _our_schema() -> set[str]:
    return {" ".join(text.split()) for text in _TABLES.split(";") if text.strip()}


def _put_meta(database: sqlite3.Connection, **values: object) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)", [(k, str(v)) for k, v in values.items()]
    )


def _put_state(
    database: sqlite3.Connection, next_id: int, sequence: int | None, stamp_s: float | None
) -> None:
    _put_meta(database, next_id=next_id)
    if sequence is not None:
        _put_meta(database, sequence=sequence)
    if stamp_s is not None:
        _put_meta(database, stamp_s=repr(stamp_s))


def _put_entities(database: sqlite3.Connection, entities: Iterable[Entity]) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO entities VALUES (?, ?)",
        [(entity.entity_id, _ENTITY.dump_json(entity).decode()) for entity in entities],
    )


def _put_change(database: sqlite3.Connection, change: MemoryChange) -> None:
    edits = _EDITS.dump_json(change.edits).decode()
    database.execute(
        "INSERT INTO changes VALUES (?, ?, ?, ?)",
        (change.sequence, change.stamp_s, change.author, edits),
    )


def _content(
    path: Path,
    meta: dict[str, str],
    rows: Sequence[tuple[int, str]],
    logged: Sequence[tuple[int, float, str, str]],
) -> Content:
    where = "meta"
    try:
        next_id, sequence = int(meta["next_id"]), int(meta["sequence"])
        stamp_s, house, episode = _stamp(meta["stamp_s"]), meta["house"], meta["episode"]
        if not (0 <= next_id <= _MAX_ID and 0 <= sequence <= _MAX_SEQUENCE):
            raise ValueError(f"next_id {next_id}, sequence {sequence}")
        entities = []
        for number, record in rows:
            where = f"entities[{number}]"
            entities.append(_ENTITY.validate_json(record))
            if not number == entities[-1].entity_id < next_id:
                raise ValueError(f"id {entities[-1].entity_id}")
            _check_numbers(entities[-1])
        changes = []
        for number, stamp, author, edits in logged:
            where = f"changes[{number}]"
            change = MemoryChange(number, _stamp(stamp), author, _EDITS.validate_json(edits))
            for edit in change.edits:
                _check_numbers(edit.entity)
            changes.append(change)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join([where, *map(str, first["loc"])])
        raise StoreError(str(FileError(path, field, first["msg"]))) from None
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise StoreError(str(FileError(path, where, f"cannot be read: {error}"))) from None
    return Content(house, episode, next_id, sequence, stamp_s, tuple(entities), tuple(changes))


def _stamp(value: object) -> float:
    stamp_s = float(str(value))
    if not 0.0 <= stamp_s <= _MAX_STAMP_S:
        raise ValueError(f"the time {stamp_s:g} s is impossible")
    return stamp_s


def _check_numbers(entity: Entity) -> None:
    """Refuses what no message can hold.

    Raises:
        ValueError: with the reason.
    """
    _stamp(entity.stamp_s)
    _stamp(entity.seen_s or 0.0)
    measures = (*entity.position_m, *entity.size_m, entity.seen_distance_m, entity.openness)
    if not all(value is None or math.isfinite(value) for value in measures):
        raise ValueError("a number is not finite")
