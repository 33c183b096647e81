"""Where what is missing may be, and what follows from it for a decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.planning.expert.search import (
    HERE_FACTOR,
    HINT_SHARE,
    INSIDE_SHARE,
    LOOK_COST_M,
    NAMED_SHARE,
    OPEN_COST_M,
    OTHER_CLASS_FACTOR,
    OUTSIDE_SHARE,
    OWN_CLASS_FACTOR,
    SAME_PIECE_SHARE,
    SHARED_FACTOR,
    UNSEEN_FACTOR,
    USUAL_INSIDE,
    USUAL_OUTSIDE,
    WALK_WITHIN_ROOM_M,
    closets,
)
from planner.planning.learned.network import Array, Reading
from planner.planning.learned.progress import STATES, Progress, Situation
from planner.planning.learned.tokens import Token
from planner.world.catalogue import default_catalogue
from planner.world.skill import SkillName
from planner.world.vocabulary import Relation

# Where the instruction says that things are, as in "the pen from the desk": hints for a search.
#
# The reader learns from goals, in which a thing's first place hardly matters, and says next to
# nothing of it: of 1,192 nouns of training tasks it read 6 so, 3 of them rightly. What it does read
# well is where things go and where furniture stands, so a place that is left over says where the
# thing before it is: of the same nouns 104, 103 rightly.

# A noun that something goes to, or that a state is asked of, is no hint from this likelihood on.
_USED = 0.3
_ENDS = frozenset(".;")


def said_places(tokens: Sequence[Token], reading: Reading) -> tuple[Array, Array]:
    """(T, T): the noun is where the other says; (T,): how surely it says where it is at all."""
    at, sure = reading.at.copy(), (1 - reading.at_none).astype(np.float32)
    goes = np.maximum(reading.goes.max(0), reading.then.max(0)).max(0, initial=0)
    used = np.maximum(goes, reading.marks[:, : len(STATES)].max(1))
    pieces = [i for i, token in enumerate(tokens) if token.furniture and not token.objects]
    # "The table in the kitchen": the room says which table.
    used = np.maximum(used, reading.at[pieces].max(0, initial=0))
    for t, token in enumerate(tokens):
        place = _place_after(tokens, t) if token.objects and sure[t] < _USED else None
        if place is not None and used[place] < _USED:
            at[t], sure[t] = 0, 1
            at[t, place] = 1
    return at, sure


def _place_after(tokens: Sequence[Token], thing: int) -> int | None:
    """The first place that is named after a thing, before another thing and the sentence's end."""
    for i in range(thing + 1, len(tokens)):
        if tokens[i].objects or tokens[i].text in _ENDS:
            return None
        if tokens[i].furniture or tokens[i].rooms:
            return i
    return None


# What the catalogue says of furniture by its class.

_CLASSES = 512


@lru_cache(maxsize=_CLASSES)
def may_open(class_name: str) -> bool:
    """Whether it has doors or drawers."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is not None and bool(cls.joints)


@lru_cache(maxsize=_CLASSES)
def has_inside(class_name: str) -> bool:
    """Whether things can be put into it."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is not None and bool(cls.interiors)


@lru_cache(maxsize=_CLASSES)
def has_faucet(class_name: str) -> bool:
    """Whether things can be filled at it."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is not None and cls.faucet is not None


@lru_cache(maxsize=_CLASSES)
def holds(class_name: str) -> bool:
    """Whether things can be on or in it; of an unknown class it is assumed."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is None or bool(cls.surfaces or cls.interiors)


@lru_cache(maxsize=_CLASSES)
def shows(class_name: str) -> bool:
    """Whether things can lie openly on it; of an unknown class it is assumed."""
    cls = default_catalogue().furniture.get(class_name)
    if cls is None:
        return True
    return bool(cls.surfaces) or any(hollow.joint is None for hollow in cls.interiors)


# What remains unknown of an inside that was opened and not explored.
GLANCED_SHARE = 0.15
# What lies openly near explored furniture was seen as well: of things of the training houses 0.3
# to 0.5 within so many metres, and nearly nothing beyond.
NEAR_M, SEEN_NEAR_SHARE = 3.5, 0.35
# The chance to get where others stood in the way, after each time; so other places come first.
FAILED_SHARE = np.float32(0.3)
# Ways around furniture and through doors, relative to the straight line.
DETOUR = 1.25
# The way where it is not known, such as from where an agent begins.
UNKNOWN_M = 6.0
_ASKED = 0.1


