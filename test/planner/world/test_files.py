"""Frozen records of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.world.errors import FileError
from planner.world.files import read_document
from planner.world.house import House


def test_a_changed_copy_computes_again_what_the_original_had_computed(small_house: House) -> None:
    assert small_house.layout.objects == ()
    assert "fridge_9" not in small_house.furniture_by_name
    piece = small_house.furniture[0]
    before_m = piece.pose.position_m
    moved = piece.model_copy(update={"x_m": piece.x_m + 1.0, "name": "fridge_9"})
    assert moved.pose.position_m == (before_m[0] + 1.0, *before_m[1:])
    assert moved.box.minimum_m[0] == piece.box.minimum_m[0] + 1.0
    changed = small_house.model_copy(update={"furniture": (moved,)})
    assert list(changed.furniture_by_name) == ["fridge_9"]
    assert changed.layout.furniture == (moved,)
    assert piece.pose.position_m == before_m


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", '{"seed": 1, "b": {"goal": 1, "goal": 2}}', "goal: is there twice"),
        ("a.yaml", "b: {goal: 1, goal: 2}\n", "goal: is there twice"),
        ("a.json", '{"\\ud800": 1, "\\ud800": 1}', r"\ud800: is there twice"),
        (
            "a.json",
            '{"say": ["a", "cup \\uD83D there"]}',
            "say.1: has the lone surrogate U+D83D, which is half a character",
        ),
        (
            "a.json",
            '{"b": {"\\udfff": 1}}',
            "b: has the lone surrogate U+DFFF, which is half a character",
        ),
    ],
)
def test_a_key_that_is_there_twice_and_half_a_character_are_errors(
    name: str, text: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as refused:
        read_document(path)
    assert str(refused.value) == f"{path}: {told}"
    str(refused.value).encode("utf-8")


def test_escaped_characters_and_keys_that_replace_merged_ones_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"say": "\\ud83d\\ude00", "it": "\\\\ud800"}', encoding="utf-8")
    assert read_document(path) == {"say": "\N{GRINNING FACE}", "it": "\\ud800"}
    path = tmp_path / "a.yaml"
    path.write_text("a: &a {x: 1, y: 1}\nb: {<<: *a, x: 2}\n", encoding="utf-8")
    assert read_document(path) == {"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 1}}
