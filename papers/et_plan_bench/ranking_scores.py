"""Scores of rankings of rooms and furniture, and the houses and true places they are made on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from papers.et_plan_bench.generation.categories import HomeSplit, homes
from papers.et_plan_bench.ranking_model import Hold, RankingModel
from planner.houses.generator import generate_house
from planner.world.errors import PlannerError
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation

# The houses that the ranking model and the questions for language models are made of.
#
# Houses of validation and test are never trained on: whatever brings one of them in is one error.

# As the training houses have (papers/et_plan_bench/generation/categories.py).
_MIN_ROOMS, _MAX_ROOMS = 4, 8


def more_house(index: int) -> House:
    """A further training house, `et_more_0` and so on, with a seed that no other house has.

    Raises:
        PlannerError: if none was found.
    """
    name = f"et_more_{index}"
    drawn = int.from_bytes(sha256(name.encode()).digest()[:4], "big")
    rooms = _MIN_ROOMS + drawn % (_MAX_ROOMS - _MIN_ROOMS + 1)
    return generate_house(name, drawn | 1 << 34, rooms=rooms, split="train")


def check_training_houses(houses: Iterable[House]) -> None:
    """Refuses houses that are to be validated or tested on, also under another name.

    Raises:
        PlannerError: naming the first such house.
    """
    kept_back = [home for home in homes() if home.split is not HomeSplit.TRAIN]
    by_name = {home.name: home for home in kept_back}
    by_seed = {home.seed: home for home in kept_back}
    for house in houses:
        found = by_name.get(house.name)
        if found is None and house.seed is not None:
            found = by_seed.get(house.seed)
        if found is not None:
            same = "" if found.name == house.name else f", which is {found.name}"
            raise PlannerError(
                f"{house.name}{same}: is a house of the split {found.split}, and cannot be "
                "trained on"
            )
        if house.split == "heldout":
            raise PlannerError(f"{house.name}: is a held-out house, and cannot be trained on")


def houses_of(split: HomeSplit) -> Sequence[House]:
    """The houses of a split."""
    return tuple(home.make() for home in homes(split))


# Where things truly are in houses: what the ranking model is trained and scored on.


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a room: a piece of furniture, by its index in the room, and how it holds."""

    piece: int
    hold: Hold


@dataclass(frozen=True)
class RoomTruth:
    """A room.

    Attributes:
        class_name: its class.
        furniture: classes of its pieces.
        spots: every way in which its furniture holds things.
    """

    class_name: str
    furniture: tuple[str, ...]
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class HouseTruth:
    """A house and what is where.

    Attributes:
        name, seed: of the house.
        rooms: all of them.
        things: by class of objects, the number in each (room, spot); -1 is the floor.
    """

    name: str
    seed: int | None
    rooms: tuple[RoomTruth, ...]
    things: dict[str, Counter[tuple[int, int]]]

    @cached_property
    def furniture(self) -> dict[str, Counter[int]]:
        """By class of furniture, the number of pieces in each room."""
        found: dict[str, Counter[int]] = {}
        for number, room in enumerate(self.rooms):
            for piece in room.furniture:
                found.setdefault(piece, Counter())[number] += 1
        return found


def house_truth(house: House) -> HouseTruth:
    """What is where in a house."""
    pieces = {
        room.name: [piece for piece in house.furniture if piece.room == room.name]
        for room in house.rooms
    }
    rooms = tuple(
        RoomTruth(
            room.class_name,
            tuple(piece.class_name for piece in pieces[room.name]),
            tuple(_spots(pieces[room.name])),
        )
        for room in house.rooms
    )
    place_of = {
        piece.name: (number, at, piece)
        for number, room in enumerate(house.rooms)
        for at, piece in enumerate(pieces[room.name])
    }
    floors = {f"floor_{room.name}": number for number, room in enumerate(house.rooms)}
    things: dict[str, Counter[tuple[int, int]]] = {}
    for thing in house.objects:
        if thing.parent in floors:
            key = (floors[thing.parent], -1)
        elif thing.parent in place_of:
            number, at, piece = place_of[thing.parent]
            hold = Hold.ON if thing.relation is Relation.ON else _hold(piece, thing.part)
            key = (number, rooms[number].spots.index(Spot(at, hold)))
        else:
            continue  # On or in another thing.
        things.setdefault(thing.class_name, Counter())[key] += 1
    return HouseTruth(house.name, house.seed, rooms, things)


def _spots(pieces: Sequence[Furniture]) -> Iterable[Spot]:
    for at, piece in enumerate(pieces):
        if piece.surfaces:
            yield Spot(at, Hold.ON)
        for hold in sorted({_hold(piece, hollow.name) for hollow in piece.interiors}):
            yield Spot(at, hold)


def _hold(piece: Furniture, part: str) -> Hold:
    joint = next(hollow.joint for hollow in piece.interiors if hollow.name == part)
    return Hold.OPEN if joint is None else Hold.CLOSED


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


# What a ranking is worth to a search: Algorithm 1 on the house's truth, action by action.
#
# It serves to choose how unlikely furniture may be and still be searched. Nothing hides but in
# closed furniture, as in the graph world; positions play no part, so the agent's own runs differ.

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
