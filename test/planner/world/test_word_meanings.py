"""What words mean in the catalogue, and refusing a file of words that does not fit it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError
from planner.world.vocabulary import Affordance
from planner.world.word_meanings import default_word_meanings, load_word_meanings


@pytest.mark.parametrize(
    ("phrase", "classes"),
    [
        ("mugs", {"cup"}),
        ("kettle", {"kettle", "electric_kettle"}),
        ("knives", {"knife"}),
        ("cutlery", {"knife", "fork", "spoon"}),
        ("fire truck", {"toy_fire_truck"}),
        ("beverages", {"milk_carton", "juice_carton", "can", "wine_bottle", "bottle"}),
    ],
)
def test_phrases_mean_objects(phrase: str, classes: set[str]) -> None:
    found = default_word_meanings().find(phrase)
    assert found is not None
    assert classes <= found.objects
    # A few more are kinds of the same, such as a kettle's.
    assert len(found.objects) <= len(classes) + 4


def test_toy_food_is_no_food() -> None:
    food = default_word_meanings().find("food")
    assert food is not None
    assert "apple" in food.objects
    assert "toy_food" not in food.objects


def test_words_of_components_and_states() -> None:
    tap, dirty = (default_word_meanings().find(word) for word in ("taps", "dirty"))
    assert tap is not None
    assert tap.affordances == {Affordance.FAUCET}
    assert dirty is not None
    assert dirty.states == {("clean", False)}
    assert default_word_meanings().find("nirvana") is None


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ("{words: [x], objects: [unicorn]}", "meanings.0.objects"),
        ("{words: [x], groups: [unicorns]}", "meanings.0.groups"),
        ("{words: [x], furniture: [throne]}", "meanings.0.furniture"),
        ("{words: [x], states: {tidy: true}}", "meanings.0.states"),
        ("{words: []}", "meanings.0.words"),
        ("{words: [x], rooms: [kitchen]}", "meanings.0.rooms"),
    ],
)
def test_a_wrong_entry_is_refused_by_its_field(tmp_path: Path, entry: str, field: str) -> None:
    path = tmp_path / "words.yaml"
    path.write_text(f"version: 1\nmeanings:\n  - {entry}\n")
    with pytest.raises(FileError) as caught:
        load_word_meanings(path, default_catalogue())
    assert caught.value.file == str(path)
    assert caught.value.field == field


def test_a_verb_of_instructions_is_no_kind_of_thing() -> None:
    assert default_word_meanings().knows("light switch")
    assert not default_word_meanings().knows("switch")
