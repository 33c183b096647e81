from collections.abc import Sequence

import numpy as np
import pytest

from planner.memory.maps.frontiers import has_changed
from planner.memory.maps.object_map import (
    Detection,
    MatchedAttributes,
    ObjectMap,
    ObjectStates,
    centroid,
    crop,
    states_after,
    true_detections,
)
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics, RgbImage

SIZE = 48
CAMERA = Intrinsics(SIZE, SIZE, 24.0, 24.0, 24.0, 24.0)
KEYS = {
    "category label",
    "centroid location",
    "holding",
    "detection score",
    "can use",
    "sliced",
    "toasted",
    "clean",
    "cooked",
}


def frame(depth_m: np.ndarray | float = 2.0, instances: np.ndarray | None = None) -> CameraFrame:
    depth = np.broadcast_to(np.asarray(depth_m, np.float32), (SIZE, SIZE))
    return CameraFrame(
        np.zeros((SIZE, SIZE, 3), np.uint8), depth, instances, CAMERA, Pose((0.0, 0.0, 0.0))
    )


def detection(label: str, column: int, score: float = 0.9) -> Detection:
    """Twelve columns are a metre at a depth of two."""
    mask = np.zeros((SIZE, SIZE), np.bool_)
    mask[22:27, column - 2 : column + 3] = True
    return Detection(label, mask, score)


def test_check_30_median_depth_not_mean() -> None:
    """HELPER-C30."""
    depth_m = np.full((SIZE, SIZE), 7.0, np.float32)
    mask = np.zeros((SIZE, SIZE), np.bool_)
    for column, metres in zip(range(22, 27), (1, 1, 1, 5, 9), strict=True):
        mask[24, column], depth_m[24, column] = True, metres
    point_m = centroid(frame(depth_m), mask)
    assert point_m is not None
    assert point_m[2] == pytest.approx(1.0)


def test_check_31_same_class_nearby_is_one_with_the_higher_score() -> None:
    """HELPER-C31."""
    mugs = ObjectMap()
    mugs.update(frame(), [detection("Mug", 24, 0.6)])
    # 0.25 m away, as a pixel allows.
    mugs.update(frame(), [detection("Mug", 27, 0.9)])
    assert [record.score for record in mugs.records] == [0.9]
    assert mugs.records[0].centroid_m[0] == pytest.approx(0.25)
    mugs.update(frame(), [detection("Mug", 24, 0.5)])
    assert mugs.records[0].centroid_m[0] == pytest.approx(0.25)

    both = ObjectMap()
    both.update(frame(), [detection("Mug", 24), detection("Cup", 27)])
    assert [record.label for record in both.records] == ["Mug", "Cup"]


def test_objects_of_a_class_further_apart_are_two() -> None:
    seen = ObjectMap()
    seen.update(frame(), [detection("Mug", 12, 0.5), detection("Mug", 30, 0.8)])
    assert [record.score for record in seen.of_class("Mug")] == [0.8, 0.5]


class Matcher:
    """Prefers the texts that say so."""

    def __init__(self, preferred: set[str]) -> None:
        self.preferred = preferred
        self.calls: list[tuple[str, ...]] = []

    def score(self, image: RgbImage, texts: Sequence[str]) -> Sequence[float]:
        assert image.shape[2] == 3
        self.calls.append(tuple(texts))
        return [float(text in self.preferred) for text in texts]


def test_check_32_exactly_the_published_keys_and_defaults_without_a_matcher() -> None:
    """HELPER-C32."""
    plain = ObjectMap()
    plain.update(frame(), [detection("Plate", 24)])
    state = plain.records[0].state()
    assert set(state) == KEYS
    assert {name for name, value in state.items() if value is True} == {"can use"}

    matcher = Matcher({"The Plate is clean", "The Plate is not cooked"})
    shown = ObjectMap(MatchedAttributes(matcher))
    shown.update(frame(), [detection("Plate", 24)])
    # Seen again it is not asked again.
    shown.update(frame(), [detection("Plate", 24)])
    assert set(shown.records[0].state()) == KEYS
    assert shown.records[0].states.clean
    assert not shown.records[0].states.cooked
    assert matcher.calls == [
        (f"The Plate is {word}", f"The Plate is not {word}")
        for word in ("sliced", "toasted", "clean", "cooked")
    ]


