"""The ranker that a small model answers, which was taught on houses like the training houses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from planner.planning.et_agent.errand import Errand, TaskClass
from planner.planning.et_agent.ranker import RankerName
from planner.planning.et_agent.reading import read_task
from planner.planning.et_ranking.model import RankingModel
from planner.planning.et_ranking.weights import RankingFile, read_ranking, shipped_ranking
from planner.planning.et_ranking.words import is_thing


def shipped_weights() -> Path:
    """Where the shipped model is."""
    return shipped_ranking()


def learned_ranker(weights: Path) -> LearnedRanker:
    """Reads a model's file.

    Raises:
        FileError: if it cannot be read, or is not a ranking of this version.
    """
    return LearnedRanker(read_ranking(weights), weights.name)


class LearnedRanker:
    """See `Ranker`; reads tasks by rules, and ranks by the learned model."""

    def __init__(self, ranking: RankingFile, source: str = "") -> None:
        """A model that was read, and the name of its file."""
        self._model = RankingModel(ranking.weights)
        self._least = ranking.least_probability
        self._source = f"{source} {ranking.digest}".strip()

    @property
    def name(self) -> RankerName:
        """The learned one."""
        return RankerName.LEARNED

    @property
    def evidence(self) -> str:
        """The file and the start of its SHA-256."""
        return f"{self._source}; no language model"

    async def classify(self, task: str) -> TaskClass:
        """By rules."""
        return read_task(task).task_class

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:  # noqa: ARG002
        """By rules."""
        return read_task(task).errands

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:
        """By the probability that a room holds all targets; equal ones in the given order."""
        shares = self._model.room_probabilities(targets, rooms)
        return tuple(rooms[int(at)] for at in np.argsort(-shares, kind="stable"))

    async def large_objects(
        self, targets: Sequence[str], room: str, visible: Sequence[str]
    ) -> tuple[str, ...]:
        """Classes of furniture that may hide the targets, by the likeliest piece of each."""
        furniture = [name for name in visible if not is_thing(name)]
        places, _ = self._model.likely_places(targets, room, furniture)
        likely = [furniture[p.index] for p in places if p.probability >= self._least]
        return tuple(dict.fromkeys(likely))