@dataclass(frozen=True, slots=True)
class Looks:
    """Of each of F pieces; arrays are (F,).

    Attributes:
        outside, inside: how likely what is missing is openly on it, or behind its doors.
        explore, open: likelihood per metre of going there to look, and to open.
        tour: the same of the best tour of its room.
        first: 1 where to look next is to explore, 2 where it is to open; 0 elsewhere.
        told: how much the instruction says that something missing is there.
        left: how much of all likelihood is left.
    """

    outside: Array
    inside: Array
    explore: Array
    open: Array
    tour: Array
    first: Array
    told: Array
    left: float


def looks_of(
    tokens: tuple[Token, ...],
    reading: Reading,
    now: Situation,
    progress: Progress,
    distances_m: Array,
    *,
    can_open: bool,
    taken: Iterable[int] = (),
) -> Looks:
    """Weighs where to look.

    Args:
        tokens: the instruction's.
        reading: of them.
        now: what the agent knows.
        progress: what is missing.
        distances_m: (F,) from the agent in a straight line; NaN = not known.
        can_open: whether a hand is free for it.
        taken: numbers of furniture that other agents are going to.
    """
    pieces = [now.pieces[n] for n in progress.pieces]
    likely, told = _likely(tokens, reading, now, progress)
    outside, inside = likely
    whole = float(likely.sum())
    explored = np.array([now.explored[n] > 0 for n in progress.pieces], bool)
    opens = np.array([may_open(piece.class_name) for piece in pieces], bool)
    is_open = np.array([piece.is_open is True for piece in pieces], bool)
    opened = np.array([now.opened[n] > 0 for n in progress.pieces], bool)
    outside = np.where(explored, 0, outside * _unseen(now, progress, explored))
    inside = np.where(opened | is_open, inside * GLANCED_SHARE, inside)
    inside = np.where(explored & is_open, 0, inside)
    taken = set(taken)
    if taken:
        by_others = np.array([n in taken for n in progress.pieces], bool)
        outside, inside = np.where(by_others, 0, outside), np.where(by_others, 0, inside)
    walk_m: Array = np.where(np.isnan(distances_m), UNKNOWN_M, distances_m) * np.float32(DETOUR)
    look_gain = np.where(explored, 0, outside + np.where(is_open, inside, 0))
    to_open = opens & ~is_open & can_open
    open_gain = np.where(to_open, inside * np.where(explored, 1, UNSEEN_FACTOR), 0)
    if now.failures:
        failed = np.array([now.failed_looks(n) for n in progress.pieces], np.float32)
        look_gain, open_gain = look_gain * FAILED_SHARE**failed, open_gain * FAILED_SHARE**failed
    explore: Array = look_gain / (walk_m + np.float32(LOOK_COST_M))
    opening: Array = open_gain / (walk_m + np.float32(LOOK_COST_M + OPEN_COST_M))
    here = now.place_of(now.near) if now.near is not None else None
    room = now.pieces[here].room if here in now.pieces else None
    shared = {now.pieces[n].room for n in taken if n in now.pieces}
    tour = np.zeros(len(pieces), np.float32)
    rooms: defaultdict[str, list[int]] = defaultdict(list)
    for i, piece in enumerate(pieces):
        rooms[piece.room].append(i)
    for name, members in rooms.items():
        worth = _tour(look_gain[members], open_gain[members], walk_m[members])
        worth *= HERE_FACTOR if name == room else 1.0
        tour[members] = worth * (SHARED_FACTOR if name in shared else 1.0)
    first = np.zeros(len(pieces), np.float32)
    if len(pieces) and tour.max() > 0:
        both = np.stack([explore, opening]) * (tour >= tour.max() * 0.999)
        act, best = divmod(int(both.argmax()), len(pieces))
        first[best] = act + 1
    left = float(outside.sum() + inside.sum()) / whole if whole > 0 else 0.0
    return Looks(outside, inside, explore, opening, tour, first, told, left)


