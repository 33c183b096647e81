"""The translator's encoder is fine-tuned, with a tiny one that the test makes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_sentence_encoder import make_tiny_sentence_encoder

from papers.llamar.actions import RESCUES, Action, KnownThing, Verb, admissible
from papers.llamar.translator import make_translator, templates
from papers.llamar.translator_tuning import (
    PAPER_PAIRS,
    RECORD,
    TranslatorRecipe,
    _batches,
    accuracy,
    make_pairs,
    tune_translator,
)
from planner.cli import main
from planner.world.embedding import HashedWords
from planner.world.errors import FileError, PlannerError

APPLE = KnownThing("Apple_1", "apple_0", "apple", is_movable=True)


def test_the_recipe_is_the_papers() -> None:
    """LLAMAR-T4."""
    recipe = TranslatorRecipe()
    assert (recipe.epochs, recipe.clip, recipe.rate, recipe.batch) == (10, 1.0, 2e-5, 64)
    assert (recipe.dimension, recipe.warm_up_steps) == (384, 45)
    assert (recipe.decay, recipe.scale) == (0.01, 20.0)
    assert len(make_pairs().trained) == PAPER_PAIRS == 2800


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"batch": 1}, "batch: expected at least 2"),
        ({"rate": 0.0}, "must be above 0"),
    ],
)
def test_numbers_out_of_range_are_one_error(change: dict[str, float], words: str) -> None:
    with pytest.raises(PlannerError, match=words):
        replace(TranslatorRecipe(), **change).check()  # type: ignore[arg-type]


def test_pairs_are_drawn_evenly_and_what_is_set_aside_is_said_in_other_ways() -> None:
    """LLAMAR-D28."""
    pairs = make_pairs(800, 160, seed=3)
    assert pairs == make_pairs(800, 160, seed=3)
    assert pairs != make_pairs(800, 160, seed=4)
    counted = Counter(pair.action.verb for pair in pairs.trained)
    # Search and rescue is told without tuning, as in the published code (LLAMAR-2.6).
    assert set(counted) == set(Verb) - set(RESCUES)
    assert max(counted.values()) - min(counted.values()) <= 1
    assert not {pair.text for pair in pairs.trained} & {pair.text for pair in pairs.set_aside}
    listed = set(templates())
    assert all(pair.action in listed for pair in (*pairs.trained, *pairs.set_aside))
    with pytest.raises(PlannerError, match="at least 1"):
        make_pairs(0)


def test_no_action_is_its_own_negative() -> None:
    pairs = make_pairs(500, 1).trained
    batches = list(_batches(pairs, 64, np.random.default_rng(1)))
    assert all(len({pair.action for pair in batch}) == len(batch) <= 64 for batch in batches)
    used = Counter(pair for batch in batches for pair in batch)
    assert sum(used.values()) >= 0.9 * len(pairs)
    assert used <= Counter(pairs)


def test_accuracy_counts_the_nearest_of_all_templates() -> None:
    pairs = make_pairs(1, 64).set_aside
    said_alike = [replace(pair, text=pair.action.words) for pair in pairs]
    assert accuracy(HashedWords(), said_alike) == 1.0
    assert accuracy(HashedWords(), pairs) < 0.9


def needs_torch() -> None:
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason=f"needs the extra local ({name})")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_torch()
    pairs = make_pairs(3000, 400)
    texts = [pair.text for pair in (*pairs.trained, *pairs.set_aside)]
    texts += [action.words for action in templates()]
    return make_tiny_sentence_encoder(tmp_path_factory.mktemp("encoder"), texts)


def test_training_runs_to_the_end_and_gains(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """LLAMAR-T4, with the numbers of a tiny encoder; what is written is a translator."""
    output = tmp_path / "translator"
    numbers = ["--dimension", "32", "--pairs", "1600", "--set-aside", "200"]
    fast = ["--epochs", "5", "--rate", "0.003", "--warm-up", "5"]
    assert main(["train", "translator", str(encoder), str(output), *numbers, *fast]) == 0
    said = capsys.readouterr().out
    assert "epoch 5 of 5: loss" in said
    gain = json.loads((output / RECORD).read_text())["gain"]
    assert f"{gain['before']:.1%} of 200 texts set aside" in said
    assert gain["after"] > gain["before"] + 0.15
    translator = make_translator(output, threshold=-1.0)
    read = translator.translate("grab the apple", admissible([APPLE]))
    assert read.action == Action(Verb.PICKUP, "Apple_1")
    assert translator.translator_id.startswith("encoder translator-")


def test_an_encoder_of_another_size_is_one_error(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"hidden_size: the encoder has 32 dimensions"):
        tune_translator(
            make_pairs(64, 8), encoder, tmp_path / "out", TranslatorRecipe(), lambda line: None
        )


def test_folders_that_do_not_fit_are_one_error(tmp_path: Path) -> None:
    pairs = make_pairs(64, 8)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("")
    for source, output, words in (
        (tmp_path, tmp_path / "full", "is not empty"),
        (tmp_path, tmp_path / "new", r"no config\.json"),
    ):
        with pytest.raises(FileError, match=words):
            tune_translator(pairs, source, output, TranslatorRecipe(), lambda line: None)
