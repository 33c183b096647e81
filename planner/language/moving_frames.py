"""Verbs that bring things to a place."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from planner.language.drafts import Act, Do, Noun, Phrase, PlaceWhere, Pronoun, Way, Where
from planner.language.english import THE, words
from planner.language.lexicon import (
    COOKTOPS,
    Amount,
    Arrangement,
    Relation,
    Spot,
    includes,
    is_hollow,
)
from planner.language.lists import Segment
from planner.language.objects import Placed
from planner.language.occasion_frames import OccasionFrames
from planner.language.ordering import taken_from
from planner.language.places import BY_SIDE, grouped, is_furniture, is_room
from planner.language.reading import AskReason
from planner.language.state_frames import Dos, can
from planner.language.verbs import Frame, Verb


class MovingFrames(OccasionFrames):
    """Reads verbs of motion."""

    _fronting = False
    """Whether the place was said before the verb."""

    def put(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """PUT: a place is needed, with or without motion."""
        if (
            verb.base in ("set", "lay", "set up")
            and given is None
            and (found := self._set_table(start, i))
        ):
            return found
        if given is None and (found := self.pour(verb, start, i, given)):
            return found
        if given is None and self._source.word(i) == "on" and verb.base == "put":
            found = self._state_of("powered on", start, i + 1, None)
            if found and all(can(t, "powerable") for do in found[0] for t in do.things):
                return found
        if given is None and (place := self.place(i)) and not self.item(i):
            # "Put on the table the red cup".
            late = self.objects(place[1])
            if late and place[0][0].way is not Way.FROM and not any(s.wheres for s in late[0]):
                return [Do(Act.MOVE, self.attach(late[0]), start, late[1], place[0])], late[1]
        if (segments := self._segments(i, given)) is None:
            return None
        parts, end = segments
        if verb.base == "set" and not parts[-1].wheres and self._source.word(end) == "going":
            return self._make(self.attach(parts), ["powered on"], start, end + 1)
        on = self._on_off(end)
        switched = on and verb.base == "put" and self._source.word(end) == "on"
        things = [thing for part in parts for thing in part.things]
        if switched and not parts[-1].wheres and all(can(thing, "powerable") for thing in things):
            return self._make(self.attach(parts), ["powered on"], start, on)
        return self._moves(verb, parts, start, end, static=True)

    def carry(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """CARRY, FETCH, GIVE, PICK: a place of arrival, or the speaker."""
        source = self._source
        if verb.frame is Frame.GIVE and (chore := self._chore(start, i)):
            return chore
        if verb.frame is Frame.GIVE and given is None and (found := self._given_to(start, i)):
            return found
        me = source.word(i) in ("me", "us") and given is None
        segments = self._segments(i + me + (me and source.word(i + 1) == ":"), given)
        if segments is None:
            return None
        parts, end = segments
        if verb.base == "hold" and parts[-1].wheres:
            # "Hold the cup next to the sink": what is there, or to be held there?
            raise source.ask(AskReason.WHERE, start, end)
        if verb.base == "run" and all(w.way is not Way.TO for p in parts for w in p.wheres):
            # "Run the dishwasher".
            return None
        lifted = verb.base == "pick" and source.word(end) == "up"
        if (source.word(end) in ("over", "along") or lifted) and not parts[-1].wheres:
            segments = (parts, end + 1)
        if me:
            for where in (w for segment in parts for w in segment.wheres):
                anchor = where.anchor
                if where.way is Way.TO and isinstance(anchor, Noun):
                    # "Bring me the laptop from the hall to the office".
                    raise source.ask(AskReason.WHERE, start, segments[1])
                if (
                    where.way is Way.STATIC
                    and isinstance(anchor, Noun)
                    and not (anchor.definite or anchor.count is Amount.ALL or is_room(anchor))
                ):
                    # "Bring me the cake on a plate".
                    raise source.unknown(where.start, where.end)
            things = self.attach(segments[0])
            to = [Where(Relation.AT, Spot.ME, Way.TO, i, i + 1)]
            return [Do(Act.MOVE, things, start, segments[1], to)], segments[1]
        gathered = verb.base.startswith(("collect", "gather"))
        # "Pick up the keys on the cushion": one thing is where it is said to be.
        lifts = not gathered and all(map(_is_one, segments[0][-1].things))
        static = verb.frame is Frame.PICK and (
            (not lifts and self._into_object(segments[0], gathered=gathered))
            or bool(segments[0][-1].arrangement)
        )
        if verb.frame in (Frame.CARRY, Frame.FETCH):
            last = segments[0][-1]
            shifted = verb.base in ("move", "relocate", "shift", "push", "pull", "drag")
            beside = shifted and all(
                where.relation in BY_SIDE and where.way is Way.STATIC for where in last.wheres
            )
            static = self._only_there(segments[0]) or beside or bool(last.arrangement)
            lies = shifted and not static and any(map(_lies_on, last.wheres))
            lies = lies or (
                verb.base == "bring" and any(isinstance(w.anchor, Noun) for w in last.wheres)
            )
            lies = lies and all(where.way is Way.STATIC for where in last.wheres)
            lies = lies or (verb.base == "get" and self._any_there(last))
            if given is None and lies:
                # "Bring the fork on the table": one that lies there, or one that shall.
                raise source.ask(AskReason.WHERE, start, segments[1])
        if verb.base == "get" and (got := self.result(segments[1], segments[0], start)):
            return got
        return self._moves(verb, segments[0], start, segments[1], static=static)

    def _given_to(self, start: int, i: int) -> Dos | None:
        """Reads "give each bed two pillows"."""
        bed = self.item(i)
        if bed is None or not isinstance(bed[0], Noun) or not is_furniture(bed[0]):
            return None
        if (given := self.item(bed[1])) is None:
            return None
        to = Where(Relation.AT, bed[0], Way.TO, i, bed[1])
        return [self.move(Placed([given[0]], [to], None, []), start, given[1])], given[1]

    def _only_there(self, segments: list[Segment]) -> bool:
        wheres = [where for segment in segments for where in segment.wheres]
        return len(wheres) == 1 and (
            wheres[0].anchor is None or isinstance(wheres[0].anchor, Pronoun)
        ) and wheres[0].way is Way.STATIC  # fmt: skip

    @staticmethod
    def _any_there(segment: Segment) -> bool:
        return (
            len(segment.wheres) == 1 and _lies_on(segment.wheres[0])
            and all(isinstance(thing, Noun) and thing.count == 1 and not thing.definite
                    and not thing.bare for thing in segment.things)
        )  # fmt: skip

    def _into_object(self, segments: list[Segment], *, gathered: bool) -> bool:
        wheres = segments[-1].wheres
        told = any(where.way is Way.STATIC for where in wheres[:-1]) or not gathered
        if told and wheres and wheres[-1].relation in BY_SIDE:
            # "Pick up the apple (in the sink) next to the spoon" says where it is.
            return False
        anchor = wheres[-1].anchor if wheres else None
        return isinstance(anchor, Noun) and not is_room(anchor) and not is_furniture(anchor)

    def _moves(
        self, verb: Verb, segments: list[Segment], start: int, end: int, *, static: bool
    ) -> Dos | None:
        source = self._source
        if verb.base in ("throw", "toss", "chuck") and self._thrown_away(segments):
            segments[-1].wheres.pop()
            return [self._trash(self.attach(segments), start, end)], end
        if verb.base in ("throw", "toss", "chuck") and source.word(end) in ("away", "out"):
            return [self._trash(self.attach(segments), start, end + 1)], end + 1
        if verb.base == "take" and source.word(end) == "out":
            end += 1
        carried = verb.frame in (Frame.CARRY, Frame.FETCH)
        for segment in segments:
            for where in list(segment.wheres):
                if where.anchor is None and carried and where.way is Way.STATIC:
                    where.way = Way.TO
                if verb.base in ("return", "put") and where.anchor is Spot.USUAL:
                    named = any(isinstance(other.anchor, Noun) for other in segment.wheres)
                    if source.word(where.start) == "away" and named:
                        # "Put the shoes away in the closet" names where they belong.
                        segment.wheres = [w for w in segment.wheres if w is not where]
                    continue
                if carried and where.anchor is Spot.USUAL and source.word(where.start) == "away":
                    where.anchor = Spot.ELSEWHERE
        for one, other in list(itertools.pairwise(segments)):
            if self._swallowed(one, other):
                if self._one_list(other.things):
                    _join_beside(one, other)
                    segments.remove(other)
                    break
                raise source.ask(AskReason.WHICH, one.wheres[0].start, end)
        for one, other in itertools.pairwise(segments):
            if one.wheres and not other.wheres and all(w.way is Way.FROM for w in one.wheres):
                # "Take the plates out of the dishwasher and the cups too".
                other.wheres = list(one.wheres)
        found: list[Do] = []
        taken_off = any(w.way is Way.FROM for segment in segments for w in segment.wheres)
        for placed in self.placed(segments, static=static):
            do = self.move(placed, start, end)
            if not do.to and do.arrangement is None:
                self._without_place(verb, do, taken_off=taken_off)
            found.append(do)
        return found, end

    def _swallowed(self, one: Segment, other: Segment) -> bool:
        """Whether it is "the cup next to the plate and the fork on the table": next to both?"""
        beside = len(one.wheres) == 1 and one.wheres[0].relation is Relation.NEXT_TO
        anchor = one.wheres[0].anchor if beside else None
        if not isinstance(anchor, Noun) or is_furniture(anchor) or anchor.where:
            return False
        start = other.things[0].start if other.things else 0
        both = self._source.words[max(0, start - 2) : start] == (",", "and")
        return not both and any(w.relation is not Relation.NEXT_TO for w in other.wheres)

    def _one_list(self, things: list[Phrase]) -> bool:
        """Whether things share the article of those before: "the spoon, fork and knife"."""
        return all(
            isinstance(thing, Noun) and self._source.word(thing.start) not in THE | {"a", "an"}
            for thing in things
        )

    @staticmethod
    def _thrown_away(segments: list[Segment]) -> bool:
        """Reads "throw the can (on the desk) away"."""
        wheres = segments[-1].wheres
        return wheres[-1:] != [] and wheres[-1].anchor is Spot.USUAL and all(
            where.way is not Way.TO for where in wheres[:-1]
        )  # fmt: skip

    def _without_place(self, verb: Verb, do: Do, *, taken_off: bool) -> None:
        """A verb of motion without a place: to the speaker, away, or still to be said."""
        do.taken = True
        off = any(
            w.relation in (Relation.ON_TOP, Relation.IN) and w.way is Way.FROM
            for t in do.things
            if isinstance(t, Noun)
            for w in t.where
        )
        if verb.base == "place" and not self._fronting:
            # "Place the spatula next": to be placed without a place is not done by a later move.
            raise self._source.ask(AskReason.WHERE, do.start, do.end)
        if verb.base == "get" and off:
            do.to = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, do.start, do.end)]
        elif verb.frame in (Frame.FETCH, Frame.GIVE):
            do.to = [Where(Relation.AT, Spot.ME, Way.TO, do.start, do.end)]
        elif verb.base == "return":
            do.to = [Where(Relation.AT, Spot.BACK, Way.TO, do.start, do.end)]
        elif taken_off and verb.base in ("take", "move", "get off"):
            do.to = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, do.start, do.end)]
        elif do.later and (vague := self._vague_before(do.things)):
            do.to, do.spells_out, do.taken = list(vague.to), vague, False
        elif do.later:
            # "Move the cup, then the plate. Place them on the table": their order would be lost.
            raise self._source.unknown(do.start, do.end)
        else:
            do.act = Act.MENTION

    def _vague_before(self, _things: list[Phrase]) -> Do | None:
        """The request just before that moves "some toys"; what knows it overrides this."""
        return None

    def trash(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """TRASH, BIN: into the trash can."""
        if (segments := self._segments(i, given)) is None:
            return None
        for where in segments[0][-1].wheres[-1:]:
            can = isinstance(where.anchor, Noun) and includes("trash can", where.anchor.kind)
            if can and where.way is Way.STATIC and where.relation is Relation.IN:
                # "Throw out a pear in the bin".
                where.way = Way.TO
        if any(where.way is Way.TO for part in segments[0] for where in part.wheres):
            # "Throw away the newspapers into the recycling bin".
            return self._moves(
                Verb("drop", Frame.PUT), segments[0], start, segments[1], static=True
            )
        do = self._trash(self.attach(segments[0]), start, segments[1])
        if verb.frame is Frame.BIN:
            do.to[0].anchor = Noun("bin", start, i, definite=True)
        return [do], segments[1]

    @staticmethod
    def _trash(things: list[Phrase], start: int, end: int) -> Do:
        can = Noun("trash can", start, end)
        return Do(Act.MOVE, things, start, end, [Where(Relation.IN, can, Way.TO, start, end)])

    def away(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """AWAY: to where such things belong."""
        if (segments := self._segments(i, given)) is None:
            return None
        spot = Spot.BACK if verb.base == "put back" else Spot.USUAL
        found = []
        for placed in self.placed(segments[0], static=verb.base != "clear away"):
            placed.to = placed.to or [Where(Relation.AT, spot, Way.TO, start, segments[1])]
            found.append(self.move(placed, start, segments[1]))
        return found, segments[1]

    def clear(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """CLEAR, UNLOAD, REMOVE: what is on or in something goes elsewhere."""
        if (segments := self._segments(i, given)) is None:
            return None
        parts, end = segments
        if any(
            where.way is Way.TO and where.anchor is not Spot.USUAL for where in parts[-1].wheres
        ):
            return self._emptied_into(verb, parts, start, end)
        away = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, start, end)]
        if any(where.way is Way.FROM for part in parts for where in part.wheres):
            return [Do(Act.MOVE, self.attach(parts), start, end, away, cleared=True)], end
        if (
            len(parts) == 1
            and len(parts[0].wheres) == 1
            and parts[0].wheres[0].anchor is Spot.USUAL
        ):
            return [Do(Act.MOVE, parts[0].things, start, end, away, cleared=True)], end
        things = self.attach(parts)
        if verb.base == "remove":
            return [Do(Act.MOVE, things, start, end, away, cleared=True)], end
        inner = (
            Relation.IN
            if verb.frame is Frame.UNLOAD or verb.base == "clear out"
            else Relation.ON_TOP
        )
        found: list[Phrase] = []
        for thing in things:
            if not isinstance(thing, Noun) or not (
                is_furniture(thing)
                or is_room(thing)
                or thing.kind == "floor"
                or inner is Relation.IN
            ):
                return None
            noun = Noun("thing", start, end, plural=True, count=Amount.ALL)
            if (
                self._source.word(end) == "of"
                and (of := self.item(end + 1))
                and isinstance(of[0], Noun)
            ):
                noun, end = of[0], of[1]
            noun.but += thing.but + thing.instead_of
            thing.but = []
            relation = Relation.IN if is_room(thing) or is_hollow(thing.kind) else inner
            if verb.base == "unpack" and thing.count is Amount.ALL:
                return None
            noun.where.append(Where(relation, thing, Way.STATIC, thing.start, thing.end))
            found.append(noun)
        end = self._exceptions(end, found)
        return [Do(Act.MOVE, found, start, end, away, cleared=True)], end

    def temper(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """HEAT, COOL: into the microwave or oven, which is switched on, or into the fridge."""
        if (segments := self._segments(i, given)) is None:
            return None
        parts, end = segments
        there: list[Where] = []
        for where in (last := parts[-1].wheres)[-1:]:
            if isinstance(where.anchor, Noun) and where.anchor.kind in _TEMPERING[verb.frame]:
                there, parts[-1].wheres = [where], last[:-1]
        if there and any(where.way is Way.STATIC for where in parts[-1].wheres):
            # "Heat the pie in the microwave over the stove".
            raise self._source.ask(AskReason.WHICH, parts[-1].wheres[0].start, there[0].end)
        if not self._no_targets(parts):
            return None
        do = tempered(self.attach(parts), start, end, hot=verb.frame is Frame.HEAT, there=there)
        return [do], end

    def _emptied_into(self, verb: Verb, parts: list[Segment], start: int, end: int) -> Dos | None:
        """Reads "empty the basket into the washing machine": what is in it goes there."""
        placed = self.placed(parts, static=False)
        if len(placed) != 1 or len(placed[0].things) != 1:
            return None
        vessel = placed[0].things[0]
        moved = verb.frame is Frame.CLEAR and taken_from(vessel)
        if moved or (isinstance(vessel, Noun) and vessel.kind in ("grocery", "shopping")):
            # "Clear the cups from the desk into the box", "unpack the groceries into the fridge".
            return [self.move(placed[0], start, end)], end
        thing = Noun("thing", start, end, plural=True, count=Amount.ALL)
        top = isinstance(vessel, Noun) and is_furniture(vessel) and not is_hollow(vessel.kind)
        inner = Relation.ON_TOP if top else Relation.IN
        thing.where.append(Where(inner, vessel, Way.STATIC, start, end))
        return [Do(Act.MOVE, [thing], start, end, placed[0].to)], end

    def load(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """LOAD: "the dishwasher with the plates", "the plates into the dishwasher"."""
        if (segments := self._segments(i, given)) is None:
            return None
        parts, end = segments
        if self._source.word(end) != "with":
            moves = self._moves(Verb("load", Frame.PUT), parts, start, end, static=True)
            # "Load the washing machine and start it" does not say with what.
            return moves if moves and all(do.act is Act.MOVE for do in moves[0]) else None
        things = self.objects(end + 1)
        if things is None or len(parts) != 1 or len(parts[0].things) != 1:
            return None
        self.attach(parts)
        to = [Where(Relation.IN, parts[0].things[0], Way.TO, start, end)]
        placed = Placed(self.attach(things[0]), to, None, [])
        return [self.move(placed, start, things[1])], things[1]

    def empty(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """EMPTY: a vessel, or furniture of its things."""
        if (segments := self._segments(i, given)) is None:
            return None
        things = [thing for segment in segments[0] for thing in segment.things]
        into = any(where.way is Way.TO for segment in segments[0] for where in segment.wheres)
        if not into and any(isinstance(thing, Noun) and is_furniture(thing) for thing in things):
            # Whether its things go where they belong or anywhere is not said.
            raise self._source.ask(AskReason.WHERE, start, segments[1])
        if into:
            return self.clear(Verb("empty", Frame.UNLOAD), start, i, given)
        return self._make(self.attach(segments[0]), ["empty"], start, segments[1])

    def stack(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """STACK: one on the other, maybe at a place."""
        if (segments := self._segments(i, given)) is None:
            return None
        found = []
        for placed in self.placed(segments[0], static=True):
            placed.arrangement = Arrangement.STACKED
            found.append(self.move(placed, start, segments[1]))
        return found, segments[1]

    def swap(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """SWAP: two things, each to where the other was."""
        i = self._source.starts(i, "the places of", "the positions of", "places of") or i
        segments = self._segments(i, given)
        if segments is None or "between" in self._source.words[i : segments[1]]:
            return None
        things = self.attach(segments[0])
        if len(things) == 1 and self._source.word(segments[1]) in ("with", "for"):
            # "Exchange the lamp on the desk for the one in the hall".
            if (other := self.item(segments[1] + 1)) is None:
                return None
            wheres, end = self.located(other[1])
            if isinstance(other[0], Noun):
                other[0].where += grouped(wheres, unsure=True)
            things, segments = [*things, other[0]], (segments[0], end)
        fixed = [isinstance(thing, Noun) and is_furniture(thing) for thing in things]
        if len(things) != 2 or fixed[0] is not fixed[1]:
            return None
        end = segments[1]
        pairs = zip(things, reversed(things), strict=True)
        return [
            Do(
                Act.MOVE,
                [one],
                start,
                end,
                [Where(Relation.AT, PlaceWhere(two), Way.TO, start, end)],
            )
            for one, two in pairs
        ], end

    def fill(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """FILL: with a drink, or with things."""
        source = self._source
        if given is None and self._liquid(i) and (poured := self.pour(_verb, start, i, given)):
            # "Fill water into the bathtub", not "fill the water pitcher".
            return poured
        if (segments := self._segments(i, given)) is None:
            return None
        end = segments[1] + (source.word(segments[1]) == "up")
        if source.word(end) != "with":
            things = self.attach(segments[0])
            vessel = things[-1]
            if not isinstance(vessel, Noun) or not vessel.holding:
                return self._make(things, ["filled"], start, end)
            # "Fill the box with books": those, and no box that has books.
            contents, vessel.holding = vessel.holding, []
            into = [Where(Relation.IN, vessel, Way.TO, start, end)]
            found: Dos | None = [self.move(Placed(contents, into, None, []), start, end)], end
        elif liquid := self._liquid(end + 1):
            return self._make(
                self.attach(segments[0]), [f"filled with {liquid[0]}"], start, liquid[1]
            )
        else:
            found = self.load(_verb, start, i, given)
        for thing in (t for do in (found[0] if found else ()) for t in do.things):
            if isinstance(thing, Noun) and thing.bare and thing.count == 1:
                # "Fill the mug with wine": no bottle into the mug.
                raise source.ask(AskReason.WHAT, thing.start, thing.end)
        return found


def _lies_on(where: Where) -> bool:
    on = where.way is Way.STATIC and where.relation is Relation.ON_TOP
    return on and isinstance(where.anchor, Noun) and is_furniture(where.anchor)


def _is_one(thing: Phrase) -> bool:
    return isinstance(thing, Noun) and not thing.plural and thing.count == 1


_TEMPERING = {
    Frame.HEAT: words("microwave oven") | COOKTOPS,
    Frame.COOL: words("fridge refrigerator freezer"),
}


def tempered(
    things: list[Phrase], start: int, end: int, *, hot: bool, there: Sequence[Where] = ()
) -> Do:
    """The request that makes things hot or cold: in the microwave or fridge if not said where."""
    usual = Noun("microwave" if hot else "fridge", start, end, definite=True)
    anchor = next((w.anchor for w in there if isinstance(w.anchor, Noun)), usual)
    # "On the stove" is not in its oven.
    relation = there[0].relation if there and anchor.kind in COOKTOPS else Relation.IN
    to = [Where(relation, anchor, Way.TO, start, end)]
    return Do(Act.MOVE, things, start, end, to, tempers=True, heats=anchor if hot else None)


def _join_beside(one: Segment, other: Segment) -> None:
    """Reads "next to the spoon, fork and knife on the table": next to all, which are there."""
    first = one.wheres[0]
    for thing in other.things:
        one.wheres.append(Where(Relation.NEXT_TO, thing, first.way, thing.start, thing.end, True))
    there = grouped(other.wheres, unsure=True)
    for where in one.wheres:
        if isinstance(where.anchor, Noun):
            where.anchor.where += there
