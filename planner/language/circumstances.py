"""Sentences that ask for nothing by themselves: what is going on, and what requests are for."""

from __future__ import annotations

from planner.language.drafts import Act, Do, Noun
from planner.language.english import (
    AIM,
    ARTICLES,
    AUXILIARIES,
    BINDING_MORE,
    FILLERS,
    FIRST,
    HARMLESS_KINDS,
    JOINT_OCCASIONS,
    JOINTLY,
    NAMED_LATER,
    NUMBERS,
    OCCASIONS,
    OPENERS,
    PAST,
    PEOPLE,
    PREPOSITION_WORDS,
    PRONOUNS,
    SHALL_BE,
    THE,
    TO_DO,
    VAGUE_MOVES,
    VAGUE_THINGS,
    WANTING,
    phrases,
    products,
    table,
    words,
)
from planner.language.lexicon import Part
from planner.language.lists import Segment
from planner.language.places import is_furniture, is_room
from planner.language.reading import STOPS
from planner.language.remarks import Remarks
from planner.language.verbs import Form, Frame, verbs_at

_ASKING = TO_DO | SHALL_BE
_THERE_ARE = products(
    "there will be|there are|there is|we are|we will be|it is|it will be|that is", "just|only|"
)
_TIME_UNITS = words(table("time units"))
_SUBJECTS = PRONOUNS | ARTICLES | PEOPLE | {"any", "of"}
_LIMIT = 16
"""How many words one circumstance has at most."""
_WANTING_TO = phrases(table("aim"))


