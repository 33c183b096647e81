"""Sentences for failures, by pictures and by codes (HELPER-C37, HELPER-D24)."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml

from papers.helper.diagnosis import (
    Diagnosed,
    Diagnosis,
    EncodedMatcher,
    FailureList,
    default_failures,
    diagnose,
    diagnosis_scores,
    load_matcher,
    read_failures,
)
from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import RecordKind, shipped_records
from papers.helper.programs.program import Method
from planner.memory.features import Features
from planner.world.embedding import Vectors
from planner.world.errors import FileError, PlannerError
from planner.world.observation import RgbImage
from planner.world.skill import SkillCode

PICTURE = np.zeros((8, 8, 3), np.uint8)


class Scores:
    """A matcher that gives these scores."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores
        self.texts: list[str] = []

    def score(self, image: RgbImage, texts: Sequence[str]) -> Sequence[float]:
        assert image.shape == (8, 8, 3)
        self.texts = list(texts)
        return self.scores


class Notes:
    """An encoder that notes what it reads."""

    embedder_id = "notes"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return np.ones((len(texts), 2), np.float32)


def three() -> FailureList:
    names = [code.name for code in SkillCode if code is not SkillCode.SUCCESS]
    entries = [
        {"name": "first", "sentence": "It is too far.", "codes": names},
        {"name": "second", "sentence": "A door is in the way."},
        {"name": "third", "sentence": "The hand is full."},
    ]
    return FailureList.model_validate({"version": 1, "failures": entries})


def test_check_37_the_sentence_with_the_highest_score_is_the_failure() -> None:
    matcher, encoder = Scores(0.1, 0.7, 0.2), Notes()
    found = diagnose(
        SkillCode.TOO_FAR, Method.PICKUP, picture=PICTURE, matcher=matcher, failures=three()
    )
    assert found.sentence == "A door is in the way."
    assert found.diagnosed is Diagnosed.BY_PICTURE
    assert matcher.texts == ["It is too far.", "A door is in the way.", "The hand is full."]
    with ProgramMemory.open(None, encoder) as memory:
        memory.nearest("Bring the cup.", RecordKind.CORRECTION, failure=found.sentence)
    assert "Bring the cup.\nA door is in the way." in encoder.asked


def test_both_are_recorded_and_compared_with_the_cause() -> None:
    pairs: list[tuple[Diagnosis, str]] = []
    for scores, cause in (((0.9, 0.0, 0.0), "first"), ((0.0, 0.0, 0.9), "first")):
        found = diagnose(
            SkillCode.TOO_FAR, None, picture=PICTURE, matcher=Scores(*scores), failures=three()
        )
        assert found.by_code.name == "first"
        assert found.scores == scores
        pairs.append((found, cause))
    pairs.append((diagnose(SkillCode.TOO_FAR, None, failures=three()), "second"))
    got = diagnosis_scores(pairs)
    assert (got.count, got.pictures, got.right_by_code, got.right_by_picture) == (3, 2, 2, 1)
    assert got.confused == ((("first", "third"), 1),)


def test_equal_scores_give_the_first_sentence() -> None:
    matcher = Scores(0.1, 0.4, 0.4)
    found = diagnose(SkillCode.BUSY, None, picture=PICTURE, matcher=matcher, failures=three())
    assert found.chosen.name == "second"


@pytest.mark.parametrize("scores", [(0.1,), (0.1, float("nan"), 0.2)])
def test_a_matcher_that_does_not_score_is_an_error(scores: tuple[float, ...]) -> None:
    with pytest.raises(PlannerError, match="scores for 3 sentences"):
        diagnose(SkillCode.BUSY, None, picture=PICTURE, matcher=Scores(*scores), failures=three())


