"""What the catalogue's words can be in a goal."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from planner.language import remarks
from planner.language.goal_form import Description
from planner.language.lexicon import Match, Part, Sense, default_lexicon, plural_of


def senses(text: str) -> set[Sense]:
    words = text.split()
    match = default_lexicon().at(words, 0)
    assert match is not None
    assert match.length == len(words)
    return set(match.senses)


@pytest.mark.parametrize(
    ("text", "part", "word", "plural"),
    [
        ("mug", Part.KIND, "mug", False),
        ("mugs", Part.KIND, "mug", True),
        ("toys", Part.KIND, "toy", True),
        ("groceries", Part.KIND, "grocery", True),
        ("dishes", Part.KIND, "dish", True),
        ("knives", Part.KIND, "knife", True),
        ("living rooms", Part.KIND, "living room", True),
        ("chests of drawers", Part.KIND, "chest of drawers", True),
        ("things", Part.KIND, "thing", True),
        ("floor", Part.KIND, "floor", False),
        ("unwashed", Part.STATE, "dirty", False),
        ("switched on", Part.STATE, "powered on", False),
        ("filled with water", Part.STATE, "filled with water", False),
        ("open", Part.STATE, "open", False),
        ("grey", Part.COLOR, "gray", False),
        ("wooden", Part.MATERIAL, "wood", False),
        ("large", Part.SIZE, "big", False),
        ("power on", Part.ACTION, "power_on", False),
        ("slice", Part.ACTION, "slice", False),
    ],
)
def test_words_have_senses(text: str, part: Part, word: str, plural: bool) -> None:
    assert Sense(part, word, plural) in senses(text)


def test_a_word_may_be_several_things() -> None:
    assert {sense.part for sense in senses("orange")} == {Part.KIND, Part.COLOR}
    assert {sense.part for sense in senses("clean")} == {Part.STATE, Part.ACTION}


def test_the_longest_phrase_is_found() -> None:
    lexicon = default_lexicon()
    words = ["the", "toy", "fire", "truck", "on", "the", "dining", "table"]
    assert lexicon.at(words, 0) is None
    assert lexicon.at(words, 1) == Match(3, frozenset({Sense(Part.KIND, "toy fire truck")}))
    assert lexicon.at(words, 6) == Match(2, frozenset({Sense(Part.KIND, "dining table")}))
    assert lexicon.at(words, 8) is None


def test_near_misses_are_offered_for_unknown_words() -> None:
    lexicon = default_lexicon()
    assert lexicon.near("dishwahser")[0] == "dishwasher"
    assert "plate" in lexicon.near("platte")
    assert lexicon.near("flumbox") == ()


def test_the_form_accepts_what_the_lexicon_finds() -> None:
    for text in ("sofa", "clothes", "toiletries", "soda can", "drink", "keys", "lights"):
        for sense in senses(text):
            if sense.part is Part.KIND:
                assert Description(kind=sense.word).kind == sense.word


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("cup", "cups"),
        ("toy fire truck", "toy fire trucks"),
        ("knife", "knives"),
        ("bookshelf", "bookshelves"),
        ("box", "boxes"),
        ("chest of drawers", "chests of drawers"),
        ("toy", "toys"),
        ("grocery", "groceries"),
        ("tomato", "tomatoes"),
        ("computer mouse", "computer mice"),
        ("glass", "glasses"),
    ],
)
def test_plurals(singular: str, plural: str) -> None:
    assert plural_of(singular) == plural


def test_words_of_rules_are_found_at_any_depth_of_their_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = {
        "A": frozenset({("pour", "out of"), "Capitals are no words"}),
        "B": ((("deep", 3), frozenset({"deeper"})), None),
        "C": {"key": "a value is none"},
        "D": "two words",
        "E": ["nor a list's"],
    }
    monkeypatch.setattr(remarks, "_RULES", (SimpleNamespace(**tables),) * 2)
    found = remarks.function_words.__wrapped__()
    assert (
        found - remarks._OTHER_WORDS
        == {*("pour", "out", "of", "deep", "deeper", "key", "two", "words")} - remarks._OTHER_WORDS
    )