def _likely(
    tokens: tuple[Token, ...], reading: Reading, now: Situation, progress: Progress
) -> tuple[Array, Array]:
    """(2, F): likelihoods before anything was looked at; (F,): what the instruction says."""
    names = tuple((now.pieces[n].class_name, now.room_class(n)) for n in progress.pieces)
    found = np.zeros((2, len(names)), np.float32)
    told = np.zeros(len(names), np.float32)
    places = np.maximum(progress.grounded.furniture, progress.in_room)
    said, sure = said_places(tokens, reading)
    for t in np.flatnonzero(progress.missing > _ASKED):
        weight = float(progress.missing[t])
        spread = _spread(tokens[t].objects, names)
        at = places @ said[t]
        told = np.maximum(told, weight * at)
        hinted = spread * at
        if (whole := float(hinted.sum())) > 0:
            share = HINT_SHARE * float(sure[t])
            spread = (1 - share) * spread + share * hinted / whole
        found += weight * spread
    return found, told


def _unseen(now: Situation, progress: Progress, explored: Array) -> Array:
    """(F,): the part of what lies openly that was not seen from beside explored furniture."""
    at = np.array([now.pieces[n].position_m for n in progress.pieces], np.float32).reshape(-1, 2)
    rooms = np.array([now.pieces[n].room for n in progress.pieces], object)
    unseen = np.ones(len(at), np.float32)
    for i in np.flatnonzero(explored):
        near = np.hypot(at[:, 0] - at[i, 0], at[:, 1] - at[i, 1]) < NEAR_M
        unseen[near & (rooms == rooms[i])] = 1 - SEEN_NEAR_SHARE
    return unseen


def _tour(look: Array, opens: Array, walk_m: Array) -> float:
    """The likelihood per metre of the best part of a room's looks, the best ones first."""
    gains = np.concatenate([look, opens])
    efforts = np.concatenate(
        [
            np.full(len(look), LOOK_COST_M + WALK_WITHIN_ROOM_M),
            np.full(len(opens), LOOK_COST_M + OPEN_COST_M + WALK_WITHIN_ROOM_M),
        ]
    )
    order = np.argsort(-gains / efforts, kind="stable")
    way = np.minimum.accumulate(np.concatenate([walk_m, walk_m])[order])
    effort = np.maximum(way - WALK_WITHIN_ROOM_M, 0) + np.cumsum(efforts[order])
    return float((np.cumsum(gains[order]) / effort).max(initial=0))


@lru_cache(maxsize=1024)
def _spread(objects: frozenset[str], pieces: tuple[tuple[str, str], ...]) -> Array:
    """(2, F): how likely things of any of some classes are on and in pieces; adds up to 1."""
    spreads = [_spread_of_class(name, pieces) for name in sorted(objects)]
    if not spreads:
        spreads = [_spread_of_class("", pieces)]
    found: Array = np.mean(spreads, 0, dtype=np.float32)
    return found


@lru_cache(maxsize=4096)
def _spread_of_class(class_name: str, pieces: tuple[tuple[str, str], ...]) -> Array:
    cls = default_catalogue().objects.get(class_name)
    places = cls.places if cls is not None else ()
    opens = np.array([may_open(name) for name, _ in pieces], bool)
    open_ = np.array([shows(name) for name, _ in pieces], bool)
    named = np.zeros((2, len(pieces)), np.float32)
    for place in places:
        inside = place.relation is Relation.WITHIN
        fitting = [
            i
            for i, (name, room) in enumerate(pieces)
            if name == place.furniture and (not place.rooms or room in place.rooms)
        ]
        for i in fitting:
            row = int(inside and opens[i])
            other = opens[i] if row == 0 else open_[i]
            share = SAME_PIECE_SHARE if other else 0.0
            named[row, i] += (1 - share) * place.weight / len(fitting)
            named[1 - row, i] += share * place.weight / len(fitting)
    usual = {room for place in places for room in place.rooms}
    is_usual = np.array([room in usual for _, room in pieces], bool)
    outside = np.where(is_usual, USUAL_OUTSIDE, 1.0) * open_
    suits = np.array([_suits(class_name, name) for name, _ in pieces], np.float32)
    within = np.where(is_usual, USUAL_INSIDE, 1.0) * suits * opens
    found = np.zeros((2, len(pieces)), np.float32)
    for share, part in ((OUTSIDE_SHARE, (0, outside)), (INSIDE_SHARE, (1, within))):
        row, weights = part
        if (total := float(weights.sum())) > 0:
            found[row] += share * weights / total
    if (total := float(named.sum())) > 0:
        found += NAMED_SHARE * named / total
    if (total := float(found.sum())) > 0:
        found /= total
    return found


