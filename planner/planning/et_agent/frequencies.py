"""How often things of a class were in which room, and in or on which furniture, of some houses.

Counted on houses to learn from, never on those to be tested in. What lies open in a room shows in a
look round, so what is worth a visit is furniture that things are inside of (ETPLAN-2.4).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

from planner.planning.et_agent.words import spelled
from planner.world.catalogue import default_catalogue
from planner.world.files import FileModel, read_model
from planner.world.house import House
from planner.world.share import config_dir
from planner.world.vocabulary import Relation

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
