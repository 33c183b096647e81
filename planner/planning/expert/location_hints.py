"""Extracts hints from an instruction about where things are now.

"The candle from the living room", "they are somewhere in the kitchen", "the cups in the sink are
dirty": search these places first. "Somebody took it out of the bathroom": it is no longer there, so
search elsewhere first. "Put it on the table" names a destination and says nothing about where the
thing is. Nothing is inferred that the words do not name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from planner.episodes.wording import NUMBER_WORDS, Item, Lexicon, Noun, NounKind, build_lexicon
from planner.planning.expert.facts import Goal
from planner.world.catalogue import default_catalogue
from planner.world.house import House

_CLAUSE_ENDS = frozenset(".?!;:")
_DETERMINERS = frozenset([
    "the", "a", "an", "my", "your", "our", "his", "her", "their", "its", "this", "that", "these",
    "those", "one", "of", "any", "each", "both", "all", "same", "other", "another",
])  # fmt: skip
_LEAVING = frozenset({"from", "off", "leave", "leaves"})
_RESTING = frozenset({"in", "on", "inside", "at", "around", "over", "under", "within"})
_GOING = frozenset({"to", "into", "onto"})
# "Were left in the kitchen" gives a location, "should be in the kitchen" a destination.
_LYING = frozenset([
    "is", "are", "was", "were", "left", "lying", "lies", "lie", "forgotten", "hidden",
    "scattered", "found", "somewhere", "still", "stands", "standing", "sits",
])  # fmt: skip
_DESIRED = frozenset([
    "be", "should", "shall", "must", "belong", "belongs", "go", "goes", "has", "have", "had",
    "put", "placed", "ready", "want", "wants", "may", "can", "need", "needs", "needed", "wanted",
    "to", "kept",
])  # fmt: skip
# "Once both are on the bench", "make sure that it is on the table": not the case yet.
_NOT_YET = frozenset({"once", "when", "before", "until", "if", "sure"})
# The "off" of "turn off the lamp" does not mean that something leaves a place.
_SWITCHING = frozenset({"turn", "switch", "turned", "switched", "power", "powered"})
# "Was taken from the kitchen" has happened, "should be taken from the kitchen" has not.
_REMOVED = frozenset({"taken", "removed", "carried", "moved", "borrowed", "stolen"})
_DONE_TO = frozenset({"was", "were", "been", "got"})
_VERBS_AFTER = _LYING | _DESIRED
_JOINING = frozenset({",", "and", "or"})
_LISTING = _DETERMINERS | _JOINING | frozenset(NUMBER_WORDS)


@dataclass(frozen=True, slots=True)
class LocationHint:
    """A place named in connection with a thing.

    Attributes:
        furniture: classes of furniture; empty means anything in the room.
        rooms: classes of rooms; empty if none is named.
        sure: stated of the thing itself; otherwise only mentioned, and not as a destination.
        left: the thing is said to have left this place; then `sure` is False.
    """

    furniture: frozenset[str]
    rooms: frozenset[str]
    sure: bool
    left: bool = False

    def fits(self, furniture_class: str | None, room_class: str) -> bool:
        """Whether the hint covers a piece of furniture (None: the floor) in a room."""
        if self.rooms and room_class not in self.rooms:
            return False
        return not self.furniture or furniture_class in self.furniture


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a clause, as a half-open range of items."""

    first: int
    end: int
    furniture: frozenset[str]
    rooms: frozenset[str]


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return build_lexicon(default_catalogue())


def location_hints(
    instruction: str, goal: Goal, layout: House
) -> dict[str, tuple[LocationHint, ...]]:
    """Where the words say the goal's things are, by object class."""
    destinations = _destinations(goal, layout)
    hints: dict[str, dict[LocationHint, None]] = {}
    before: list[Noun] = []
    for clause in _clauses(_lexicon().items(instruction)):
        reader = _Clause(clause, before)
        for place, nouns in reader.sure:
            _note(hints, destinations, LocationHint(place.furniture, place.rooms, sure=True), nouns)
        for place, nouns in reader.left:
            _note(
                hints,
                destinations,
                LocationHint(place.furniture, place.rooms, sure=False, left=True),
                nouns,
            )
        for place, is_within in reader.besides:
            hint = LocationHint(place.furniture, place.rooms, sure=False)
            if not _is_destination(hint, destinations, is_within=is_within):
                _note(hints, destinations, hint, None)
        before = _objects(clause) or before
    return {name: tuple(found) for name, found in hints.items()}


