"""Where to look for things not seen yet: likely places first, then near ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from planner.planning.expert.facts import Facts, Spot
from planner.planning.expert.location_hints import LocationHint
from planner.planning.expert.notes import Look, Notes
from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation, floor_name

# Which furniture things of a class are usually kept on or in, by the catalogue.

# Where fewer of the things of many classes are, on average, none of them is looked for.
MIN_SHARE = 0.05


def usual_furniture_of(class_names: Collection[str]) -> frozenset[str]:
    """The classes of furniture where most things of some classes are usually kept.

    Of many classes, such as all toys, nearly every furniture is usual for one.
    """
    known = [name for name in class_names if name in default_catalogue().objects]
    if len(known) < 2:
        return frozenset(place for name in known for place in usual_furniture(name))
    shares: dict[str, float] = defaultdict(float)
    for name in known:
        places = default_catalogue().objects[name].places
        total = sum(place.weight for place in places)
        for place in places:
            shares[place.furniture] += place.weight / total / len(known)
    return frozenset(name for name, share in shares.items() if share >= MIN_SHARE)


def usual_furniture(class_name: str) -> frozenset[str]:
    """The classes of furniture for things of a class, or of its groups; empty if unknown."""
    cls = default_catalogue().objects.get(class_name)
    if cls is None:
        return frozenset()
    return closets()[class_name] | {place.furniture for place in cls.places}


@cache
def closets() -> Mapping[str, frozenset[str]]:
    """For each object class, the furniture where the catalogue has things of the same group."""
    classes = default_catalogue().objects.values()
    held: dict[str, set[str]] = defaultdict(set)
    for cls in classes:
        for place in cls.places:
            if place.relation is Relation.WITHIN:
                for group in cls.groups:
                    held[group].add(place.furniture)
    return {c.name: frozenset(f for group in c.groups for f in held[group]) for c in classes}


# What to look for beyond the names of a goal.

# At most so many things are named in a line of the story.
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Sought:
    """A thing that is not known yet.

    Attributes:
        words: what it is, in English: "all toys on the couch".
        where: the only furniture and floors where it may be; none = the whole house.
        by_one: a look by one agent is enough, also where one of another height may see more.
    """

    words: str
    where: frozenset[str] = frozenset()
    by_one: bool = False


NOTHING_SOUGHT: Mapping[str, Sought] = MappingProxyType({})


def sought_words(names: Iterable[str], sought: Mapping[str, Sought]) -> str:
    """Names to look for as a person would say them, each thing once."""
    said = dict.fromkeys(sought[name].words if name in sought else name for name in names)
    named = list(said)[:_MAX_NAMED]
    if len(said) > len(named):
        named.append("other things")
    return " and ".join(named)


# Costs of looking at furniture, looking around in a room and opening something, in metres of
# walking; from their average durations.
LOOK_COST_M = 2.5
LOOK_AROUND_COST_M = 5.0
OPEN_COST_M = 7.0
# How a class's likelihood is split between the places that the catalogue names and all others,
# estimated from where the goals' things lie in the training episodes.
NAMED_SHARE, INSIDE_SHARE, OUTSIDE_SHARE, FLOOR_SHARE = 0.43, 0.14, 0.35, 0.08
# What usually lies on furniture often lies inside it, and vice versa.
SAME_PIECE_SHARE = 0.25
# Factors for a thing inside and outside furniture in a kind of room that it belongs to.
USUAL_INSIDE, USUAL_OUTSIDE = 8.0, 2.0
# Factors for insides of a furniture class that it belongs to, in any room, and of a class that is
# for other kinds of things.
OWN_CLASS_FACTOR, OTHER_CLASS_FACTOR = 3.0, 0.6
# The smallest thing of a class that closed furniture is searched for, relative to the smallest one
# of the catalogue: other houses have things of other sizes.
SMALLEST_SHARE = 0.8
# Factor for an inside while the outside of the same furniture has not been looked at.
UNSEEN_FACTOR = 0.5
# How much of what is near enough one look around from the middle of a room shows, on open tops and
# under boards; and of what is too far away but is passed on the way there. Measured in six training
# houses: 0.97, 0.83 and 0.52. Lower here, because misses are systematic and a missed place is not
# searched again for a long time.
SHOWN_SHARE, SHOWN_UNDER_SHARE, SHOWN_FAR_SHARE = 0.9, 0.7, 0.4
OPEN_TOP_M, EYE_HEIGHT_M = 0.7, 1.1
# What may remain unseen in furniture that was looked into only while opening it: robots miss a
# twentieth of what is behind doors, people a sixth, namely at the back.
GLANCE_MISS_SHARE = 0.2
# From this distance a thing of 1 m by 1 m, seen at an angle and not filling its box, still covers
# 0.1 % of a camera's picture (EPM-1.2).
SEEN_FROM_M = 16.0
# Factor for rooms in which other things of the goal were found.
TOGETHER_FACTOR = 3.0
# After a look without success: the part that an agent of another height may still see.
SEARCHED_FACTOR = 0.4
# The same for places under boards and in basins.
SEARCHED_LOW_FACTOR = 0.12
LOW_M = 0.9
# A robot sees little of what is at the near side of a hollow whose rim is higher than this.
HIGH_RIM_M = 0.7
# The likelihood that a hint is right: "it" may refer to another thing of the same kind.
HINT_SHARE = 0.75
# Factor for places that the words only mention, and not as a destination.
MENTIONED_FACTOR = 2.0
# Factor for places that the thing was taken from: another of its kind may still be there.
TAKEN_FACTOR = 0.1
# The likelihood that a thing is still about where it was last remembered, when a memory that may be
# wrong lost it: mostly it was only seen badly.
LOST_SHARE = 0.5
# Average walk from one piece of furniture to the next within a room.
WALK_WITHIN_ROOM_M = 3.0
# Factor for a room in which another agent is already looking.
SHARED_FACTOR = 0.35
# Factor for the agent's own room: with equal rooms it would have to come back.
HERE_FACTOR = 1.25


class Place(NamedTuple):
    """A place in a house where things can be.

    Attributes:
        piece: None for a floor.
        room: the name of its room.
        floor: the floor of that room.
        away_m: distance from the middle of its room.
        shown: the part of what is outside on it that a look around from the middle shows.
    """

    piece: Furniture | None
    room: str
    floor: str
    away_m: float
    shown: float


class Likelihood:
    """How likely things of a class are at each place of one house, by the catalogue.

    Attributes:
        places: every place in the house.
    """

    def __init__(
        self, layout: House, hints: Mapping[str, tuple[LocationHint, ...]] | None = None
    ) -> None:
        """`hints` are the places that the instruction names for each object class."""
        self._layout, self._hints = layout, hints or {}
        middles = {room.name: room.shape.representative_point() for room in layout.rooms}
        self.places = {
            look: _place(layout, look, (float(middle.x), float(middle.y)))
            for look in places(layout)
            for middle in (middles[_room(layout, look)],)
        }
        self._spreads: dict[str, dict[Look, float]] = {}

    def is_hinted(self, class_name: str, look: Look) -> bool:
        """Whether the instruction says that things of a class are there."""
        hints = self._hints.get(class_name, ())
        return any(hint.sure and _fits(self._layout, hint, look) for hint in hints)

    def of(self, class_name: str) -> dict[Look, float]:
        """The share of every place; they add up to about 1."""
        if class_name not in self._spreads:
            cls = default_catalogue().objects.get(class_name)
            spread = _spread(self._layout, cls)
            self._spreads[class_name] = _weighted_by_hints(
                self._layout, spread, self._hints.get(class_name, ())
            )
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
            and (not look.inside or _has_room(layout, cls, look))
        ]
        for look in fitting:
            other = Look(look.furniture, not look.inside)
            fits = other in looks and (not other.inside or _has_room(layout, cls, other))
            share = SAME_PIECE_SHARE if fits else 0.0
            named[look] = named.get(look, 0.0) + (1 - share) * place.weight / len(fitting)
            if share:
                named[other] = named.get(other, 0.0) + share * place.weight / len(fitting)
    usual = {name for place in (cls.places if cls is not None else ()) for name in place.rooms}
    found = _shared(named, NAMED_SHARE)
    pieces = [look for look in looks if look.furniture in layout.furniture_by_name]
    floors = [look for look in looks if look not in pieces]
    pieces = [look for look in pieces if not look.inside or _has_room(layout, cls, look)]
    for share, more, part in (
        (INSIDE_SHARE, USUAL_INSIDE, [look for look in pieces if look.inside]),
        (OUTSIDE_SHARE, USUAL_OUTSIDE, [look for look in pieces if not look.inside]),
        (FLOOR_SHARE, USUAL_OUTSIDE, floors),
    ):
        rooms = {look: kinds[_room(layout, look)] for look in part}
        weights = {look: more if rooms[look] in usual else 1.0 for look in part}
        if part and part[0].inside:
            weights = {look: w * _suits(layout, cls, look) for look, w in weights.items()}
        for look, value in _shared(weights, share).items():
            found[look] = found.get(look, 0.0) + value
    return found


def _has_room(layout: House, cls: ObjectClass | None, look: Look) -> bool:
    """Whether what closes of furniture has room for a small thing of a class, standing upright."""
    if cls is None:
        return True
    small = (1 - cls.size_spread) * SMALLEST_SHARE
    depth, width, height = (extent * small for extent in cls.size_m)
    piece = layout.furniture_by_name[look.furniture]
    return any(
        height <= hollow.size[2]
        and min(depth, width) <= min(hollow.size[:2])
        and max(depth, width) <= max(hollow.size[:2])
        for hollow in piece.interiors
        if hollow.joint is not None
    )


def _suits(layout: House, cls: ObjectClass | None, look: Look) -> float:
    """The factor for a place by its class and room, relative to any closed furniture."""
    furniture = layout.furniture_by_name[look.furniture].class_name
    if cls is None:
        return 1.0
    if any(place.furniture == furniture for place in cls.places):
        return OWN_CLASS_FACTOR
    return 1.0 if furniture in closets()[cls.name] else OTHER_CLASS_FACTOR


def _weighted_by_hints(
    layout: House, spread: dict[Look, float], hints: tuple[LocationHint, ...]
) -> dict[Look, float]:
    """Shifts most of the likelihood to where the instruction says the thing is."""
    named = dict(spread)
    for hint in (hint for hint in hints if not hint.sure):
        for look in named:
            if _fits(layout, hint, look):
                named[look] *= TAKEN_FACTOR if hint.left else MENTIONED_FACTOR
    sure = {
        look: weight
        for look, weight in named.items()
        if any(hint.sure and _fits(layout, hint, look) for hint in hints)
    }
    rest = _shared(named, 1 - HINT_SHARE if sure else 1.0)
    for look, weight in _shared(sure, HINT_SHARE).items():
        rest[look] += weight
    return rest


def _fits(layout: House, hint: LocationHint, look: Look) -> bool:
    piece = layout.furniture_by_name.get(look.furniture)
    room = layout.rooms_by_name[_room(layout, look)]
    return hint.fits(piece.class_name if piece is not None else None, room.class_name)


def _shared(weights: dict[Look, float], share: float) -> dict[Look, float]:
    total = sum(weights.values())
    return {look: share * weight / total for look, weight in weights.items()}


def _room(layout: House, look: Look) -> str:
    piece = layout.furniture_by_name.get(look.furniture)
    return piece.room if piece is not None else look.furniture.removeprefix("floor_")


def places(layout: House) -> Iterable[Look]:
    """Every place of a house where things can be."""
    for piece in layout.furniture:
        if piece.surfaces or any(i.joint is None for i in piece.interiors):
            yield Look(piece.name, inside=False)
        if _shuts(piece):
            yield Look(piece.name, inside=True)
    for room in layout.rooms:
        yield Look(floor_name(room.name), inside=False)


def look_at(spot: Spot, layout: House) -> Look:
    """The place to look at in order to see what rests somewhere on furniture or a floor."""
    relation, name = spot
    piece = layout.furniture_by_name.get(name)
    return Look(name, inside=relation is Relation.WITHIN and piece is not None and _shuts(piece))


def drawers_of(layout: House) -> frozenset[str]:
    """The furniture in which only drawers open."""
    return frozenset(
        piece.name
        for piece in layout.furniture
        if _shuts(piece) and all(hollow.moves for hollow in piece.interiors if hollow.joint)
    )


def _place(layout: House, look: Look, middle_m: tuple[float, float]) -> Place:
    piece, room = layout.furniture_by_name.get(look.furniture), _room(layout, look)
    if piece is None:
        return Place(None, room, floor_name(room), 0.0, 0.0)
    away_m = math.dist(middle_m, (piece.x_m, piece.y_m))
    return Place(piece, room, floor_name(room), away_m, _shown(piece))


def _shuts(piece: Furniture) -> bool:
    return any(hollow.joint is not None for hollow in piece.interiors)


class Search:
    """The order in which to look for the missing things in one house."""

    def __init__(
        self,
        facts: Facts,
        notes: Notes,
        missing: Iterable[str],
        likelihood: Likelihood,
        sought: Mapping[str, Sought] = NOTHING_SOUGHT,
    ) -> None:
        """`sought` says more about some of the missing."""
        self._facts, self._notes, self._places = facts, notes, likelihood.places
        self._value: dict[Look, float] = {}
        self._agent = ""
        self._walk_m: Callable[[str], float] = lambda _: 0.0
        # Likelihood that a look around in each room would still show, in total
        self._around: dict[str, float] = {}
        # and for each place.
        self._shows: dict[Look, float] = {}
        # Places left only for agents that have not looked there themselves.
        self._for_others: set[Look] = set()
        found_in = frozenset(notes.found_in.values())
        for name in missing:
            _, broad, long = sorted(facts.size_m(name))
            from_m = SEEN_FROM_M * math.sqrt(broad * long)
            area = sought[name].where if name in sought else frozenset()
            by_one = name in sought and sought[name].by_one
            for look in notes.lost.get(name.rpartition("_")[0], ()):
                if not area or look.furniture in area:
                    self._value[look] = self._value.get(look, 0.0) + LOST_SHARE
            for look, weight in likelihood.of(name.rpartition("_")[0]).items():
                if area and look.furniture not in area:
                    continue
                if self._seen(look):
                    weight *= 0.0 if by_one else self._left_for_others(look)
                if weight:
                    together = self._places[look].room in found_in
                    self._add(look, weight * (TOGETHER_FACTOR if together else 1.0), from_m)

    def _add(self, look: Look, weight: float, from_m: float) -> None:
        if look.inside:
            if look.furniture in self._notes.glanced_into:
                weight *= GLANCE_MISS_SHARE
        else:
            piece, _, floor, away_m, near_share = self._places[look]
            shown = 0.0 if piece is None else near_share if away_m <= from_m else SHOWN_FAR_SHARE
            if floor in self._notes.looked:
                weight *= 1 - shown
            elif piece is not None:
                self._around[floor] = self._around.get(floor, 0.0) + shown * weight
                self._shows[look] = self._shows.get(look, 0.0) + shown * weight
        self._value[look] = self._value.get(look, 0.0) + weight

    def _left_for_others(self, look: Look) -> float:
        """The part of a place already looked at that another agent may still see."""
        piece = self._places[look].piece
        if look.inside or piece is None or not _hides_from_some(piece):
            return 0.0
        if all((agent, piece.name) in self._notes.looked_by for agent in self._notes.agents):
            return 0.0
        self._for_others.add(look)
        return SEARCHED_LOW_FACTOR

    def _seen(self, look: Look) -> bool:
        if look.inside:
            if look.furniture in self._notes.not_to_open and self._facts.is_closed(look.furniture):
                return True
            return look.furniture in self._notes.looked_into
        return look.furniture in self._notes.looked

    @property
    def left(self) -> float:
        """How likely the missing things are at the places that remain; about 1 for one thing."""
        return sum(self._value.values())

    def is_left(self, look: Look) -> bool:
        """Whether a place remains to be looked at."""
        return look in self._value

    def best(self, agent: str, walk_m: Callable[[str], float], taken: set[str]) -> Look | None:
        """An agent's next place to look at; None if everything was looked at.

        Picks first the room with the most likelihood per effort, so that agents do not alternate
        between rooms, and then the place in it to start with.

        Args:
            agent: the agent that looks.
            walk_m: the distance from the agent to a piece of furniture or a floor.
            taken: what other agents are about to look at.
        """
        self._agent, self._walk_m = agent, walk_m
        rooms: dict[str, list[Look]] = defaultdict(list)
        for look in self._value:
            mine = look not in self._for_others or self._again(look) == 1.0
            if mine and look.furniture not in taken:
                rooms[self._places[look].room].append(look)
        shared = {_room(self._facts.layout, Look(name, inside=False)) for name in taken}
        x, y, _ = self._facts.position_m(agent)
        here = self._facts.layout.room_at(x, y)
        factors = {here: HERE_FACTOR} | dict.fromkeys(shared, SHARED_FACTOR)
        rounds = [
            (worth * factors.get(room, 1.0), room, looks)
            for room in sorted(rooms)
            for worth, looks in (self._round(rooms[room]),)
        ]
        if not rounds:
            return None
        _, _, looks = max(rounds, key=lambda found: found[0])
        return max(looks, key=lambda look: (self._worth(look), look.furniture, look.inside))

    def _round(self, looks: list[Look]) -> tuple[float, list[Look]]:
        """The best tour of a room: its likelihood per metre, and the places looked at."""
        gains = {look: self._gain(look) for look in looks}
        efforts = {look: self._effort_m(look) + WALK_WITHIN_ROOM_M for look in looks}
        ordered = sorted(looks, key=lambda look: -gains[look] / efforts[look])
        best, chosen = 0.0, ordered[:1]
        gain, effort, walk = 0.0, 0.0, math.inf
        for count, look in enumerate(ordered, 1):
            gain += gains[look]
            effort += efforts[look]
            walk = min(walk, self._walk_m(look.furniture))
            worth = gain / (max(walk - WALK_WITHIN_ROOM_M, 0.0) + effort)
            if worth > best:
                best, chosen = worth, ordered[:count]
        return best, chosen

    def _gain(self, look: Look) -> float:
        """What a look adds to a look around in the room, which comes first."""
        value = self._value[look] * self._again(look)
        if self._places[look].piece is None:
            return value + self._around.get(look.furniture, 0.0)
        return value - self._shows.get(look, 0.0)

    def _again(self, look: Look) -> float:
        return SEARCHED_FACTOR if (self._agent, look.furniture) in self._notes.looked_by else 1.0

    def _effort_m(self, look: Look) -> float:
        if self._places[look].piece is None:
            return LOOK_AROUND_COST_M
        opens = look.inside and self._facts.is_closed(look.furniture)
        return LOOK_COST_M + (OPEN_COST_M if opens else 0.0)

    def _worth(self, look: Look) -> float:
        effort = self._walk_m(look.furniture) + self._effort_m(look)
        value = self._value[look]
        if self._places[look].piece is None:
            value += self._around.get(look.furniture, 0.0)
        elif look.inside:
            if Look(look.furniture, inside=False) in self._value:
                value *= UNSEEN_FACTOR
        elif not self._facts.is_closed(look.furniture):
            value += self._value.get(Look(look.furniture, inside=True), 0.0)
        return value * self._again(look) / effort


def _hides_from_some(piece: Furniture) -> bool:
    """Whether what an agent sees there depends on its height: low boards, high basins."""
    boards = any(s.clearance < OPEN_TOP_M and s.center[2] < LOW_M for s in piece.surfaces)
    open_tops = (hollow for hollow in piece.interiors if hollow.joint is None)
    rims_m = [hollow.center[2] + hollow.size[2] / 2 for hollow in open_tops]
    return boards or any(rim_m > HIGH_RIM_M for rim_m in rims_m)


def _shown(piece: Furniture) -> float:
    """The part of what lies openly on or in furniture that is visible from the room's middle."""
    tops = [s.clearance > OPEN_TOP_M and s.center[2] < EYE_HEIGHT_M for s in piece.surfaces]
    tops += [False for hollow in piece.interiors if hollow.joint is None]
    share = sum(tops) / len(tops) if tops else 0.0
    return SHOWN_SHARE * share + SHOWN_UNDER_SHARE * (1 - share)