@pytest.mark.parametrize(
    ("code", "method", "name"),
    [
        (SkillCode.NEED_UNMET, Method.TOGGLE_ON, "already_so"),
        (SkillCode.NEED_UNMET, Method.SLICE, "needs_knife"),
        (SkillCode.NEED_UNMET, Method.TOAST, "needs_device"),
        (SkillCode.NEED_UNMET, None, "missing_need"),
        (SkillCode.NO_AFFORDANCE, Method.SLICE, "not_sliceable"),
        (SkillCode.NOT_ARTICULATED, Method.OPEN, "not_openable"),
        (SkillCode.FURNITURE_CLOSED, Method.PICKUP, "shut_away"),
        (SkillCode.ALREADY_HOLDING, Method.PICKUP, "hand_full"),
        (SkillCode.NO_PLACEMENT, Method.PLACE, "target_full"),
        (SkillCode.NOT_VISIBLE, Method.PICKUP, "hidden"),
        (SkillCode.TOO_FAR, Method.PICKUP, "too_far"),
    ],
)
def test_without_a_model_the_code_decides(
    code: SkillCode, method: Method | None, name: str
) -> None:
    found = diagnose(code, method)
    assert (found.chosen.name, found.diagnosed) == (name, Diagnosed.BY_CODE)
    assert diagnose(code, method, picture=PICTURE).chosen.name == name


def test_every_failure_of_a_skill_has_a_sentence() -> None:
    for code in SkillCode:
        if code is SkillCode.SUCCESS:
            with pytest.raises(PlannerError, match="SUCCESS is not a failure"):
                diagnose(code, None)
            continue
        for method in (None, *Method):
            assert diagnose(code, method).sentence in default_failures().sentences


def test_the_shipped_corrections_are_of_the_lists_sentences() -> None:
    used = {record.failure for record in shipped_records() if record.failure}
    assert len(used) >= 10
    assert used <= set(default_failures().sentences)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"codes": ["NO_SUCH"]}, "there is no skill code 'NO_SUCH'"),
        ({"codes": []}, "has the skill code CANCELED"),
        ({"name": "second"}, "the name 'second' is there twice"),
        ({"sentence": "The hand is full."}, "'The hand is full.' is there twice"),
        ({"methods": ["fly"]}, r"failures\.0\.methods\.0"),
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, change: dict[str, object], says: str) -> None:
    document = three().model_dump(mode="json")
    for entry in document["failures"]:
        entry["codes"] = [SkillCode(code).name for code in entry["codes"]]
    document["failures"][0] |= change
    path = tmp_path / "failures.yaml"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(FileError, match=says):
        read_failures(path)


class TwoAxes:
    """An image-text encoder: dark pictures and words of doors lie together."""

    name = "two axes"

    def __init__(self) -> None:
        self.read: list[str] = []

    def picture(self, image: RgbImage) -> Features:
        return np.array([1.0, 0.0] if image.mean() < 128 else [0.0, 1.0], np.float32)

    def text(self, words: str) -> Features:
        self.read.append(words)
        return np.array([1.0, 0.0] if "door" in words else [0.0, 1.0], np.float32)


def test_an_encoder_reads_each_sentence_once() -> None:
    encoder = TwoAxes()
    matcher = EncodedMatcher(encoder)
    for picture, name in ((PICTURE, "second"), (PICTURE + 255, "first")):
        found = diagnose(SkillCode.BUSY, None, picture=picture, matcher=matcher, failures=three())
        assert found.chosen.name == name
    assert len(encoder.read) == 3


def test_no_folder_is_no_matcher() -> None:
    assert load_matcher("") is None


@pytest.mark.parametrize("kind", ["siglip", "align"])
def test_image_text_models_of_transformers(tmp_path: Path, kind: str) -> None:
    for name in ("torch", "transformers"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the extra vlm ({name})")
    from tiny_vision_model import make_tiny_align, make_tiny_siglip

    make = {"siglip": make_tiny_siglip, "align": make_tiny_align}[kind]
    matcher = load_matcher(str(make(tmp_path)))
    assert matcher is not None
    picture = np.random.default_rng(1).integers(0, 255, (48, 64, 3), np.uint8)
    scores = matcher.score(picture, ["a photo of a cup", "a red ball"])
    assert len(set(scores)) == 2
    assert all(-1.0 <= score <= 1.0 for score in scores)
