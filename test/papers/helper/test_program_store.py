"""The file of a program memory: several processes, damage, other versions (HELPER-D23)."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import (
    FIRST_LEARNED,
    ProgramRecord,
    ProgramStore,
    RecordKind,
    shipped_records,
)
from planner.world.errors import FileError
from planner.world.sqlite_file import SqliteFile

PROGRAM = 'mug = InteractionObject("Mug")\nmug.go_to()\n'


def plan(key: str) -> ProgramRecord:
    return ProgramRecord(0, RecordKind.PLAN, key, PROGRAM, confirmed=True)


_ADD_MANY = """
import sys
from pathlib import Path
from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
with ProgramMemory.open(Path(sys.argv[1])) as memory:
    for n in range(int(sys.argv[3])):
        said = f"{sys.argv[2]} asks for routine {n}."
        memory.add(ProgramRecord(0, RecordKind.PLAN, said, sys.argv[4], confirmed=True))
        memory.nearest(said, RecordKind.PLAN)
"""


@pytest.mark.slow
def test_a_file_that_another_creates_meanwhile_is_a_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, number = tmp_path / "programs.sqlite", SqliteFile.number
    with ThreadPoolExecutor(1) as pool:
        others: list[Future[None]] = []

        def read(store: SqliteFile, pragma: str) -> int:
            value = number(store, pragma)
            if pragma == "application_id" and not others:
                others.append(pool.submit(lambda: ProgramStore(path).close()))
                # It may have to wait until the first has looked at the file.
                wait(others, 0.3)
            return value

        monkeypatch.setattr(SqliteFile, "number", read)
        with ProgramStore(path) as store:
            assert store.records() == []
        others[0].result(30)


@pytest.mark.slow
def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "programs.sqlite"
    started = [
        subprocess.Popen([sys.executable, "-c", _ADD_MANY, path, who, "20", PROGRAM])
        for who in ("Ann", "Ben")
    ]
    assert [process.wait(60) for process in started] == [0, 0]
    with ProgramMemory.open(path) as memory:
        said = {record.key for record in memory.records() if record.id >= FIRST_LEARNED}
        assert said == {f"{who} asks for routine {n}." for who in ("Ann", "Ben") for n in range(20)}


@pytest.mark.slow
def test_a_killed_process_leaves_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "programs.sqlite"
    process = subprocess.Popen([sys.executable, "-c", _ADD_MANY, path, "Ann", "100000", PROGRAM])
    with ProgramMemory.open(path) as memory:
        while len(memory) < len(shipped_records()) + 5:
            assert process.poll() is None
    process.kill()
    process.wait(60)
    with ProgramMemory.open(path) as memory:
        learned = [record for record in memory.records() if record.id >= FIRST_LEARNED]
        assert [r.key for r in learned] == [
            f"Ann asks for routine {n}." for n in range(len(learned))
        ]
        ((_, found),) = memory.nearest(learned[-1].key, RecordKind.PLAN, 1)
        assert found == learned[-1]
        memory.add(plan("Ben asks for a coffee."))


def filled(path: Path, count: int = 40) -> bytes:
    with ProgramMemory.open(path) as memory:
        for number in range(count):
            memory.add(plan(f"Ann asks for routine {number}."))
    return path.read_bytes()


@pytest.mark.parametrize("part", [0.001, 0.2, 0.5, 0.9, 0.999])
def test_half_a_file_is_refused_and_left_alone(tmp_path: Path, part: float) -> None:
    path = tmp_path / "programs.sqlite"
    whole = filled(path)
    half = whole[: int(len(whole) * part)]
    path.write_bytes(half)
    with pytest.raises(FileError, match=r"programs\.sqlite"):
        ProgramMemory.open(path)
    assert path.read_bytes() == half


def test_a_damaged_page_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "programs.sqlite"
    content = bytearray(filled(path))
    content[8192:12288] = os.urandom(4096)
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"damaged|malformed|not a program memory"):
        ProgramMemory.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("pragma", "says"),
    [
        ("user_version = 2", "user_version: is 2, not 1"),
        ("application_id = 7", "of other software"),
    ],
)
def test_another_version_is_refused_and_left_alone(tmp_path: Path, pragma: str, says: str) -> None:
    path = tmp_path / "programs.sqlite"
    filled(path, 2)
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA {pragma}")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(FileError, match=says):
        ProgramMemory.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["this is text, " * 400, "\x00" * 4096])
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "programs.sqlite"
    path.write_text(text)
    with pytest.raises(FileError, match="is not a program memory"):
        ProgramMemory.open(path)
    assert path.read_text() == text


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"gone/programs\.sqlite: cannot be opened"):
        ProgramMemory.open(tmp_path / "gone" / "programs.sqlite")
