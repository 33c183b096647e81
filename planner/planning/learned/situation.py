"""What one agent knows, from what `react` would have read: entities' lines, changes, results.

The same code reads recorded traces in training and the memory's lines when the planner works.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planner.memory.wording import read_description
from planner.parts.calls import parse_call
from planner.world.skill import CallError, SkillCall, SkillName

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
