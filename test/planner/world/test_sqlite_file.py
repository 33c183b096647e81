"""What is opened is looked at before it is written to."""

from __future__ import annotations

import sqlite3

import pytest

from planner.world.sqlite_file import write_ahead


@pytest.mark.parametrize(
    ("code", "times", "says"),
    [
        (sqlite3.SQLITE_BUSY, 3, ""),
        (sqlite3.SQLITE_BUSY, 10**6, "5"),
        (sqlite3.SQLITE_FULL, 1, "13"),
    ],
)
def test_who_switches_the_log_on_waits_for_others_who_do(
    monkeypatch: pytest.MonkeyPatch, code: int, times: int, says: str
) -> None:
    asked: list[str] = []

    def execute(words: str) -> None:
        asked.append(words)
        if len(asked) <= times:
            error = sqlite3.OperationalError(str(code))
            error.sqlite_errorcode = code
            raise error

    monkeypatch.setattr("planner.world.sqlite_file.BUSY_S", 0.2)
    if says:
        with pytest.raises(sqlite3.OperationalError, match=says):
            write_ahead(execute)
    else:
        write_ahead(execute)
    assert set(asked) == {"PRAGMA journal_mode = WAL"}
    assert len(asked) == min(times + 1, 10) - (code != sqlite3.SQLITE_BUSY)
