"""The ranking model's answers: proper probabilities, and what they may depend on."""

from __future__ import annotations

import numpy as np
import pytest

from planner.planning.et_ranking.model import RankingModel
from planner.planning.et_ranking.network import parameter_count, shapes
from planner.planning.et_ranking.weights import read_ranking, shipped_ranking

ROOMS = ("bedroom_0", "kitchen_0", "bathroom_0", "living_room_0", "bedroom_1")


@pytest.fixture(scope="module")
def shipped() -> RankingModel:
    return RankingModel(read_ranking(shipped_ranking()).weights)


def test_it_is_far_smaller_than_asked() -> None:
    assert parameter_count() == sum(int(np.prod(shape)) for shape in shapes().values())
    assert parameter_count() < 500_000
    assert shipped_ranking().stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("target", "room"),
    [
        ("cooking pot", "kitchen_0"),
        ("toothbrush", "bathroom_0"),
        ("coffee mug", "kitchen_0"),
        ("toilet", "bathroom_0"),
        ("sofa", "living_room_0"),
        ("fruit", "kitchen_0"),
    ],
)
def test_things_are_where_people_keep_them(shipped: RankingModel, target: str, room: str) -> None:
    shares = shipped.room_probabilities([target], ROOMS)
    assert shares.sum() == pytest.approx(1.0, abs=1e-5)
    assert ROOMS[int(shares.argmax())] == room


def test_rooms_of_a_class_share_alike_and_two_targets_multiply(shipped: RankingModel) -> None:
    one = shipped.room_probabilities(["cup"], ROOMS)
    assert one[0] == pytest.approx(one[4], rel=1e-5)
    other = shipped.room_probabilities(["toothbrush"], ROOMS)
    both = shipped.room_probabilities(["cup", "toothbrush"], ROOMS)
    assert both == pytest.approx(one * other / (one * other).sum(), rel=1e-3)
    assert shipped.room_probabilities(["cup"], []).shape == (0,)


def test_a_chilled_thing_hides_in_the_fridge(shipped: RankingModel) -> None:
    furniture = ("table", "chair", "fridge", "dishwasher", "oven")
    places, absent = shipped.likely_places(["milk carton"], "kitchen_0", furniture)
    assert furniture[places[0].index] == "fridge"
    assert sorted(place.index for place in places) == [0, 1, 2, 3, 4]
    assert sum(place.probability for place in places) + absent == pytest.approx(1.0, abs=1e-3)


def test_what_was_overlooked_counts_for_open_places(shipped: RankingModel) -> None:
    furniture = ("table", "cabinet")
    seen_well, _ = shipped.likely_places(["plate"], "kitchen_0", furniture, overlooked=1e-6)
    in_the_dark, _ = shipped.likely_places(["plate"], "kitchen_0", furniture, overlooked=1.0)
    on_table = [{p.index: p.probability for p in places}[0] for places in (seen_well, in_the_dark)]
    assert on_table[0] < 0.01 < on_table[1]


def test_without_furniture_nothing_is_here(shipped: RankingModel) -> None:
    assert shipped.likely_places(["cup"], "kitchen_0", []) == ((), 1.0)


def test_a_noun_that_nobody_knows_is_ranked_too(shipped: RankingModel) -> None:
    shares = shipped.room_probabilities(["zugzwang"], ["scullery", "oubliette"])
    assert shares.sum() == pytest.approx(1.0, abs=1e-5)
    places, _ = shipped.likely_places(["zugzwang"], "scullery", ["whatnot", "tallboy"])
    assert len(places) == 2
