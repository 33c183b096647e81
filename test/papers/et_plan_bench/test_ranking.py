"""The ranking model is trained on houses, never on those that are kept back."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from papers.et_plan_bench.generation.categories import HomeSplit, home_named, homes
from papers.et_plan_bench.rankers import (
    LearnedRanker,
    RandomRanker,
    TableRanker,
    learned_ranker,
    read_frequencies,
    shipped_frequencies_file,
)
from papers.et_plan_bench.ranking_model import (
    Hold,
    RankingModel,
    parameter_count,
    read_ranking,
    shapes,
    shipped_ranking,
)
from papers.et_plan_bench.ranking_scores import (
    HouseTruth,
    RankingScores,
    RoomTruth,
    Spot,
    check_training_houses,
    choose_least,
    house_truth,
    more_house,
    score_ranking,
    search_score,
)
from papers.et_plan_bench.ranking_training import (
    NOTHING_LEFT_OUT,
    Nouns,
    RankingRecipe,
    initial_weights,
    loss_and_gradient,
    make_sample,
    train_ranking,
)
from papers.et_plan_bench.ranking_weights import (
    MODEL_FILE,
    RECORD_FILE,
    RankingData,
    make_ranking,
    orders_of,
    score_text,
)
from planner.cli import main
from planner.world.errors import FileError, PlannerError


def quiet(_line: str) -> None:
    pass


def made() -> HouseTruth:
    kitchen = RoomTruth(
        "kitchen",
        ("table", "fridge", "cabinet"),
        (Spot(0, Hold.ON), Spot(1, Hold.CLOSED), Spot(2, Hold.CLOSED)),
    )
    bedroom = RoomTruth("bedroom", ("bed",), (Spot(0, Hold.ON),))
    things = {
        "milk_carton": Counter({(0, 1): 2}),
        "plate": Counter({(0, 0): 1, (0, 2): 1}),
        "pillow": Counter({(1, 0): 1}),
    }
    return HouseTruth("made", 1, (kitchen, bedroom), things)


def test_what_is_where_in_a_house() -> None:
    house = home_named("et_train_0").make()
    truth = house_truth(house)
    assert [room.class_name for room in truth.rooms] == [room.class_name for room in house.rooms]
    upon = {thing.name for thing in house.objects}
    counted = sum(thing.parent not in upon for thing in house.objects)
    assert sum(where.total() for where in truth.things.values()) == counted
    for where in truth.things.values():
        assert all(spot < len(truth.rooms[room].spots) for room, spot in where)


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    weights = {
        name: (value + 0.1 * rng.standard_normal(value.shape)).astype(np.float32)
        for name, value in initial_weights(shapes(), 1).items()
    }
    nouns = Nouns(NOTHING_LEFT_OUT, rng)
    samples = [make_sample(made(), nouns, NOTHING_LEFT_OUT, rng)]
    _, grads = loss_and_gradient(weights, nouns, samples)
    assert set(grads) == set(weights)
    for name, grad in grads.items():
        at = np.unravel_index(int(np.abs(grad).argmax()), grad.shape)
        around = []
        for step in (-1e-2, 1e-2):
            moved = {**weights, name: weights[name].copy()}
            moved[name][at] += step
            around.append(loss_and_gradient(moved, nouns, samples)[0])
        assert (around[1] - around[0]) / 2e-2 == pytest.approx(grad[at], rel=0.1, abs=2e-3), name


@pytest.mark.slow
def test_training_repeats_learns_and_leaves_out() -> None:
    recipe = RankingRecipe(epochs=30, batch=1, average=0.8)
    weights = train_ranking([made()], recipe, quiet)
    again = train_ranking([made()], recipe, quiet)
    assert all(np.array_equal(weights[name], again[name]) for name in weights)
    model = RankingModel(weights)
    assert model.room_probabilities(["pillow"], ["kitchen", "bedroom"])[1] > 0.8
    assert model.room_probabilities(["milk carton"], ["kitchen", "bedroom"])[0] > 0.8
    places, _ = model.likely_places(["milk carton"], "kitchen", ("table", "fridge", "cabinet"))
    assert places[0].index == 1
    without = train_ranking([made()], recipe, quiet, left_out=frozenset({"pillow"}))
    assert not np.array_equal(weights["table"], without["table"])


@pytest.mark.parametrize(
    ("change", "words"),
    [({"epochs": 0}, "epochs: expected at least 1, got 0"), ({"rate": 0.0}, "above 0")],
)
def test_a_recipe_out_of_range_is_one_error(change: dict[str, float], words: str) -> None:
    with pytest.raises(PlannerError, match=words):
        train_ranking([made()], replace(RankingRecipe(), **change), quiet)  # type: ignore[arg-type]
    with pytest.raises(PlannerError, match="no houses"):
        train_ranking([], RankingRecipe(), quiet)


def test_a_house_of_the_test_split_is_named() -> None:
    house = home_named("et_test_3").make()
    own = home_named("et_train_0").make()
    with pytest.raises(PlannerError, match="et_test_3: is a house of the split test"):
        check_training_houses([own, house])
    renamed = house.model_copy(update={"name": "innocent", "split": "train"})
    with pytest.raises(PlannerError, match="innocent, which is et_test_3: is a house of the"):
        check_training_houses([renamed])
    other = own.model_copy(update={"name": "far", "seed": 1, "split": "heldout"})
    with pytest.raises(PlannerError, match="far: is a held-out house"):
        check_training_houses([other])


def test_further_houses_share_no_seed() -> None:
    house = more_house(0)
    check_training_houses([house])
    assert house.seed not in {home.seed for home in homes()}
    assert house == more_house(0)


def test_a_test_house_stops_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["train", "et-ranking", "--out", str(out), "--more", "0"]
    assert main([*command, "--house", "heldout_0"]) != 0
    assert "heldout_0: is a held-out house" in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_with_something_else_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="is not an empty folder"):
        make_ranking(tmp_path, RankingData(), RankingRecipe(), quiet)


def test_scores_count_the_first_right_one() -> None:
    """Rooms: ranks 1, 1, 2; furniture: only the milk is hidden from view."""
    scores = score_ranking([made()], lambda _t, _r: [0, 1], lambda _t, _r, _f: [0, 1, 2])
    assert scores.rooms.cases == 3
    assert scores.rooms.top1 == pytest.approx(2 / 3)
    assert scores.rooms.mean_rank == pytest.approx(4 / 3)
    assert (scores.furniture.cases, scores.furniture.mean_rank) == (1, 2.0)
    only = score_ranking(
        [made()], lambda _t, _r: [1, 0], lambda _t, _r, _f: [], only=frozenset({"milk_carton"})
    )
    assert (only.rooms.mean_rank, only.furniture.mean_rank) == (2.0, 3.0)


def test_nothing_asked_is_no_number() -> None:
    nobody = score_ranking([], lambda _t, _r: [], lambda _t, _r, _f: [])
    record = RankingScores.pooled([nobody]).record()
    assert record["rooms"] == {"cases": 0, "top1": None, "mean_rank": None, "options": None}
    assert score_text(record["rooms"]) == "no questions"
    asked = score_ranking([made()], lambda _t, _r: [0, 1], lambda _t, _r, _f: [1])
    assert RankingScores.pooled([nobody, asked]).rooms == asked.rooms
    assert score_text(asked.record()["furniture"]) == "top-1 1.000, mean rank 1.00 of 3.0 (1)"


def test_a_search_counts_its_actions() -> None:
    """The pillow takes 2 actions, the milk 4 (there, open, to it), the plate in view 2."""
    model = RankingModel(read_ranking(shipped_ranking()).weights)
    found = search_score([made()], model, 0.0)
    assert (found.success, found.actions) == (1.0, pytest.approx((2 + 4 + 2) / 3))
    least, best = choose_least([made()], model, (0.0, 0.99))
    assert (least, best) == (0.0, found)


@pytest.mark.slow
def test_a_small_training_writes_all_that_ships(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ranking"
    fast = ["--more", "0", "--epochs", "1", "--no-test"]
    assert main(["train", "et-ranking", "--out", str(out), *fast]) == 0
    said = capsys.readouterr().out
    assert "34 houses" in said
    assert "val, unseen nouns, learned: rooms top-1" in said
    ranking = read_ranking(out / MODEL_FILE)
    record = json.loads((out / RECORD_FILE).read_text(encoding="utf-8"))
    assert record["model_sha256"] == ranking.digest
    assert set(record["scores"]) == {"val"}
    assert len(record["houses"]) == 34


def test_the_shipped_record_is_of_the_shipped_model() -> None:
    path = shipped_ranking()
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    ranking = read_ranking(path)
    assert record["model_sha256"] == ranking.digest
    assert record["least_probability"] == ranking.least_probability
    assert record["parameters"] == parameter_count() < 5_000_000
    assert record["recipe"] == json.loads(ranking.notes["recipe"]) == asdict(RankingRecipe())
    trained = {house["name"]: house["seed"] for house in record["houses"]}
    assert {home.name for home in homes(HomeSplit.TRAIN)} <= set(trained)
    kept_back = [home for home in homes() if home.split is not HomeSplit.TRAIN]
    assert not {home.name for home in kept_back} & set(trained)
    assert not {home.seed for home in kept_back} & set(trained.values())


@pytest.mark.slow
def test_the_shipped_model_beats_the_table_and_chance_in_test_houses() -> None:
    houses = [house_truth(home.make()) for home in homes(HomeSplit.TEST)]
    learned = learned_ranker(shipped_ranking())
    assert isinstance(learned, LearnedRanker)
    table = TableRanker(read_frequencies(shipped_frequencies_file()))
    ours, counted, chance = (
        score_ranking(houses, *orders_of(ranker)) for ranker in (learned, table, RandomRanker(1))
    )
    assert ours.rooms.top1 > 0.7 > chance.rooms.top1
    assert ours.rooms.mean_rank <= counted.rooms.mean_rank < chance.rooms.mean_rank
    assert ours.furniture.mean_rank < chance.furniture.mean_rank
