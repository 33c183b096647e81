"""The ranking model's answers: proper probabilities, and what they may depend on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from damaged_weights import check_damage
from safetensors.numpy import load, save

from papers.et_plan_bench.ranking_model import (
    BUCKETS,
    VERSION,
    Noun,
    RankingFile,
    RankingModel,
    class_text,
    features,
    holding_of,
    is_thing,
    parameter_count,
    read_ranking,
    shapes,
    shipped_ranking,
    write_ranking,
)
from planner.world.errors import FileError

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


def some() -> RankingFile:
    rng = np.random.default_rng(1)
    weights = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes().items()}
    return RankingFile(weights, 0.05, {"recipe": "none"})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "ranking.safetensors"
    write_ranking(path, some())
    read = read_ranking(path)
    assert read.least_probability == 0.05
    assert read.notes == {"recipe": "none"}
    assert len(read.digest) == 12
    for name, weights in some().weights.items():
        assert np.allclose(read.weights[name], weights, atol=4e-3), name


def test_a_file_that_is_cut_off_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes(shipped_ranking().read_bytes()[:-1000])
    with pytest.raises(FileError, match=r"cut\.safetensors: cannot be read"):
        read_ranking(path)
    with pytest.raises(FileError, match="cannot be read"):
        read_ranking(tmp_path / "missing.safetensors")


def header(**changes: str) -> dict[str, str]:
    return {"planner_ranking_model": VERSION, "least_probability": "0.1", **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"planner_ranking_model": "0"}, "is of version '0'; expected version 1"),
        ({"least_probability": "often"}, "least_probability: is not a number"),
        ({"least_probability": "1.5"}, "expected 0 to 1, got 1.5"),
    ],
)
def test_another_header_is_one_error(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes(save(load(shipped_ranking().read_bytes()), header(**changes)))
    with pytest.raises(FileError, match=words):
        read_ranking(path)


def test_weights_of_something_else_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "else.safetensors"
    path.write_bytes(save({"look": np.zeros(3, np.float16)}))
    with pytest.raises(FileError, match="is not a ranking model"):
        read_ranking(path)
    weights = {**load(shipped_ranking().read_bytes()), "room.own": np.zeros(3, np.float16)}
    path.write_bytes(save(weights, header()))
    with pytest.raises(FileError, match=r"room\.own: expected the shape \(48,\), got \(3,\)"):
        read_ranking(path)
    weights["room.own"] = np.full(48, np.nan, np.float16)
    path.write_bytes(save(weights, header()))
    with pytest.raises(FileError, match="not finite"):
        read_ranking(path)


def test_names_of_all_forms_are_alike() -> None:
    assert class_text("kitchen_table_3") == class_text("KitchenTable") == "kitchen table"
    assert features("coffee mug_2", Noun.TARGET) == features("coffee_mug", Noun.TARGET)


def test_an_alias_is_its_class_and_has_its_groups() -> None:
    mug, cup = features("mug", Noun.TARGET), features("cup", Noun.TARGET)
    assert (mug.identity, mug.kind) == (cup.identity, cup.kind)
    assert mug.spelling != cup.spelling
    assert features("living room", Noun.ROOM).identity == features("livingroom", Noun.ROOM).identity


def test_a_word_for_a_group_has_what_its_members_share() -> None:
    fruit, apple = features("fruit", Noun.TARGET), features("apple", Noun.TARGET)
    assert fruit.identity == ()
    assert fruit.kind
    assert set(fruit.kind) <= set(apple.kind)


def test_a_noun_that_nobody_knows_still_has_its_letters() -> None:
    found = features("zugzwang", Noun.TARGET)
    assert (found.identity, found.kind) == ((), ())
    assert found.spelling
    assert features("", Noun.TARGET).spelling
    rows = (*found.spelling, *features("cup", Noun.TARGET).kind)
    assert all(0 <= row < BUCKETS for row in rows)


def test_how_furniture_holds_things() -> None:
    assert holding_of("fridge") == ("closed",)
    assert holding_of("table_1") == ("on",)
    assert holding_of("zugzwang") is None
    assert is_thing("mug_0")
    assert not is_thing("sofa")
    assert not is_thing("zugzwang")


def test_what_ships_is_read_and_every_damage_to_it_refused(tmp_path: Path) -> None:
    check_damage(shipped_ranking(), read_ranking, tmp_path)
