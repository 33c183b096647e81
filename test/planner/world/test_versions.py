"""The rule for older files: every version that was written is read, step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from planner.world.errors import FileError
from planner.world.files import FileModel
from planner.world.versions import Document, Steps, read_versioned, upgraded


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
