"""The rankers without a language model: by frequencies, by a small learned model, at random."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np

from papers.et_plan_bench.parts import RankerName, TaskClass
from papers.et_plan_bench.ranking_model import (
    RankingFile,
    RankingModel,
    is_thing,
    read_ranking,
    shipped_ranking,
)
from planner.planning.errands import Errand, is_meant, meant, read_errands, spelled
from planner.world.catalogue import default_catalogue
from planner.world.files import FileModel, read_model
from planner.world.house import House
from planner.world.share import config_dir
from planner.world.vocabulary import Relation

# The class of a task by rules.


def class_of(errands: Sequence[Errand]) -> TaskClass:
    """The class of tasks with these parts."""
    moved = [errand for errand in errands if errand.place is not None]
    if not moved:
        related = any(errand.target.anchor is not None for errand in errands)
        return TaskClass.NAVIGATION_RELATION if related else TaskClass.NAVIGATION
    if len(moved) > 1:
        return TaskClass.NEST_AND_PLACE if is_nested(moved) else TaskClass.PLACE_TWO
    place = moved[0].place
    related = moved[0].target.anchor is not None or (place is not None and place.anchor is not None)
    return TaskClass.PLACE_RELATION if related else TaskClass.PLACE


def is_nested(errands: Sequence[Errand]) -> bool:
    """Whether something is first put into what is put somewhere after that."""
    first, *later = errands
    return first.place is not None and any(
        is_meant(first.place.word, errand.target.word) for errand in later
    )


# How often things of a class were in which room, and in or on which furniture, of some houses.
#
# Counted on houses to learn from, never on those to be tested in. What lies open in a room shows
# in a look round, so what is worth a visit is furniture that things are inside of (ETPLAN-2.4).

# Of a thing that lies open, compared with one inside of something that closes.
OPEN_WEIGHT = 0.05
_GROUP = "group:"

Counts = dict[str, dict[str, float]]


class Frequencies(FileModel):
    """The counts; classes are as `words.spelled` has them.

    Attributes:
        houses: the names of those that were counted.
        rooms: by class of thing or furniture, how many were in each class of room.
        places: by class of thing, how many were at each class of furniture, as `room/furniture`;
            what lies open counts `OPEN_WEIGHT`. Keys `group:NAME` have those of a whole group.
    """

    version: Literal[1] = 1
    houses: tuple[str, ...]
    rooms: Counts
    places: Counts

    def rooms_of(self, class_names: Iterable[str]) -> Mapping[str, float]:
        """The counts of rooms of some classes; of their groups where nothing was counted."""
        return _of(self.rooms, class_names)

    def places_of(self, class_names: Iterable[str]) -> Mapping[str, float]:
        """The counts of places of some classes; of their groups where nothing was counted."""
        return _of(self.places, class_names)


def _of(counts: Counts, class_names: Iterable[str]) -> Mapping[str, float]:
    own = [counts[name] for name in class_names if name in counts]
    if not own:
        groups = {group for name in class_names for group in _groups().get(name, ())}
        own = [counts[_GROUP + group] for group in sorted(groups) if _GROUP + group in counts]
    found: defaultdict[str, float] = defaultdict(float)
    for each in own:
        for place, count in each.items():
            found[place] += count
    return found


def counted(houses: Iterable[House]) -> Frequencies:
    """Counts some houses as their files have them."""
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    places: defaultdict[str, Counter[str]] = defaultdict(Counter)
    names: list[str] = []
    for house in houses:
        names.append(house.name)
        classes = {room.name: spelled(room.class_name) for room in house.rooms}
        for piece in house.furniture:
            rooms[spelled(piece.class_name)][classes[piece.room]] += 1
        things = {item.name: item for item in house.objects}
        for item in house.objects:
            base, within = item, item.relation is Relation.WITHIN
            while base.parent in things:
                base = things[base.parent]
                within = within or base.relation is Relation.WITHIN
            holder = house.furniture_by_name.get(base.parent)
            room = holder.room if holder is not None else base.parent.removeprefix("floor_")
            kind = spelled(item.class_name)
            keys = [kind, *(_GROUP + group for group in _groups().get(kind, ()))]
            for key in keys:
                rooms[key][classes.get(room, spelled(room))] += 1
            if holder is None:
                continue
            hidden = bool(holder.joints) and within
            place = f"{classes[holder.room]}/{spelled(holder.class_name)}"
            for key in keys:
                # Whole thousandths, so that the sum does not depend on the order.
                places[key][place] += 1000 if hidden else round(1000 * OPEN_WEIGHT)
    return Frequencies(
        houses=tuple(names),
        rooms={key: dict(sorted(rooms[key].items())) for key in sorted(rooms)},
        places={
            key: {place: n / 1000 for place, n in sorted(places[key].items())}
            for key in sorted(places)
        },
    )


def shipped_frequencies_file() -> Path:
    """The file that ships, written by `scripts/et_frequencies.py`."""
    return config_dir() / "et_agent" / "frequencies.json"


@lru_cache(maxsize=4)
def read_frequencies(path: Path) -> Frequencies:
    """Reads such a file.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, Frequencies)


