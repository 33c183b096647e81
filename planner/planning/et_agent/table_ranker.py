"""The ranker that stands in where no model is set: how often things were where in other houses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from planner.planning.et_agent.errand import Errand, TaskClass
from planner.planning.et_agent.frequencies import Frequencies
from planner.planning.et_agent.ranker import RankerName
from planner.planning.et_agent.reading import read_task
from planner.planning.et_agent.words import meant, spelled

# What was never counted may still be so.
_UNSEEN = 0.2
# Furniture with less than this share of what was counted in the room is not worth a visit.
MIN_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class TableRanker:
    """See `Ranker`; reads tasks by rules, and ranks by the counts of houses."""

    frequencies: Frequencies

    @property
    def name(self) -> RankerName:
        """The table."""
        return RankerName.TABLE

    @property
    def evidence(self) -> str:
        """How many houses were counted."""
        return f"frequency table of {len(self.frequencies.houses)} training houses; no model"

    async def classify(self, task: str) -> TaskClass:
        """By rules."""
        return read_task(task).task_class

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:  # noqa: ARG002
        """By rules."""
        return read_task(task).errands

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
