"""What a ranking is worth to a search: Algorithm 1 on the house's truth, action by action.

It serves to choose how unlikely furniture may be and still be searched. Nothing hides but in
closed furniture, as in the graph world; positions play no part, so the agent's own runs differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.planning.et_ranking.model import RankingModel
from planner.planning.et_ranking.network import Hold
from planner.training.ranking_samples import HouseTruth

# M of navigation (ETPLAN-1.4).
_LIMIT = 20


@dataclass(frozen=True, slots=True)
class SearchScore:
    """Share of things found within the limit, and the mean number of actions (limit if not)."""

    success: float
    actions: float


def search_score(
    houses: Iterable[HouseTruth], model: RankingModel, least_probability: float
) -> SearchScore:
    """Searches for each class of things in each house."""
    lengths = [
        _search(house, name, model, least_probability)
        for house in houses
        for name in sorted(house.things)
    ]
    found = [length for length in lengths if length is not None]
    total = sum(found) + _LIMIT * (len(lengths) - len(found))
    return SearchScore(len(found) / len(lengths), total / len(lengths))


def choose_least(
    houses: Sequence[HouseTruth], model: RankingModel, offered: Sequence[float]
) -> tuple[float, SearchScore]:
    """The threshold with which most is found, and of equal ones in the fewest actions."""
    scores = {least: search_score(houses, model, least) for least in offered}
    best = max(scores, key=lambda least: (scores[least].success, -scores[least].actions))
    return best, scores[best]


def _search(house: HouseTruth, name: str, model: RankingModel, least: float) -> int | None:
    classes = [room.class_name for room in house.rooms]
    order = np.argsort(-model.room_probabilities([name], classes), kind="stable")
    actions = 0
    for at in map(int, order):
        room = house.rooms[at]
        here = [spot for number, spot in house.things[name] if number == at]
        actions += 1
        if any(spot < 0 or room.spots[spot].hold is not Hold.CLOSED for spot in here):
            actions += 1
            return actions if actions <= _LIMIT else None
        hiding = {room.spots[spot].piece for spot in here}
        closing = {spot.piece for spot in room.spots if spot.hold is Hold.CLOSED}
        for place in model.likely_places([name], room.class_name, room.furniture)[0]:
            if place.probability < least:
                break
            # There, open it, and to the thing or close it again.
            actions += 3 if place.index in closing else 1
            if place.index in hiding:
                return actions if actions <= _LIMIT else None
        if actions > _LIMIT:
            return None
    return None