@lru_cache
def _groups() -> Mapping[str, tuple[str, ...]]:
    return {spelled(item.name): item.groups for item in default_catalogue().objects.values()}


# What was never counted may still be so.
_UNSEEN = 0.2
# Furniture with less than this share of what was counted in the room is not worth a visit.
MIN_SHARE = 0.03


class _ByRules:
    """What rankers share that read tasks by rules; see `Ranker`."""

    async def classify(self, task: str) -> TaskClass:
        """By rules."""
        return class_of(read_errands(task))

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:  # noqa: ARG002
        """By rules."""
        return read_errands(task)


@dataclass(frozen=True, slots=True)
class TableRanker(_ByRules):
    """See `Ranker`; reads tasks by rules, and ranks by the counts of houses."""

    name = RankerName.TABLE

    frequencies: Frequencies

    @property
    def evidence(self) -> str:
        """How many houses were counted."""
        return f"frequency table of {len(self.frequencies.houses)} training houses; no model"

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:
        """By the share of such things in such rooms, divided among rooms of a class."""
        counts = [self.frequencies.rooms_of(meant(target)) for target in targets]
        alike = Counter(room_class(room) for room in rooms)

        def score(room: str) -> float:
            kind = room_class(room)
            return prod((c.get(kind, 0.0) + _UNSEEN) for c in counts) / alike[kind]

        return tuple(sorted(rooms, key=score, reverse=True))

    async def large_objects(
        self, targets: Sequence[str], room: str, visible: Sequence[str]
    ) -> tuple[str, ...]:
        """Furniture in which such things were, in such rooms; the fewer of a kind, the sooner."""
        kind = room_class(room)
        offered: dict[str, str] = {spelled(each): each for each in visible}
        alike = Counter(map(spelled, visible))
        shares: defaultdict[str, float] = defaultdict(float)
        for target in targets:
            for piece, count in _in_room(self.frequencies.places_of(meant(target)), kind).items():
                shares[piece] += count
        total = sum(shares.values())
        worth = [each for each in offered if total and shares[each] / total >= MIN_SHARE]
        worth.sort(key=lambda each: shares[each] / alike[each], reverse=True)
        return tuple(offered[each] for each in worth)


def room_class(room: str) -> str:
    """The class in a room's name, such as `livingroom` of `living_room_0`."""
    word, _, number = room.rpartition("_")
    return spelled(word if word and number.isdigit() else room)


def _in_room(places: Mapping[str, float], kind: str) -> Mapping[str, float]:
    """The counts by furniture in a class of room; in all rooms where nothing was counted there."""
    here: defaultdict[str, float] = defaultdict(float)
    anywhere: defaultdict[str, float] = defaultdict(float)
    for place, count in places.items():
        room, _, piece = place.partition("/")
        anywhere[piece] += count
        if room == kind:
            here[piece] += count
    return here or anywhere


# The ranker for comparison: rooms and furniture in random order.


class RandomRanker(_ByRules):
    """See `Ranker`; reads tasks by rules."""

    name = RankerName.RANDOM
    evidence = "random order, for comparison"

    def __init__(self, seed: int) -> None:
        """The same seed gives the same orders to the same questions."""
        self._random = Random(seed)

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """In random order."""
        return tuple(self._random.sample(list(rooms), len(rooms)))

    async def large_objects(
        self,
        targets: Sequence[str],  # noqa: ARG002
        room: str,  # noqa: ARG002
        visible: Sequence[str],
    ) -> tuple[str, ...]:
        """All that is in view, in random order."""
        offered = list(dict.fromkeys(visible))
        return tuple(self._random.sample(offered, len(offered)))


# The ranker that a small model answers, which was taught on houses like the training houses.


def shipped_weights() -> Path:
    """Where the shipped model is."""
    return shipped_ranking()


def learned_ranker(weights: Path) -> LearnedRanker:
    """Reads a model's file.

    Raises:
        FileError: if it cannot be read, or is not a ranking of this version.
    """
    return LearnedRanker(read_ranking(weights), weights.name)


class LearnedRanker(_ByRules):
    """See `Ranker`; reads tasks by rules, and ranks by the learned model."""

    name = RankerName.LEARNED

    def __init__(self, ranking: RankingFile, source: str = "") -> None:
        """A model that was read, and the name of its file."""
        self._model = RankingModel(ranking.weights)
        self._least = ranking.least_probability
        self._source = f"{source} {ranking.digest}".strip()

    @property
    def evidence(self) -> str:
        """The file and the start of its SHA-256."""
        return f"{self._source}; no language model"

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