def _suits(class_name: str, furniture: str) -> float:
    """The factor for the inside of furniture by its class."""
    cls = default_catalogue().objects.get(class_name)
    if cls is None:
        return 1.0
    if any(place.furniture == furniture for place in cls.places):
        return OWN_CLASS_FACTOR
    return 1.0 if furniture in closets()[class_name] else OTHER_CLASS_FACTOR


# What one agent knows and what follows from it for a decision: shared by its choices' parts.

HALF = 0.5


class Standing:
    """One agent's situation, compared with the instruction.

    Attributes:
        now, progress: what it knows, and what that means for the instruction.
        verbs: what its body can do.
        team: number of agents.
        waited: its last turn was to wait.
        places, things: index by number.
        where: of every entity, the furniture that it is or is on.
        lying: indices of the things by the furniture they are on.
        free_to_open: whether a hand is free to open what is closed.
        others: what other agents are going to.
        distances_m: from the agent, by number, in a straight line.
        act: (E,): there is something to do with it now.
        looks: where looking is worth how much.
        in_order: whether what waits for something else is left alone.
    """

    def __init__(
        self,
        tokens: tuple[Token, ...],
        reading: Reading,
        situation: Situation,
        progress: Progress,
        verbs: Collection[str],
        team: int,
        *,
        waited: bool = False,
    ) -> None:
        self.now, self.progress = situation, progress
        self.verbs, self.team, self.waited = verbs, team, waited
        self.places = {number: i for i, number in enumerate(progress.pieces)}
        self.things = {number: i for i, number in enumerate(progress.things)}
        self.where = {n: situation.place_of(n) for n in (*progress.things, *progress.pieces)}
        self.lying: defaultdict[int | None, list[int]] = defaultdict(list)
        for n, i in self.things.items():
            self.lying[self.where[n]].append(i)
        # Bodies with two hands carry one thing, so that a hand is free to open what is closed.
        self.free_to_open = SkillName.CLEAN in verbs or not situation.held
        self.others = situation.targets_of_others
        self.act = self._acts()
        self.distances_m = self._all_distances()
        self.looks = looks_of(
            tokens,
            reading,
            situation,
            progress,
            np.array([self.distances_m.get(n, np.nan) for n in progress.pieces], np.float32),
            can_open=self.free_to_open,
            taken=self.others & self.places.keys(),
        )
        # Where everything waits for something else the order was misread, and binds no longer.
        self.in_order = bool(
            (progress.blocked <= HALF)[self._open_ends() > HALF].any()
            or progress.missing.max(initial=0) > HALF
        )

    def place_of(self, number: int) -> int | None:
        """The furniture that an entity is or is on, as `Situation.place_of`."""
        return self.where[number] if number in self.where else self.now.place_of(number)

    def is_near(self, number: int) -> bool:
        """Whether the agent is at an entity, or at what it is on."""
        near = self.now.near
        if near is None:
            return False
        return near == number or self.place_of(near) == self.place_of(number) is not None

    def index(self, number: int) -> int:
        """Its place in arrays over all entities."""
        if number in self.things:
            return self.things[number]
        return len(self.things) + self.places[number]

    def _acts(self) -> Array:
        """(E,): there is something to do with it now."""
        p = self.progress
        move = np.concatenate([p.move * (1 - p.first_state), np.zeros(len(p.pieces), np.float32)])
        if SkillName.CLEAN in self.verbs:
            move = np.maximum(move, p.state.max(1, initial=0))
        free = np.array(
            [not (self.now.things[n].picked and n not in self.now.held) for n in p.things]
            + [True] * len(p.pieces),
            np.float32,
        )
        found: Array = move * np.clip(p.need, 0, 1) * (1 - p.blocked) * free
        return found

    def _open_ends(self) -> Array:
        """(E,): there is something left to do with it, now or later."""
        p = self.progress
        move = np.concatenate([p.move, np.zeros(len(p.pieces), np.float32)])
        found: Array = np.maximum(move, p.state.max(1, initial=0)) * np.clip(p.need, 0, 1)
        return found

    def _all_distances(self) -> dict[int, float]:
        here = self.now.position_m
        if here is None:
            return {}
        found = {}
        for n in (*self.progress.things, *self.progress.pieces):
            place = self.place_of(n)
            if place is not None:
                x, y = self.now.pieces[place].position_m
                found[n] = float(np.hypot(x - here[0], y - here[1]))
        return found
