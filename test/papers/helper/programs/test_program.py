"""The classes that programs name, and what they are here."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.helper.programs.program import default_vocabulary, load_vocabulary
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError


def test_the_closed_list_has_120_names() -> None:
    """HELPER-4.3."""
    names = default_vocabulary().names
    assert len(names) == len(set(names)) == 120


def test_every_class_of_the_catalogue_has_a_name() -> None:
    vocabulary, catalogue = default_vocabulary(), default_catalogue()
    for word in (*catalogue.objects, *catalogue.furniture):
        name = vocabulary.name_of(word)
        assert name is not None
        assert word in vocabulary.classes_of(name)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("Mug", "Mug"),
        ("mug", "Mug"),
        ("Table", "DiningTable"),
        ("counter_top", "CounterTop"),
        ("coffee maker", "CoffeeMachine"),
        ("drinking glass", "Cup"),
        ("ToyVehicle", "ToyVehicle"),
        ("Zeppelin", None),
        ("", None),
    ],
)
def test_the_nearest_name(word: str, name: str | None) -> None:
    assert default_vocabulary().nearest(word) == name


def test_tools_have_the_name_that_is_most_like_theirs() -> None:
    vocabulary = default_vocabulary()
    assert {word: vocabulary.name_of(word) for word in ("knife", "cup", "glass", "oven")} == {
        "knife": "Knife",
        "cup": "Mug",
        "glass": "Cup",
        "oven": "StoveBurner",
    }


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("version: 1\nclasses: [{name: Mug, objects: [zeppelin]}]", "classes.0.objects"),
        ("version: 1\nclasses: [{name: Mug}, {name: Mug}]", "classes.1.name"),
        ("version: 1\nclasses: [{name: Mug}]\nwords: {Cup: Glass}", "words.Cup"),
        ("version: 2\nclasses: [{name: Mug}]", "version"),
        ("version: 1\nclasses: []", "classes"),
        ("version: 1\nclasses: [{name: mug}]", "classes.0.name"),
    ],
)
def test_a_wrong_file_is_one_error(tmp_path: Path, text: str, field: str) -> None:
    path = tmp_path / "vocabulary.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load_vocabulary(path, default_catalogue())
    assert (caught.value.file, caught.value.field) == (str(path), field)