def _note(
    hints: dict[str, dict[LocationHint, None]],
    destinations: Iterable[str],
    hint: LocationHint,
    nouns: list[Noun] | None,
) -> None:
    for class_name in destinations:
        if nouns is None or any(class_name in noun.classes for noun in nouns):
            hints.setdefault(class_name, {})[hint] = None


def _is_destination(
    hint: LocationHint, destinations: dict[str, set[tuple[str, str]]], *, is_within: bool
) -> bool:
    """Whether a place is named only as a destination, or as the room around one."""
    return any(
        (not kind or bool(hint.furniture) or is_within) and hint.fits(kind, room)
        for goes_to in destinations.values()
        for kind, room in goes_to
    )


def _destinations(goal: Goal, layout: House) -> dict[str, set[tuple[str, str]]]:
    """The destinations of each object class: (furniture class or '', room class)."""
    found: dict[str, set[tuple[str, str]]] = {}
    for subgoal in goal.subgoals:
        for name in subgoal.first:
            if name in layout.furniture_by_name:
                continue
            goes_to = found.setdefault(name.rpartition("_")[0], set())
            for second in subgoal.second:
                piece = layout.furniture_by_name.get(second)
                room = piece.room if piece is not None else second.removeprefix("floor_")
                if room in layout.rooms_by_name:
                    kind = piece.class_name if piece is not None else ""
                    goes_to.add((kind, layout.rooms_by_name[room].class_name))
        for name in subgoal.second:
            if not _is_place(name, layout):
                found.setdefault(name.rpartition("_")[0], set())
    return found


def _is_place(name: str, layout: House) -> bool:
    room = name.removeprefix("floor_")
    return name in layout.furniture_by_name or room in layout.rooms_by_name


def _clauses(items: Iterable[Item]) -> list[list[Item]]:
    clauses: list[list[Item]] = [[]]
    for item in items:
        if isinstance(item, Noun) or item.text not in _CLAUSE_ENDS:
            clauses[-1].append(item)
        else:
            clauses.append([])
    return [clause for clause in clauses if clause]


def _is_object(item: Item) -> bool:
    return isinstance(item, Noun) and item.kind is NounKind.OBJECT


def _objects(items: Iterable[Item]) -> list[Noun]:
    return [i for i in items if isinstance(i, Noun) and i.kind is NounKind.OBJECT]


