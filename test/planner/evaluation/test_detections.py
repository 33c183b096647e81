"""Words are matched to assets, and lists of seen things compared as multisets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from planner.evaluation.detections import Detections, compare, match_names
from planner.world.embedding import HashedWords, Vectors
from planner.world.errors import PlannerError


class Angles:
    """Vectors whose cosine with `mug` is given."""

    embedder_id = "angles"

    def __init__(self, cosines: dict[str, float]) -> None:
        self._cosines = cosines

    def embed(self, texts: Sequence[str]) -> Vectors:
        cosines = np.array([self._cosines[text] for text in texts], np.float64)
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)


def test_et_check_40_names_match_at_four_fifths() -> None:
    """ETPLAN-C40."""
    assets = ["mug", "dishwashingliquid"]
    found = match_names(["dish washing liquid"], assets, HashedWords())
    assert found == {"dish washing liquid": "dishwashingliquid"}
    cosines = {"mug": 1.0, "cup": 0.801, "bowl": 0.79}
    found = match_names(["cup", "bowl"], ["mug"], Angles(cosines))
    assert found == {"cup": "mug", "bowl": None}
    named = [found[word] for word in ("cup", "bowl")]
    assert compare(named, ["mug"]) == Detections(1, 1, 0)


def test_the_most_similar_asset_is_meant() -> None:
    cosines = {"mug": 1.0, "cup": 0.95, "jar": 0.9}
    assert match_names(["cup"], ["jar", "mug"], Angles(cosines)) == {"cup": "jar"}
    assert match_names(["cup"], [], Angles(cosines)) == {"cup": None}


def test_a_threshold_that_is_no_cosine_is_one_error() -> None:
    with pytest.raises(PlannerError, match="threshold: expected -1 to 1, got 80"):
        match_names(["cup"], ["mug"], HashedWords(), threshold=80)


def test_et_check_41_lists_are_multisets() -> None:
    """ETPLAN-C41."""
    assert compare(["chair", "chair"], ["chair"]) == Detections(1, 1, 0)
    assert compare(["chair"], ["chair", "chair"]) == Detections(1, 0, 1)


def test_scores_are_pooled_over_pictures() -> None:
    total = compare(["chair", "chair"], ["chair"]) + compare([], ["tv", "bed"])
    assert total == Detections(1, 1, 2)
    assert (total.precision, total.recall) == (0.5, pytest.approx(1 / 3))
    assert (total.f1, total.accuracy) == (pytest.approx(2 / 5), 0.25)
    nothing = compare([], [])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.accuracy) == (None,) * 4
