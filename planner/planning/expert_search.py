"""Where to look for things that nobody has seen yet: likely places first, near ones first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from planner.planning.expert_facts import Facts, planar_m
from planner.planning.expert_notes import Look, Notes
from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation, floor_name

# What a look at furniture, a look around in a room and opening something are worth in metres of
# walking, from what they took on average.
LOOK_M = 2.5
AROUND_M = 5.0
OPEN_M = 7.0
# How a class's likelihood is shared between the places that the catalogue names, and all others:
# about as the things of the goals of the training episodes lie.
NAMED, INSIDE, OUTSIDE, FLOORS = 0.45, 0.10, 0.37, 0.08
# How much more than elsewhere a thing may be somewhere in a room of a kind that it belongs to.
USUAL_INSIDE, USUAL_OUTSIDE = 8.0, 2.0
# Insides wait until the outside of the same furniture was looked at.
UNSEEN_OUTSIDE = 0.5
# How much of what is near enough one look around from the middle of a room shows, and of what is
# not: on the way there an agent comes by.
SHOWN, SHOWN_FAR = 0.6, 0.3
# What may still be in furniture that was looked into only while it was opened.
GLANCED = 0.25
# From so far a thing of 1 m by 1 m still fills 0.1 % of a camera's picture (spec/epm.md 1.2), seen
# aslant and not quite filling its box.
SEEN_FROM_M = 16.0
# What is asked for together often lies together: how much likelier the rooms are in which other
# things of the goal were found.
TOGETHER = 4.0
# Where an agent looked in vain another one, of other height and from elsewhere, may see more.
SEEN_BY_SELF = 0.4


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
    named: dict[Look, float] = {}
    kinds = {room.name: room.class_name for room in layout.rooms}
    for place in cls.places if cls is not None else ():
        fitting = [
            look
            for look in looks
            if (piece := layout.furniture_by_name.get(look.furniture)) is not None
            and piece.class_name == place.furniture
            and (not place.rooms or kinds[piece.room] in place.rooms)
            and look.inside is (place.relation is Relation.WITHIN and _shuts(piece))
        ]
        for look in fitting:
            named[look] = named.get(look, 0.0) + place.weight / len(fitting)
    usual = {name for place in (cls.places if cls is not None else ()) for name in place.rooms}
    found = _shared(named, NAMED)
    pieces = [look for look in looks if look.furniture in layout.furniture_by_name]
    for share, more, part in (
        (INSIDE, USUAL_INSIDE, [look for look in pieces if look.inside]),
        (OUTSIDE, USUAL_OUTSIDE, [look for look in pieces if not look.inside]),
        (FLOORS, USUAL_OUTSIDE, [look for look in looks if look not in pieces]),
    ):
        rooms = {look: kinds[_room(layout, look)] for look in part}
        weights = {look: more if rooms[look] in usual else 1.0 for look in part}
        for look, value in _shared(weights, share).items():
            found[look] = found.get(look, 0.0) + value
    return found


def _shared(weights: dict[Look, float], share: float) -> dict[Look, float]:
    total = sum(weights.values())
    return {look: share * weight / total for look, weight in weights.items()}


def _room(layout: House, look: Look) -> str:
    piece = layout.furniture_by_name.get(look.furniture)
    return piece.room if piece is not None else look.furniture.removeprefix("floor_")


def places(layout: House) -> Iterable[Look]:
    """Every place of a house that things can be at."""
    for piece in layout.furniture:
        if piece.surfaces or any(i.joint is None for i in piece.interiors):
            yield Look(piece.name, inside=False)
        if _shuts(piece):
            yield Look(piece.name, inside=True)
    for room in layout.rooms:
        yield Look(floor_name(room.name), inside=False)


def drawers_of(layout: House) -> frozenset[str]:
    """The furniture in which nothing but drawers opens."""
    return frozenset(
        piece.name
        for piece in layout.furniture
        if _shuts(piece) and all(hollow.moves for hollow in piece.interiors if hollow.joint)
    )


def _shuts(piece: Furniture) -> bool:
    return any(hollow.joint is not None for hollow in piece.interiors)


class Search:
    """The order of looking for some missing things in one house."""

    def __init__(
        self, facts: Facts, notes: Notes, missing: Iterable[str], likelihood: Likelihood
    ) -> None:
        self._facts, self._notes = facts, notes
        self._value: dict[Look, float] = {}
        # What a look around in each room would still show.
        self._around: dict[str, float] = {}
        for name in missing:
            _, broad, long = sorted(facts.size_m(name))
            from_m = SEEN_FROM_M * math.sqrt(broad * long)
            for look, weight in likelihood.of(name.rpartition("_")[0]).items():
                if not self._seen(look):
                    together = _room(facts.layout, look) in notes.found_in.values()
                    self._add(look, weight * (TOGETHER if together else 1.0), from_m)

    def _add(self, look: Look, weight: float, from_m: float) -> None:
        if look.inside and look.furniture in self._notes.glanced_into:
            weight *= GLANCED
        if not look.inside and look.furniture in self._facts.layout.furniture_by_name:
            floor = floor_name(_room(self._facts.layout, look))
            away_m = planar_m(self._facts.position_m(floor), self._facts.position_m(look.furniture))
            shown = SHOWN if away_m <= from_m else SHOWN_FAR
            if floor in self._notes.looked:
                weight *= 1 - shown
            else:
                self._around[floor] = self._around.get(floor, 0.0) + shown * weight
        self._value[look] = self._value.get(look, 0.0) + weight

    def _seen(self, look: Look) -> bool:
        if look.inside:
            return look.furniture in self._notes.looked_into
        return look.furniture in self._notes.looked

    def is_left(self, look: Look) -> bool:
        """Whether a place was not looked at yet."""
        return look in self._value

    def best(self, agent: str, walk_m: Callable[[str], float], taken: set[str]) -> Look | None:
        """An agent's place with the most likelihood for the walk; None where all is looked at."""
        looks = [look for look in self._value if look.furniture not in taken]
        if not looks:
            return None

        def worth(look: Look) -> tuple[float, str, bool]:
            again = (agent, look.furniture) in self._notes.looked_by
            value = self._worth(look, walk_m) * (SEEN_BY_SELF if again else 1.0)
            return (value, look.furniture, look.inside)

        return max(looks, key=worth)

    def _worth(self, look: Look, walk_m: Callable[[str], float]) -> float:
        effort = walk_m(look.furniture) + LOOK_M
        value = self._value[look]
        if look.furniture not in self._facts.layout.furniture_by_name:
            return (value + self._around.get(look.furniture, 0.0)) / (effort + AROUND_M - LOOK_M)
        if look.inside:
            if self._facts.is_closed(look.furniture):
                effort += OPEN_M
            if Look(look.furniture, inside=False) in self._value:
                value *= UNSEEN_OUTSIDE
        elif not self._facts.is_closed(look.furniture):
            value += self._value.get(Look(look.furniture, inside=True), 0.0)
        return value / effort
