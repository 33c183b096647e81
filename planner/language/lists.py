"""Lists of things, each with the places behind it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from planner.language.drafts import Either, Noun, Phrase, Pronoun, Way, Where
from planner.language.drafts import Pronoun as _Pronoun
from planner.language.english import (
    CHOICE,
    FILLERS,
    NUMBERS,
    PREPOSITION_WORDS,
    THE,
    phrases,
    table,
    words,
)
from planner.language.lexicon import Amount, Arrangement, Relation, Spot, can_be, includes
from planner.language.modifiers import EXCEPT, Modified
from planner.language.nouns import describe
from planner.language.places import ON_A_SIDE, grouped, is_furniture, is_room
from planner.language.reading import STOPS, AskReason
from planner.language.verbs import Form, verbs_at

# One thing of a list, what joins it to the next, and what is left out.

_AND = phrases(table("and"))
# After these a noun phrase was the subject of a clause of its own.
PREDICATES = words(table("predicates"))
_DEEDS = words("play eat read sit sleep cook write wear exercise")
_PLURAL_PREDICATES = frozenset({"go", "belong", "are", "have", "need", "come", "want", "stay"})


class Items(Modified):
    """Reads the parts of lists."""

    def item(self, at: int) -> tuple[Phrase, int] | None:
        """A noun phrase that cannot be the beginning of a clause."""
        source = self._source
        if source.word(at) == "can" and source.word(at + 1) in ("you", "i", "we"):
            return None
        either = source.word(at) == "either"
        if (found := self.described(at + either)) is None:
            return None
        if isinstance(found[0], Noun) and source.word(found[1]) == "or":
            if (other := self.described(found[1] + 1)) is None or not isinstance(other[0], Noun):
                return None
            return Either([found[0], other[0]], at, other[1]), other[1]
        if either:
            return None
        if isinstance(found[0], Noun) and found[0].bare and not found[0].plural:
            placed = source.longest(found[1], PREPOSITION_WORDS) > 0
            verbal = any(
                Form.BASE in v.forms and at + v.length >= found[1] + placed
                for v in verbs_at(source.words, at)
            )
            if verbal or source.word(found[1]) in THE | {"a", "an", "it", "them", "all"}:
                return None
            if found[0].kind in _DEEDS and not found[0].described:
                # "Play on the laptop": the word for toys is what one does here.
                return None
        return found

    def _joined(self, at: int) -> int:
        """The position after "and" or a comma in a list; 0 if the list ends."""
        source = self._source
        i = at + (source.word(at) == ",")
        if source.longest(i, CHOICE):
            return 0
        for word in (" too", " as well", " also"):
            if end := source.starts(i, word.strip()):
                i = end + (source.word(end) == ",")
                break
        end = source.longest(i, _AND)
        if i == at and source.word(i).isdecimal() and self.item(i):
            # "1 cup 1 plate 2 forks".
            return i
        if not end:
            return i if i > at and source.word(i - 1) == "," else 0
        for filler in ("also", "both", "maybe", "finally", "even"):
            if source.word(end) == filler and filler != "both":
                end += 1
        return end

    def _exceptions(self, at: int, things: list[Phrase]) -> int:
        """Reads "Except the red one", added to what it is an exception from."""
        source = self._source
        i = at + (source.word(at) == ",")
        if also := source.starts(i, "not just", "not only", "and not just", "and not only"):
            # "All of the books, not just the new ones".
            more = self.item(also)
            every = all(isinstance(t, Noun) and t.count is Amount.ALL for t in things)
            return more[1] + (source.word(more[1]) == ",") if more and things and every else at
        free = self._freely(i, things)
        i += free
        end = source.longest(i, EXCEPT | phrases("all but|all except"))
        if end and (left := NUMBERS.get(source.word(end))) and not self.item(end):
            # "The books, all but two".
            for thing in things:
                if isinstance(thing, Noun) and thing.count is Amount.ALL:
                    thing.but.append(Noun(thing.kind, end, end + 1, left > 1, left))
            return end + 1
        if (
            not end
            and source.starts(i, "but")
            and not source.longest(i + 1, FILLERS)
            and (free or any(isinstance(t, Noun) and t.count is Amount.ALL for t in things))
        ):
            end = i + 1 if self.item(i + 1) else 0
        instead = 0 if end else source.starts(i, "not", "and not", "rather than", "instead of")
        end = end or (instead if i > at or source.word(i) != "not" else 0)
        if not end:
            return at
        found = self.item(end)
        if found is None or (source.word(found[1]) in PREDICATES and source.word(i) == "but"):
            return at
        _, placed = self.places(found[1])
        if source.word(i) == "but" and placed > found[1] and source.word(placed) in PREDICATES:
            one = isinstance(found[0], Noun) and found[0].count == 1
            if not one or source.word(placed) not in _PLURAL_PREDICATES:
                # "All lamps off, but the one on the desk should be on."
                return at
        contrasted = source.word(end - 1) != "from" and "not" in source.words[i:end]
        contrasted = contrasted or (end == instead and bool(instead))
        out, i = [found[0]], found[1]
        if isinstance(out[0], Pronoun) and out[0].word in ("those", "these", "ones"):
            out[0] = Noun("", end, i, plural=True, count=Amount.ALL)
        if wheres := self.places(i)[0]:
            anchored = [w for w in wheres if w.way is Way.STATIC]
            if (
                len(anchored) == len(wheres)
                and isinstance(out[0], Noun)
                and not any(w.anchor is None or isinstance(w.anchor, Spot) for w in wheres)
                and (
                    source.word(self.places(i)[1]) not in PREDICATES
                    or source.word(i - 1) in ("one", "ones", "those", "these")
                )
                and things
                and (self._placed_before(things) or not out[0].kind)
            ):
                out[0].where += grouped(wheres, unsure=True)
                i = out[0].end = self.places(i)[1]
        while joined := self._joined(i):
            found = self.item(joined)
            if found is None or (source.word(found[1]) in PREDICATES and source.word(i) != "and"):
                break
            out.append(found[0])
            i = found[1]
        wholes = [t for t in things if isinstance(t, Noun) and t.count is Amount.ALL and t.kind]
        for noun in out if wholes and not contrasted else ():
            if isinstance(noun, Noun) and noun.kind and not any(
                includes(t.kind, noun.kind) or includes(noun.kind, t.kind) for t in wholes
            ):  # fmt: skip
                # "All the cups but only one plate" leaves nothing out.
                raise source.unknown(end - 1, noun.end)
        if source.word(i) == "," and (self.place(i + 1) or source.word(i + 1) in PREDICATES):
            i += 1
        chosen = [thing for thing in things if isinstance(thing, Noun) and _is_open(thing)]
        if len(chosen) > 1 and any(not noun.kind for phrase in out for noun in _options(phrase)):
            # "A cup and a plate, just not the red one".
            raise source.ask(AskReason.WHICH, end, i)
        for thing in things:
            if isinstance(thing, Noun) and _is_open(thing) and _kinds_within(thing, out):
                # "A fruit, anything but a banana", "a cup, just not the red one".
                thing.but += _every(out, thing.kind)
            elif isinstance(thing, Noun) and thing.count is not Amount.ALL:
                # Nothing is left out of "the green cushion, not the red one", but may be of what
                # is on "the shelf except the vase".
                (thing.instead_of if contrasted else thing.but).extend(out)
            elif isinstance(thing, Noun):
                for noun in out:
                    if isinstance(noun, Noun) and not noun.kind:
                        noun.kind = thing.kind
                thing.but += [
                    n
                    for n in out
                    if not contrasted
                    or not isinstance(n, Noun)
                    or not n.kind
                    or includes(thing.kind, n.kind)
                ]
        return i

    def _freely(self, at: int, things: list[Phrase]) -> bool:
        """Whether "anything" or "any" before an exception only says that the choice is free."""
        source = self._source
        if source.word(at - 1) != "," or source.word(at) not in ("anything", "any"):
            return False
        chosen = any(isinstance(thing, Noun) and _is_open(thing) for thing in things)
        return chosen and bool(source.longest(at + 1, EXCEPT) or source.word(at + 1) == "but")

    @staticmethod
    def _placed_before(things: list[Phrase]) -> bool:
        return all(isinstance(thing, Noun) and thing.where for thing in things)


def _is_open(thing: Noun) -> bool:
    """Whether any of several will do: "a cup", "some fruit"."""
    return thing.count is not Amount.ALL and not thing.definite and bool(thing.kind)


def _kinds_within(thing: Noun, out: list[Phrase]) -> bool:
    """Whether all exceptions are of the kind of a thing, and so can be exceptions from it."""
    kinds = [noun.kind for phrase in out for noun in _options(phrase)]
    return bool(kinds) and all(not kind or includes(thing.kind, kind) for kind in kinds)


def _options(phrase: Phrase) -> list[Noun]:
    if isinstance(phrase, Either):
        return phrase.options
    return [phrase] if isinstance(phrase, Noun) else []


def _every(out: list[Phrase], kind: str) -> list[Phrase]:
    """Exceptions from a free choice: "but a banana" leaves out every one."""
    found: list[Phrase] = []
    for noun in (noun for phrase in out for noun in _options(phrase)):
        noun.kind = noun.kind or kind
        if not noun.definite and noun.count == 1:
            noun.count, noun.bare = Amount.ALL, False
        found.append(noun)
    return found


LATTER = ("the latter first", "the former last", "the second one first")


@dataclass(slots=True)
class Segment:
    """Things that are named together, with the places that follow them; `later` as in `Do`."""

    things: list[Phrase]
    wheres: list[Where] = field(default_factory=list)
    arrangement: Arrangement | None = None
    later: list[int] = field(default_factory=list)


class Lists(Items):
    """Reads the things that a verb is about."""

    def objects(self, at: int, *, subject: bool = False) -> tuple[list[Segment], int] | None:
        """A list of noun phrases, each with its places; a predicate follows only a subject."""
        pair = self._shared_noun(at)
        first = self.item(at)
        if pair is not None:
            segments, i = [Segment(pair[0])], pair[1]
        elif first is not None:
            segments, i = [Segment([first[0]])], first[1]
        else:
            return None
        i = self._places_of(segments[-1], i)
        while joined := self._in_turn(i, segments[-1]) or self._joined(i):
            found = self.item(joined)
            if found is None or (not subject and self._source.word(found[1]) in PREDICATES):
                break
            if self._source.starts(joined, *LATTER) or self._addresses(joined):
                break
            if self._source.word(found[1]) == "'s":
                break
            if isinstance(found[0], _Pronoun) and self._source.word(joined - 1) == ",":
                break
            if self._source.word(joined) == "any" and isinstance(found[0], Noun):
                same_kind = [
                    t
                    for t in segments[-1].things
                    if isinstance(t, Noun) and t.kind == found[0].kind
                ]
                if same_kind and found[0].count == 1:
                    # "A book, any book".
                    i = found[1]
                    continue
            if self._source.word(joined - 1) == "," and _narrows(
                segments[-1].things[-1:], found[0]
            ):
                # "A spoon, the small one".
                i = self._places_of(segments[-1], found[1])
                continue
            if there := self._same_there(segments[-1], found[0]):
                if there.things:
                    segments.append(there)
                more, i = self.places(found[1])
                segments[-1].wheres += more
                continue
            again = not segments[-1].wheres and len(segments) == 1
            if again and any(_names_again(found[0], thing) for thing in segments[0].things):
                # "The cup and the plate, the cup to the kitchen".
                raise self._source.ask(AskReason.WHICH, found[0].start, found[1])
            if segments[-1].wheres or segments[-1].arrangement:
                segments.append(Segment([]))
            if {"then", "finally", "lastly"} & set(self._source.words[i:joined]):
                segments[-1].later.append(len(segments[-1].things))
                if isinstance(found[0], Noun):
                    found[0].in_turn = True
            segments[-1].things.append(found[0])
            i = self._places_of(segments[-1], found[1])
        _share_article(segments, plural_the=self._source.word(at) in THE)
        self._check_shared(segments[0].things)
        return segments, i

    def _addresses(self, at: int) -> bool:
        """Whether the robot is spoken to: "put the cup in the sink, robot"."""
        said = self._source.words[at - 1 : at + 1] == (",", "robot")
        return said and self._source.word(at + 1) in STOPS | {""}

    def _check_shared(self, things: list[Phrase]) -> None:
        """Asks how far words go: "three plates and cups", "a clean cup and pan"."""
        first = things[0]
        if not isinstance(first, Noun) or first.bare:
            return
        for thing in things[1:]:
            if not isinstance(thing, Noun) or thing.plural is not first.plural:
                continue
            joined = first.plural or self._source.words[first.end : thing.start] == ("and",)
            # "The heated apple and potato".
            heated = first.heated is not None and self._source.word(thing.start) not in THE
            if not (joined and (thing.bare or heated)):
                continue
            said = first.states or first.color or first.size or first.heated is not None
            said = said or (first.plural and isinstance(first.count, int))
            if said and not thing.described:
                raise self._source.ask(AskReason.WHICH, first.start, thing.end)

    def _shared_noun(self, at: int) -> tuple[list[Phrase], int] | None:
        """Reads "the red and the blue cup"."""
        source = self._source
        sense = self._adjective(at + 1) if source.word(at) == "the" else None
        if sense is None or source.word(at + 2) != "and" or source.word(at + 3) != "the":
            return None
        found = self.described(at + 3)
        if found is None or not isinstance(found[0], Noun) or not found[0].kind:
            return None
        second = found[0]
        first = Noun(
            second.kind, at, found[1], second.plural, second.count, definite=second.definite
        )
        describe(first, sense)
        return [first, second], found[1]

    def _same_there(self, before: Segment, room: Phrase) -> Segment | None:
        """The same things in a second room: "the lamps in the hall and the kitchen"."""
        if not isinstance(room, Noun) or len(before.wheres) != 1:
            return None
        where = before.wheres[0]
        fixed = is_room(room) or room.kind == "floor"
        both = isinstance(where.anchor, Noun) and is_furniture(where.anchor) and is_furniture(room)
        if both and where.way is not Way.TO and not any(
            isinstance(t, Noun) and is_furniture(t) for t in before.things
        ):  # fmt: skip
            # "The cushions from the armchair and the couch": from both, or the couch as well.
            raise self._source.ask(AskReason.WHICH, where.start, room.end)
        if not fixed or where.way is Way.TO or not isinstance(where.anchor, Noun):
            return None
        if is_room(where.anchor) is not is_room(room):
            return None
        if any(isinstance(t, Noun) and is_room(t) for t in before.things):
            return None
        if where.way is Way.FROM:
            # "The cup and the plate from the hall and the kitchen": each from either.
            where.anchor = Either([where.anchor, room], where.start, room.end)
            return Segment([])
        again = [copy.copy(thing) for thing in before.things]
        for thing in again:
            if isinstance(thing, Noun):
                thing.where = list(thing.where)
        return Segment(again, [Where(where.relation, room, where.way, room.start, room.end)])

    def _places_of(self, segment: Segment, at: int) -> int:
        i = self._exceptions(at, segment.things)
        if (polite := self._source.starts(i, ", please ,", ", please")) and self.place(polite):
            i = polite
        segment.wheres, i = self.places(i)
        i = self._whose_clause(i, segment)
        j = i + (self._source.word(i) == ",")
        j += self._source.word(j) in ("sitting", "standing", "lying", "all", "both")
        if spread := self.arrangement(j):
            segment.arrangement, i = spread
            if not segment.wheres:
                j = i + (self._source.word(i) == ",")
                j += self._source.word(j) in ("both", "all")
                segment.wheres, after = self.places(j)
                i = after if segment.wheres else i
        everywhere: list[Phrase] = [
            w.anchor
            for w in segment.wheres
            if isinstance(w.anchor, Noun) and w.anchor.count is Amount.ALL
        ]
        after = self._exceptions(i, everywhere or segment.things)
        if after > i:
            more, end = self.places(after)
            if more and (not segment.wheres or more[0].way is Way.TO):
                segment.wheres += more
                return end
        return after

    def _whose_clause(self, at: int, segment: Segment) -> int:
        """Reads "the cups on the table that are dirty"; asks where it may be the table."""
        head = segment.things[-1]
        wheres = segment.wheres
        if not isinstance(head, Noun) or not wheres:
            return at
        for where in wheres:
            anchor = where.anchor
            if not isinstance(anchor, Noun) or anchor.clause is None:
                continue
            if not all(can_be(head.kind, state) for state in anchor.states):
                continue
            if head.kind != "thing":
                raise self._source.ask(AskReason.WHICH, *anchor.clause)
            head.states, anchor.states = [*head.states, *anchor.states], []
        settled = self._source.word(at) not in ("that", "which") or wheres[-1].way is Way.TO
        if settled or not (end := self._relative(at, head)):
            return at
        self._describe([head], wheres)
        segment.wheres, end = self.places(end)
        return end

    def _in_turn(self, at: int, segment: Segment) -> int:
        """Reads "the cup, then the plate, and finally the fork" as one list."""
        if segment.wheres or segment.arrangement:
            return 0
        i = at + (self._source.word(at) == ",")
        end = self._source.starts(i, "and then", "then", "and finally", "finally", "and lastly")
        found = self.item(end) if end else None
        last = found is not None and self._source.word(found[1]) in STOPS
        return end if found is not None and not last else 0

    def attach(self, segments: list[Segment]) -> list[Phrase]:
        """All things, with the places behind each as part of its description."""
        things: list[Phrase] = []
        for segment in segments:
            things += segment.things
            excepted = self._place_of_exception(segment)
            self._describe([excepted] if excepted else segment.things, segment.wheres)
        return things

    def _place_of_exception(self, segment: Segment) -> Noun | None:
        """What is left out, if the place behind it is said of that: "but the lamp in the hall".

        Raises:
            Refused: asks where it may as well be said of "everything".
        """
        thing, wheres = segment.things[-1], segment.wheres
        out = thing.but[-1] if isinstance(thing, Noun) and thing.but else None
        if not isinstance(out, Noun) or not wheres or wheres[0].start != out.end:
            return None
        if not isinstance(thing, Noun) or wheres[0].way is not Way.STATIC or thing.where:
            return None
        if thing.kind == "thing" or not out.definite:
            raise self._source.ask(AskReason.WHICH, wheres[0].start, wheres[-1].end)
        return out

    def _describe(self, things: list[Phrase], wheres: list[Where]) -> None:
        """Adds places to descriptions: origins to all things, others to the last."""
        origins = [w for w in wheres if w.way is Way.FROM]
        groups = grouped(wheres, unsure=True)
        for where in groups:
            if isinstance(where.anchor, Spot):
                raise self._source.unknown(where.start, where.end)
            if self._above(where):
                # "The picture over the couch".
                raise self._source.unknown(where.start, where.start + 1)
            if self._on_side(where):
                # "The soap on the right side of the table": on it or beside it.
                raise self._source.ask(AskReason.WHERE, where.start, where.end)
            if where.anchor is None and len(groups) > 1:
                # "The notebook from the desk in there".
                raise self._source.ask(AskReason.WHICH, where.start, where.end)
            targets = things if where in origins else self._of_one_article(things)
            for thing in targets:
                if isinstance(thing, Noun) and (
                    where not in origins or not thing.where or thing is things[-1]
                ):
                    thing.where.append(where)
                elif (
                    isinstance(thing, _Pronoun)
                    and where.anchor is not None
                    and where.way is not Way.FROM
                ):
                    raise self._source.unknown(where.start, where.end)

    def _of_one_article(self, things: list[Phrase]) -> list[Phrase]:
        """The last of a list with those that share its article: "the cups and glasses there"."""
        k = len(things) - 1
        while k > 0:
            last, before = things[k], things[k - 1]
            own = self._source.word(last.start) in THE | {"a", "an", "all", "both", "every"}
            if own or not isinstance(last, Noun) or not isinstance(before, Noun):
                break
            if isinstance(last.count, int) and last.count > 1:
                break
            k -= 1
        shared = things[k:]
        return shared if all(isinstance(t, Noun) and not t.where for t in shared) else things[-1:]

    def _on_side(self, where: Where) -> bool:
        on = self._source.starts(where.start, *ON_A_SIDE)
        return bool(on) and isinstance(where.anchor, Noun) and is_furniture(where.anchor)

    def _above(self, where: Where) -> bool:
        return self._source.word(where.start) == "over" and where.relation is Relation.ON_TOP


def _narrows(before: list[Phrase], phrase: Phrase) -> bool:
    """Adds "the small one" to the one thing before it; whether it could."""
    thing = before[0] if before else None
    if not isinstance(thing, Noun) or not isinstance(phrase, Noun) or thing.described:
        return False
    alone = thing.count == 1 and phrase.count == 1 and not (thing.plural or phrase.plural)
    if phrase.kind or phrase.other or not alone or not phrase.described:
        return False
    thing.color, thing.material, thing.size = phrase.color, phrase.material, phrase.size
    thing.pick, thing.states, thing.where = phrase.pick, phrase.states, phrase.where
    thing.definite = True
    return True


def _names_again(phrase: Phrase, thing: Phrase) -> bool:
    """Whether a list names one thing twice."""
    return (
        isinstance(phrase, Noun) and isinstance(thing, Noun) and bool(phrase.kind)
        and phrase.kind == thing.kind and phrase.definite and thing.definite
        and not phrase.described and not thing.described
    )  # fmt: skip


def _share_article(segments: list[Segment], *, plural_the: bool) -> None:
    """Reads "the cup, fork and knife": one article for all of a list."""
    things = [thing for segment in segments for thing in segment.things]
    first = things[0]
    if isinstance(first, Noun) and not first.bare and (first.definite or plural_the):
        for thing in things[1:]:
            if isinstance(thing, Noun) and thing.bare and thing.count == 1:
                thing.definite, thing.bare = True, False
    if isinstance(first, Noun) and first.count is Amount.ALL and not first.plural:
        # "Every plate and cup".
        for thing in things[1:]:
            if isinstance(thing, Noun) and thing.bare and thing.count == 1:
                thing.count = Amount.ALL