class _Clause:
    """The places in one clause, and the things that each of them refers to."""

    def __init__(self, items: list[Item], before: list[Noun]) -> None:
        """`before` are the objects of the previous clause, for "they are in the kitchen"."""
        self._items, self._before = items, before
        self.sure: list[tuple[_Place, list[Noun]]] = []
        self.left: list[tuple[_Place, list[Noun]]] = []
        # The flag: whether a preposition such as "in" precedes it ("in the kitchen, lay ...").
        self.besides: list[tuple[_Place, bool]] = []
        places = self._places()
        last: list[Noun] | None = None
        for place in places:
            at = self._preposition(place)
            word = self._word(at)
            nouns = self._listed(at)
            if self._list_goes_on(place):
                # "The bread, the cheese from the fridge and two apples": only the cheese.
                nouns = nouns[:1]
            between = self._between(at)
            goes_on = word in _RESTING and between <= _LISTING and bool(between & _JOINING)
            if goes_on and last is not None:
                self.sure.append((place, last))
            elif self._is_source(at, word, place, places):
                last = nouns
                self.sure.append((place, nouns))
            else:
                last = None
                if self._leaves(at, word) and self._is_left_behind(at):
                    self.left.append((place, nouns))
                elif word not in _GOING and not self._is_left_behind(at):
                    self.besides.append((place, word in _RESTING))

    def _word(self, at: int) -> str:
        item = self._items[at] if at >= 0 else None
        return item.text if item is not None and not isinstance(item, Noun) else ""

    def _places(self) -> list[_Place]:
        found = []
        at = 0
        while at < len(self._items):
            place = self._place(at)
            if place is None:
                at += 1
            else:
                found.append(place)
                at = place.end
        return found

    def _place(self, at: int) -> _Place | None:
        """The place starting here: "kitchen table", "table in the kitchen", or either alone."""
        noun = self._items[at]
        if not isinstance(noun, Noun) or noun.kind is NounKind.OBJECT:
            return None
        nothing: frozenset[str] = frozenset()
        if noun.kind is NounKind.ROOM:
            piece = self._noun(at + 1, NounKind.FURNITURE)
            if piece is not None:
                return _Place(at, at + 2, piece.classes, noun.classes)
            return _Place(at, at + 1, nothing, noun.classes)
        end = at + 1
        if self._word_at(end) in ("in", "of"):
            end += 1
            while self._word_at(end) in _DETERMINERS:
                end += 1
            room = self._noun(end, NounKind.ROOM)
            if room is not None:
                return _Place(at, end + 1, noun.classes, room.classes)
        hint = frozenset((noun.room_hint,)) if noun.room_hint else nothing
        return _Place(at, at + 1, noun.classes, hint)

    def _noun(self, at: int, kind: NounKind) -> Noun | None:
        item = self._items[at] if at < len(self._items) else None
        return item if isinstance(item, Noun) and item.kind is kind else None

    def _word_at(self, at: int) -> str:
        return self._word(at) if at < len(self._items) else ""

    def _preposition(self, place: _Place) -> int:
        """The index of the last word before the place, skipping articles and the like."""
        at = place.first - 1
        while at >= 0 and self._word(at) in _DETERMINERS and self._word(at - 1) != "out":
            at -= 1
        return at

    def _between(self, at: int) -> set[str]:
        """The words between a preposition and the preceding noun, or the clause's start."""
        found = set()
        at -= 1
        while at >= 0 and not isinstance(self._items[at], Noun):
            found.add(self._word(at))
            at -= 1
        return found

    def _is_source(self, at: int, word: str, place: _Place, places: list[_Place]) -> bool:
        if self._word(at - 1) in _SWITCHING:
            return False
        if self._leaves(at, word):
            return not self._is_left_behind(at)
        if word not in _RESTING:
            return False
        between = self._between(at)
        if between & _LYING:
            return not between & _DESIRED and not self._is_awaited(at)
        later = next((self._preposition(p) for p in places if p.first > place.first), -1)
        moved_on = self._word(later) in _GOING and not any(
            _is_object(item) for item in self._items[place.end : later]
        )
        attached = not between and at > 0 and _is_object(self._items[at - 1])
        # "The sponge in the entryway should ...", "the cup on the bed to the kitchen".
        return attached and (self._word_at(place.end) in _VERBS_AFTER or moved_on)

    def _leaves(self, at: int, word: str) -> bool:
        """Whether a preposition says that something leaves the place."""
        if self._word(at - 1) in _SWITCHING:
            return False
        return word in _LEAVING or (word == "of" and self._word(at - 1) == "out")

    def _is_left_behind(self, at: int) -> bool:
        """Whether a thing was taken out of the place, or is missing from it."""
        words = [self._word(i) for i in range(at)]
        return (
            "took" in words
            or words[-1:] == ["missing"]
            or any(a in _DONE_TO and b in _REMOVED for a, b in itertools.pairwise(words))
        )

    def _is_awaited(self, at: int) -> bool:
        while at >= 0 and self._word(at) != ",":
            if self._word(at) in _NOT_YET:
                return True
            at -= 1
        return False

    def _list_goes_on(self, place: _Place) -> bool:
        at = place.end
        if self._word_at(at) not in _JOINING:
            return False
        while self._word_at(at) in _LISTING:
            at += 1
        return at < len(self._items) and _is_object(self._items[at])

    def _listed(self, at: int) -> list[Noun]:
        """The nouns named last before a preposition, joined by a single "and"."""
        found: list[Noun] = []
        for item in reversed(self._items[: max(at, 0)]):
            if isinstance(item, Noun) and item.kind is NounKind.OBJECT:
                found.append(item)
            elif found and (isinstance(item, Noun) or item.text not in _LISTING):
                break
        if found:
            return found
        return self._before or _objects(self._items)
