"""Whose files a memory may name, read, replace and delete."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_samples import layout_of

from planner.memory.memory import Memory
from planner.memory.settings import store_path
from planner.memory.store import (
    MAX_NAME_BYTES,
    Store,
    StoreError,
    named_file,
    read_file,
    write_file,
)


def content() -> object:
    return Memory(layout_of(2), None).content()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x" * 300 + ".sqlite", f"is too long; a name may have {MAX_NAME_BYTES} bytes"),
        ("\u00e9" * 130 + ".sqlite", "is too long"),
        ("x/" * 3000 + "a.sqlite", "is too long"),
        ("a\0.sqlite", "has a NUL character"),
        ("\ud800.sqlite", "is not a name"),
        ("../a.sqlite", "goes up by '..'"),
        ("b/../../a.sqlite", "goes up by '..'"),
        ("a.db", "is not the name of a memory's file"),
        ("a.sqlite-wal", "is not the name of a memory's file"),
        ("", "is not the name of a memory's file"),
        ("/etc/a.sqlite", "is not in the memory's folder"),
        ("link.sqlite", "is a link"),
        ("way/a.sqlite", "is not in the memory's folder"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    folder, other = tmp_path / "store", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (folder / "link.sqlite").symlink_to(other / "a.sqlite")
    (folder / "way").symlink_to(other)
    with pytest.raises(StoreError) as error:
        named_file(name, folder)
    assert reason in str(error.value)
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


def test_names_of_the_folder_and_what_the_operator_opened_are_allowed(tmp_path: Path) -> None:
    folder, other = tmp_path / "store", tmp_path / "other.sqlite"
    assert named_file("a.sqlite", folder) == folder / "a.sqlite"
    assert named_file("b/a.sqlite", folder) == folder / "b/a.sqlite"
    assert named_file(str(folder / "a.sqlite"), folder) == folder / "a.sqlite"
    assert named_file(str(other), folder, anywhere=True) == other
    assert named_file(str(other), None, anywhere=True) == other
    with pytest.raises(StoreError, match=r"has no folder \(parameter store\)"):
        named_file("a.sqlite", None)
    with pytest.raises(StoreError, match="has no folder; name an absolute path"):
        named_file("a.sqlite", None, anywhere=True)


@given(st.text(max_size=40) | st.text(alphabet="./a\\~\0", max_size=12))
def test_every_name_is_a_file_of_the_folder_or_refused(name: str) -> None:
    folder = Path("/memories/of/a/run")
    for text in (name, name + ".sqlite"):
        try:
            found = named_file(text, folder)
        except StoreError:
            continue
        assert found.resolve().is_relative_to(folder)
        assert found.suffix == ".sqlite"


@pytest.mark.parametrize("episode", ["../e", "a/b", "x" * 300, "a\0b"])
def test_no_store_is_made_for_an_episode_whose_id_is_no_name(tmp_path: Path, episode: str) -> None:
    with pytest.raises(StoreError):
        store_path(tmp_path, episode)


def _database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE letters (text TEXT)")
    database.close()


FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (Path.touch, "is empty"),
    "text": (lambda p: p.write_text("dear diary" * 100), "file is not a database"),
    "database": (_database, "is an SQLite database, but not a memory store"),
    "folder": (Path.mkdir, "is not a regular file"),
}


@pytest.mark.parametrize(("make", "reason"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_neither_replaced_nor_changed(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    path = tmp_path / "a.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=reason):
        write_file(path, content())  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        read_file(path)
    assert [found.name for found in tmp_path.iterdir()] == ["a.sqlite"]
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("exists", [False, True])
def test_journals_of_others_are_not_deleted(tmp_path: Path, suffix: str, exists: bool) -> None:
    path = tmp_path / "a.sqlite"
    if exists:
        write_file(path, content())  # type: ignore[arg-type]
    journal = tmp_path / f"a.sqlite{suffix}"
    journal.write_text("of another program")
    with pytest.raises(StoreError, match=f"left by a killed process: a.sqlite{suffix}"):
        write_file(path, content())  # type: ignore[arg-type]
    assert journal.read_text() == "of another program"
    assert path.exists() == exists
    assert len(list(tmp_path.iterdir())) == 1 + exists


def _edited(path: Path, *statements: str) -> None:
    write_file(path, content())  # type: ignore[arg-type]
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["CREATE VIEW more AS SELECT 1"], "has other tables"),
        (["ALTER TABLE entities RENAME TO kept", "CREATE VIEW entities AS SELECT 1"], "has other"),
        (["UPDATE meta SET value = 'inf' WHERE key = 'stamp_s'"], "the time inf s is impossible"),
        (["UPDATE meta SET value = 'nan' WHERE key = 'stamp_s'"], "the time nan s is impossible"),
        (["UPDATE meta SET value = '1' || hex(zeroblob(20))"], "meta: cannot be read"),
        (["UPDATE meta SET value = -1 WHERE key = 'next_id'"], "next_id -1"),
        (
            ["UPDATE entities SET record = json_set(record, '$.stamp_s', 1e300)"],
            "the time 1e\\+300 s is impossible",
        ),
        (
            ["UPDATE entities SET record = json_set(record, '$.size_m', json('[0, 0, 9e999]'))"],
            "entities",
        ),
        (["INSERT INTO changes VALUES (1, 1e300, 'a', '[]')"], "is impossible"),
        (["INSERT INTO changes VALUES (1, 'x', 'a', '[]')"], "could not convert"),
    ],
)
def test_a_store_with_impossible_content_is_one_error(
    tmp_path: Path, statements: list[str], reason: str
) -> None:
    path = tmp_path / "a.sqlite"
    _edited(path, *statements)
    with pytest.raises(StoreError, match=reason):
        read_file(path)


def test_a_killed_new_store_is_known_as_a_memory_by_its_file_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.sqlite")
    copy = tmp_path / "b.sqlite"
    copy.write_bytes((tmp_path / "a.sqlite").read_bytes())
    store.close()
    with pytest.raises(StoreError, match=r"b\.sqlite: is empty"):
        read_file(copy)


def test_reading_the_own_store_leaves_it_locked(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    store = Store(path)
    store.replace(content())  # type: ignore[arg-type]
    assert read_file(path) == content()
    # The last one that closes a store deletes its journal, which would still be in use here.
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM meta')"
    subprocess.run([sys.executable, "-c", f"{code}; c.close()", path], check=True)
    assert path.with_name("a.sqlite-wal").exists()
    store.close()
