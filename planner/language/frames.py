"""What each verb makes of the words behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.language.drafts import Act, Do, Noun, Phrase, PlaceWhere, Pronoun, Way, Where
from planner.language.english import LIQUIDS, NUMBERS, VAGUE_RESULTS
from planner.language.fitness import affords
from planner.language.lexicon import Part
from planner.language.objects import Objects, Placed, Segment
from planner.language.places import grouped, is_furniture, is_room
from planner.language.reading import AskReason
from planner.language.verbs import Form, Frame, Verb, verbs_at
from planner.language.words import Actor, Amount, Arrangement, Occasion, Relation, Spot

Dos = tuple[list[Do], int]
_ALONE = (
    "alone", "as it is", "as they are", "where it is", "where they are", "in peace", "untouched", "be",
    "as is", "just as it is", "exactly where it is", "right where it is", "where it stands", "out of it",
    "exactly where they are", "right where they are", "just as they are", "out", "unchanged", "undisturbed",
)  # fmt: skip
_TABLES = frozenset({"table", "dining table", "kitchen table", "coffee table", "side table"})
_CHORES = {
    "wash": "clean", "clean": "clean", "rinse": "clean", "wipe": "clean", "scrub": "clean", "cleaning": "clean",
    "washing": "clean", "dusting": "dusted", "dust": "dusted", "watering": "watered", "slicing": "sliced",
    "rub": "clean", "drink": "watered", "water": "watered",
}  # fmt: skip


class Frames(Objects):
    """Reads a verb with its objects and places as requests."""

    def verb_phrase(self, at: int, forms: Iterable[Form], given: list[Phrase] | None = None) -> Dos | None:
        """The requests of a verb in one of some inflections.

        Args:
            given: the things it is done to, where they stand before the verb.
        """
        wanted = frozenset(forms)
        best: Dos | None = None
        for found in verbs_at(self._source.words, at):
            if not found.forms & wanted:
                continue
            read = self._frame(found.verb, at, at + found.length, given)
            if read is not None and (best is None or read[1] > best[1]):
                best = read
        return best

    def _frame(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        rule = _RULES.get(verb.frame)
        return rule(self, verb, start, i, given) if rule else None

    def _segments(self, at: int, given: list[Phrase] | None) -> tuple[list[Segment], int] | None:
        if given is None:
            return self.objects(at)
        segment = Segment(list(given))
        return [segment], self._places_of(segment, at)

    def put(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """PUT: a place is needed, with or without motion."""
        if verb.base in ("set", "lay") and given is None and (found := self._set_table(start, i)):
            return found
        if given is None and (found := self._pour(verb, start, i, given)):
            return found
        if given is None and self._source.word(i) == "on" and verb.base == "put":
            switched = self._state_of("powered on", start, i + 1, None)
            if switched and all(_can(t, "powerable") for do in switched[0] for t in do.things):
                return switched
        if given is None and (place := self.place(i)) and not self.item(i):
            # "Put on the table the red cup".
            things = self.objects(place[1])
            if things and place[0][0].way is not Way.FROM and not any(s.wheres for s in things[0]):
                return [Do(Act.MOVE, self.attach(things[0]), start, things[1], place[0])], things[1]
        segments = self._segments(i, given)
        if segments is None:
            return None
        parts, end = segments
        if verb.base == "put" and not parts[-1].wheres and (on := self._on_off(end)) and self._source.word(end) == "on":
            if all(_can(thing, "powerable") for part in parts for thing in part.things):
                return self._make(self.attach(parts), ["powered on"], start, on)
        return self._moves(verb, parts, start, end, static=True)

    def carry(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """CARRY, FETCH, GIVE, PICK: a place of arrival, or the speaker."""
        source = self._source
        if verb.frame is Frame.GIVE and (chore := self._chore(start, i)):
            return chore
        me = source.word(i) in ("me", "us") and given is None
        segments = self._segments(i + me, given)
        if segments is None:
            return None
        if me:
            things = self.attach(segments[0])
            to = [Where(Relation.AT, Spot.ME, Way.TO, i, i + 1)]
            return [Do(Act.MOVE, things, start, segments[1], to)], segments[1]
        static = verb.frame is Frame.PICK and self._into_object(segments[0])
        if verb.frame in (Frame.CARRY, Frame.FETCH):
            static = self._only_there(segments[0])
        if verb.base in ("get", "bring", "take") and (end := self._on_off(segments[1])):
            if verb.base != "get":
                return None
            state = "powered on" if source.word(end - 1) == "on" else "powered off"
            return self._make(self.attach(segments[0]), [state], start, end)
        return self._moves(verb, segments[0], start, segments[1], static=static)

    def _only_there(self, segments: list[Segment]) -> bool:
        wheres = [where for segment in segments for where in segment.wheres]
        return len(wheres) == 1 and (
            wheres[0].anchor is None or isinstance(wheres[0].anchor, Pronoun)
        ) and wheres[0].way is Way.STATIC  # fmt: skip

    def _into_object(self, segments: list[Segment]) -> bool:
        wheres = segments[-1].wheres
        anchor = wheres[-1].anchor if wheres else None
        return isinstance(anchor, Noun) and not is_room(anchor) and not is_furniture(anchor)

    def _moves(self, verb: Verb, segments: list[Segment], start: int, end: int, *, static: bool) -> Dos | None:
        source = self._source
        if verb.base in ("throw", "toss", "chuck") and self._thrown_away(segments):
            things = [thing for segment in segments for thing in segment.things]
            return [self._trash(things, start, end)], end
        if verb.base in ("throw", "toss", "chuck") and source.word(end) in ("away", "out"):
            return [self._trash(self.attach(segments), start, end + 1)], end + 1
        if verb.base == "take" and source.word(end) == "out":
            end += 1
        carried = verb.frame in (Frame.CARRY, Frame.FETCH)
        for segment in segments:
            for where in segment.wheres:
                if where.anchor is None and carried and where.way is Way.STATIC:
                    where.way = Way.TO
                if verb.base in ("return", "put") and where.anchor is Spot.USUAL:
                    continue
                if carried and where.anchor is Spot.USUAL and source.word(where.start) == "away":
                    where.anchor = Spot.ELSEWHERE
        found: list[Do] = []
        taken_off = any(w.way is Way.FROM for segment in segments for w in segment.wheres)
        for placed in self.placed(segments, static=static):
            do = self.move(placed, start, end)
            if not do.to and do.arrangement is None:
                self._without_place(verb, do, taken_off=taken_off)
            found.append(do)
        return found, end

    @staticmethod
    def _thrown_away(segments: list[Segment]) -> bool:
        wheres = segments[-1].wheres
        return len(wheres) == 1 and wheres[0].anchor is Spot.USUAL

    def _without_place(self, verb: Verb, do: Do, *, taken_off: bool) -> None:
        """A verb of motion without a place: to the speaker, away, or still to be said."""
        do.taken = True
        off = any(w.relation is Relation.ON_TOP and w.way is Way.FROM for t in do.things if isinstance(t, Noun) for w in t.where)
        if verb.base == "get" and off:
            do.to = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, do.start, do.end)]
        elif verb.frame in (Frame.FETCH, Frame.GIVE):
            do.to = [Where(Relation.AT, Spot.ME, Way.TO, do.start, do.end)]
        elif verb.base == "return":
            do.to = [Where(Relation.AT, Spot.BACK, Way.TO, do.start, do.end)]
        elif taken_off and verb.base in ("take", "move", "get off"):
            do.to = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, do.start, do.end)]
        else:
            do.act = Act.MENTION

    def trash(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """TRASH, BIN: into the trash can."""
        segments = self._segments(i, given)
        if segments is None:
            return None
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
        segments = self._segments(i, given)
        if segments is None:
            return None
        spot = Spot.BACK if verb.base == "put back" else Spot.USUAL
        found = []
        for placed in self.placed(segments[0], static=verb.base != "clear away"):
            placed.to = placed.to or [Where(Relation.AT, spot, Way.TO, start, segments[1])]
            found.append(self.move(placed, start, segments[1]))
        return found, segments[1]

    def clear(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """CLEAR, UNLOAD, REMOVE: what is on or in something goes elsewhere."""
        segments = self._segments(i, given)
        if segments is None:
            return None
        parts, end = segments
        away = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, start, end)]
        if any(where.way is Way.FROM for part in parts for where in part.wheres):
            return [Do(Act.MOVE, self.attach(parts), start, end, away)], end
        if len(parts) == 1 and len(parts[0].wheres) == 1 and parts[0].wheres[0].anchor is Spot.USUAL:
            return [Do(Act.MOVE, parts[0].things, start, end, away)], end
        things = self.attach(parts)
        if verb.base == "remove":
            return [Do(Act.MOVE, things, start, end, away)], end
        inner = Relation.IN if verb.frame is Frame.UNLOAD or verb.base == "clear out" else Relation.ON_TOP
        found: list[Phrase] = []
        for thing in things:
            if not isinstance(thing, Noun) or not (is_furniture(thing) or is_room(thing) or thing.kind == "floor" or inner is Relation.IN):
                return None
            noun = Noun("thing", start, end, plural=True, count=Amount.ALL)
            if self._source.word(end) == "of" and (of := self.item(end + 1)) and isinstance(of[0], Noun):
                noun, end = of[0], of[1]
            noun.but, thing.but = noun.but + thing.but, []
            relation = Relation.IN if is_room(thing) else inner
            noun.where.append(Where(relation, thing, Way.STATIC, thing.start, thing.end))
            found.append(noun)
        end = self._exceptions(end, found)
        return [Do(Act.MOVE, found, start, end, away)], end

    def load(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """LOAD: "the dishwasher with the plates", "the plates into the dishwasher"."""
        segments = self._segments(i, given)
        if segments is None:
            return None
        parts, end = segments
        if self._source.word(end) != "with":
            return self._moves(Verb("load", Frame.PUT), parts, start, end, static=True)
        things = self.objects(end + 1)
        if things is None or len(parts) != 1 or len(parts[0].things) != 1:
            return None
        self.attach(parts)
        to = [Where(Relation.IN, parts[0].things[0], Way.TO, start, end)]
        return [Do(Act.MOVE, self.attach(things[0]), start, things[1], to)], things[1]

    def make(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """MAKE: things get the state of the verb."""
        found = self._state_of(verb.state, start, i, given)
        if found is None or verb.base != "do":
            return found
        chores = all(
            isinstance(t, Noun) and (t.kind in ("dish", "laundry", "dishes", "crockery", "pot", "pan"))
            for do in found[0] for t in do.things
        )  # fmt: skip
        return found if chores else None

    def _state_of(self, state: str, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        segments = self._segments(i, given)
        if segments is None:
            return None
        things = self.attach(segments[0])
        end = segments[1]
        for particle in ("up", "off", "down", "out"):
            if self._source.word(end) == particle and state in ("clean", "sliced", "dusted"):
                end += 1
                break
        return self._make(things, [state], start, end)

    def _make(self, things: list[Phrase], states: list[str], start: int, end: int) -> Dos:
        do = Do(Act.MAKE, things, start, end, states=states)
        source = self._source
        if source.word(end) in ("with", "using") and (tool := self.item(end + 1)):
            do.tools.append(tool[0])
            end = do.end = tool[1]
        wheres, after = self.places(end)
        if wheres and all(w.way is not Way.TO and w.anchor is not None for w in wheres):
            self._describe(things, wheres)
            end = after
        return [do], end

    def fill(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """FILL: with a drink, or with things."""
        source = self._source
        segments = self._segments(i, given)
        if segments is None:
            return None
        end = segments[1] + (source.word(segments[1]) == "up")
        if source.word(end) != "with":
            return self._make(self.attach(segments[0]), ["filled"], start, end)
        if liquid := self._liquid(end + 1):
            return self._make(self.attach(segments[0]), [f"filled with {liquid[0]}"], start, liquid[1])
        return self.load(_verb, start, i, given)

    def _liquid(self, at: int) -> tuple[str, int] | None:
        """"Some fresh water"."""
        source = self._source
        i = source.starts(
            at, "some more", "some", "the", "a bit of", "a little", "plenty of", "a little bit of", "more",
            "a drop of", "a splash of", "my", "enough",
        ) or at  # fmt: skip
        while source.word(i) in ("fresh", "cold", "hot", "warm", "clean", "tap", "orange", "apple", "black"):
            i += 1
        return (source.word(i), i + 1) if source.word(i) in LIQUIDS else None

    def empty(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """EMPTY: a vessel, or furniture of its things."""
        segments = self._segments(i, given)
        if segments is None:
            return None
        things = [thing for segment in segments[0] for thing in segment.things]
        if any(isinstance(thing, Noun) and is_furniture(thing) for thing in things):
            return self.clear(Verb("empty", Frame.UNLOAD), start, i, given)
        return self._make(self.attach(segments[0]), ["empty"], start, segments[1])

    def pour(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """POUR: a drink into something."""
        return self._pour(verb, start, i, given)

    def _pour(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        if given is not None:
            return None
        liquid = self._liquid(i)
        if liquid is None:
            return None
        if verb.frame is not Frame.POUR and liquid[0] in ("milk", "juice"):
            return None
        wheres, end = self.places(liquid[1])
        if not wheres or wheres[0].relation not in (Relation.IN, Relation.AT):
            return None
        groups = [w.anchor for w in wheres[:1] if isinstance(w.anchor, Noun | Pronoun)]
        if isinstance(groups[0] if groups else None, Noun) and len(wheres) > 1:
            self._describe([groups[0]], wheres[1:])
        return self._make(list(groups), [f"filled with {liquid[0]}"], start, end) if groups else None

    def switch(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """SWITCH: things, then "on" or "off"."""
        segments = self._segments(i, given)
        if segments is None:
            return None
        parts, i = segments
        back = self._source.word(i) == "back"
        end = self._on_off(i + back)
        if not end:
            return None
        state = "powered on" if self._source.word(end - 1) == "on" else "powered off"
        return self._make(self.attach(parts), [state], start, end)

    def _on_off(self, at: int) -> int:
        """The position after "on" or "off" that no place follows."""
        word = self._source.word(at)
        return at + 1 if word in ("on", "off") and self.item(at + 1) is None else 0

    def cause(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """CAUSE, KEEP: "get the kettle filled", "keep the fridge closed", "make the table clean"."""
        source = self._source
        if verb.frame is Frame.KEEP and (off := source.starts(i, "your hands off", "your hands off of", "off", "away from", "clear of", "out of")):
            segments = self.objects(off)
            return ([Do(Act.LEAVE, self.attach(segments[0]), start, segments[1])], segments[1]) if segments else None
        segments = self._segments(i, given)
        if segments is None:
            return None
        parts, end = segments
        if result := self.result(end, parts, start):
            return result
        if verb.frame is Frame.KEEP and source.starts(end, *_ALONE):
            return [Do(Act.LEAVE, self.attach(parts), start, source.starts(end, *_ALONE))], source.starts(end, *_ALONE)
        if verb.frame is Frame.KEEP or parts[-1].wheres:
            moves = self._moves(Verb(verb.base, Frame.PUT), parts, start, end, static=True)
            if moves and all(do.act is Act.MOVE for do in moves[0]) and verb.frame is Frame.KEEP:
                return moves
        return None

    @staticmethod
    def _no_targets(parts: list[Segment]) -> bool:
        return all(w.way is not Way.TO and not isinstance(w.anchor, Spot) for p in parts for w in p.wheres)

    def result(self, at: int, parts: list[Segment], start: int) -> Dos | None:
        """A state behind things: "on", "clean", "sliced", "filled with water"."""
        source = self._source
        if not self._no_targets(parts):
            return None
        i = at
        while source.word(i) in ("all", "both", "nice", "nicely", "completely", "always", "again", "fully", "back", "really", "properly", "still") and (
            self._state_ahead(i + 1)
        ):
            i += 1
        if source.word(i) == "and" or (source.word(i) in VAGUE_RESULTS and not self._state_ahead(i)):
            if source.word(i) in VAGUE_RESULTS:
                raise source.ask(AskReason.DONE, i, i + 1)
            return None
        states: list[str] = []
        while state := self._state(i):
            states.append(state[0])
            i = state[1]
            comma = i + (source.word(i) == ",")
            joined = comma + (source.word(comma) == "and")
            if joined == i or not self._state(joined) or self.verb_phrase(joined, {Form.BASE}):
                break
            i = joined
        return self._make(self.attach(parts), states, start, i) if states else None

    def _state_ahead(self, at: int) -> bool:
        return self._state(at) is not None

    def _state(self, at: int) -> tuple[str, int] | None:
        source = self._source
        if end := self._on_off(at):
            return ("powered on" if source.word(at) == "on" else "powered off"), end
        if source.starts(at, "filled with", "filled up with", "full of"):
            end = source.starts(at, "filled with", "filled up with", "full of")
            liquid = self._liquid(end)
            return (f"filled with {liquid[0]}", liquid[1]) if liquid else None
        match = source.match(at)
        for sense in match.senses if match else ():
            if sense.part is Part.STATE and match is not None:
                return sense.word, at + match.length
        for found in verbs_at(source.words, at):
            if Form.PAST in found.forms and found.verb.frame is Frame.MAKE and found.verb.base != "do":
                return found.verb.state, at + found.length
            if Form.PAST in found.forms and found.verb.frame in (Frame.FILL, Frame.EMPTY):
                return ("filled" if found.verb.frame is Frame.FILL else "empty"), at + found.length
        if source.word(at) == "shut":
            return "closed", at + 1
        return None

    def find(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """FIND: where things are."""
        source = self._source
        i = i + (source.word(i) in ("me", "us"))
        if source.word(i) == "where":
            found = self.objects(i + 1)
            if found is None or source.word(found[1]) not in ("is", "are", "went", "was", "were"):
                return None
            return [Do(Act.FIND, self.attach(found[0]), start, found[1] + 1)], found[1] + 1
        segments = self._segments(i, given)
        if segments is None or not self._no_targets(segments[0]):
            return None
        do = Do(Act.FIND, self.attach(segments[0]), start, segments[1], taken=True)
        return [do], segments[1]

    def go(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """GO: an agent to a place."""
        if given is not None:
            return None
        wheres, end = self.places(i)
        if not wheres or any(w.way is Way.FROM for w in wheres):
            return None
        if any(isinstance(w.anchor, Spot) and w.anchor not in (Spot.ME, Spot.HERE) for w in wheres):
            return None
        groups = grouped(wheres, unsure=True)
        return [Do(Act.GO, [], start, end, groups)], end

    def leave(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """LEAVE: alone, in a state, or at a place."""
        source = self._source
        segments = self._segments(i, given)
        if segments is None:
            return None
        parts, end = segments
        last = parts[-1].wheres[-1:]
        stays = last and (last[0].anchor in (Spot.BACK, None) or isinstance(last[0].anchor, PlaceWhere)) and source.word(last[0].end - 1) in ("is", "are", "was", "were", "there")
        if stays:
            parts[-1].wheres.pop()
            return [Do(Act.LEAVE, self.attach(parts), start, end)], end
        if len(parts) == 1 and last and isinstance(last[0].anchor, Noun):
            things = parts[0].things
            if all(isinstance(t, Noun) and not t.definite and t.count is not Amount.ALL for t in things):
                return self._moves(Verb("leave", Frame.PUT), parts, start, end, static=True)
        if alone := source.starts(end, *_ALONE):
            return [Do(Act.LEAVE, self.attach(parts), start, alone)], alone
        if result := self.result(end, parts, start):
            return result
        return None

    def touch(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """TOUCH, read only under a negation: things stay as they are."""
        segments = self._segments(i, given)
        if segments is None or not self._no_targets(segments[0]):
            return None
        return [Do(Act.LEAVE, self.attach(segments[0]), start, segments[1])], segments[1]

    def _set_table(self, start: int, i: int) -> Dos | None:
        found = self.item(i)
        if found is None or not isinstance(found[0], Noun) or found[0].kind not in _TABLES:
            return None
        table, i = found
        wheres, end = self.places(i)
        if wheres and not all(isinstance(w.anchor, Noun) and is_room(w.anchor) for w in wheres):
            return None
        self._describe([table], wheres)
        people, end = self.people(end)
        if not wheres:
            wheres, end = self.places(end)
            if not all(isinstance(w.anchor, Noun) and is_room(w.anchor) for w in wheres):
                return None
            self._describe([table], wheres)
        return [self._prepare(Occasion.SET_TABLE, start, end, table, people)], end

    def people(self, at: int) -> tuple[int | None, int]:
        """"For two (people)", and for what meal."""
        source = self._source
        people, i = None, at
        while source.word(i) == "for":
            j = i + 1 + (source.starts(i + 1, "the", "all") > 0)
            number = NUMBERS.get(source.word(j)) or (int(source.word(j)) if source.word(j).isdecimal() and len(source.word(j)) < 4 else None)
            if number:
                people, i = number, j + 1
                i += source.word(i) in ("people", "persons", "guests", "of")
                i += source.word(i) == "us"
            elif source.word(j) in ("dinner", "breakfast", "lunch", "tea", "supper", "brunch", "tonight", "me", "us", "guests"):
                i = j + 1
            else:
                break
        return people, i

    @staticmethod
    def _prepare(occasion: Occasion, start: int, end: int, at: Noun | None, people: int | None) -> Do:
        things: list[Phrase] = [at] if at else []
        return Do(Act.PREPARE, things, start, end, occasion=occasion, people=people)

    def tidy(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """TIDY: rooms and furniture."""
        segments = self._segments(i, given)
        if segments is None:
            return ([self._prepare(Occasion.TIDY, start, i, None, None)], i) if self._ends(i) else None
        parts, end = segments
        end += self._source.word(end) == "up"
        things = self.attach(parts)
        found = []
        for thing in things:
            if not isinstance(thing, Noun) or not (is_room(thing) or is_furniture(thing) or thing.kind == "floor"):
                return None
            found.append(self._prepare(Occasion.TIDY, start, end, thing, None))
        return found, end

    def _ends(self, at: int) -> bool:
        return not self._source.word(at)[:1].isalnum()

    def _chore(self, start: int, i: int) -> Dos | None:
        """"Give the towel a wash", "give the room a quick tidy"."""
        source = self._source
        segments = self.objects(i)
        if segments is None:
            return None
        parts, end = segments
        extra = parts[-1].things[-1]
        j = source.starts(end, "a", "another", "some")
        if not j or (isinstance(extra, Noun) and extra.start == end):
            return None
        while source.word(j) in ("quick", "good", "proper", "thorough", "little", "nice", "bit", "of", "fresh"):
            j += 1
        word = source.word(j)
        if word in _CHORES:
            return self._make(self.attach(parts), [_CHORES[word]], start, j + 1)
        if word in ("tidy", "clean up", "tidying"):
            things = self.attach(parts)
            rooms = [t for t in things if isinstance(t, Noun)]
            return [self._prepare(Occasion.TIDY, start, j + 1, room, None) for room in rooms], j + 1
        return None

    def brew(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """BREW: coffee or tea."""
        source = self._source
        if given is not None:
            return None
        i += source.word(i) in ("me", "us")
        i = source.starts(
            i, "some", "a cup of", "a pot of", "a mug of", "a nice cup of", "a fresh pot of", "cups of", "a",
            "the", "another cup of", "two cups of", "some fresh",
        ) or i  # fmt: skip
        drink = {"coffee": Occasion.MAKE_COFFEE, "tea": Occasion.MAKE_TEA}.get(source.word(i))
        if drink is None:
            return None
        people, end = self.people(i + 1)
        return [self._prepare(drink, start, end, None, people)], end

    def stack(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """STACK: one on the other, maybe at a place."""
        segments = self._segments(i, given)
        if segments is None:
            return None
        found = []
        for placed in self.placed(segments[0], static=True):
            placed.arrangement = Arrangement.STACKED
            found.append(self.move(placed, start, segments[1]))
        return found, segments[1]

    def swap(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """SWAP: two things, each to where the other was."""
        segments = self._segments(i, given)
        if segments is None:
            return None
        things = self.attach(segments[0])
        if len(things) != 2:
            return None
        end = segments[1]
        pairs = zip(things, reversed(things), strict=True)
        return [
            self.move(Placed([one], [Where(Relation.AT, PlaceWhere(other), Way.TO, start, end)], None), start, end)
            for one, other in pairs
        ], end  # fmt: skip

    def handle(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """HANDLE: who is responsible for things; what is done with them is said elsewhere."""
        segments = self._segments(i, given)
        if segments is None or not self._no_targets(segments[0]):
            return None
        do = Do(Act.MENTION, self.attach(segments[0]), start, segments[1], who=Actor.ROBOT, taken=True)
        return [do], segments[1]


def _can(thing: Phrase, affordance: str) -> bool:
    """Whether some class that a noun covers has an affordance."""
    return isinstance(thing, Noun) and affords(thing.kind, affordance)


_Rule = Callable[[Frames, Verb, int, int, "list[Phrase] | None"], "Dos | None"]
_RULES: dict[Frame, _Rule] = {
    Frame.PUT: Frames.put,
    Frame.CARRY: Frames.carry,
    Frame.FETCH: Frames.carry,
    Frame.PICK: Frames.carry,
    Frame.GIVE: Frames.carry,
    Frame.TRASH: Frames.trash,
    Frame.BIN: Frames.trash,
    Frame.AWAY: Frames.away,
    Frame.CLEAR: Frames.clear,
    Frame.UNLOAD: Frames.clear,
    Frame.LOAD: Frames.load,
    Frame.MAKE: Frames.make,
    Frame.FILL: Frames.fill,
    Frame.EMPTY: Frames.empty,
    Frame.POUR: Frames.pour,
    Frame.SWITCH: Frames.switch,
    Frame.CAUSE: Frames.cause,
    Frame.KEEP: Frames.cause,
    Frame.FIND: Frames.find,
    Frame.GO: Frames.go,
    Frame.LEAVE: Frames.leave,
    Frame.TIDY: Frames.tidy,
    Frame.BREW: Frames.brew,
    Frame.STACK: Frames.stack,
    Frame.SWAP: Frames.swap,
    Frame.HANDLE: Frames.handle,
}
