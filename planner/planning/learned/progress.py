"""What one agent knows, and what that says about the instruction: wanted, done, missing."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from planner.memory.wording import read_description
from planner.parts.calls import parse_call
from planner.planning.learned.network import MARKS, Array, Grounded, Named, Reading, ground, match
from planner.planning.learned.tokens import Token
from planner.world.catalogue import default_catalogue
from planner.world.skill import CallError, SkillCall, SkillName

# What one agent knows, from what `react` would have read: entities' lines, changes, results.
#
# The same code reads recorded traces in training and the memory's lines when the planner works.

_LINE = re.compile(r"Object\.(\d+): (.*?)(?: in (\w+_\d+))?")
_CHANGE = re.compile(r"(?:Add|Update) Object\.(\d+)( \(picked\))?: (.*)")
_GONE = re.compile(r"Remove Object\.(\d+)")
_NUMBER = re.compile(r"Object\.(\d+)")
# States that a skill gives, by the network's marks.
STATE_SKILLS: Mapping[str, str] = {
    "clean": SkillName.CLEAN,
    "filled": SkillName.FILL,
    "powered_on": SkillName.POWER_ON,
    "powered_off": SkillName.POWER_OFF,
}

# Whether a piece is open, and what is at it.
Look = tuple[bool | None, frozenset[int]]


@dataclass(slots=True)
class Piece:
    """A piece of furniture; `is_open` None = not known or nothing opens."""

    number: int
    class_name: str
    room: str
    position_m: tuple[float, float]
    is_open: bool | None = None
    states: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Thing:
    """A movable thing; `first` is the support where it was first known."""

    number: int
    class_name: str
    support: int | None
    first: int | None
    picked: bool = False
    states: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Situation:
    """One agent's knowledge.

    Attributes:
        pieces, things: by number, in the order in which they became known.
        held: things in the agent's hands.
        near: what it went to last; None = nowhere yet.
        explored: how often each piece was explored, by this agent or another.
        opened: how often each was opened.
        failures: how often each call failed.
        failed_here: calls that failed since the last one that did not.
        refused: how often a thing could not be put at a piece, by both.
        vain: calls that put something at a piece and failed, with what the piece was like then.
        beside: things that were put next to others.
        put: where each thing was put, furniture by number, in order.
        made: (entity, mark) that a skill gave.
        others: what the other agents are doing.
        walks: this agent's last calls that were all walks, but for those that failed.
        calls: this agent's, so far.
        last: its last call.
    """

    pieces: dict[int, Piece] = field(default_factory=dict)
    things: dict[int, Thing] = field(default_factory=dict)
    held: list[int] = field(default_factory=list)
    near: int | None = None
    explored: Counter[int] = field(default_factory=Counter)
    opened: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    failed_here: set[SkillCall] = field(default_factory=set)
    refused: Counter[tuple[int, int]] = field(default_factory=Counter)
    vain: dict[SkillCall, Look] = field(default_factory=dict)
    beside: dict[int, int] = field(default_factory=dict)
    put: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    made: set[tuple[int, str]] = field(default_factory=set)
    others: dict[str, SkillCall] = field(default_factory=dict)
    walks: int = 0
    calls: int = 0
    last: SkillCall | None = None

    def begin(
        self, entities: Iterable[str], positions_m: Mapping[int, tuple[float, float]]
    ) -> None:
        """Reads the opening's lines; what has a position is furniture."""
        for line in entities:
            found = _LINE.fullmatch(line)
            if found is None:
                continue
            number, text, room = int(found[1]), found[2], found[3] or ""
            said = read_description(text)
            if number in positions_m:
                is_open = None if said.openness is None else said.openness > 0
                self.pieces[number] = Piece(
                    number, said.class_name, room, positions_m[number], is_open, dict(said.states)
                )
            else:
                support = said.support_id
                self.things[number] = Thing(
                    number, said.class_name, support, support, states=dict(said.states)
                )

    def told(self, lines: Iterable[str]) -> None:
        """Reads the memory's changes."""
        for line in lines:
            gone = _GONE.fullmatch(line)
            if gone is not None:
                self.things.pop(int(gone[1]), None)
                continue
            change = _CHANGE.fullmatch(line)
            if change is not None:
                self._change(int(change[1]), bool(change[2]), change[3])

    def _change(self, number: int, picked: bool, text: str) -> None:
        said = read_description(text)
        piece = self.pieces.get(number)
        if piece is not None:
            piece.is_open = piece.is_open if said.openness is None else said.openness > 0
            self._note_states(number, piece.states, said.states)
            piece.states = dict(said.states)
            return
        thing = self.things.get(number)
        if thing is None:
            support = said.support_id
            self.things[number] = Thing(
                number, said.class_name, support, support, picked, dict(said.states)
            )
            return
        thing.class_name, thing.support, thing.picked = said.class_name, said.support_id, picked
        if thing.first is None:
            thing.first = said.support_id
        if not picked and number in self.held:
            self.held.remove(number)
        self._note_states(number, thing.states, said.states)
        thing.states = dict(said.states)

    def _note_states(
        self, number: int, before: Mapping[str, bool], now: Mapping[str, bool]
    ) -> None:
        """What was unusual and is no longer said has been changed."""
        if before.get("clean") is False and "clean" not in now:
            self.made.add((number, "clean"))
        if before.get("powered_on") is True and "powered_on" not in now:
            self.made.add((number, "powered_off"))

    def see_others(self, calls: Mapping[str, str]) -> None:
        """Takes what the others are doing; what they did before is taken to have succeeded."""
        now: dict[str, SkillCall] = {}
        for agent, text in calls.items():
            try:
                now[agent] = parse_call(text)
            except CallError:
                continue
        for agent, call in self.others.items():
            if now.get(agent) != call:
                self._done(call, own=False)
        self.others = now

    def ended(self, text: str, *, succeeded: bool) -> None:
        """Takes the end of an own call."""
        call = parse_call(text)
        self.calls += 1
        if call.name != SkillName.NAVIGATE:
            self.walks = 0
        elif succeeded:
            self.walks += 1
        self.last = call
        if succeeded:
            self.failed_here.clear()
            self._done(call, own=True)
            return
        self.failures[text] += 1
        self.failed_here.add(call)
        if call.name == SkillName.PLACE:
            thing, place = number_of(call.arguments[0]), number_of(call.arguments[2])
            if thing is not None and place is not None:
                self.refused[thing, place] += 1
                self.vain[call] = self._look(place)
        if call.name in (SkillName.NAVIGATE, SkillName.PICK, SkillName.PLACE):
            self.near = None

    def _done(self, call: SkillCall, *, own: bool) -> None:
        numbers = [number_of(word) for word in call.arguments]
        first = numbers[0] if numbers else None
        if first is None:
            return
        if own and call.name in (SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE, SkillName.OPEN):
            self.near = first
        if call.name == SkillName.EXPLORE_FURNITURE:
            self.explored[first] += 1
        elif call.name == SkillName.OPEN:
            self.opened[first] += 1
            if first in self.pieces:
                self.pieces[first].is_open = True
        elif call.name == SkillName.CLOSE and first in self.pieces:
            self.pieces[first].is_open = False
        elif call.name == SkillName.PICK:
            self.beside.pop(first, None)
            # Nor is what stays behind next to it any longer.
            for thing in [thing for thing, other in self.beside.items() if other == first]:
                del self.beside[thing]
            if own:
                self.held.append(first)
                support = self.things[first].support if first in self.things else None
                self.near = support if support is not None else self.near
        elif call.name == SkillName.PLACE:
            if own and first in self.held:
                self.held.remove(first)
            if numbers[2] is not None:
                self.put[first].append(numbers[2])
            if numbers[4] is not None:
                self.beside[first] = numbers[4]
            if own and numbers[2] is not None:
                self.near = numbers[2]
        else:
            for mark, skill in STATE_SKILLS.items():
                if call.name == skill:
                    self.made.add((first, mark))

    @property
    def targets_of_others(self) -> frozenset[int]:
        """What other agents are going to, taking or changing."""
        found = (number_of(call.arguments[0]) for call in self.others.values() if call.arguments)
        return frozenset(number for number in found if number is not None)

    def failed_looks(self, place: int) -> int:
        """How often the agent could not get to a piece, or not open it."""
        verbs = (SkillName.EXPLORE_FURNITURE, SkillName.NAVIGATE, SkillName.OPEN)
        return sum(self.failures[f"{verb}[Object.{place}]"] for verb in verbs)

    def is_vain(self, call: SkillCall) -> bool:
        """Whether a call failed to put something at a piece that is as it was then."""
        look = self.vain.get(call) if self.vain else None
        place = number_of(call.arguments[2]) if look is not None else None
        return place is not None and look == self._look(place)

    def _look(self, place: int) -> Look:
        """Whether a piece is open, and what is at it."""
        piece = self.pieces.get(place)
        there = (n for n, thing in self.things.items() if not thing.picked)
        at = frozenset(n for n in there if n not in self.held and self.place_of(n) == place)
        return (None if piece is None else piece.is_open), at

    def place_of(self, number: int) -> int | None:
        """The furniture that an entity is or is on."""
        if number in self.pieces:
            return number
        seen: set[int] = set()
        at: int | None = number
        while at is not None and at in self.things and at not in seen:
            seen.add(at)
            at = self.things[at].support
        return at if at in self.pieces else None

    @property
    def position_m(self) -> tuple[float, float] | None:
        """Where the agent went last; None if that is not known."""
        place = self.place_of(self.near) if self.near is not None else None
        return self.pieces[place].position_m if place is not None else None

    def room_class(self, number: int | None) -> str:
        """The class of the room of a piece of furniture; "" = unknown."""
        piece = self.pieces.get(number) if number is not None else None
        return piece.room.rpartition("_")[0] if piece is not None else ""


