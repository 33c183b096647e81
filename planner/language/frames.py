"""What each verb makes of the words behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.language.drafts import Act, Do, Noun, Phrase, PlaceWhere, Pronoun, Way, Where
from planner.language.english import (
    GONE,
    LEFT,
    OWNERS,
    PRIVATE_ADJECTIVES,
    SIDEWAYS,
    THEN,
    VAGUE_RESULTS,
    phrases,
    table,
)
from planner.language.lexicon import Actor, Amount, Relation, Spot
from planner.language.lists import Segment
from planner.language.moving_frames import MovingFrames
from planner.language.places import grouped, is_furniture, is_room
from planner.language.reading import STOPS, AskReason
from planner.language.state_frames import Dos, is_light
from planner.language.verbs import Form, Found, Frame, Verb, verbs_at

# They find out only "where" something is.
_WHERE_ONLY = frozenset({"tell", "check", "figure out", "work out", "let"})
_BY_LIGHT = phrases(table("by light"))
_REACHING = ("enter", "approach", "visit", "face", "turn to face", "reach")
_ALONE = phrases(table("alone"))


class Frames(MovingFrames):
    """Reads a verb with its objects and places as requests."""

    def verb_phrase(
        self, at: int, forms: Iterable[Form], given: list[Phrase] | None = None
    ) -> Dos | None:
        """The requests of a verb in one of some inflections.

        `given` are the things it is done to, where they stand before the verb.
        """
        wanted = frozenset(forms)
        best: Dos | None = None
        vague = False
        for found in verbs_at(self._source.words, at):
            if not found.forms & wanted:
                continue
            read = self._frame(found.verb, at, at + found.length, given)
            if read is not None and (best is None or read[1] >= best[1] + (not vague)):
                best, vague = read, found.verb.frame is Frame.HANDLE
        if best is None and given is None and (gone := self._left_out(at)):
            return self.verb_phrase(at, forms, [gone])
        return best

    def _left_out(self, _at: int) -> Pronoun | None:
        """What "and place on the table" leaves out; what knows earlier requests overrides this."""
        return None

    def shared_object(self, at: int) -> Dos | None:
        """Reads "wash, dry and slice the apple": several verbs with one object."""
        source = self._source
        first = next((f for f in verbs_at(source.words, at) if self._can_share(f)), None)
        if first is None:
            return None
        i = at + first.length
        comma = source.word(i) == ","
        if not (joined := source.starts(i, "and then", "and", ", and then", ", and", ",")):
            return None
        rest = self.shared_object(joined) or (
            None
            if comma and source.word(joined - 1) == ","
            else self.verb_phrase(joined, {Form.BASE})
        )
        if rest is None or not rest[0][0].things:
            return None
        if not first.verb.state:
            return rest
        things = list(rest[0][0].things)
        return [Do(Act.MAKE, things, at, i, states=[first.verb.state]), *rest[0]], rest[1]

    @staticmethod
    def _can_share(found: Found) -> bool:
        taking = found.verb.frame is Frame.PICK or found.verb.base == "take"
        return Form.BASE in found.forms and (found.verb.frame is Frame.MAKE or taking)

    def _frame(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        rule = _RULES.get(verb.frame)
        return rule(self, verb, start, i, given) if rule else None

    def cause(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """CAUSE: "have the kettle filled", "make the table clean"."""
        source = self._source
        segments = self._segments(i, given)
        if segments and source.word(segments[1]) in ("look", "feel", "seem"):
            vague = segments[1] + 1 + (source.word(segments[1] + 1) in ("more", "a", "bit", "less"))
            if source.word(vague) in VAGUE_RESULTS:
                raise source.ask(AskReason.DONE, vague, vague + 1)
        if segments is None or any(part.wheres for part in segments[0][:-1]):
            # "Have the speaker on the shelf and the radio off".
            return None
        return self.result(segments[1], segments[0], start)

    def hands_off(self, at: int) -> Dos | None:
        """Reads "hands off my laptop"."""
        off = self._source.starts(at, "hands off of", "hands off")
        if (spared := self.objects(off) if off else None) is None:
            return None
        return [Do(Act.LEAVE, self.attach(spared[0]), at, spared[1])], spared[1]

    def keep(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """KEEP: in a state, at or away from a place, or untouched."""
        source = self._source
        if source.starts(i, "your hands off"):
            return self.hands_off(i + 1)
        if (segments := self._segments(i, given)) is None:
            return None
        parts, end = segments
        if result := self.result(end, parts, start):
            return result
        if alone := source.longest(end, _ALONE):
            return [Do(Act.LEAVE, self.attach(parts), start, alone)], alone
        wheres = [where for part in parts for where in part.wheres]
        if wheres and all(where.way is Way.FROM for where in wheres):
            return [self._kept_away(parts, wheres, start, end)], end
        if not wheres and not any(part.arrangement for part in parts) and self._ends(end):
            # "Throw away the newspapers but keep the magazines".
            return [Do(Act.LEAVE, self.attach(parts), start, end)], end
        moves = self._moves(Verb("keep", Frame.PUT), parts, start, end, static=True)
        return moves if moves and all(do.act is Act.MOVE for do in moves[0]) else None

    @staticmethod
    def _kept_away(parts: list[Segment], wheres: list[Where], start: int, end: int) -> Do:
        """Reads "keep the knives out of the playroom"."""
        for where in wheres:
            where.way = Way.TO
            if isinstance(where.anchor, Noun) and is_room(where.anchor):
                where.relation = Relation.IN
        things = [thing for part in parts for thing in part.things]
        return Do(Act.NEVER, things, start, end, wheres)

    def find(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """FIND: where things are."""
        source = self._source
        i = i + (source.word(i) in ("me", "us"))
        j = i + 1 + (source.word(i + 1) in PRIVATE_ADJECTIVES | {"nice", "new", "safe"})
        if source.word(i) == "a" and source.starts(j, "place for", "spot for", "home for"):
            raise source.ask(AskReason.WHERE, i, j + 1)
        if source.word(i) == "where":
            return self._whereabouts(start, i + 1)
        if given is None and verb.base in ("search", "check"):
            return self._searched(start, i)
        lit = self.examine(verb, start, i, given) if source.word(start) == "see" else None
        if lit and "light" in source.words[i : lit[1]]:
            # "See the vase in the light of the lamp".
            return lit
        segments = self._segments(i, given)
        if verb.base in _WHERE_ONLY or segments is None or not self._no_targets(segments[0]):
            return None
        # "You can find the cup in the sink" says where it is.
        told = source.starts(i - 3, "you can find") > 0
        act = Act.MENTION if told else Act.FIND
        return [Do(act, self.attach(segments[0]), start, segments[1], taken=not told)], segments[1]

    def _searched(self, start: int, at: int) -> Dos | None:
        """Reads "search the hall for my keys": those that are there."""
        place = self.item(at)
        if place is None or not isinstance(place[0], Noun) or self._source.word(place[1]) != "for":
            return None
        if (found := self.objects(place[1] + 1)) is None or any(part.wheres for part in found[0]):
            return None
        things = self.attach(found[0])
        relation = Relation.IN if is_room(place[0]) else Relation.AT
        self._describe(things, [Where(relation, place[0], Way.STATIC, at, place[1])])
        return [Do(Act.FIND, things, start, found[1], taken=True)], found[1]

    def _whereabouts(self, start: int, at: int) -> Dos | None:
        """Reads "(find out) where my glasses have got to", "where I left the keys"."""
        source = self._source
        if (owner := source.longest(at, OWNERS)) and (left := source.longest(owner, LEFT)):
            if (found := self.objects(left)) is None or not self._no_targets(found[0]):
                return None
            return [Do(Act.FIND, self.attach(found[0]), start, found[1])], found[1]
        found = self.objects(at, subject=True)
        end = source.longest(found[1], GONE) if found else 0
        if found is None or not end:
            return None
        return [Do(Act.FIND, self.attach(found[0]), start, end)], end

    def examine(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """EXAMINE: under a lamp, which is switched on; otherwise nothing tells when it is done."""
        thing = None if given else self.item(i)
        by = self._source.longest(thing[1], _BY_LIGHT) if thing else 0
        lamp = self.item(by) if by else None
        if thing is None or lamp is None or not is_light(lamp[0]):
            return None
        end = lamp[1] + (self._source.word(lamp[1]) == "light")
        to = [Where(Relation.NEXT_TO, lamp[0], Way.TO, by, end)]
        lit = self._make([lamp[0]], ["powered on"], by, end)
        return [Do(Act.MOVE, [thing[0]], start, end, to), *lit[0]], lit[1]

    def go(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """GO: an agent to a place."""
        if given is not None or self._source.starts(i, "to bed", "to sleep"):
            return None
        aside = self._source.longest(i, SIDEWAYS)
        i = aside if aside and self.place(aside) else i
        wheres, end = self.places(i)
        if verb.base in _REACHING and (place := self.item(i)):
            around, end = self.located(place[1])
            self._describe([place[0]], around)
            wheres = [Where(Relation.AT, place[0], Way.TO, i, end)]
        if not wheres or any(w.way is Way.FROM for w in wheres):
            return None
        if any(isinstance(w.anchor, Spot) and w.anchor not in (Spot.ME, Spot.HERE) for w in wheres):
            return None
        for where in wheres:
            if isinstance(where.anchor, Noun) and is_furniture(where.anchor):
                # Nobody walks into the dishwasher.
                where.relation = Relation.AT if where.relation is Relation.IN else where.relation
        groups = grouped(wheres, unsure=True)
        return [Do(Act.GO, [], start, end, groups)], end

    def leave(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """LEAVE: alone, in a state, or at a place."""
        source = self._source
        if (segments := self._segments(i, given)) is None:
            return None
        parts, end = segments
        if any(isinstance(thing, Noun) and is_room(thing) for thing in parts[0].things):
            # "Leave the bedroom" is to go.
            return self.result(end, parts, start)
        last = parts[-1].wheres[-1:]
        if last and isinstance(last[0].anchor, Noun) and self._done_before(start):
            # "Clean the sink. When you are done, leave the rag on the shelf".
            return self._moves(Verb("leave", Frame.PUT), parts, start, end, static=True)
        stays = (
            last
            and (last[0].anchor in (Spot.BACK, None) or isinstance(last[0].anchor, PlaceWhere))
            and source.word(last[0].end - 1) in ("is", "are", "was", "were", "there")
        )
        if stays:
            parts[-1].wheres.pop()
            return [Do(Act.LEAVE, self.attach(parts), start, end)], end
        if len(parts) == 1 and last and isinstance(last[0].anchor, Noun):
            things = parts[0].things
            if any(
                source.starts(k, "the others", "the rest", "the other") for k in self._ahead(end)
            ):
                # "Leave two cups there and take the others away": they are there already.
                return [Do(Act.LEAVE, self.attach(parts), start, end)], end
            if all(
                isinstance(t, Pronoun)
                or (isinstance(t, Noun) and not t.definite and t.count is not Amount.ALL)
                for t in things
            ):
                return self._moves(Verb("leave", Frame.PUT), parts, start, end, static=True)
        if alone := source.longest(end, _ALONE):
            return [Do(Act.LEAVE, self.attach(parts), start, alone)], alone
        if result := self.result(end, parts, start):
            return result
        around = (*source.words[:start], *source.words[end:-1])
        alone = not (STOPS | {"and", "but", ","}) & set(around)
        if alone and last and last[0].way is Way.STATIC and last[0].anchor is not None:
            # "Leave the keys on the desk": as they are, or to put them there.
            raise source.ask(AskReason.WHICH, start, end)
        placed = any(part.arrangement for part in parts) or not self._no_targets(parts)
        if not placed and (self._ends(end) or source.word(end) in ("and", "but")):
            return [Do(Act.LEAVE, self.attach(parts), start, end)], end
        return None

    def _done_before(self, at: int) -> bool:
        """Whether "when you are done" stands right before."""
        source = self._source
        end = at - (source.word(at - 1) == ",")
        starts = (k for k in range(max(0, end - 5), end) if source.longest(k, THEN) == end)
        return any({"done", "finished"} & {*source.words[k:end]} for k in starts)

    def _ahead(self, at: int) -> range:
        """The positions up to the end of the sentence."""
        end = at
        while end < self._source.size and self._source.word(end) not in STOPS:
            end += 1
        return range(at, end)

    def touch(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """TOUCH, read only under a negation: things stay as they are."""
        if (segments := self._segments(i, given)) is None or not self._no_targets(segments[0]):
            return None
        return [Do(Act.LEAVE, self.attach(segments[0]), start, segments[1])], segments[1]

    def handle(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """HANDLE: who is responsible for things; what is done with them is said elsewhere."""
        if (segments := self._segments(i, given)) is None or not self._no_targets(segments[0]):
            return None
        do = Do(
            Act.MENTION, self.attach(segments[0]), start, segments[1], who=Actor.ROBOT, taken=True
        )
        return [do], segments[1]

    def vague(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """VAGUE: what would be a success is not said."""
        segments = self._segments(i, given)
        end = segments[1] + (self._source.word(segments[1]) in ("out", "up")) if segments else 0
        if segments is None or not self._ends(end):
            return None
        raise self._source.ask(AskReason.DONE, start, end)


_Rule = Callable[[Frames, Verb, int, int, "list[Phrase] | None"], "Dos | None"]
_RULES: dict[Frame, _Rule] = {
    Frame.PUT: Frames.put,
    **dict.fromkeys((Frame.CARRY, Frame.FETCH, Frame.PICK, Frame.GIVE), Frames.carry),
    **dict.fromkeys((Frame.TRASH, Frame.BIN), Frames.trash),
    Frame.AWAY: Frames.away,
    **dict.fromkeys((Frame.CLEAR, Frame.UNLOAD), Frames.clear),
    Frame.LOAD: Frames.load,
    Frame.MAKE: Frames.make,
    Frame.FILL: Frames.fill,
    Frame.EMPTY: Frames.empty,
    Frame.POUR: Frames.pour,
    Frame.SWITCH: Frames.switch,
    Frame.CAUSE: Frames.cause,
    Frame.KEEP: Frames.keep,
    Frame.FIND: Frames.find,
    Frame.GO: Frames.go,
    Frame.EXAMINE: Frames.examine,
    Frame.LEAVE: Frames.leave,
    Frame.TIDY: Frames.tidy,
    Frame.BREW: Frames.brew,
    Frame.STACK: Frames.stack,
    Frame.SWAP: Frames.swap,
    Frame.HANDLE: Frames.handle,
    Frame.VAGUE: Frames.vague,
    **dict.fromkeys((Frame.HEAT, Frame.COOL), Frames.temper),
}
