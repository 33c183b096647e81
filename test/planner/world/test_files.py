"""Frozen records of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from planner.world.errors import FileError
from planner.world.files import Document, FileModel, Steps, read_document, read_versioned, upgraded
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


class _Note(FileModel):
    version: Literal[3]
    words: tuple[str, ...]


def _one_to_two(document: Document) -> Document:
    return {"word": document["text"]}


def _two_to_three(document: Document) -> Document:
    return {"words": [document["word"]]}


STEPS: Steps = {1: _one_to_two, 2: _two_to_three}


@pytest.mark.parametrize(
    "document",
    [
        {"version": 1, "text": "hello"},
        {"version": 2, "word": "hello"},
        {"version": 3, "words": ["hello"]},
    ],
)
def test_all_versions_are_read(document: Document, tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    before = json.loads(json.dumps(document))
    assert read_versioned(path, _Note, 3, STEPS).words == ("hello",)
    assert upgraded(document, 3, "note", STEPS) is not None
    assert document == before


@pytest.mark.parametrize("version", [0, -1, 4, 10**30, "2", True, 3.0, [3], None])
def test_other_versions_are_refused(version: object, tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    path.write_text(json.dumps({"version": version, "words": ["a"]}), encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read_versioned(path, _Note, 3, STEPS)
    assert caught.value.field == "version"
    assert str(path) in str(caught.value)


def test_what_is_no_document_is_left_to_the_model(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    path.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(FileError):
        read_versioned(path, _Note, 3, STEPS)
