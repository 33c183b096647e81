"""Lists of things, and which of the places that follow are where they go."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field

from planner.language.drafts import Act, Do, Either, Noun, Phrase, Way, Where
from planner.language.drafts import Pronoun as _Pronoun
from planner.language.english import THE
from planner.language.fitness import can_be, drapes, includes
from planner.language.items import PREDICATES, Items
from planner.language.noun_phrases import describe
from planner.language.places import BY_SIDE, belongs, grouped, is_furniture, is_room
from planner.language.reading import Ask, AskReason
from planner.language.sentence import Refused
from planner.language.tokens import STOPS
from planner.language.words import Amount, Arrangement, Relation, Spot

LATTER = ("the latter first", "the former last", "the second one first")
_ON_IN = (Relation.ON_TOP, Relation.IN, Relation.AT)


@dataclass(slots=True)
class Segment:
    """Things that are named together, with the places that follow them; `later` as in `Do`."""

    things: list[Phrase]
    wheres: list[Where] = field(default_factory=list)
    arrangement: Arrangement | None = None
    later: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Placed:
    """Things, and where they go; nowhere if no place says so."""

    things: list[Phrase]
    to: list[Where]
    arrangement: Arrangement | None
    later: list[int]


class Objects(Items):
    """Reads the objects of verbs."""

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
            if self._source.starts(joined, *LATTER):
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

    def _check_shared(self, things: list[Phrase]) -> None:
        """Asks how far a number or adjective goes: "three plates and cups"."""
        first = things[0]
        if not isinstance(first, Noun) or not first.plural or first.bare:
            return
        for thing in things[1:]:
            if not isinstance(thing, Noun) or not thing.bare or not thing.plural:
                continue
            said = first.states or first.color or first.size or isinstance(first.count, int)
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

    def placed(self, segments: list[Segment], *, static: bool) -> list[Placed]:
        """Where the things of each segment go; a segment without a place goes with the next."""
        found: list[Placed] = []
        for segment in segments:
            to = self._target(segment, static=static)
            self._check_target(segment.things, to)
            found.append(Placed(segment.things, to, segment.arrangement, segment.later))
        for earlier, later in reversed(list(itertools.pairwise(found))):
            beside_it = all(w.anchor is None and _is_beside(w) for w in later.to)
            if not earlier.to and later.to and not (earlier.arrangement and beside_it):
                earlier.to = later.to
        for earlier, later in list(itertools.pairwise(found)):
            if not earlier.to or later.to or later.arrangement is not None:
                continue
            if _beside_thing(earlier.to):
                # "Next to the plate and the bowl" is next to both.
                earlier.to += [_next_to(thing) for thing in later.things]
                found.remove(later)
                break
            later.to = earlier.to
            self._check_target(later.things, later.to)
            if sided := next((t for t in later.things if self._ends_with_side(t)), None):
                # "The green cup on the left shelf and the white one on the right".
                raise self._source.ask(AskReason.WHERE, sided.start, sided.end)
        return found

    def _ends_with_side(self, thing: Phrase) -> bool:
        return isinstance(thing, Noun) and bool(
            self._source.starts(thing.end - 3, "on the left", "on the right")
        )

    def _check_target(self, things: list[Phrase], to: list[Where]) -> None:
        """Asks about "every toy in its box" and "the fork on the left ... of the plate"."""
        nouns = [thing for thing in things if isinstance(thing, Noun)]
        for where in to:
            anchor = where.anchor
            start = self._source.word(anchor.start) if isinstance(anchor, Noun) else ""
            whose = start in ("its", "their") and any(n.count is Amount.ALL for n in nouns)
            if self._above(where) and not all(drapes(n.kind) for n in nouns):
                # "Hang the picture over the couch".
                raise self._source.ask(AskReason.WHERE, where.start, where.end)
            if self._on_side(where) and not any(map(is_furniture, nouns)):
                # "On the left side of the table": on it or beside it.
                raise self._source.ask(AskReason.WHERE, where.start, where.end)
            sided = where.relation in (Relation.LEFT_OF, Relation.RIGHT_OF)
            if whose or (sided and any(noun.pick for noun in nouns)):
                raise self._source.ask(AskReason.WHICH, where.start, where.end)

    def _above(self, where: Where) -> bool:
        return self._source.word(where.start) == "over" and where.relation is Relation.ON_TOP

    def _on_side(self, where: Where) -> bool:
        on = self._source.starts(
            where.start, "on the left of", "on the right of", "on the left side",
            "on the right side", "on the left hand side", "on the right hand side",
        )  # fmt: skip
        return bool(on) and isinstance(where.anchor, Noun) and is_furniture(where.anchor)

    def _target(self, segment: Segment, *, static: bool) -> list[Where]:
        wheres = segment.wheres
        first_to = next((k for k, where in enumerate(wheres) if where.way is Way.TO), None)
        if first_to is not None:
            origin = next(
                (k for k, w in enumerate(wheres) if w.way is Way.FROM and k > first_to), len(wheres)
            )
            self._describe(segment.things, wheres[:first_to] + wheres[origin:])
            return _settled(grouped(wheres[first_to:origin], unsure=True))
        rest = [w for w in wheres if w.way is Way.STATIC]
        if static and not wheres and (taken := _place_of_anchor(segment.things[-1])):
            return [taken]
        if not static or not rest:
            from_there = any(w.way is Way.FROM for w in wheres)
            if from_there and rest and len(grouped(wheres, unsure=True)) > 1 and wheres[-1] in rest:
                # "The cup from the table on the counter".
                raise self._source.ask(AskReason.WHICH, rest[-1].start, rest[-1].end)
            self._describe(segment.things, wheres)
            return []
        last_from = max((k for k, w in enumerate(wheres) if w.way is Way.FROM), default=-1)
        if last_from >= 0:
            # "From the toolbox in the garage on the table": the origin takes what belongs to it.
            groups = grouped(wheres[last_from:], unsure=False)
            self._describe(segment.things, wheres[:last_from] + groups[:1])
            return _settled(groups[1:])
        return self._static_target(segment, rest)

    def _static_target(self, segment: Segment, wheres: list[Where]) -> list[Where]:
        """Which of several places without motion is where the thing goes."""
        unsure = [
            one for one, other in itertools.pairwise(wheres)
            if belongs(one, other) is None
        ]  # fmt: skip
        if any(isinstance(one.anchor, Noun) and one.relation is Relation.NEXT_TO
               and self._source.word(one.start) == "and"
               and other.relation in _ON_IN
               and not (isinstance(other.anchor, Noun) and is_room(other.anchor))
               for one, other in itertools.pairwise(wheres)):  # fmt: skip
            # "Between the laptop and the lamp on the desk".
            raise self._source.ask(AskReason.WHICH, wheres[-1].start, wheres[-1].end)
        groups = grouped(wheres, unsure=False)
        joined = all(group.comma for group in groups[1:])
        if len(groups) == 1 or (joined and all(g.relation is Relation.NEXT_TO for g in groups)):
            return groups
        if unsure or len(groups) > 2:
            raise Refused(Ask(
                words=tuple(self._source.quote(g.start, g.end) for g in groups[:-1]),
                reason=AskReason.WHICH,
            ))  # fmt: skip
        one, other = groups
        near = one.anchor is None and one.relation is Relation.NEXT_TO
        if near or other.comma or (one.relation in _ON_IN and other.relation not in _ON_IN):
            return _settled(groups)
        if isinstance(one.anchor, Noun) and is_room(one.anchor):
            raise self._source.ask(AskReason.WHICH, one.start, one.end)
        self._describe(segment.things, [one])
        return [other]

    def move(self, placed: Placed, start: int, end: int) -> Do:
        """The request to put things where they go; a named place says more than "away"."""
        named = [w for w in placed.to if not isinstance(w.anchor, Spot)]
        if sum(w.relation is Relation.IN for w in named) > 1:
            # "Take the apples to the kitchen in the basket".
            raise self._source.ask(AskReason.WHICH, named[-1].start, named[-1].end)
        if named and any(w.anchor in (Spot.USUAL, Spot.BACK) for w in placed.to):
            placed.to = named
        for where in placed.to:
            anchor = where.anchor
            for out in (o for t in placed.things if isinstance(t, Noun) for o in t.instead_of):
                narrower = isinstance(out, Noun) and isinstance(anchor, Noun) and out.kind and (
                    includes(anchor.kind, out.kind) and not out.described
                )  # fmt: skip
                if narrower:
                    # "On the table, but not the dining table".
                    raise self._source.unknown(out.start, out.end)
            own = any(isinstance(thing, Noun) and thing.each for thing in placed.things)
            word = self._source.word(placed.things[0].start)
            several = any(isinstance(t, Noun) and _some_number(t) for t in placed.things)
            if isinstance(anchor, Noun) and _some_number(anchor) and several:
                # "Two cups on three tables".
                raise self._source.ask(AskReason.WHICH, where.start, where.end)
            if own and isinstance(anchor, Noun) and _any_one(anchor) and word in ("each", "every"):
                if word == "every" and is_furniture(anchor):
                    # "Every book on a shelf": the same or not.
                    raise self._source.ask(AskReason.WHICH, where.start, where.end)
                # "Each cup on a saucer".
                anchor.each = True
            if isinstance(anchor, Noun) and anchor.elsewhere and own:
                # "Each apple in a different bowl".
                anchor.elsewhere, anchor.each = False, True
            if (
                isinstance(anchor, Noun)
                and anchor.each
                and (anchor.count is Amount.ALL or _some_number(anchor))
            ):
                anchor.each = False
                for thing in placed.things:
                    if isinstance(thing, Noun) and thing.count is not Amount.ALL:
                        thing.each = True
        return Do(
            Act.MOVE, placed.things, start, end, placed.to,
            arrangement=placed.arrangement, later=placed.later,
        )  # fmt: skip


def _some_number(noun: Noun) -> bool:
    return isinstance(noun.count, int) and noun.count > 1


def _any_one(noun: Noun) -> bool:
    """Whether one of a kind is meant, whichever it is."""
    return noun.count == 1 and not (noun.definite or noun.each or noun.elsewhere or noun.other)


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


def _is_beside(where: Where) -> bool:
    return where.relation is Relation.NEXT_TO


def _names_again(phrase: Phrase, thing: Phrase) -> bool:
    """Whether a list names one thing twice."""
    return (
        isinstance(phrase, Noun) and isinstance(thing, Noun) and bool(phrase.kind)
        and phrase.kind == thing.kind and phrase.definite and thing.definite
        and not phrase.described and not thing.described
    )  # fmt: skip


def _beside_thing(to: list[Where]) -> bool:
    anchor = to[0].anchor if len(to) == 1 and to[0].relation is Relation.NEXT_TO else None
    return isinstance(anchor, Noun) and not is_furniture(anchor)


def _next_to(thing: Phrase) -> Where:
    return Where(Relation.NEXT_TO, thing, Way.STATIC, thing.start, thing.end, comma=True)


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


def _place_of_anchor(thing: Phrase) -> Where | None:
    """Takes the last place of a description for where the thing goes.

    "Put the apples that are in the bowl on the counter" needs a place.
    """
    out = thing.but[-1] if isinstance(thing, Noun) and thing.but else None
    if isinstance(out, Noun) and out.where and out.where[-1].end == out.end:
        # "All the cups except the blue one in the sink".
        told = out.color or out.material or out.size or out.states or out.pick
        last = out.where[-1]
        return out.where.pop() if told and last.way is Way.STATIC else None
    anchor = thing.where[-1].anchor if isinstance(thing, Noun) and thing.where else None
    if not isinstance(anchor, Noun) or not anchor.where or anchor.where[-1].end != thing.end:
        return None
    place = anchor.where[-1]
    fixed = isinstance(place.anchor, Noun) and not is_room(place.anchor)
    return anchor.where.pop() if fixed and place.way is Way.STATIC else None


def _settled(groups: list[Where]) -> list[Where]:
    """Reads "To the kitchen, on the table" is the table in the kitchen."""
    if len(groups) == 2:
        room, other = groups
        if (
            isinstance(room.anchor, Noun) and is_room(room.anchor) and room.relation is Relation.IN
            and isinstance(other.anchor, Noun) and is_furniture(other.anchor)
            and not (other.comma and other.relation in BY_SIDE)
        ):  # fmt: skip
            other.anchor.where.append(room)
            return [other]
    return groups
