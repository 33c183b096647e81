"""Statements of how things are or should be."""

from __future__ import annotations

from planner.language.drafts import Act, Do, Noun, Phrase, Pronoun, Way, Where
from planner.language.english import (
    BINDING,
    DOING,
    EDGE_FILLERS,
    EXISTING,
    GOES,
    GUESSING,
    HAS_BEEN,
    HAVE,
    MAY_BE,
    MAY_GO,
    MISPLACED,
    MODALS,
    NEEDS,
    NONE,
    OWNERS,
    PRESUMED,
    SHALL_BE,
    STATING,
    STAYS,
    TO_DO,
    VAGUE_RESULTS,
    WHERE_IT_IS,
    Words,
    words,
)
from planner.language.lexicon import Amount, Relation, Spot
from planner.language.lists import Segment
from planner.language.modifiers import opposite
from planner.language.occasion_frames import CHORES
from planner.language.people_frames import PeopleFrames
from planner.language.places import grouped
from planner.language.reading import AskReason
from planner.language.state_frames import Dos
from planner.language.verbs import Form

_MAY = MAY_BE | BINDING
_SHALL = _MAY | STATING
_STRESS = words("all both just really also still too now")
_VERBAL = words("should must need needs go goes belong belongs are is have has")
_STRESS_OF_STATES = words("all both also always currently still really either")
_LEAVING = words("left leaving put forgot dropped leaves putting forgotten placed saw seen")


