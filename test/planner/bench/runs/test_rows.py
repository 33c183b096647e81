"""Rows on the disk: whole ones are kept whatever happens to the last."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import made_row

from planner.bench.runs.rows import Fault, RowError, RowFile, newest_rows, read_rows, schema_texts
from planner.world.errors import FileError

SCHEMAS = Path(__file__).resolve().parents[4] / "docs" / "schema"
ROWS = [made_row(f"episode_{n}", seed=n) for n in range(3)]


def _file(path: Path) -> bytes:
    path.unlink(missing_ok=True)
    with RowFile(path) as rows:
        for row in ROWS:
            rows.append(row)
    return path.read_bytes()


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    _file(tmp_path / "rows.jsonl")
    assert list(read_rows(tmp_path / "rows.jsonl")) == ROWS


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(share=st.floats(0, 1))
def test_a_file_cut_anywhere_keeps_its_whole_rows_and_continues(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    whole = _file(path)
    cut = int(share * len(whole))
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    assert list(read_rows(path)) == ROWS[:kept]
    with RowFile(path) as rows:
        rows.append(ROWS[2])
    assert list(read_rows(path)) == [*ROWS[:kept], ROWS[2]]


def test_a_broken_row_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = _file(path).splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b'"seed":1', b'"seed":"x"') + lines[2])
    with pytest.raises(FileError, match=r"rows.jsonl: line 2.seed: "):
        list(read_rows(path))


def test_an_episode_that_was_run_again_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowFile(path) as rows:
        rows.append(made_row("one", error=RowError(fault=Fault.CRASH, text="oops")))
        rows.append(made_row("one"))
    (row,) = newest_rows(path).values()
    assert row.error is None


def test_the_published_schemas_are_current() -> None:
    for name, text in schema_texts().items():
        assert (SCHEMAS / name).read_text(encoding="utf-8") == text, (
            "run: python -m planner.bench.runs.rows docs/schema"
        )
