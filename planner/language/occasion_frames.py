"""Verbs that stand for several requests: setting a table, tidying, making coffee."""

from __future__ import annotations

from planner.language.drafts import Act, Do, Noun, Phrase, Pronoun, Way, Where
from planner.language.english import (
    NUMBERS,
    PEOPLE,
    THE,
    VAGUE_RESULTS,
    meanings,
    phrases,
    table,
    words,
)
from planner.language.lexicon import Occasion, Relation, whole_of
from planner.language.places import grouped, is_furniture, is_room
from planner.language.reading import AskReason
from planner.language.state_frames import Dos, StateFrames, can
from planner.language.verbs import Frame, Verb

_TABLES = frozenset({"table", "dining table", "kitchen table", "coffee table", "side table"})
CHORES = {said[0]: state for said, state in meanings("chores").items()}

_COUNTED = words(table("counted"))
_PERSONS = words(table("persons"))
_MEALS = words("dinner breakfast lunch tea supper brunch tonight me us guests")
_SOME_DRINK = phrases(table("some drink"))
_QUICK = words("quick good proper thorough little nice bit of fresh")


class OccasionFrames(StateFrames):
    """Reads verbs of occasions."""

    def _set_table(self, start: int, i: int) -> Dos | None:
        found = self.item(i)
        if found is None or not isinstance(found[0], Noun) or found[0].kind not in _TABLES:
            return None
        table, i = found[0], found[1]
        wheres, end = self.places(i)
        if wheres and not all(isinstance(w.anchor, Noun) and is_room(w.anchor) for w in wheres):
            return None
        self._describe([table], wheres)
        things = self.objects(end + 1) if self._source.word(end) == "with" else None
        placed = things and any(part.wheres for part in things[0])
        if things is not None and not placed and self._no_targets(things[0]):
            # "Set the table with two plates and a jug": just these.
            to = [Where(Relation.ON_TOP, table, Way.TO, start, end)]
            return [Do(Act.MOVE, self.attach(things[0]), start, things[1], to)], things[1]
        people, end = self.people(end)
        if not wheres:
            wheres, end = self.places(end)
            if not all(isinstance(w.anchor, Noun) and is_room(w.anchor) for w in wheres):
                return None
            self._describe([table], wheres)
        return [self._prepare(Occasion.SET_TABLE, start, end, table, people)], end

    def people(self, at: int) -> tuple[int | None, int]:
        """Reads "For two (people)", and for what meal."""
        source = self._source
        people, i = None, at
        while source.word(i) == "for":
            j = i + 1 + (source.starts(i + 1, "all") > 0)
            j += source.word(j) in THE
            said = source.word(j)
            if number := NUMBERS.get(said) or (
                int(said) if said.isdecimal() and len(said) < 4 else None
            ):
                people, i = number, j + 1
                i += source.word(i) in _COUNTED
                i += source.word(i) == "us"
            elif named := self._named_people(i):
                people, i = named
            elif source.word(j) in _MEALS:
                i = j + 1
            else:
                break
        return people, i

    def _guests(self, at: int) -> int:
        """The position after "the guests", whose place is not known; 0 if it is somewhere."""
        i = at + (self._source.word(at) in THE)
        return i + 1 if self._source.word(i) in PEOPLE else 0

    def _named_people(self, at: int) -> tuple[int, int] | None:
        """Reads "for me and my wife" as two."""
        source = self._source
        number, i = 0, at
        while source.word(i) in ("for", "and", ","):
            j = i + 1 + (source.word(i) == "," and source.word(i + 1) == "and")
            j += source.word(j) in THE
            if source.word(j) not in _PERSONS:
                break
            number, i = number + 1, j + 1
        return (number, i) if number > 1 else None

    @staticmethod
    def _prepare(
        occasion: Occasion, start: int, end: int, at: Phrase | None, people: int | None
    ) -> Do:
        things: list[Phrase] = [at] if at else []
        return Do(Act.PREPARE, things, start, end, occasion=occasion, people=people)

    def tidy(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """TIDY: rooms and furniture."""
        if (segments := self._segments(i, given)) is None:
            wheres, end = self.places(i)
            room = wheres[0].anchor if len(wheres) == 1 else None
            if isinstance(room, Noun) and is_room(room):
                return [self._prepare(Occasion.TIDY, start, end, room, None)], end
            if len(wheres) == 1 and room is None and self._source.word(i) != "back":
                # "The playroom is a mess. Tidy up in there".
                there = Pronoun("it", 1, i, end)
                return [self._prepare(Occasion.TIDY, start, end, there, None)], end
            if wheres or not self._ends(i):
                return None
            raise self._source.ask(AskReason.WHERE, start, i)
        parts, end = segments
        end += self._source.word(end) == "up"
        things = self.attach(parts)
        found = []
        for thing in things:
            if not isinstance(thing, Pronoun) and not (
                isinstance(thing, Noun)
                and (is_room(thing) or is_furniture(thing) or thing.kind == "floor")
            ):
                return None
            found.append(self._prepare(Occasion.TIDY, start, end, thing, None))
        return found, end

    def _ends(self, at: int) -> bool:
        return not self._source.word(at)[:1].isalnum()

    def _chore(self, start: int, i: int) -> Dos | None:
        """Reads "Give the towel a wash", "give the room a quick tidy"."""
        source = self._source
        if (segments := self.objects(i)) is None:
            return None
        parts, end = segments
        extra = parts[-1].things[-1]
        j = source.starts(end, "a", "another", "some")
        if not j or (isinstance(extra, Noun) and extra.start == end):
            return None
        while source.word(j) in _QUICK:
            j += 1
        word = source.word(j)
        if word in VAGUE_RESULTS and source.word(j + 1) in ("feel", "look", "touch", "vibe"):
            raise source.ask(AskReason.DONE, j, j + 2)
        if word in CHORES:
            return self._make(self.attach(parts), [CHORES[word]], start, j + 1)
        if word in ("tidy", "clean up", "tidying"):
            things = self.attach(parts)
            rooms = [t for t in things if isinstance(t, Noun)]
            return [self._prepare(Occasion.TIDY, start, j + 1, room, None) for room in rooms], j + 1
        return None

    def _drinks(self, at: int) -> Dos | None:
        """Reads "coffee for three"."""
        if self._source.word(at) not in ("coffee", "tea") or self._source.word(at + 1) != "for":
            return None
        return self.brew(Verb("make", Frame.BREW), at, at, None)

    def brew(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """BREW: "coffee", "toast, coffee and tea"."""
        if given is not None:
            return None
        found = self._brewed(start, i + (self._source.word(i) in ("me", "us")))
        while found is not None:
            dos, end = found
            j = end + (self._source.word(end) == ",")
            j += self._source.word(j) == "and"
            if (more := self._brewed(j, j) if j > end else None) is None:
                break
            found = [*dos, *more[0]], more[1]
        return found

    def _brewed(self, start: int, i: int) -> Dos | None:
        """One drink, or toast."""
        source = self._source
        bread = self.item(i)
        if source.word(i) == "toast":
            return self._make([Noun("bread slice", i, i + 1)], ["toasted"], start, i + 1)
        if bread and isinstance(bread[0], Noun) and source.word(bread[1] - 1) == "toast":
            return self._make([bread[0]], ["toasted"], start, bread[1])
        making = source.word(start) in ("make", "prepare")
        if making and bread and isinstance(bread[0], Noun) and (whole := whole_of(bread[0].kind)):
            # "Make two slices of tomato".
            return self._make([Noun(whole, i, bread[1])], ["sliced"], start, bread[1])
        i = source.longest(i, _SOME_DRINK) or i
        drink = {"coffee": Occasion.MAKE_COFFEE, "tea": Occasion.MAKE_TEA}.get(source.word(i))
        if drink is None:
            return None
        people, end = self.people(i + 1)
        j = end + (source.word(end) == ",")
        wheres, after = self.places(j)
        served = source.word(start) == "serve" and source.word(i - 1) != "the"
        if served and source.word(j) == "to" and (guest := self._guests(j + 1)):
            raise source.ask(AskReason.WHERE, j, guest)
        rooms = [w.anchor for w in wheres if isinstance(w.anchor, Noun) and is_room(w.anchor)]
        vessels = [w.anchor for w in wheres if w.relation is Relation.IN and w.way is Way.STATIC]
        if len(vessels) == 1 == len(wheres) and not rooms and drink is Occasion.MAKE_COFFEE:
            # "Make coffee in a clean mug".
            things = [anchor for anchor in vessels if isinstance(anchor, Noun)]
            if things and can(things[0], "fillable"):
                return self._make(list(things), ["filled with coffee"], start, after)
        on_top = wheres[:1] and wheres[0].relation in (Relation.ON_TOP, Relation.AT)
        if served and on_top and len(wheres := grouped(wheres, unsure=False)) == 1:
            # "Serve coffee on the table".
            rooms = [w.anchor for w in wheres if isinstance(w.anchor, Noun)]
        if len(rooms) == len(wheres) == 1 and wheres[0].way is not Way.FROM:
            # "Coffee for three in the living room".
            return [self._prepare(drink, start, after, rooms[0], people)], after
        return [self._prepare(drink, start, end, None, people)], end