def test_a_matcher_that_scores_something_else_is_refused() -> None:
    class One:
        def score(self, image: RgbImage, texts: Sequence[str]) -> Sequence[float]:
            return [1.0]

    with pytest.raises(PlannerError, match="scored 1 of 2 texts"):
        ObjectMap(MatchedAttributes(One())).update(frame(), [detection("Plate", 24)])


def test_check_33_an_unchanged_picture_is_a_failure() -> None:
    """HELPER-C33."""
    before = np.zeros((SIZE, SIZE, 3), np.uint8)
    after = before.copy()
    assert not has_changed(before, after)
    after[3, 5, 1] = 1
    assert has_changed(before, after)
    assert not has_changed(before, after, least_pixels=2)
    with pytest.raises(PlannerError, match="cannot be compared"):
        has_changed(before, after[1:])


def test_actions_change_attributes_and_later_detections_keep_them() -> None:
    seen = ObjectMap()
    seen.update(frame(), [detection("Potato", 24, 0.5)])
    for method in ("pickup", "slice", "go_to"):
        seen.change(seen.records[0], **states_after(method))
    seen.update(frame(), [detection("Potato", 25, 0.9)])
    record = seen.records[0]
    assert record.score == 0.9
    assert record.states == ObjectStates(holding=True, sliced=True)


def test_changes_that_cannot_be_are_refused() -> None:
    seen = ObjectMap()
    seen.update(frame(), [detection("Potato", 24)])
    record = seen.records[0]
    with pytest.raises(PlannerError, match="no state 'flying'"):
        seen.change(record, flying=True)
    seen.change(record, sliced=True)
    with pytest.raises(PlannerError, match="not in the map"):
        seen.change(record, cooked=True)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Detection("Mug", np.zeros((3, 3), np.bool_), 0.9), "has the shape"),
        (Detection("Mug", np.zeros((SIZE, SIZE), np.bool_), 1.5), "not 0 to 1"),
        (Detection("Mug", np.zeros((SIZE, SIZE), np.bool_), float("nan")), "not 0 to 1"),
    ],
)
def test_detections_that_do_not_fit_are_refused(made: Detection, words: str) -> None:
    with pytest.raises(PlannerError, match=words):
        ObjectMap().update(frame(), [made])


def test_what_is_unsure_or_without_depth_is_not_believed() -> None:
    seen = ObjectMap()
    seen.update(frame(), [detection("Mug", 24, 0.3)])
    seen.update(frame(0.0), [detection("Mug", 24, 0.9)])
    seen.update(frame(np.nan), [detection("Mug", 24, 0.9)])
    assert seen.records == ()


def test_true_detections_are_the_instances_with_a_class() -> None:
    instances = np.zeros((SIZE, SIZE), np.int32)
    instances[10:14, 10:14], instances[30:34, 30:34] = 5, 6
    found = true_detections(frame(instances=instances), {5: "Mug"}.get)
    assert [(each.label, int(each.mask.sum())) for each in found] == [("Mug", 16)]
    with pytest.raises(PlannerError, match="no instance ids"):
        true_detections(frame(), {5: "Mug"}.get)


def test_the_crop_has_the_mask_and_a_margin() -> None:
    image = np.zeros((SIZE, SIZE, 3), np.uint8)
    mask = np.zeros((SIZE, SIZE), np.bool_)
    mask[20:30, 2:6] = True
    assert crop(image, mask).shape == (18, 10, 3)
    assert crop(image, np.zeros_like(mask)).shape == image.shape