def number_of(word: str | None) -> int | None:
    """The number of `Object.149`; None for anything else."""
    found = _NUMBER.fullmatch(word) if word is not None else None
    return int(found[1]) if found is not None else None


APART = MARKS.index("apart")
STATES = tuple(STATE_SKILLS)
FILLED = STATES.index("filled")
# What was switched the one way is not switched back: of a noun that is misread as both, the state
# that it has would otherwise be undone and done again.
_OPPOSITE = {"powered_on": "powered_off", "powered_off": "powered_on"}
# What a class has to afford for each state.
_NEEDS = {
    "clean": "cleanable",
    "filled": "fillable",
    "powered_on": "powerable",
    "powered_off": "powerable",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """Of O things and F pieces (E = O + F) and T tokens; all are likelihoods.

    Attributes:
        pieces, things: numbers of the entities in order.
        in_room: (F, T): the token may mean the room of the piece.
        grounded: what is said of them.
        goes: (3, O, F): where each is to go now; the second place once it was in the first.
        begun: (O,): it was in the first of two places, and is not in the second.
        ready: (O,): something that it is to be put next to is known and where it is to be.
        move: (O,): the thing has to be brought somewhere and is not there.
        away: (O,): it is not on or in what it has to be brought to.
        wanted: (O,): it has to be brought somewhere at all.
        state: (E, 4): it has to get the state and has not.
        asked: (E,): something is asked of it, done or not.
        need: (E,): as many are asked for as to need this one, too.
        blocked: (E,): something else comes before.
        first_state: (O,): its state comes before it is moved.
        remaining: (T,): the token asks for more than is done.
        missing: (T,): and not enough are known.
        share: (E, T): which token speaks of the entity.
        apart: (O,): each goes to a piece of its own.
        same: (O, O): both go to the same piece.
    """

    pieces: tuple[int, ...]
    things: tuple[int, ...]
    in_room: Array
    grounded: Grounded
    goes: Array
    begun: Array
    ready: Array
    move: Array
    away: Array
    wanted: Array
    state: Array
    asked: Array
    need: Array
    blocked: Array
    first_state: Array
    remaining: Array
    missing: Array
    share: Array
    apart: Array
    same: Array


def progress_of(tokens: tuple[Token, ...], reading: Reading, situation: Situation) -> Progress:
    """Compares the instruction with what is known."""
    pieces, things = tuple(situation.pieces), tuple(situation.things)
    places = {number: i for i, number in enumerate(pieces)}
    named_pieces = [Named(situation.pieces[n].class_name, situation.room_class(n)) for n in pieces]
    named_things = []
    for n in things:
        first = situation.things[n].first
        named_things.append(
            Named(
                situation.things[n].class_name,
                situation.room_class(first),
                places.get(first, -1) if first is not None else -1,
            )
        )
    found = match(tokens, named_pieces, named_things)
    said = ground(reading, found)
    both = np.concatenate([said.things, said.furniture])
    share = both / np.maximum(both.sum(1, keepdims=True), np.float32(1e-3))
    count = len(things)

    # Things with two places go to the second one once they were put at the first.
    then = said.then.max((0, 2), initial=0)
    was = np.array(
        [
            max(
                (float(said.goes[:, i, places[p]].max()) for p in situation.put[n] if p in places),
                default=0.0,
            )
            for i, n in enumerate(things)
        ],
        np.float32,
    )
    turn = (was * then)[None, :, None]
    to = said.goes * (1 - turn) + said.then * turn
    there = np.zeros(count, np.float32)
    for i, n in enumerate(things):
        place = situation.place_of(n)
        if place is not None and not situation.things[n].picked:
            there[i] = to[:, i, places[place]].max()
    goes = to.max((0, 2), initial=0)
    beside = np.concatenate([said.next_things, said.next_furniture], 1).max(1, initial=0)
    is_beside = _is_beside(situation, things, said.next_things)
    wanted = np.maximum(goes, beside)
    away = np.maximum(goes - there, 0)
    move = np.maximum(away, beside * (1 - is_beside))
    begun = turn[0, :, 0] * away
    # The first of two places is not the end.
    move = np.maximum(move, then * (1 - was))
    lies = np.array([float(not situation.things[n].picked) for n in things], np.float32)
    ready = (said.next_things * ((1 - away) * lies)[None, :]).max(1, initial=0)
    ready = np.maximum(ready, said.next_furniture.max(1, initial=0))
    marks = share @ reading.marks
    has = np.array(
        [[_has(situation, n, mark) for mark in STATES] for n in (*things, *pieces)], np.float32
    ).reshape(len(both), len(STATES))
    able = np.array(
        [_can_have(name.class_name) for name in (*named_things, *named_pieces)], np.float32
    ).reshape(has.shape)
    marks[:, : len(STATES)] *= able
    state = marks[:, : len(STATES)] * (1 - has)

    open_ = np.concatenate([move, np.zeros(len(pieces), np.float32)])
    open_ = np.maximum(open_, state.max(1, initial=0))
    says = np.concatenate([wanted, np.zeros(len(pieces), np.float32)])
    says = np.maximum(says, marks[:, : len(STATES)].max(1, initial=0))
    done = np.maximum(says - open_, 0)
    asks = np.maximum(
        np.maximum(
            reading.goes.max((0, 2)), np.maximum(reading.then.max((0, 2)), reading.next.max(1))
        ),
        reading.marks[:, : len(STATES)].max(1),
    )
    nouns = np.array([float(bool(t.objects) or t.open) for t in tokens], np.float32)
    is_piece = np.array([float(bool(t.furniture) and not t.objects) for t in tokens], np.float32)
    # Of furniture only states are asked for.
    asks = nouns * asks + is_piece * reading.marks[:, : len(STATES)].max(1)
    known = (both > 0.5).sum(0).astype(np.float32)
    # "All three cups" are three, however few are known so far.
    said_ = [max(t.count, 2) if t.plural else 1 for t in tokens]
    all_ = np.maximum(known, np.array(said_, np.float32))
    numbers = reading.numbers[:, :4] @ np.arange(1, 5, dtype=np.float32)
    numbers = numbers + reading.numbers[:, 4] * all_
    satisfied = (share * done[:, None]).sum(0)
    left = numbers - satisfied
    remaining = asks * np.clip(left, 0, 1)
    free = np.concatenate(
        [[float(not _by_other(situation, n)) for n in things], np.ones(len(pieces))]
    ).astype(np.float32)
    at_hand = (np.where(both > 0.3, both, 0) * (1 - done)[:, None] * free[:, None]).sum(0)
    # What others are bringing need not be brought a second time.
    by_others = 1 - free
    promised = (
        np.where(both > 0.3, share, 0) * (by_others * (says > 0.5) * (1 - done))[:, None]
    ).sum(0)
    still = left - promised
    missing = asks * np.clip(left - at_hand, 0, 1)
    # What something is to be put next to has to be known as well.
    referred = nouns * reading.next.max(0, initial=0)
    missing = np.maximum(
        missing, referred * np.clip(1 - np.where(both > 0.3, both, 0).sum(0), 0, 1)
    )
    before = reading.before * (1 - np.eye(len(tokens), dtype=np.float32))
    blocked_token = (before * remaining[:, None]).max(0, initial=0)
    own = np.diagonal(reading.before)
    # "First clean the cups, then store them": the clean ones wait for the others.
    left_to_do = np.maximum((share * state.max(1, initial=0)[:, None]).max(0, initial=0), missing)
    waits = (share @ (own * left_to_do)) * (1 - state.max(1, initial=0))
    blocked = np.maximum(share @ blocked_token, waits)
    return Progress(
        pieces,
        things,
        found.in_room,
        said,
        to,
        begun,
        ready,
        move,
        away,
        wanted,
        state,
        says,
        share @ np.clip(still, 0, 1) * free + share @ np.clip(left, 0, 1) * by_others,
        blocked,
        (share @ own)[:count] * state[:count].max(1, initial=0),
        remaining,
        missing,
        share,
        marks[:count, APART],
        share[:count] @ reading.same @ share[:count].T,
    )


def _is_beside(situation: Situation, things: tuple[int, ...], next_to: Array) -> Array:
    """(O,): whether each was put next to one of those that it is to be next to.

    "Next to each other" is said of both, and done once for both.
    """
    index = {number: i for i, number in enumerate(things)}
    found = np.zeros(len(things), np.float32)
    for one, other in situation.beside.items():
        for first, second in ((one, other), (other, one)):
            i = index.get(first)
            if i is None:
                continue
            j = index.get(second)
            # Furniture is told apart by where the thing is put.
            said = 1.0 if j is None else float(next_to[i, j] > 0.3)
            found[i] = max(found[i], said)
    return found


def _has(situation: Situation, number: int, mark: str) -> float:
    if (number, mark) in situation.made or (number, _OPPOSITE.get(mark)) in situation.made:
        return 1.0
    thing = situation.things.get(number)
    states = thing.states if thing is not None else situation.pieces[number].states
    if mark == "powered_on":
        return float(states.get("powered_on") is True)
    if mark == "filled":
        return float(states.get("filled") is True)
    if mark == "powered_off":
        # Of furniture the state is not told before it has been seen.
        return float(thing is not None and not states.get("powered_on"))
    return 0.0


@lru_cache(maxsize=1024)
def _can_have(class_name: str) -> tuple[float, ...]:
    """By state: whether things or furniture of a class can get it; of unknown ones assumed."""
    catalogue = default_catalogue()
    cls = catalogue.objects.get(class_name) or catalogue.furniture.get(class_name)
    if cls is None:
        return (1.0,) * len(STATES)
    return tuple(float(_NEEDS[mark] in cls.affordances) for mark in STATES)


def _by_other(situation: Situation, number: int) -> bool:
    """Whether another agent holds a thing, or is on its way to it."""
    if number in situation.held:
        return False
    return situation.things[number].picked or number in situation.targets_of_others
