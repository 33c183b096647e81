"""Sentences that announce what the requests after them are for: "let's set up a snack"."""

from __future__ import annotations

from planner.language.circumstances import Circumstances
from planner.language.clause_words import TO_DO
from planner.language.drafts import Noun
from planner.language.english import FIRST, phrases
from planner.language.places import is_room
from planner.language.text_words import (
    JOINT_OCCASIONS,
    JOINTLY,
    NAMED_LATER,
    OCCASIONS,
    VAGUE_MOVES,
    VAGUE_THINGS,
)
from planner.language.tokens import STOPS
from planner.language.verbs import Form, Frame, verbs_at

_OPENING = FIRST | phrases("please|oh|ok|hey")
_MOTION = frozenset({Frame.PUT, Frame.CARRY, Frame.FETCH, Frame.GIVE})


class Announcements(Circumstances):
    """Reads announcements; the room they name is where later furniture is."""

    def _announcement(self, at: int) -> int:
        """The position after an announcement; 0 if there is none, or no request follows."""
        source = self._source
        if self._sentence:
            return 0
        i = at
        while end := source.longest(i, _OPENING) or (i > at and source.word(i) == "," and i + 1):
            i = end
        polite = source.longest(i, TO_DO)
        joint = source.longest(i, JOINTLY)
        i = max(i, polite, joint)
        verb = self._announcing(i, joint=bool(joint))
        if not verb:
            return 0
        vague = bool(source.longest(i, VAGUE_MOVES))
        end = verb
        while end < source.size and source.word(end) not in STOPS | {"by", ","}:
            if source.word(end) in ("and", "then", "so") and any(
                Form.BASE in found.forms for found in verbs_at(source.words, end + 1)
            ):
                return 0
            end += 1
        if source.word(end) == "by":
            if not self.verb_phrase(end + 1, {Form.ING}):
                return 0
            self._forms = frozenset({Form.ING})
            end += 1
        elif source.word(end) not in STOPS or not self._requests_after(end):
            return 0
        room = self._room_in(verb, end)
        if room is not None and vague and self._other_room(room, end):
            return 0
        self._discourse.within(room)
        return end

    def _announcing(self, at: int, *, joint: bool) -> int:
        source = self._source
        if end := source.longest(at, OCCASIONS) or (
            source.longest(at, JOINT_OCCASIONS) if joint else 0
        ):
            return end
        if (end := source.longest(at, VAGUE_MOVES)) and (
            things := source.longest(end, VAGUE_THINGS)
        ):
            rest = source.words[things : self._clause_end(things)]
            later = not rest or bool(NAMED_LATER & set(rest)) or rest[0] == "to"
            return things if later else 0
        return 0

    def _requests_after(self, at: int) -> bool:
        """Whether a sentence behind a mark begins with a command to move something."""
        source = self._source
        i = at + 1
        while i < source.size:
            start = self.skip(i)
            start = source.longest(start, FIRST) or start
            start = self.skip(start + (source.word(start) == ","))
            if {"should", "must"} & set(source.words[start : self._clause_end(start)]):
                return True
            if any(
                found.verb.frame in _MOTION and Form.BASE in found.forms
                for found in verbs_at(source.words, start)
            ):
                return True
            i = self._clause_end(i) + 1
        return False

    def _other_room(self, room: Noun, at: int) -> bool:
        """Whether "move these objects to the hall" goes on with a place in another room."""
        return any(
            other.kind != room.kind and self._source.word(other.start - 1) != "from"
            for other in self._rooms_in(at, self._source.size)
        )

    def _room_in(self, start: int, end: int) -> Noun | None:
        """The one room that is named between two words."""
        rooms = self._rooms_in(start, end)
        return rooms[0] if len(rooms) == 1 else None

    def _rooms_in(self, start: int, end: int) -> list[Noun]:
        rooms: list[Noun] = []
        i = start
        while i < end:
            found = self.noun(i)
            if found is None:
                i += 1
                continue
            rooms += [noun for noun in [found[0]] if is_room(noun)]
            rooms += [
                w.anchor for w in found[0].where if isinstance(w.anchor, Noun) and is_room(w.anchor)
            ]
            i = found[1]
        return rooms
