"""Ground truth: the shortest way to do an idea, as skill calls (ETPLAN-2.2).

The way to something leads through its room and what has to be opened: kitchen, fridge, apple. The
room that the robot is in is left out, and with a layout map so is the room on the way to furniture,
whose place is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.episodes.et_generation.house_facts import HouseFacts
from planner.episodes.et_generation.idea import Idea, Link
from planner.parts.calls import parse_call
from planner.world.episode import Prior
from planner.world.skill import SkillCall, SkillName

# Where a thing may be put down for a moment.
_LEDGES = frozenset({"table", "counter", "desk", "cabinet", "tv_stand", "bench", "nightstand"})
_AROUND = {"ON": "on", "INSIDE": "within"}

Plan = tuple[str, ...]


def plans(
    facts: HouseFacts, idea: Idea, room: str, arms: int = 1, prior: Prior = "P"
) -> tuple[Plan, ...]:
    """The plans of which the one with the shortest walk is the ground truth.

    There is one, but for two things that may be carried at a time: one by one, both at once, with
    one put down to open the place, and with the place opened before both hands are full
    (ETPLAN-2.3, ETPLAN-C31).

    Args:
        facts: of the house.
        idea: what to do.
        room: where the robot is at the start.
        arms: how many things it may carry at a time.
        prior: what it knows.
    """
    if idea.place is None:
        way = _Way(facts, room, prior)
        way.go(idea.target)
        return (way.calls,)
    if idea.nest is not None:
        way = _Way(facts, room, prior)
        way.bring(idea.target, idea.nest)
        way.bring(idea.nest.name, idea.place)
        return (way.calls,)
    things = [name for name in (idea.target, idea.second) if name]
    if arms == 1 or not idea.second:
        # In the order of the words, as in the paper's list of eight parts (ETPLAN-C32).
        return (_one_by_one(facts, things, idea.place, room, prior),)
    found = list[Plan]()
    for order in (things, things[::-1]):
        found.append(_one_by_one(facts, order, idea.place, room, prior))
        found += _both(facts, order, idea.place, room, prior)
    return tuple(dict.fromkeys(found))


def _one_by_one(facts: HouseFacts, things: list[str], place: Link, room: str, prior: Prior) -> Plan:
    way = _Way(facts, room, prior)
    for name in things:
        way.bring(name, place)
    return way.calls


def _both(
    facts: HouseFacts, things: list[str], place: Link, room: str, prior: Prior
) -> Iterator[Plan]:
    """Fetching both things in an order, then placing both (ETPLAN-C30, ETPLAN-C32).

    Which is placed first changes no walk, but may leave more room for the other one.
    """
    first, second = things
    if not _Way(facts, room, prior).must_open(place):
        for placed in (things, things[::-1]):
            direct = _Way(facts, room, prior)
            direct.fetch(*things)
            direct.place(placed, place)
            yield direct.calls
        return
    # Before anything is fetched, or with one thing in a hand.
    for before in (0, 1):
        opened = _Way(facts, room, prior)
        opened.fetch(*things[:before])
        opened.go(place.name)
        opened.open(place)
        opened.fetch(*things[before:])
        opened.place(things, place)
        yield opened.calls
    ledge = _ledge(facts, place.name)
    if ledge is not None:
        for aside, held in ((second, first), (first, second)):
            putting = _Way(facts, room, prior)
            putting.fetch(first, second)
            putting.place([aside], ledge)
            putting.place([held], place)
            putting.fetch(aside)
            putting.place([aside], place)
            yield putting.calls


def _ledge(facts: HouseFacts, place: str) -> Link | None:
    """The surface nearest to a place in its room: its own top, if it has one."""
    room = facts.room_of(place)
    ledges = [
        piece
        for piece in facts.furniture
        if piece.room == room
        and piece.piece is not None
        and piece.piece.surfaces
        and (piece.known in _LEDGES or piece.name == place)
    ]
    if not ledges:
        return None
    nearest = min(ledges, key=lambda piece: (facts.gap_m(piece.name, place), piece.name))
    return Link("ON", place if place in {piece.name for piece in ledges} else nearest.name)


class _Way:
    """A plan that grows; knows what was opened, where the robot is, and where things went."""

    def __init__(self, facts: HouseFacts, room: str, prior: Prior) -> None:
        self._facts, self._room, self._prior = facts, room, prior
        self._calls: list[SkillCall] = []
        self._opened: set[str] = set()
        self._at = ""
        # The furniture that things were put on or into.
        self._base: dict[str, str] = {}

    @property
    def calls(self) -> Plan:
        """The plan so far."""
        return tuple(str(call) for call in self._calls)

    def go(self, name: str) -> None:
        """Walks to something, opening what is around it."""
        base = self._base.get(name)
        around = () if base else self._facts.closed_around(name)
        for holder in around:
            if holder not in self._opened:
                self._walk(holder)
                self._do(SkillName.OPEN, holder)
                self._opened.add(holder)
        self._walk(name)

    def must_open(self, place: Link) -> bool:
        """Whether a place is closed to what goes there."""
        entity = self._facts.entities[place.name]
        return place.relation == "INSIDE" and entity.opens and place.name not in self._opened

    def open(self, place: Link) -> None:
        """Opens a place where the robot is, if that is needed."""
        if self.must_open(place):
            self._do(SkillName.OPEN, place.name)
            self._opened.add(place.name)

    def fetch(self, *things: str) -> None:
        """Takes things into the hands."""
        for name in things:
            self.go(name)
            self._do(SkillName.PICK, name)
            self._base.pop(name, None)

    def place(self, things: list[str], place: Link) -> None:
        """Puts what is held somewhere."""
        self.go(place.name)
        self.open(place)
        for name in things:
            self._do(SkillName.PLACE, name, _AROUND[place.relation], place.name, None, None)
            self._base[name] = self._base.get(place.name, place.name)

    def bring(self, thing: str, place: Link) -> None:
        """Takes one thing somewhere."""
        self.fetch(thing)
        self.place([thing], place)

    def _walk(self, name: str) -> None:
        if name == self._at:
            return
        room = self._facts.room_of(self._base.get(name, name))
        entity = self._facts.entities[name]
        mapped = self._prior == "FP" and not entity.is_thing
        if room != self._room and not mapped:
            self._do(SkillName.NAVIGATE, room)
        self._do(SkillName.NAVIGATE, name)
        self._room, self._at = room, name

    def _do(self, skill: SkillName, *arguments: str | None) -> None:
        self._calls.append(SkillCall(skill, arguments))


def verbs_of(calls: Plan) -> Iterator[tuple[str, ...]]:
    """The plan in the paper's verbs: `("PUTIN", "apple_0", "fridge_0")` (ETPLAN-3.1)."""
    for text in calls:
        call = parse_call(text)
        names = [name or "" for name in call.arguments]
        if call.name == SkillName.PLACE:
            yield ("PUTIN" if names[1] == "within" else "PUT", names[0], names[2])
        else:
            yield (_VERBS[call.name], names[0])


_VERBS: dict[str, str] = {
    SkillName.NAVIGATE: "WALK",
    SkillName.PICK: "GRAB",
    SkillName.OPEN: "OPEN",
}
