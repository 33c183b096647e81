"""Where to look for things that nobody has seen yet: likely places first, near ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.planning.expert_facts import Facts
from planner.planning.expert_notes import Look, Notes
from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation, floor_name

# What a look around, and opening a door for it, cost in metres of walking.
LOOK_M = 3.0
OPEN_M = 4.0
# How much of a class's likelihood is spread over furniture that the catalogue does not name.
ANYWHERE = 0.15
ANYWHERE_INSIDE = 0.04
ON_FLOOR = 0.05
# Insides wait until the outside of the same furniture was looked at.
UNSEEN_OUTSIDE = 0.5


class Likelihood:
    """How likely things of a class are at each place of one house, by the catalogue."""

    def __init__(self, layout: House) -> None:
        self._layout = layout
        self._spreads: dict[str, dict[Look, float]] = {}

    def of(self, class_name: str) -> dict[Look, float]:
        """The share of every place, together about 1."""
        if class_name not in self._spreads:
            cls = default_catalogue().objects.get(class_name)
            self._spreads[class_name] = _spread(self._layout, cls)
        return self._spreads[class_name]


def _spread(layout: House, cls: ObjectClass | None) -> dict[Look, float]:
    looks = list(places(layout))
    found = dict.fromkeys(looks, 0.0)
    rooms = {room.name: room.class_name for room in layout.rooms}
    named: dict[Look, float] = {}
    for place in cls.places if cls is not None else ():
        fitting = [
            look
            for look in looks
            if (piece := layout.furniture_by_name.get(look.furniture)) is not None
            and piece.class_name == place.furniture
            and (not place.rooms or rooms[piece.room] in place.rooms)
            and look.inside is (place.relation is Relation.WITHIN and _shuts(piece))
        ]
        for look in fitting:
            named[look] = named.get(look, 0.0) + place.weight / len(fitting)
    total = sum(named.values())
    for look in looks:
        piece = layout.furniture_by_name.get(look.furniture)
        share = ON_FLOOR if piece is None else ANYWHERE_INSIDE if look.inside else ANYWHERE
        found[look] = share / len(looks)
        if total:
            found[look] += (1 - ANYWHERE) * named.get(look, 0.0) / total
    return found


def places(layout: House) -> Iterable[Look]:
    """Every place of a house that things can be at."""
    for piece in layout.furniture:
        if piece.surfaces or any(i.joint is None for i in piece.interiors):
            yield Look(piece.name, inside=False)
        if _shuts(piece):
            yield Look(piece.name, inside=True)
    for room in layout.rooms:
        yield Look(floor_name(room.name), inside=False)


def _shuts(piece: Furniture) -> bool:
    return any(hollow.joint is not None for hollow in piece.interiors)


class Search:
    """The order of looking for some missing things in one house."""

    def __init__(
        self, facts: Facts, notes: Notes, missing: Iterable[str], likelihood: Likelihood
    ) -> None:
        self._facts, self._notes = facts, notes
        self._value: dict[Look, float] = {}
        for name in missing:
            for look, weight in likelihood.of(name.rpartition("_")[0]).items():
                if not self._seen(look):
                    self._value[look] = self._value.get(look, 0.0) + weight

    def _seen(self, look: Look) -> bool:
        if look.inside:
            return look.furniture in self._notes.looked_into
        return look.furniture in self._notes.looked

    def is_left(self, look: Look) -> bool:
        """Whether a place was not looked at yet."""
        return look in self._value

    def best(self, walk_m: Callable[[str], float], taken: set[str]) -> Look | None:
        """The place with the most likelihood for the walk, or None where all is looked at."""
        looks = [look for look in self._value if look.furniture not in taken]
        if not looks:
            return None
        return max(looks, key=lambda look: (self._worth(look, walk_m), look.furniture, look.inside))

    def _worth(self, look: Look, walk_m: Callable[[str], float]) -> float:
        effort = walk_m(look.furniture) + LOOK_M
        value = self._value[look]
        if look.inside:
            if self._facts.is_closed(look.furniture):
                effort += OPEN_M
            outside = Look(look.furniture, inside=False)
            if outside in self._value:
                value = value * UNSEEN_OUTSIDE
        else:
            inside = Look(look.furniture, inside=True)
            if inside in self._value and not self._facts.is_closed(look.furniture):
                value += self._value[inside]
        return value / effort