class Statements(PeopleFrames):
    """Reads a subject with what is said of it."""

    def skip(self, at: int) -> int:
        """The position after words that change nothing."""
        i = at
        while (end := self._source.longest(i, EDGE_FILLERS)) or (
            i > at and self._source.word(i) == ","
        ):
            if end and (
                self._source.longest(i, TO_DO) >= end
                or self._source.longest(i, SHALL_BE) > end
                or self._source.longest(i, DOING) > end
            ):
                break
            if self._source.word(i) == "too" and self._source.word(end).isalpha():
                # "We need too clean cups" is no "also".
                break
            i = end or i + 1
        return i

    def _existing(self, at: int) -> Dos | None:
        """Reads "There is a pan on the stove", "see the umbrella next to the bench?"."""
        source = self._source
        i = source.longest(at, EXISTING)
        wherever = source.starts(at, "wherever", "no matter where")
        if wherever and (found := self.objects(wherever)):
            things, end = self.attach(found[0]), source.starts(found[1], "is", "are", "may be")
            return ([Do(Act.MENTION, things, at, end)], end) if end else None
        starting = source.starts(at, "start with", "begin with")
        if starting and (first := self.objects(starting)) and source.word(first[1]) == ":":
            return [Do(Act.MENTION, self.attach(first[0]), at, first[1])], first[1]
        if not i:
            return None
        i += source.word(i) == "still"
        if (segments := self.objects(i)) is None or not self._no_targets(segments[0]):
            return None
        things = self.attach(segments[0])
        for thing in things[:-1]:
            if isinstance(thing, Noun) and isinstance(last := things[-1], Noun) and not thing.where:
                thing.where = list(last.where)
        for thing in things:
            if isinstance(thing, Noun) and isinstance(thing.count, int):
                thing.definite = True
        needs = source.word(segments[1]) in ("that", "which") and source.starts(
            segments[1] + 1, "need", "needs", "should", "must", "has to", "have to"
        )
        if needs and (done := self._predicate_of(segments[1] + 1, things, at, wish=False)):
            return done
        return [Do(Act.MENTION, things, at, segments[1])], segments[1]

    def statement(self, at: int, *, wish: bool) -> Dos | None:
        """Reads "The plates should be on the table", "the doll goes into the basket"."""
        source = self._source
        if found := (
            self._left_somewhere(at) or self._none(at, wish=wish) or self._nothing(at, wish=wish)
        ):
            return found
        both = source.word(at) == "both" and source.word(at + 1) == "the"
        if (segments := self.objects(at + both, subject=True)) is None:
            return None
        parts, end = segments
        if any(
            isinstance(thing, Pronoun) and part.wheres for part in parts for thing in part.things
        ):
            return None
        if not self._no_targets(parts) or source.word(end) == "not":
            return None
        things = self.attach(parts)
        i = end
        while source.word(i) in _STRESS and source.word(i + 1) in _VERBAL:
            i += 1
        return self._predicate_of(i, things, at, wish=wish)

    def _none(self, at: int, *, wish: bool) -> Dos | None:
        """Reads "none of the lamps should be on", "neither the oven nor the tv may stay on"."""
        source = self._source
        i = source.longest(at, NONE)
        segments = self.objects(i, subject=True) if i else None
        if segments is None or not self._no_targets(segments[0]):
            return None
        things, end = self.attach(segments[0]), segments[1]
        if source.word(end) == "nor" and (other := self.item(end + 1)):
            things, end = [*things, other[0]], other[1]
        for thing in things:
            if isinstance(thing, Noun) and thing.bare:
                thing.count, thing.plural = Amount.ALL, True
        modal = source.longest(end, _SHALL if wish else _MAY)
        found = self._becomes(modal, things, at) if modal else None
        only_states = found and all(do.act is Act.MAKE for do in found[0])
        return self._kept_from(found) if found and only_states else None

    def _nothing(self, at: int, *, wish: bool) -> Dos | None:
        """Reads "nothing should be on the floor": what is there goes elsewhere."""
        source = self._source
        if not (i := source.starts(at, "nothing")):
            return None
        modal = source.longest(i, _SHALL if wish else _MAY)
        if source.word(modal or i) in ("left", "lying", "standing"):
            modal = (modal or i) + 1
        wheres, end = self.located(modal or i) if modal or wish else ([], i)
        if not wheres:
            return None
        thing = Noun("thing", at, i, plural=True, count=Amount.ALL)
        thing.where += grouped(wheres, unsure=True)
        away = Where(Relation.AT, Spot.ELSEWHERE, Way.TO, at, end)
        return [Do(Act.MOVE, [thing], at, end, [away])], end

    def _predicate_of(self, i: int, things: list[Phrase], at: int, *, wish: bool) -> Dos | None:
        """What a clause says of its subject."""
        source = self._source
        if misplaced := source.longest(i, MISPLACED):
            there, after = self.located(misplaced)
            if not there:
                return None
            to = grouped(there, unsure=True)
            return [Do(Act.NEVER, list(things), at, after, to, complaint=True)], after
        if source.word(i) in ("should", "must", "may", "shall") and source.starts(
            i + 1, "not be", "never be"
        ):
            found = self._becomes(i + 3, things, at)
            kept = self._kept_from(found) if found else None
            for do in kept[0] if kept else ():
                do.complaint = do.act is Act.NEVER and source.word(i) == "should" and (
                    source.word(i + 1) == "not"
                )  # fmt: skip
            return kept
        if stays := source.longest(i, STAYS):
            end = source.longest(stays, WHERE_IT_IS) or stays
            if end > stays or not source.word(end).isalnum():
                return [Do(Act.LEAVE, list(things), at, end)], end
            there, after = self.places(stays)
            if there and all(w.way is Way.STATIC and w.anchor is not None for w in there):
                self._describe(list(things), there)
                return [Do(Act.LEAVE, list(things), at, after)], after
        end = source.longest(i, MAY_GO)
        if end and (found := self._goes(self.skip(end), things, at)):
            return found
        if found := self._goes(i, things, at):
            return found
        end = source.longest(i, MODALS)
        if source.word(i) in ("has", "have") and source.starts(i + 1, "not been"):
            told = self._becomes(self.skip(i + 3), list(things), at)
            return self._told_not(told, things) if told and not wish else None
        if looks := source.starts(i, "would look", "would be", "looks", "look", "would feel"):
            wheres = self.places(looks + 1)
            if wheres[0] and source.word(looks) in VAGUE_RESULTS | {"lovely"}:
                to = grouped(wheres[0], unsure=True)
                return [Do(Act.MENTION, list(things), at, wheres[1], to)], wheres[1]
        if not end:
            return None
        modal = source.words[i:end]
        i = end
        if modal in NEEDS:
            return self._needs(i, things, at)
        negated = source.word(i) in ("not", "never")
        i += negated
        i = self.skip(i) if source.word(i) != "up" else i
        while source.word(i) in _STRESS_OF_STATES:
            i += 1
        # "My keys must be somewhere in the bedroom" is a guess, not a request.
        guessed = source.word(i) == "somewhere" and source.word(i + 1) not in ("else", "different")
        binding = wish or (modal in BINDING and not guessed)
        if (found := self._becomes(i, things, at)) is None:
            return None
        for do in found[0]:
            do.stated, do.presumed = True, modal in PRESUMED
        if not binding:
            if negated:
                return self._told_not(found, things) if modal in STATING | GUESSING else None
            return self._stated_fact(found, things, modal)
        if negated:
            return self._kept_from(found)
        return found

    @staticmethod
    def _kept_from(found: Dos) -> Dos | None:
        """Reads "Should not be on" is off; what has no opposite is forbidden."""
        kept: list[Do] = []
        for do in found[0]:
            if do.act is Act.MAKE and all(map(opposite, do.states)):
                do.states = [opposite(state) for state in do.states]
                kept.append(do)
            elif other := forbidden(do):
                kept.append(other)
        return (kept, found[1]) if kept else None

    def _told_not(self, found: Dos, things: list[Phrase]) -> Dos | None:
        """Reads "The plants have not been watered"."""
        for do in found[0]:
            if do.act is not Act.MAKE or not all(map(opposite, do.states)):
                return None
            do.states = [opposite(state) for state in do.states]
        return self._stated_fact(found, things, ("are",))

    def _stated_fact(self, found: Dos, things: list[Phrase], modal: Words) -> Dos | None:
        """What is stated as a fact describes the things."""
        if modal not in STATING | GUESSING:
            return None
        dos, end = found
        if modal in HAS_BEEN and any(do.act is Act.MOVE for do in dos):
            return None
        told = [where for do in dos for where in do.to], [s for do in dos for s in do.states]
        return [Do(Act.MENTION, list(things), dos[0].start, end, *told, told=True)], end

    def _becomes(self, i: int, things: list[Phrase], at: int) -> Dos | None:
        """A state, participle or place behind a form of "be"."""
        source = self._source
        candidates = [
            self.verb_phrase(i, {Form.PAST}, list(things)),
            self.result(i, [Segment(list(things))], at),
        ]
        reading = max((c for c in candidates if c), key=lambda c: c[1], default=None)
        if reading is not None:
            for do in reading[0]:
                do.start = at
            return reading
        arrangement = self.arrangement(i)
        spread, j = arrangement if arrangement else (None, i)
        wheres, end = self.places(j)
        if spread is None and (late := self.arrangement(end + (source.word(end) == ","))):
            spread, end = late[0], late[1]
        if not wheres and spread is None:
            return None
        if any(where.way is Way.FROM for where in wheres):
            if len(wheres) != 1 or spread is not None:
                return None
            for thing in things:
                if isinstance(thing, Noun):
                    thing.where.append(wheres[0])
            wheres = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, i, end)]
        return [
            Do(Act.MOVE, list(things), at, end, grouped(wheres, unsure=True), arrangement=spread)
        ], end

    def _goes(self, i: int, things: list[Phrase], at: int) -> Dos | None:
        source = self._source
        if not (end := source.longest(i, GOES)):
            return None
        spread = self.arrangement(end)
        wheres, after = self.places(spread[1] if spread else end)
        if spread is None and (late := self.arrangement(after + (source.word(after) == ","))):
            spread, after = late, late[1]
        if not wheres and spread is None:
            return None
        origins = [w for w in wheres if w.way is Way.FROM]
        if origins and len(origins) == len(wheres):
            return None
        self._describe(things, origins)
        wheres = [w for w in wheres if w.way is not Way.FROM]
        kind = spread[0] if spread else None
        to = grouped(wheres, unsure=True)
        do = Do(Act.MOVE, list(things), at, after, to, arrangement=kind, stated=True)
        return [do], after

    def _needs(self, i: int, things: list[Phrase], at: int) -> Dos | None:
        """Reads "The dishes need washing", "the plants need some water"."""
        source = self._source
        found = self.verb_phrase(i, {Form.ING}, list(things))
        if found and all(do.act in (Act.MAKE, Act.PREPARE, Act.MOVE) for do in found[0]):
            return found
        j = (
            source.starts(i, "a quick", "a good", "a", "some", "a little", "a thorough", "a proper")
            or i
        )
        if state := CHORES.get(source.word(j)):
            return self._make(list(things), [state], at, j + 1)
        if source.word(i) in ("moving", "sorting"):
            raise source.ask(AskReason.WHERE, at, i - 1)
        return None

    def _left_somewhere(self, at: int) -> Dos | None:
        """Reads "I left the phone in the kitchen": says where things are."""
        source = self._source
        if not (subject := source.longest(at, OWNERS)):
            return None
        i = source.longest(subject, HAVE) or subject
        if source.word(i) not in _LEAVING:
            return None
        segments = self.objects(i + 1)
        if (
            segments is None
            or not self._no_targets(segments[0])
            or not any(p.wheres for p in segments[0])
        ):
            return None
        return [Do(Act.MENTION, self._left_there(segments[0]), at, segments[1])], segments[1]

    def _left_there(self, parts: list[Segment]) -> list[Phrase]:
        """Things of a statement, all where the last is: "he left his cap and gloves on the bed"."""
        things = self.attach(parts)
        last = things[-1]
        for thing in (t for t in things if isinstance(t, Noun)):
            if isinstance(last, Noun) and not thing.where:
                thing.where = list(last.where)
            thing.definite = thing.definite or isinstance(thing.count, int)
        return things


def forbidden(do: Do) -> Do | None:
    """A request turned into a prohibition."""
    match do.act:
        case Act.LEAVE:
            return do
        case Act.MOVE if do.taken:
            do.act, do.to = Act.LEAVE, []
        case Act.MOVE | Act.MAKE:
            do.act = Act.NEVER
        case Act.MENTION:
            do.act = Act.LEAVE
        case _:
            return None
    return do
