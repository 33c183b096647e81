"""From free text to admissible actions: by words, and by a sentence encoder."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from papers.llamar.actions import Action, KnownThing, Verb, admissible
from papers.llamar.translator import (
    EncoderTranslator,
    PlainTranslator,
    Translator,
    make_translator,
    templates,
)
from planner.world.embedding import Vectors
from planner.world.errors import FileError
from planner.world.vocabulary import Relation

FRIDGE = KnownThing(
    "Fridge_1", "fridge_0", "fridge", is_movable=False, opens=True, puts=Relation.WITHIN
)
APPLE = KnownThing(
    "Apple_1", "apple_0", "apple", is_movable=True, affordances=frozenset({"sliceable"})
)
DRAWERS = [
    KnownThing(f"Drawer_{k}", f"drawer_{k}", "drawer", is_movable=False, opens=True)
    for k in (1, 2, 3, 4)
]
LAMP = KnownThing(
    "FloorLamp_1", "l", "floor_lamp", is_movable=False, affordances=frozenset({"powerable"})
)
ADMISSIBLE = admissible([APPLE, FRIDGE, *DRAWERS, LAMP])

# What a trained encoder knows: words of one meaning share their direction.
MEANINGS = {
    "grab": "pick up",
    "take": "pick up",
    "go": "navigate",
    "walk": "navigate",
    "refrigerator": "fridge",
    "wait": "stay idle",
    "shut": "close",
    "cut": "slice",
}
SILENT = {"the", "a", "to", "object", "please"}


class Thesaurus:
    """An encoder of words by their meanings; vectors of unknown words are of their own."""

    embedder_id = "thesaurus"

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), 2048), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                for part in MEANINGS.get(word, word).split():
                    if part not in SILENT:
                        row[zlib.crc32(part.encode()) % 2048] += 1.0
            length = float(np.linalg.norm(row))
            row /= length or 1.0
        return rows


@pytest.fixture(scope="module", params=["plain", "encoder"])
def translator(request: pytest.FixtureRequest) -> Translator:
    if request.param == "plain":
        return PlainTranslator()
    return EncoderTranslator(Thesaurus(), 0.6)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("grab the apple", "Pickup(Apple_1)"),
        ("go to the refrigerator", "NavigateTo(Fridge_1)"),
        ("wait", "Idle"),
    ],
)
def test_llamar_check_27_free_text_is_translated(
    translator: Translator, text: str, action: str
) -> None:
    """LLAMAR-C27."""
    known = admissible([APPLE, FRIDGE])
    read = translator.translate(text, known)
    assert (str(read.action), read.understood) == (action, True)
    assert read.raw == text
    assert 0.6 <= read.similarity <= 1


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("open drawer 9", "Open(Drawer_4)"),
        ("open drawer 2", "Open(Drawer_2)"),
        ("open the drawer", "Open(Drawer_1)"),
    ],
)
def test_llamar_check_28_numbers_are_restored_and_clamped(
    translator: Translator, text: str, action: str
) -> None:
    """LLAMAR-C28."""
    assert str(translator.translate(text, ADMISSIBLE).action) == action


@pytest.mark.parametrize("text", ["xqzv blarg", "Ξεκίνα τώρα", "", "{}", "sing a song " * 500])
def test_llamar_check_29_gibberish_is_not_understood(translator: Translator, text: str) -> None:
    """LLAMAR-C29: the words that the agent then reads are in `not_understood`."""
    read = translator.translate(text, ADMISSIBLE)
    assert read.action.verb is Verb.IDLE
    assert not read.understood
    assert read.similarity < 0.6


def test_the_papers_spelling_is_taken_at_its_word(translator: Translator) -> None:
    """LLAMAR-D23: what does not exist fails as such, and is no other thing."""
    for text in ("NavigateTo(Pear_1)", "navigate to object Pear_1", "Open(Drawer_9)"):
        read = translator.translate(text, ADMISSIBLE)
        assert read.understood
        assert read.similarity == 1.0
        assert read.action not in ADMISSIBLE
        assert read.action.argument in text
    read = translator.translate("pick up object apple_1", ADMISSIBLE)
    assert read.action == Action(Verb.PICKUP, "Apple_1")


def test_a_step_that_is_not_offered_is_not_translated(translator: Translator) -> None:
    offered = admissible([APPLE], small_steps=False, explores=False)
    for text in ("Move(Ahead)", "explore"):
        assert translator.translate(text, offered).action not in admissible([]) or (
            translator.translate(text, offered).action.verb is Verb.IDLE
        )


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("put the apple in the fridge", "Put(Fridge_1, within)"),
        ("Place it on the fridge", "Put(Fridge_1)"),
        ("turn the lamp on", "ToggleOn(FloorLamp_1)"),
        ("switch off the floor lamp", "ToggleOff(FloorLamp_1)"),
        ("power down the lamp", "ToggleOff(FloorLamp_1)"),
        ("power the lamp", "Idle"),
        ("toggle the lamp", "Idle"),
        ("pull drawer 3 open", "Open(Drawer_3)"),
        ("tilt the camera up by 60", "LookUp(60)"),
        ("step back", "Move(Back)"),
        ("turn left", "Rotate(Left)"),
        ("rotate right by 90 degrees", "Rotate(Right)"),
        ("go forward", "Move(Ahead)"),
        ("look up by 45 degrees", "LookUp(30)"),
        ("look down 80", "LookDown(90)"),
        ("cut the apple into slices", "Slice(Apple_1)"),
        ("I will pick up the apple now", "Pickup(Apple_1)"),
        ("take the apple from the fridge", "Pickup(Apple_1)"),
        ("pick up the bread", "Idle"),
        ("search the kitchen for bread", "Idle"),
        ("explore", "Explore"),
        ("finished", "Done"),
    ],
)
def test_words_are_read_by_verbs_and_classes(text: str, action: str) -> None:
    assert str(PlainTranslator().translate(text, ADMISSIBLE).action) == action


def test_an_encoder_asks_both_stages() -> None:
    """LLAMAR-2.6: of two stages the worse one decides."""
    strict = EncoderTranslator(Thesaurus(), 0.9)
    # The first stage finds the banana's template, no known class is near to a banana.
    read = strict.translate("grab the banana", ADMISSIBLE)
    assert not read.understood
    assert read.similarity < 0.9
    # With a low threshold the nearest known class is taken, as the paper does.
    lenient = EncoderTranslator(Thesaurus(), -1.0)
    assert lenient.translate("grab the banana", ADMISSIBLE).action.verb is Verb.PICKUP


def test_templates_are_on_classes_not_on_instances() -> None:
    listed = templates()
    assert Action(Verb.PICKUP, "apple") in listed
    assert Action(Verb.OPEN, "fridge") in listed
    assert Action(Verb.OPEN, "apple") not in listed
    assert Action(Verb.NAVIGATE_TO, "chest of drawers") in listed
    assert len(set(listed)) == len(listed)


def test_a_folder_without_an_encoder_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no onnx/model\.onnx and no config\.json"):
        make_translator(tmp_path)
    assert make_translator(None).translator_id == "plain"
