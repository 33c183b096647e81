"""Errors as people read them."""

from __future__ import annotations

import pytest

from planner.world.errors import FileError


@pytest.mark.parametrize(
    ("file", "shown"),
    [("a\nb.json", "a\\nb.json"), ("\x1b[2J", "\\x1b[2J"), ("Küche, ein Haus.json", "")],
)
def test_a_name_with_a_line_break_is_still_one_line(file: str, shown: str) -> None:
    error = FileError(file, "rooms", "is empty")
    assert str(error) == f"{shown or file}: rooms: is empty"
    assert error.file == file
