"""`planner train et-ranking`: houses, training, scores, and the file that the agent reads.

Unseen nouns are scored with further models, each trained without a fifth of the classes as
targets, so that every class is unseen once; the model that is kept has seen them all.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from papers.et_plan_bench.generation.categories import HomeSplit
from papers.et_plan_bench.model_ranker import ModelRanker
from papers.et_plan_bench.parts import Ranker
from papers.et_plan_bench.rankers import (
    LearnedRanker,
    RandomRanker,
    TableRanker,
    counted,
    read_frequencies,
    shipped_frequencies_file,
)
from papers.et_plan_bench.ranking_model import (
    RankingFile,
    RankingModel,
    parameter_count,
    read_ranking,
    write_ranking,
)
from papers.et_plan_bench.ranking_scores import (
    HouseTruth,
    PlaceOrder,
    RankingScores,
    RoomOrder,
    check_training_houses,
    choose_least,
    house_truth,
    houses_of,
    more_house,
    score_ranking,
)
from papers.et_plan_bench.ranking_training import RankingRecipe, train_ranking
from planner.models.in_process import InProcessModel
from planner.world.errors import FileError, PlannerError
from planner.world.files import writing
from planner.world.house import House
from planner.world.house_checks import load_house

MODEL_FILE, RECORD_FILE = "et_ranking.safetensors", "et_ranking.json"
FOLDS = 5
_OFFERED = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RankingData:
    """What is trained on.

    Attributes:
        more: generated houses besides the training houses of ET-Plan-Bench.
        houses: further houses by name or file.
        test: whether the houses of test are scored as well.
    """

    more: int = 116
    houses: tuple[str, ...] = ()
    test: bool = True


def make_ranking(output: Path, data: RankingData, recipe: RankingRecipe, told: Told) -> Path:
    """Trains a ranking and writes it with a record of its data, recipe and scores.

    Args:
        output: folder; must not exist, or be empty.
        data: the houses.
        recipe: numbers of the training.
        told: called with each line of progress.

    Returns:
        The model's file.

    Raises:
        PlannerError: for a recipe out of range, or a house that is not to be trained on.
        FileError: for a folder that holds something, or that cannot be written.
    """
    recipe.check()
    if data.more < 0:
        raise PlannerError(f"more: expected at least 0, got {data.more}")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise FileError(output, "", "is not an empty folder")
    given = [load_house(name) for name in data.houses]
    check_training_houses(given)
    began = time.process_time()
    own = list(houses_of(HomeSplit.TRAIN))
    houses = [*own, *given, *(more_house(index) for index in range(data.more))]
    check_training_houses(houses)
    trained = [house_truth(house) for house in houses]
    told(f"{len(trained)} houses, {time.process_time() - began:.0f} s of processor time")
    weights = train_ranking(trained, recipe, told)
    chosen = [house_truth(house) for house in houses_of(HomeSplit.VAL)]
    least, found = choose_least(chosen, RankingModel(weights), _OFFERED)
    told(f"furniture from a probability of {least:g}: {found.success:.3f} found in validation")
    took_s = round(time.process_time() - began)
    path = output / MODEL_FILE
    notes = {
        "recipe": json.dumps(asdict(recipe)),
        "houses": str(len(trained)),
        "parameters": str(parameter_count()),
        "made_by": "planner train et-ranking",
    }
    write_ranking(path, RankingFile(weights, least, notes))
    kept = read_ranking(path)
    rankers = _Rankers(own, trained, recipe, told)
    scores = {HomeSplit.VAL.value: rankers.scores(chosen, kept)}
    if data.test:
        tested = [house_truth(house) for house in houses_of(HomeSplit.TEST)]
        scores[HomeSplit.TEST.value] = rankers.scores(tested, kept)
    write_json(output / RECORD_FILE, {**_manifest(trained, recipe, kept, took_s), "scores": scores})
    for line in score_lines(scores):
        told(line)
    told(f"{time.process_time() - began:.0f} s of processor time in all")
    return path


def _manifest(
    houses: Sequence[HouseTruth], recipe: RankingRecipe, ranking: RankingFile, took_s: int
) -> dict[str, object]:
    return {
        "recipe": asdict(recipe),
        "parameters": parameter_count(),
        "least_probability": ranking.least_probability,
        "model_sha256": ranking.digest,
        "processor_s": took_s,
        "houses": [{"name": house.name, "seed": house.seed} for house in houses],
        "things": sum(where.total() for house in houses for where in house.things.values()),
        "classes": sorted({name for house in houses for name in house.things}),
    }


class _Rankers:
    """The rankers that are compared, with those that lack classes."""

    def __init__(
        self, own: Sequence[House], trained: Sequence[HouseTruth], recipe: RankingRecipe, told: Told
    ) -> None:
        self._table = TableRanker(counted(own))
        classes = sorted({name for house in trained for name in house.things})
        order = np.random.default_rng([recipe.seed, 13]).permutation(len(classes))
        self._folds: list[tuple[frozenset[str], TableRanker, RankingModel]] = []
        for fold in range(FOLDS):
            unseen = frozenset(classes[int(i)] for i in order[fold::FOLDS])
            weights = train_ranking(trained, recipe, lambda _: None, left_out=unseen)
            table = TableRanker(counted([without(house, unseen) for house in own]))
            self._folds.append((unseen, table, RankingModel(weights)))
            told(f"without classes {fold + 1} of {FOLDS}: trained")

    def scores(
        self, houses: Sequence[HouseTruth], kept: RankingFile
    ) -> dict[str, dict[str, dict[str, dict[str, float | None]]]]:
        """By seen and unseen nouns and by ranker."""
        found: dict[str, list[RankingScores]] = {"learned": [], "table": [], "random": []}
        for unseen, table, model in self._folds:
            for name, ranker in (
                ("learned", LearnedRanker(RankingFile(model.weights, 0.0))),
                ("table", table),
                ("random", RandomRanker(1)),
            ):
                found[name].append(score_ranking(houses, *orders_of(ranker), only=unseen))
        learned = LearnedRanker(RankingFile(kept.weights, 0.0, digest=kept.digest))
        all_seen: dict[str, Ranker] = {
            "learned": learned,
            "table": self._table,
            "random": RandomRanker(1),
        }
        return {
            "seen": {
                name: score_ranking(houses, *orders_of(ranker)).record()
                for name, ranker in all_seen.items()
            },
            "unseen": {name: RankingScores.pooled(all_).record() for name, all_ in found.items()},
        }


def without(house: House, classes: frozenset[str]) -> House:
    """A house without the things of some classes."""
    left = tuple(thing for thing in house.objects if thing.class_name not in classes)
    names = {thing.name for thing in house.objects} - {thing.name for thing in left}
    return house.model_copy(
        update={"objects": tuple(thing for thing in left if thing.parent not in names)}
    )


def orders_of(ranker: Ranker) -> tuple[RoomOrder, PlaceOrder]:
    """A ranker as orders of indices; pieces of a class follow each other."""

    def rooms(target: str, classes: Sequence[str]) -> list[int]:
        names = [f"{room}_{number}" for number, room in enumerate(classes)]
        ranked = asyncio.run(ranker.rank_rooms((target,), names))
        return [names.index(name) for name in ranked]

    def places(target: str, room: str, furniture: Sequence[str]) -> list[int]:
        ranked = asyncio.run(ranker.large_objects((target,), f"{room}_0", furniture))
        return [at for name in ranked for at, piece in enumerate(furniture) if piece == name]

    return rooms, places


def score_lines(
    scores: dict[str, dict[str, dict[str, dict[str, dict[str, float | None]]]]],
) -> list[str]:
    """A table of scores as lines."""
    lines = []
    for split, kinds in scores.items():
        for kind, rankers in kinds.items():
            for name, both in rankers.items():
                parts = [f"{what} {score_text(score)}" for what, score in both.items()]
                lines.append(f"{split}, {kind} nouns, {name}: {'; '.join(parts)}")
    return lines


def score_text(score: Mapping[str, float | None]) -> str:
    """One score of a record in words."""
    top1, rank, options = score["top1"], score["mean_rank"], score["options"]
    if top1 is None or rank is None or options is None:
        return "no questions"
    cases = score["cases"] or 0
    return f"top-1 {top1:.3f}, mean rank {rank:.2f} of {options:.1f} ({cases:.0f})"


def write_json(path: Path, content: object) -> None:
    """Writes a file.

    Raises:
        FileError: if it cannot be written.
    """
    with writing(path):
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


# How well a language model in this process ranks rooms and furniture, by the agent's prompts.


def rank_by_model(
    folder: Path,
    houses: Sequence[HouseTruth],
    *,
    adapter: Path | None = None,
    device: str = "cpu",
    questions: int = 0,
) -> dict[str, object]:
    """Asks a model for rankings, and scores them.

    Args:
        folder: of the model.
        houses: in which it is asked.
        adapter: folder of a LoRA adapter.
        device: torch device.
        questions: classes that are asked about in each house; 0 = all.

    Returns:
        The scores of rooms and furniture, and how many replies could not be read.

    Raises:
        ModelError: for a folder without a model, or a model that fails.
    """
    if questions < 0:
        raise PlannerError(f"questions: expected at least 0, got {questions}")
    model = InProcessModel(folder, device=device, adapter=adapter)
    usual = TableRanker(read_frequencies(shipped_frequencies_file()))
    ranker = ModelRanker("et_agent", model, ("agent_0",), usual)
    asked = [
        replace(house, things=dict(sorted(house.things.items())[: questions or None]))
        for house in houses
    ]
    try:
        scores = score_ranking(asked, *orders_of(ranker))
    finally:
        asyncio.run(model.close())
    return {**scores.record(), "unread": ranker.unread}
