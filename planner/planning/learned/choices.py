"""The calls that an agent can choose from, each with the features by which the network ranks them.

Only calls that the call grammar allows are listed: known entities in their roles, what a hand
holds, what the agent is next to. A choice is never repaired afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from planner.planning.learned.furniture import has_faucet, has_inside, holds, may_open
from planner.planning.learned.matches import Array
from planner.planning.learned.network import Reading
from planner.planning.learned.progress import FILLED, STATES, Progress
from planner.planning.learned.search import looks_of
from planner.planning.learned.situation import STATE_SKILLS, Situation, number_of
from planner.planning.learned.tokens import Token
from planner.world.skill import SkillCall, SkillName

VERBS = (
    SkillName.CLOSE,
    SkillName.EXPLORE_FURNITURE,
    SkillName.NAVIGATE,
    SkillName.OPEN,
    SkillName.PICK,
    SkillName.PLACE,
    SkillName.CLEAN,
    SkillName.FILL,
    SkillName.POWER_ON,
    SkillName.POWER_OFF,
    SkillName.WAIT,
    SkillName.DONE,
)
WAIT, DONE = SkillCall(SkillName.WAIT), SkillCall(SkillName.DONE)
TARGET = (
    "is thing", "is furniture", "move", "wanted", "act", "need", "blocked", "first state",
    "state of verb", "state", "held", "held by other", "target of other", "near", "distance",
    "nearest", "explored", "opened", "is closed", "may open", "failures", "same as last target",
    "begun", "mate ready",
)  # fmt: skip
PLACING = (
    "goes", "best goes", "mates here", "mates elsewhere", "apart here", "next", "next here",
    "within", "with reference", "first state of held", "faucet for held", "other load goes",
    "failed here", "full", "mate of held ready", "begun of held",
)  # fmt: skip
SEARCH = (
    "likely", "worth of look", "worth of tour", "first look", "told", "same room", "unexplored",
)  # fmt: skip
GLOBAL = (
    "holds", "hand free", "missing", "remaining", "best act", "team", "others busy",
    "explored share", "calls", "has states", "best goes of held", "waited", "unlooked share",
)  # fmt: skip
FEATURES = (*VERBS, *TARGET, *PLACING, *SEARCH, *GLOBAL)
_OF_VERB, _FAILURES = TARGET.index("state of verb"), TARGET.index("failures")
# After so many walks in a row something else is done: nothing is gained by going to and fro.
MOST_WALKS = 2
# A thing that was put at a piece so often stays there.
MOST_PUTS = 2
_KNOWN, _HALF = 0.02, 0.5


@dataclass(frozen=True, slots=True)
class Choices:
    """Calls with (C, FEATURES) features."""

    calls: tuple[SkillCall, ...]
    features: Array


@dataclass(frozen=True, slots=True)
class _Load:
    """A held thing.

    Attributes:
        kind: its class.
        goes: (3, F); `most` is the highest.
        beside: (O,): next to which thing it goes.
        room_most: how surely it goes into a room, anywhere in it.
        mates: where what goes to the same piece, or room, was brought.
    """

    number: int
    index: int
    kind: str
    goes: list[list[float]]
    most: float
    room_most: float
    beside: list[float]
    mates: frozenset[int | None]


class ChoiceMaker:
    """Lists the choices of one agent in one situation."""

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
        """`verbs` are those that the agent's body can do; `waited`: its last turn was to wait."""
        self._tokens, self._reading = tokens, reading
        self._now, self._progress = situation, progress
        self._verbs, self._team, self._waited = verbs, team, waited
        self._places = {number: i for i, number in enumerate(progress.pieces)}
        self._things = {number: i for i, number in enumerate(progress.things)}
        self._where = {n: situation.place_of(n) for n in (*progress.things, *progress.pieces)}
        self._lying: defaultdict[int | None, list[int]] = defaultdict(list)
        for n, i in self._things.items():
            self._lying[self._where[n]].append(i)
        # Bodies with two hands carry one thing, so that a hand is free to open what is closed.
        self._free_to_open = SkillName.CLEAN in verbs or not situation.held
        self._others = {
            number
            for call in situation.others.values()
            for word in call.arguments[:1]
            if (number := number_of(word)) is not None
        }
        self._act = self._acts()
        self._distances = self._all_distances()
        self._looks = looks_of(
            tokens,
            reading,
            situation,
            progress,
            np.array([self._distances.get(n, np.nan) for n in progress.pieces], np.float32),
            can_open=self._free_to_open,
            taken=self._others & self._places.keys(),
        )
        worths = [self._looks.explore, self._looks.open]
        self._best_worth = max(float(w.max(initial=0)) for w in worths)
        self._best_tour = float(self._looks.tour.max(initial=0))
        self._to_do = sorted(
            self._distances.get(n, 99.0) for n, i in self._things.items() if self._act[i] > 0.5
        )
        self._global = self._globals()
        # Where everything waits for something else the order was misread, and binds no longer.
        self._in_order = bool(
            (progress.blocked <= _HALF)[self._open_ends() > _HALF].any()
            or progress.missing.max(initial=0) > _HALF
        )
        self._rows: dict[int, list[float]] = {}
        self._loads: dict[int, _Load] = {}

    def choices(self, blocked: Collection[SkillCall] = ()) -> Choices:
        """All choices but the blocked ones."""
        calls = [call for call in self._calls() if call not in blocked and call.name in self._can]
        if self._now.walks >= MOST_WALKS:
            calls = [call for call in calls if call.name != SkillName.NAVIGATE]
        elif self._came_to_open():
            calls = [call for call in calls if not self._is_walk_to_furniture(call)]
        rows = [self._features(call) for call in calls]
        return Choices(tuple(calls), np.array(rows, np.float32).reshape(len(calls), len(FEATURES)))

    def next_look(self) -> SkillCall | None:
        """Where a search goes on: the look of the highest worth; None if nothing is left."""
        here = self._came_to_open()
        for f, n in enumerate(self._progress.pieces):
            if here and self._now.near == n:
                return _call(SkillName.OPEN, n)
            if not here and self._looks.first[f] == 1:
                return _call(SkillName.EXPLORE_FURNITURE, n)
            if not here and self._looks.first[f] == 2:
                at = self._now.near is not None and self._place_of(self._now.near) == n
                return _call(SkillName.OPEN if at else SkillName.NAVIGATE, n)
        return None

    def is_look(self, call: SkillCall) -> bool:
        """Whether a call can only serve a search."""
        number = number_of(call.arguments[0]) if call.arguments else None
        if call.name == SkillName.EXPLORE_FURNITURE:
            return number in self._places
        if call.name not in (SkillName.NAVIGATE, SkillName.OPEN) or number not in self._places:
            return False
        p, f = self._progress, self._places[number]
        is_place = max(p.goes[1, :, f].max(initial=0), p.state[self._index(number)].max())
        return not self._now.held and bool(is_place < _HALF)

    @property
    def _can(self) -> Collection[str]:
        return {*self._verbs, SkillName.WAIT}

    # ---- which calls ----------------------------------------------------------------------

    def _calls(self) -> Iterator[SkillCall]:
        now, p = self._now, self._progress
        free = not now.held
        relevant = [
            n
            for i, n in enumerate(p.things)
            if not (now.things[n].picked and n not in now.held)
            and n not in now.held
            and max(p.wanted[i], p.state[i].max(), self._referred(i)) > _KNOWN
        ]
        for n in relevant:
            if self._has_to_be_opened_for(n):
                continue
            takes = free and self._takes(n)
            if now.near != n and (takes or self._is_beside_for_held(n) or self._state_of(n)):
                yield _call(SkillName.NAVIGATE, n)
            if takes and self._is_near(n):
                yield _call(SkillName.PICK, n)
        # A search ends: what was explored is not explored again (EPM-2.7).
        left = [n for n in p.pieces if not now.explored[n] and holds(now.pieces[n].class_name)]
        for n in left:
            yield _call(SkillName.EXPLORE_FURNITURE, n)
        for n in p.pieces:
            if now.near != n and self._leads_somewhere(n):
                yield _call(SkillName.NAVIGATE, n)
            if now.near is not None and self._place_of(now.near) == n:
                if self._opens(n):
                    yield _call(SkillName.OPEN, n)
                elif now.pieces[n].is_open is True:
                    yield _call(SkillName.CLOSE, n)
        for n in (*relevant, *now.held, *p.pieces):
            for k, mark in enumerate(STATES):
                i = self._index(n)
                if p.state[i, k] <= _KNOWN or self._is_blocked(n):
                    continue
                if not (n in now.held or self._is_near(n)):
                    continue
                if mark != "filled" or self._is_at_faucet():
                    yield _call(STATE_SKILLS[mark], n)
        for held in now.held:
            if held in self._things:
                yield from self._placements(held)
        if now.others:
            yield WAIT
        if not now.held:
            yield DONE

    def _placements(self, held: int) -> Iterator[SkillCall]:
        now = self._now
        place = self._place_of(now.near) if now.near is not None else None
        if place is None or self._first_gets_state(held):
            return
        thing, target = f"Object.{held}", f"Object.{place}"
        beside = [
            n
            for n in self._progress.things
            if n != held
            and self._place_of(n) == place
            and not now.things[n].picked
            and self._progress.grounded.next_things[self._things[held], self._things[n]] > _KNOWN
        ]
        for relation in self._relations(held, place):
            yield SkillCall(SkillName.PLACE, (thing, relation, target, None, None))
            for n in beside:
                words = (thing, relation, target, "next_to", f"Object.{n}")
                yield SkillCall(SkillName.PLACE, words)

    def _takes(self, thing: int) -> bool:
        """Whether there is a reason to take a thing that is known, now."""
        now, p, i = self._now, self._progress, self._things[thing]
        if self._is_blocked(thing):
            return False
        if SkillName.CLEAN in self._verbs and p.state[i, FILLED] > _KNOWN:
            return True
        if p.move[i] <= _KNOWN or now.put[thing].count(self._where[thing] or -1) >= MOST_PUTS:
            return False
        # What is where it is to be waits there for what it is to be next to.
        return bool(p.away[i] > _KNOWN or p.ready[i] > _HALF or p.begun[i] > _KNOWN)

    def _is_blocked(self, number: int) -> bool:
        """Whether something else that can be done comes before."""
        return self._in_order and bool(self._progress.blocked[self._index(number)] > _HALF)

    def _is_at_faucet(self) -> bool:
        place = self._place_of(self._now.near) if self._now.near is not None else None
        return place is not None and has_faucet(self._now.pieces[place].class_name)

    def _relations(self, held: int, place: int) -> list[str]:
        """How a held thing can be put at a piece: as is said, and not into closed doors."""
        goes = self._progress.goes[:, self._things[held], self._places[place]]
        piece = self._now.pieces[place]
        on, within, room = (float(value) for value in goes)
        found = [] if within > _HALF > on + room else ["on"]
        closed = may_open(piece.class_name) and piece.is_open is not True
        if has_inside(piece.class_name) and not closed and not on > _HALF > within + room:
            found.append("within")
        return found

    def _opens(self, place: int) -> bool:
        """Whether a piece can be opened now, to look into it or to put something there."""
        piece, f = self._now.pieces[place], self._places[place]
        if piece.is_open is True or not may_open(piece.class_name) or not self._free_to_open:
            return False
        return bool(
            self._looks.inside[f] > 0 or self._progress.goes[1, :, f].max(initial=0) > _KNOWN
        )

    def _came_to_open(self) -> bool:
        """Whether the last call was a walk to what is to be opened: it is not left closed."""
        last = self._now.last
        number = number_of(last.arguments[0]) if last is not None and last.arguments else None
        if last is None or last.name != SkillName.NAVIGATE or number not in self._places:
            return False
        return self._now.near == number and not self._now.held and self._opens(number)

    def _is_walk_to_furniture(self, call: SkillCall) -> bool:
        return call.name == SkillName.NAVIGATE and number_of(call.arguments[0]) in self._places

    def _is_beside_for_held(self, thing: int) -> bool:
        held = [self._things[n] for n in self._now.held if n in self._things]
        beside, n = self._progress.grounded.next_things, self._things[thing]
        # Only once the other thing is where it is to be.
        is_there = self._progress.away[n] < _HALF
        return bool(held) and bool(is_there and beside[held, n].max() > _KNOWN)

    def _state_of(self, thing: int) -> bool:
        """Whether it can get a state where it lies."""
        if SkillName.CLEAN not in self._verbs:
            return False
        state = self._progress.state[self._things[thing]].copy()
        place = self._place_of(thing)
        if place is None or not has_faucet(self._now.pieces[place].class_name):
            state[FILLED] = 0
        return bool(state.max() > _KNOWN)

    def _has_to_be_opened_for(self, thing: int) -> bool:
        """Whether a body with one hand has to open where a thing goes into, before it takes it."""
        p = self._progress
        if SkillName.CLEAN in self._verbs:
            return False
        into = p.goes[1, self._things[thing]]
        targets = [self._now.pieces[n] for f, n in enumerate(p.pieces) if into[f] > _HALF]
        return bool(targets) and not any(
            piece.is_open or not may_open(piece.class_name) for piece in targets
        )

    def _first_gets_state(self, thing: int) -> bool:
        able, i = SkillName.CLEAN in self._verbs, self._things.get(thing)
        return able and i is not None and bool(self._progress.first_state[i] > _HALF)

    def _leads_somewhere(self, place: int) -> bool:
        """Whether there is something to do at a piece: put down, open, switch, or fill."""
        now, p = self._now, self._progress
        f, i = self._places[place], self._index(place)
        piece = now.pieces[place]
        if p.state[i].max() > _KNOWN or self._opens(place):
            return True
        held = [self._things[n] for n in now.held if n in self._things]
        if not held:
            return False
        if any(self._first_gets_state(n) for n in now.held):
            return has_faucet(piece.class_name)
        return bool(
            p.goes[:, held, f].max() > _KNOWN
            or (has_faucet(piece.class_name) and p.state[held, FILLED].max() > _KNOWN)
        )

    def _place_of(self, number: int) -> int | None:
        """The furniture that an entity is or is on, as `Situation.place_of`."""
        return self._where[number] if number in self._where else self._now.place_of(number)

    def _mates(self, held: int) -> frozenset[int | None]:
        """Where what is to go to the same piece as a held thing was brought already."""
        now, p = self._now, self._progress
        alike = (p.wanted > 0.3) & (p.move < 0.3) & (p.same[held] > 0.3)
        numbers = [p.things[i] for i in np.flatnonzero(alike)]
        return frozenset(
            self._where[n] for n in numbers if n not in now.held and not now.things[n].picked
        )

    def _referred(self, thing: int) -> float:
        return float(self._progress.grounded.next_things[:, thing].max(initial=0))

    def _is_near(self, number: int) -> bool:
        near = self._now.near
        if near is None:
            return False
        return near == number or self._place_of(near) == self._place_of(number) is not None

    def _index(self, number: int) -> int:
        if number in self._things:
            return self._things[number]
        return len(self._things) + self._places[number]

    # ---- features -------------------------------------------------------------------------

    def _features(self, call: SkillCall) -> list[float]:
        verb = [float(call.name == name) for name in VERBS]
        number = number_of(call.arguments[0]) if call.arguments else None
        target, placing, search = [0.0] * len(TARGET), [0.0] * len(PLACING), [0.0] * len(SEARCH)
        if call.name == SkillName.PLACE:
            place = number_of(call.arguments[2])
            if number is not None and place is not None:
                target = self._target(call, place)
                reference = number_of(call.arguments[4])
                placing = self._placing([number], place, str(call.arguments[1]), reference)
        elif number is not None:
            target = self._target(call, number)
            if number in self._places:
                placing = self._placing(self._now.held, number, "", None)
                search = self._search(call.name, number)
            elif number in self._things:
                placing = self._beside(number)
        return [*verb, *target, *placing, *search, *self._global]

    def _target(self, call: SkillCall, number: int) -> list[float]:
        """Most is the same for all calls with a target."""
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = self._target_row(number)
        row = list(row)
        i = self._index(number)
        for k, mark in enumerate(STATES):
            if STATE_SKILLS[mark] == call.name:
                row[_OF_VERB] = float(self._progress.state[i, k])
        failures = self._now.failures
        row[_FAILURES] = min(failures[str(call)], 3) / 3 if failures else 0.0
        return row

    def _target_row(self, number: int) -> list[float]:
        now, p = self._now, self._progress
        i = self._index(number)
        is_thing = number in self._things
        piece = now.pieces.get(number)
        last = number_of(now.last.arguments[0]) if now.last and now.last.arguments else None
        distance = self._distances.get(number)
        limit = distance if distance is not None else 99.0
        nearer = bisect_left(self._to_do, limit)
        place = self._place_of(number)
        return [
            float(is_thing),
            float(not is_thing),
            float(p.move[i]) if is_thing else 0.0,
            float(p.wanted[i]) if is_thing else 0.0,
            float(self._act[i]),
            float(p.need[i]),
            float(p.blocked[i]),
            float(p.first_state[i]) if is_thing else 0.0,
            0.0,
            float(p.state[i].max()) if SkillName.CLEAN in self._verbs else 0.0,
            float(number in now.held),
            float(is_thing and now.things[number].picked and number not in now.held),
            float(number in self._others),
            float(self._is_near(number)),
            min(distance, 20.0) / 10 if distance is not None else 0.7,
            1 / (1 + nearer),
            min(now.explored[place], 2) / 2 if place is not None else 0.0,
            float(place is not None and now.opened[place] > 0),
            float(piece is not None and piece.is_open is False),
            float(piece is not None and piece.is_open is not True and may_open(piece.class_name)),
            0.0,
            float(last == number),
            float(p.begun[i]) if is_thing else 0.0,
            float(p.ready[i]) if is_thing else 0.0,
        ]

    def _placing(
        self, held: Collection[int], place: int, relation: str, reference: int | None
    ) -> list[float]:
        now, p, f = self._now, self._progress, self._places[place]
        loads = [self._load(n) for n in held if n in self._things]
        if not loads:
            return [0.0] * len(PLACING)
        kinds = (0, 2) if relation == "on" else (1, 2) if relation == "within" else (0, 1, 2)
        fits = [max(load.goes[kind][f] for kind in kinds) for load in loads]
        best = max(range(len(loads)), key=fits.__getitem__)
        load = loads[best]
        h = load.index
        others = [max(goes[f] for goes in o.goes) for o in loads if o is not load]
        here = place in load.mates
        if load.room_most > _HALF:
            here = now.pieces[place].room in {
                now.pieces[n].room for n in load.mates if n in now.pieces
            }
        lying = self._lying[place]
        things = (p.things[i] for i in lying if i != h)
        alike = p.apart[h] > 0 and any(now.things[n].class_name == load.kind for n in things)
        return [
            fits[best],
            load.most,
            float(here),
            float(bool(load.mates) and not here),
            float(p.apart[h] * alike),
            max(load.beside, default=0.0),
            max([load.beside[i] for i in lying], default=0.0),
            float(relation == "within"),
            float(reference is not None),
            float(p.first_state[h]),
            float(has_faucet(now.pieces[place].class_name) * p.state[h, FILLED]),
            max(others, default=0.0),
            min(now.refused[load.number, place], 3) / 3 if now.refused else 0.0,
            min(sum(n for (_, at), n in now.refused.items() if at == place), 4) / 4,
            float(p.ready[h]),
            float(p.begun[h]),
        ]

    def _load(self, number: int) -> _Load:
        if number not in self._loads:
            p, h = self._progress, self._things[number]
            self._loads[number] = _Load(
                number,
                h,
                self._now.things[number].class_name,
                p.goes[:, h].tolist(),
                float(p.goes[:, h].max(initial=0)),
                float(p.goes[2, h].max(initial=0)),
                p.grounded.next_things[h].tolist(),
                self._mates(h),
            )
        return self._loads[number]

    def _beside(self, thing: int) -> list[float]:
        """For a walk to a thing that something in the hand is to be put next to."""
        values = [0.0] * len(PLACING)
        held = [self._things[n] for n in self._now.held if n in self._things]
        if held:
            beside = self._progress.grounded.next_things[held, self._things[thing]]
            values[PLACING.index("next here")] = float(beside.max())
        return values

    def _search(self, verb: str, place: int) -> list[float]:
        now, f, looks = self._now, self._places[place], self._looks
        here = self._place_of(now.near) if now.near is not None else None
        explores = verb == SkillName.EXPLORE_FURNITURE
        likely = looks.outside[f] if explores else looks.inside[f]
        worth = looks.explore[f] if explores else looks.open[f]
        return [
            min(4 * float(likely), 1.0),
            float(worth) / self._best_worth if self._best_worth > 0 else 0.0,
            float(looks.tour[f]) / self._best_tour if self._best_tour > 0 else 0.0,
            float(looks.first[f] == (1 if explores else 2)),
            float(looks.told[f]),
            float(here is not None and now.pieces[here].room == now.pieces[place].room),
            float(now.explored[place] == 0 and now.opened[place] == 0),
        ]

    # ---- shared by all choices -------------------------------------------------------------

    def _acts(self) -> Array:
        """(E,): there is something to do with it now."""
        p = self._progress
        move = np.concatenate([p.move * (1 - p.first_state), np.zeros(len(p.pieces), np.float32)])
        if SkillName.CLEAN in self._verbs:
            move = np.maximum(move, p.state.max(1, initial=0))
        free = np.array(
            [not (self._now.things[n].picked and n not in self._now.held) for n in p.things]
            + [True] * len(p.pieces),
            np.float32,
        )
        found: Array = move * np.clip(p.need, 0, 1) * (1 - p.blocked) * free
        return found

    def _open_ends(self) -> Array:
        """(E,): there is something left to do with it, now or later."""
        p = self._progress
        move = np.concatenate([p.move, np.zeros(len(p.pieces), np.float32)])
        found: Array = np.maximum(move, p.state.max(1, initial=0)) * np.clip(p.need, 0, 1)
        return found

    def _all_distances(self) -> dict[int, float]:
        here = self._now.position_m
        if here is None:
            return {}
        found = {}
        for n in (*self._progress.things, *self._progress.pieces):
            place = self._place_of(n)
            if place is not None:
                x, y = self._now.pieces[place].position_m
                found[n] = float(np.hypot(x - here[0], y - here[1]))
        return found

    def _globals(self) -> list[float]:
        now, p = self._now, self._progress
        held = [self._things[n] for n in now.held if n in self._things]
        goes = p.goes[:, held].max(initial=0) if held else 0.0
        others = [self._act[i] for n, i in self._things.items() if n not in now.held]
        others += list(self._act[len(self._things) :])
        return [
            float(bool(now.held)),
            float(self._free_to_open),
            float(p.missing.max(initial=0)),
            float(p.remaining.max(initial=0)),
            float(max(others, default=0.0)),
            float(self._team > 1),
            float(bool(now.others)),
            len([n for n in p.pieces if now.explored[n] or now.opened[n]]) / max(1, len(p.pieces)),
            min(now.calls, 100) / 50,
            float(SkillName.CLEAN in self._verbs),
            float(goes),
            float(self._waited),
            self._looks.left,
        ]


def _call(name: str, number: int) -> SkillCall:
    return SkillCall(name, (f"Object.{number}",))