class Circumstances(Remarks):
    """Reads clauses that only say what is going on."""

    def _rest(self, at: int) -> int:
        if not self._sentence and (end := self._circumstance(at)):
            return end
        if self._goes_on_wishing(at):
            raise self._source.unknown(at, self._clause_end(at))
        return super()._rest(at) or self._circumstance(at)

    def _goes_on_wishing(self, at: int) -> bool:
        """Whether one more of several wishes stands here, as in "and the door is closed"."""
        source = self._source
        listed = source.word(at - 1) == "and" or source.word(self._clause_end(at)) == ","
        wished = self._wishing and bool(self._sentence) and listed
        return wished and source.word(at) in THE and not self._somebody_is(at)

    def _people_said(self, at: int) -> int:
        """Reads "there will be four of us", "it is just me": for how many a table is set."""
        source = self._source
        if not (i := source.longest(at, _THERE_ARE)):
            return 0
        number = NUMBERS.get(source.word(i), 0)
        alone = source.starts(i, "me", "just me", "only me", "the one of us")
        end = alone or (i + 1)
        stop = self._clause_end(end)
        said = source.words[end:stop]
        counted = {"us", "people", "guests", "persons", "visitors"} & set(said)
        if not alone and (not number or not (counted or len(said) <= 2)):
            return 0
        if any(map(self._names, range(end, stop))):
            return 0
        people = 1 if alone else number
        last = self._previous[-1] if self._previous else None
        if last is not None and last.act is Act.PREPARE and not last.people:
            last.people = people
        else:
            self._said_number = (people, at, stop)
        return stop

    def _circumstance(self, at: int) -> int:
        """The position after a statement that no request depends on; 0 if there is none."""
        source = self._source
        i = at
        while end := source.longest(i, OPENERS) or source.longest(i, FILLERS):
            i = end
            if source.word(i) == ",":
                i += 1
        stop = self._circumstance_end(i)
        said = source.words[i:stop]
        if not 2 <= len(said) <= _LIMIT or not self._has_subject(i):
            return 0
        fresh = not (self._previous and self._sentence)
        binds = BINDING_MORE & set(said) or any(source.longest(k, WANTING) for k in range(i, stop))
        if fresh and not binds and not self._unknown_thing(i, stop) and self._about(i, stop):
            return stop
        if not self._finite(i, stop):
            return 0
        if binds:
            return self._aim(i, stop)
        if any(self._counts(k) for k in range(i, stop)):
            return 0
        kinds = [k for k in range(i, stop) if self._names(k)]
        if self._previous:
            return stop if self._says_why(i, stop, kinds) else 0
        if any(source.longest(k, PREPOSITION_WORDS) for k in range(i, stop) if kinds):
            # "My glasses fell behind the couch" says where they are.
            return 0
        self._mention(i, stop)
        return stop

    def _has_subject(self, at: int) -> bool:
        """Whether a clause begins with who or what it is about, and not with what to do."""
        source = self._source
        word = source.word(at)
        return (
            word in _SUBJECTS or word in NUMBERS or word.isdecimal() or self._is_thing(at)
            or source.word(at + 1) in AUXILIARIES | PAST | {"'s"}
        )  # fmt: skip

    def _counts(self, at: int) -> bool:
        """Whether a number stands here that is not a time: "in five minutes"."""
        word = self._source.word(at)
        if NUMBERS.get(word, 0) <= 1 and not word.isdecimal():
            return False
        return self._source.word(at + 1) not in _TIME_UNITS and (
            self._source.word(at - 1) not in ("at", "by", "until", "till", "since")
        )

    def _about(self, at: int, stop: int) -> bool:
        """Notes what a statement is about, with where that is.

        "The orchid in the hall looks thirsty", "I cannot reach the vase on top of the fridge".
        """
        source = self._source
        found = self.objects(at, subject=True) if source.word(at) not in PRONOUNS else None
        if found is not None and found[1] < stop and self._no_targets(found[0]):
            verb = source.word(found[1])
            inflected = verb.endswith("s") or verb in AUXILIARIES | PAST
            rest = range(found[1], stop)
            if not inflected or any(map(self._names, rest)):
                return False
            said = any(source.longest(k, PREPOSITION_WORDS) for k in rest[:3])
            if said and self.located(found[1] + 1)[0]:
                return False
            return self._note(found[0], at, stop)
        for k in range(at + 1, min(at + 6, stop)):
            if not self._names(k) and source.word(k) not in ARTICLES:
                continue
            found = self.objects(k)
            # "Toaster the bread in the box" says nothing of either.
            unsaid = k == at + 1 and self._is_thing(at)
            if unsaid or found is None or found[1] != stop or not self._no_targets(found[0]):
                return False
            return any(p.wheres for p in found[0]) and self._note(found[0], k, stop)
        return False

    def _note(self, parts: list[Segment], at: int, stop: int) -> bool:
        """Makes things what "it" and "them" can mean."""
        things = self._left_there(parts)
        if not all(isinstance(thing, Noun) and thing.kind for thing in things):
            return False
        self._discourse.accept(Do(Act.MENTION, things, at, stop))
        return True

    def _circumstance_end(self, at: int) -> int:
        """Where the clause ends: at a mark, or before "so" and "and" with a command."""
        source, i = self._source, at
        while i < source.size and source.word(i) not in STOPS | {","}:
            asks = source.longest(i, _ASKING) > i + 1
            joins = source.word(i) in ("so", "and", "please") or asks
            if i > at + 1 and joins and self._command_at(i + (source.word(i) in ("so", "and"))):
                break
            i += 1
        return i

    def _command_at(self, at: int) -> bool:
        return self.clause(self.skip(at)) is not None

    def _finite(self, at: int, stop: int) -> bool:
        """Whether a subject and a finite verb stand here."""
        source = self._source
        word = source.word(at)
        i = at + 1
        pronoun = word in PRONOUNS
        if word in ARTICLES and not (pronoun and source.word(i) in AUXILIARIES):
            pronoun = False
        elif not pronoun and word not in PEOPLE and any(verbs_at(source.words, at)):
            # "Wash the cups" is a command.
            return False
        for k in range(i, min(stop, at + 6)):
            verb = source.word(k)
            if verb in AUXILIARIES or verb in PAST:
                return True
            if source.longest(k, PREPOSITION_WORDS):
                return False
            if pronoun and k <= at + 2 and verb.isalpha():
                inflected = [f for f in verbs_at(source.words, k) if Form.BASE in f.forms]
                # "I dry them" is what the speaker does.
                handled = {"it", "them", "these", "those"} & set(source.words[k:stop])
                return not ((inflected or handled) and word in ("i", "we", "they"))
            if self._names(k) or verb in PEOPLE:
                continue
            if verb.endswith(("ed", "es", "s")) and len(verb) > 3:
                return True
        return False

    def _names(self, at: int) -> bool:
        """Whether a thing, piece of furniture or room is named."""
        match = self._source.match(at)
        word = self._source.word(at)
        if match is None or (match.length == 1 and word in HARMLESS_KINDS) or word in PEOPLE:
            return False
        if word == "bed" and self._source.word(at - 1) in ("to", "in"):
            # "I am going to bed": no bed that anything is put on.
            return False
        return any(sense.part is Part.KIND for sense in match.senses)

    def _says_why(self, at: int, stop: int, kinds: list[int]) -> bool:
        """Whether a clause after a request gives a reason, and does not describe anything."""
        source = self._source
        said = source.words[at:stop]
        if {"it", "them", "these", "those"} & set(said[1:]) and source.word(at) in ("i", "we"):
            working = any(
                Form.BASE in found.forms for k in range(at + 1, stop)
                for found in verbs_at(source.words, k) if source.word(k) not in AUXILIARIES
            )  # fmt: skip
            if working:
                # "I dry them" is what the speaker does.
                return False
        if not kinds:
            located = [k for k in range(at, stop) if source.longest(k, PREPOSITION_WORDS)]
            pointing = source.word(at) in ("it", "they") and bool(located)
            return not (pointing and {"here", "there", "it", "them", "that"} & set(said[1:]))
        # "I dropped a glass": something new, in the past.
        past = bool(PAST & set(said)) or any(word.endswith("ed") for word in said)
        fresh = all(source.word(k - 1) in ("a", "an", "some", "of", "any", "my") for k in kinds)
        return past and fresh and source.word(at) not in ("it", "they")

    def _aim(self, at: int, stop: int) -> int:
        """Reads "I want to hear the news" after a request."""
        source = self._source
        end = source.longest(at, _WANTING_TO)
        if not end or not self._previous or source.word(end) not in AIM:
            return 0
        return 0 if any(self._names(k) for k in range(end, stop)) else stop


# Sentences that announce what the requests after them are for: "let's set up a snack".

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
        if not (verb := self._announcing(i, joint=bool(joint))):
            return 0
        vague = bool(source.longest(i, VAGUE_MOVES))
        if vague and self.order.requests:
            # "Put the pen on the desk. Move these items to the hall": what was named before.
            return 0
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
        named = self.item(at + 1) if source.word(at) in ("organize", "organise") else None
        tidied = (
            named and isinstance(named[0], Noun) and (is_room(named[0]) or is_furniture(named[0]))
        )
        if named and tidied and source.word(named[1]) in STOPS | {"by"}:
            # "Organize the office. Put the pens in the box".
            return at + 1
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
            if (found := self.noun(i)) is None:
                i += 1
                continue
            rooms += [noun for noun in [found[0]] if is_room(noun)]
            rooms += [
                w.anchor for w in found[0].where if isinstance(w.anchor, Noun) and is_room(w.anchor)
            ]
            i = found[1]
        return rooms
