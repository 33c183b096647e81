"""OWLv2 and SigLIP class models of random weights in the updater's seat, and as the grasp's eye."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from memory_samples import flat_frame, layout_of
from tiny_vision_model import make_tiny_owl, make_tiny_siglip

from planner.memory.features import SigLipFeatures
from planner.memory.memory import Memory
from planner.memory.open_vocabulary import (
    Box,
    OpenOptions,
    OpenVocabularyDetector,
    _inside,
    _shared,
)
from planner.memory.part import UpdaterModel, UpdaterRequest, load_updater
from planner.world.errors import PlannerError
from planner.world.observation import Observation

CLASSES = ("ball", "book", "cup")


@pytest.fixture(scope="module")
def owl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason=f"needs the extra vlm ({name})")
    return make_tiny_owl(tmp_path_factory.mktemp("owl"))


@pytest.fixture(scope="module")
def siglip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason=f"needs the extra vlm ({name})")
    return make_tiny_siglip(tmp_path_factory.mktemp("siglip"))


def picture(seed: int = 1, height: int = 384, width: int = 384) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)


def test_boxes_are_cut_at_the_borders_and_overlap_is_a_share() -> None:
    assert _inside(np.array([5, 5, 20, 10], np.float32), 100, 50) == (0.0, 0.0, 15.0, 10.0)
    assert _inside(np.array([150, 5, 20, 10], np.float32), 100, 50) is None
    assert _inside(np.array([np.nan, 5, 20, 10], np.float32), 100, 50) is None
    assert _shared((0, 0, 10, 10), (0, 0, 10, 10)) == pytest.approx(1.0)
    assert _shared((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert _shared((0, 0, 10, 10), (20, 20, 30, 30)) == 0
    assert Box("cup", 0.5, (10, 20, 30, 60)).pixel == (20, 40)


@pytest.mark.parametrize(("height", "width"), [(384, 384), (240, 424)])
def test_boxes_lie_in_the_picture_best_first_and_apart(owl: Path, height: int, width: int) -> None:
    eye = OpenVocabularyDetector(owl, CLASSES, options=OpenOptions(min_score=0.0))
    boxes = eye.boxes(picture(height=height, width=width), ["cup", "a red ball"])
    assert boxes
    assert [b.score for b in boxes] == sorted((b.score for b in boxes), reverse=True)
    for box in boxes:
        u0, v0, u1, v1 = box.corners
        assert 0 <= u0 < u1 < width
        assert 0 <= v0 < v1 < height
        assert box.words in ("cup", "a red ball")
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert all(_shared(a.corners, b.corners) <= 0.5 for a, b in pairs)


def test_one_thing_to_pick_is_a_pixel(owl: Path) -> None:
    """The paper's use on Spot (EPM-2.10)."""
    eye = OpenVocabularyDetector(owl, CLASSES, options=OpenOptions(min_score=0.0))
    found = eye.find(picture(), "red cup")
    assert found is not None
    u, v = found.pixel
    assert 0 <= u < 384
    assert 0 <= v < 384
    strict = OpenVocabularyDetector(owl, CLASSES, options=OpenOptions(min_score=1.0))
    assert strict.find(picture(), "red cup") is None


def test_a_look_places_what_it_finds_behind_what_it_sees(owl: Path) -> None:
    eye = OpenVocabularyDetector(owl, CLASSES, options=OpenOptions(min_score=0.0))
    frame = replace(flat_frame(2.0), rgb=picture())
    found = eye.look(frame).detections
    assert found
    for detection in found:
        assert detection.class_name in CLASSES
        assert detection.distance_m == pytest.approx(2.0)
        assert 2.0 < detection.center_m[2] < 2.2
        assert all(map(math.isfinite, detection.center_m))
    blind = replace(frame, depth_m=np.full((384, 384), np.nan, np.float32))
    assert eye.look(blind).detections == ()


def test_siglip_has_a_say(owl: Path, siglip: Path) -> None:
    def boxes(min_similarity: float) -> list[Box]:
        options = OpenOptions(min_score=0.0, min_similarity=min_similarity)
        eye = OpenVocabularyDetector(owl, CLASSES, second=siglip, options=options)
        return eye.boxes(picture(), ["cup"])

    assert boxes(-1.0)
    assert boxes(1.01) == []


def test_siglips_features_have_length_one(siglip: Path) -> None:
    features = SigLipFeatures(siglip, tiles=2)
    regions = features.regions(replace(flat_frame(), rgb=picture()))
    assert len(regions) == 4
    for vector in (regions[0].feature, features.text("red cup"), features.picture(picture())):
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)
    assert not np.allclose(features.text("red cup"), features.text("book"))


def test_they_run_in_the_updaters_seat(owl: Path, siglip: Path) -> None:
    layout = layout_of(1)
    open_ = UpdaterModel(model=str(owl), second=str(siglip))
    for kind, model in (
        ("open-vocabulary", open_),
        ("object-graph", UpdaterModel(model=str(siglip))),
        ("voxels-room", UpdaterModel(model=str(siglip))),
    ):
        memory = Memory(layout, load_updater(UpdaterRequest(kind, model))(layout))
        for step in range(3):
            frame = replace(flat_frame(), rgb=picture(step))
            memory.observe(Observation.at_rest(float(step), frame))
        assert memory.refused == 0
        assert {e.name for e in memory.snapshot().entities if e.is_furniture} == {"table_0"}


def test_wrong_folders_and_classes_are_one_clear_error(owl: Path, tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="is not a model folder"):
        OpenVocabularyDetector(tmp_path, CLASSES)
    with pytest.raises(PlannerError, match="the catalogue has no class unicorn"):
        OpenVocabularyDetector(owl, ["unicorn"])
    with pytest.raises(PlannerError, match="no class"):
        OpenVocabularyDetector(owl, [])
