"""Scores of a ranking of rooms and furniture in houses, for the learned model and others alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from planner.planning.et_ranking.network import Hold
from planner.training.ranking_samples import HouseTruth, RoomTruth

RoomOrder = Callable[[str, Sequence[str]], Sequence[int]]
"""Indices of rooms, likeliest first, for a target's class and the rooms' classes."""
PlaceOrder = Callable[[str, str, Sequence[str]], Sequence[int]]
"""Indices of furniture, likeliest first, for a target's class, a room's and the pieces'."""


@dataclass(frozen=True, slots=True)
class RankScore:
    """How high the right one is ranked.

    Attributes:
        cases: how many were asked.
        top1: share with a right one first.
        mean_rank: of the first right one, from 1; one that is not listed counts as the last.
        options: mean number of rooms or pieces to choose from.
    """

    cases: int
    top1: float
    mean_rank: float
    options: float


@dataclass(frozen=True, slots=True)
class RankingScores:
    """Of rooms, and of the furniture that hides a thing in the right room."""

    rooms: RankScore
    furniture: RankScore

    def record(self) -> dict[str, dict[str, float | None]]:
        """For a file of JSON: None where nothing was asked."""
        return {
            what: {key: None if math.isnan(value) else value for key, value in score.items()}
            for what, score in asdict(self).items()
        }

    @staticmethod
    def pooled(scores: Sequence[RankingScores]) -> RankingScores:
        """Of all cases of several."""
        return RankingScores(
            _pooled([score.rooms for score in scores]),
            _pooled([score.furniture for score in scores]),
        )


def score_ranking(
    houses: Iterable[HouseTruth],
    rooms: RoomOrder,
    places: PlaceOrder,
    *,
    only: frozenset[str] | None = None,
) -> RankingScores:
    """Ranks the rooms for each class of things, and the furniture where it is hidden.

    A room is right if it holds a thing of the class. Furniture is asked about in rooms where all
    things of the class are in something closed; a piece is right if one is in it.

    Args:
        houses: to ask about.
        rooms: ranks rooms.
        places: ranks furniture.
        only: classes of things to ask about; None = all.
    """
    of_rooms: list[tuple[int, int]] = []
    of_places: list[tuple[int, int]] = []
    for house in houses:
        classes = [room.class_name for room in house.rooms]
        for name in sorted(house.things):
            if only is not None and name not in only:
                continue
            right = {at for at, _ in house.things[name]}
            of_rooms.append((_rank(rooms(name, classes), right, len(classes)), len(classes)))
            for at in sorted(right):
                room = house.rooms[at]
                hiding = hiding_pieces(house, name, at)
                if hiding:
                    ranked = places(name, room.class_name, room.furniture)
                    count = len(room.furniture)
                    of_places.append((_rank(ranked, hiding, count), count))
    return RankingScores(_score(of_rooms), _score(of_places))


def hiding_pieces(house: HouseTruth, name: str, at: int) -> set[int]:
    """Pieces of a room that hide all its things of a class; none if one lies in the open."""
    room: RoomTruth = house.rooms[at]
    spots = [spot for number, spot in house.things[name] if number == at]
    if any(spot < 0 or room.spots[spot].hold is not Hold.CLOSED for spot in spots):
        return set()
    return {room.spots[spot].piece for spot in spots}


def _rank(ranked: Sequence[int], right: set[int], count: int) -> int:
    return next((place for place, at in enumerate(ranked, 1) if at in right), count)


def _pooled(scores: Sequence[RankScore]) -> RankScore:
    counts = [score.cases for score in scores]
    if not sum(counts):
        return _score([])

    def mean(values: Sequence[float]) -> float:
        asked = [(v, n) for v, n in zip(values, counts, strict=True) if n]
        return float(np.average([v for v, _ in asked], weights=[n for _, n in asked]))

    return RankScore(
        sum(counts),
        mean([score.top1 for score in scores]),
        mean([score.mean_rank for score in scores]),
        mean([score.options for score in scores]),
    )


def _score(ranks: Sequence[tuple[int, int]]) -> RankScore:
    if not ranks:
        return RankScore(0, float("nan"), float("nan"), float("nan"))
    got = np.array([rank for rank, _ in ranks])
    options = float(np.mean([count for _, count in ranks]))
    return RankScore(len(ranks), float((got == 1).mean()), float(got.mean()), options)
