"""Text of a bag in the cells of tables."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.report.tables import cell, columns_of, csv_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("cup_1", "cup_1"),
        ("two\nlines", "two\nlines"),
        ("", ""),
    ],
)
def test_cells_that_would_be_calculated_are_marked(text, shown) -> None:
    assert cell(text) == shown


@given(st.text())
def test_cells_hold_no_controls(text) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", cell(text))


@given(st.text())
def test_no_cell_begins_as_a_formula(text) -> None:
    assert not cell(text).startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.slow
@given(st.text(alphabet=st.characters(categories=["L", "N"])))
def test_cells_stays_as_it_is(text) -> None:
    assert cell(text) == text


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.text() | st.integers() | st.none())))
def test_a_table_reads_back_by_its_columns(rows) -> None:
    read = list(csv.DictReader(io.StringIO(csv_text(rows), newline="")))
    columns = columns_of(rows)
    if columns:
        # The csv module drops rows of one empty cell.
        assert len(read) <= len(rows)
        assert all(list(row) == columns for row in read)


def test_numbers_are_numbers_though_they_are_negative() -> None:
    assert csv_text([{"x_m": -1.5, "ok": True, "n": None}]) == "x_m,ok,n\r\n-1.5,true,\r\n"
