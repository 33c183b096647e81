"""Verbs that give things a state."""

from __future__ import annotations

from planner.language.drafts import Act, Do, Noun, Phrase, Pronoun, Way, Where
from planner.language.english import LIQUIDS, THE, VAGUE_RESULTS, phrases, table, words
from planner.language.lexicon import GENERIC_KINDS, Amount, Part, Relation, Spot, affords
from planner.language.lists import Segment
from planner.language.objects import Objects
from planner.language.places import grouped, is_room
from planner.language.reading import AskReason
from planner.language.verbs import Form, Frame, Verb, state_of_split, verbs_at

Dos = tuple[list[Do], int]
"""Requests, and the position after them."""
_STRESS = words("all both nice nicely completely always again fully back really properly still")
_SOME_LIQUID = phrases(table("some liquid"))
_OF_LIQUIDS = words("fresh cold hot warm clean tap orange apple black")
_DIRT = words("dust stain stains dirt grime crumbs lint spots")


IN_HAND = ("in hand", "in your hand", "in your hands")


class StateFrames(Objects):
    """Reads verbs that give things a state."""

    def make(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """MAKE: things get the state of the verb."""
        i += given is None and self._source.word(i) in ("me", "us") and self.item(i + 1) is not None
        if given is None and verb.state in ("open", "closed"):
            i, given = self._door(i)
        if given is None and verb.state in ("clean", "dusted"):
            i = self._dirt(i)
        if (found := self._state_of(verb.state, start, i, given)) is None:
            return None
        if verb.state == "clean":
            found = found[0], self._dirt(found[1], of=True)
        if split := state_of_split(verb.base, self._source.word(found[1])):
            # "Shut it down" is not "shut it".
            found = self._make(found[0][0].things, [split], start, found[1] + 1)
        if verb.base != "do":
            return found
        chores = all(
            isinstance(thing, Noun) and thing.kind in ("dish", "laundry", "crockery", "pot", "pan")
            for do in found[0]
            for thing in do.things
        )
        return found if chores else None

    def _door(self, at: int) -> tuple[int, list[Phrase] | None]:
        """Reads "the door", of what was spoken of last, and "the door of the oven"."""
        end = self._source.starts(at, "the door", "the doors", "its door", "its doors")
        if self._source.word(end) == "of" and end:
            return end + 1, None
        if not end or self.place(end):
            return at, None
        return end, [Pronoun("it", 1, at, end)]

    def _dirt(self, at: int, *, of: bool = False) -> int:
        """The position after "the dust and stains off", or after "of (any) dust" behind a thing."""
        source = self._source
        if of and source.word(at) != "of":
            return at
        i = at + of
        while True:
            i += source.word(i) in THE | {"any", "all"}
            if source.word(i) not in _DIRT:
                return at
            i = source.starts(i + 1, "and", ",") or i + 1
            if of and source.word(i) not in _DIRT | THE:
                return i
            if not of and (end := source.starts(i, "off of", "off", "from")):
                return end

    def _state_of(self, state: str, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        if (segments := self._segments(i, given)) is None:
            return None
        parts, end = segments
        inside: Where | None = None
        for part in parts:
            if state == "sliced":
                # "Cut the bread into slices" says nothing more.
                part.wheres = [where for where in part.wheres if not _is_slices(where)]
            last = part.wheres[-1:] if part is parts[-1] else []
            named = any(isinstance(thing, Noun) for thing in part.things)
            if (state == "cooked" and _in(last, "microwave oven")) or (
                state == "clean" and not named and _in(last, "sink basin bathtub")
            ):
                # "Cook the egg in the microwave", "wash them in the sink".
                inside = part.wheres.pop()
            elif part.wheres and state in ("cooked", "boiled", "toasted"):
                # "In the pan" says where it is done or which one it is.
                return None
        if not self._no_targets(parts):
            return None
        things = self.attach(parts)
        for particle in ("up", "off", "down", "out"):
            if self._source.word(end) == particle and state in ("clean", "sliced", "dusted"):
                end += 1
                break
        made = self._make(things, [state], start, end)
        if inside is None:
            return made
        inside.way = Way.TO
        first = Do(Act.MOVE, things, start, end, [inside], tempers=True)
        return [first, *made[0]], made[1]

    def _make(self, things: list[Phrase], states: list[str], start: int, end: int) -> Dos:
        do = Do(Act.MAKE, things, start, end, states=states)
        source = self._source
        for thing in things:
            if (
                isinstance(thing, Noun)
                and source.word(thing.end - 1) == "shelves"
                and thing.definite
            ):
                # "Dust the shelves": every one; "on the shelves" is on one of them.
                thing.plural, thing.count, thing.definite = True, Amount.ALL, False
        if source.word(end) in ("with", "using"):
            washing = source.starts(end + 1, "soap and water", "some water", "water")
            tools = ([], washing) if washing else self.tools(end + 1)
            if source.starts(tools[1], *IN_HAND):
                return [do], end
            do.tools += tools[0]
            end = do.end = tools[1] or end
        wheres, after = self.places(end)
        if do.tools and any(
            w.way is Way.FROM
            or (w.relation is Relation.IN and isinstance(w.anchor, Noun) and not is_room(w.anchor))
            for w in wheres
        ):
            # "Wash the cup with the sponge in the sink", "from the sink": which is there?
            raise source.ask(AskReason.WHICH, do.tools[0].start, after)
        if wheres and all(w.way is not Way.TO and w.anchor is not None for w in wheres):
            self._describe(things, wheres)
            end = after
        return [do], end

    def tools(self, at: int) -> tuple[list[Phrase], int]:
        """What something is done with: "(with) the rag and the bucket"; 0 if nothing is named."""
        found: list[Phrase] = []
        end = 0
        i = at
        while i and (tool := self.item(i)):
            found, end = [*found, tool[0]], tool[1]
            i = self._joined(end)
        return found, end

    def _segments(self, at: int, given: list[Phrase] | None) -> tuple[list[Segment], int] | None:
        if given is None:
            return self.objects(at)
        segment = Segment(list(given))
        return [segment], self._places_of(segment, at)

    def _liquid(self, at: int) -> tuple[str, int] | None:
        """Reads "Some fresh water"."""
        source = self._source
        i = source.longest(at, _SOME_LIQUID) or at
        while source.word(i) in _OF_LIQUIDS:
            i += 1
        return (source.word(i), i + 1) if source.word(i) in LIQUIDS else None

    def pour(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """POUR: a drink into something."""
        if given is not None:
            return None
        if (liquid := self._liquid(i)) is None:
            return None
        if verb.frame is not Frame.POUR and liquid[0] in ("milk", "juice"):
            return None
        if verb.frame is Frame.POUR and (poured := self._poured(start, *liquid)):
            return poured
        wheres, end = self.places(liquid[1])
        if not wheres or wheres[0].relation not in (Relation.IN, Relation.AT):
            return None
        if self._source.word(i) == "the" and verb.frame is Frame.PUT and len(wheres) > 1:
            # "Put the coffee in the cup on the desk": that coffee, or more into that cup.
            raise self._source.ask(AskReason.WHICH, i, end)
        state = "empty" if wheres[0].way is Way.FROM else f"filled with {liquid[0]}"
        groups = [w.anchor for w in wheres[:1] if isinstance(w.anchor, Noun | Pronoun)]
        if isinstance(groups[0] if groups else None, Noun) and len(wheres) > 1:
            self._describe([groups[0]], wheres[1:])
        return self._make(list(groups), [state], start, end) if groups else None

    def _poured(self, start: int, liquid: str, at: int) -> Dos | None:
        """Reads "from the bowl into the cup", "over the plant with the can", in any order."""
        wheres, i = [], at
        while found := self._vessel(i):
            wheres.append(found[0])
            i = found[1]
        wheres = grouped(wheres, unsure=False)
        emptied = [w.anchor for w in wheres if w.way is Way.FROM and isinstance(w.anchor, Noun)]
        targets = [w for w in wheres if w.way is not Way.FROM]
        target = targets[0].anchor if len(targets) == 1 and len(wheres) <= 2 else None
        vessels = len(emptied) == len(wheres) - 1 and all(can(it, "fillable") for it in emptied)
        if not isinstance(target, Noun) or target.kind in GENERIC_KINDS or not vessels:
            return None
        state = "watered" if liquid == "water" and can(target, "waterable") else ""
        if not state and emptied and targets[0].relation is Relation.IN:
            state = f"filled with {liquid}" if can(target, "fillable") else ""
        dos = self._make([target], [state], start, i)[0] if state else []
        for vessel in emptied if state else ():
            vessel.states.append(f"filled with {liquid}")
            dos += self._make([vessel], ["empty"], start, i)[0]
        return (dos, i) if dos else None

    def _vessel(self, at: int) -> tuple[Where, int] | None:
        """One place of what is poured: "over the plant", "using a jug", "from it"."""
        way = {"over": Way.STATIC, "using": Way.FROM, "with": Way.FROM}.get(self._source.word(at))
        thing = self.phrase(at + 1) if way else None
        if way and thing:
            return Where(Relation.ON_TOP, thing[0], way, at, thing[1]), thing[1]
        found = self.place(at)
        return (found[0][0], found[1]) if found and len(found[0]) == 1 else None

    def switch(self, _verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        """SWITCH: things, then "on" or "off"."""
        if (segments := self._segments(i, given)) is None:
            return None
        parts, i = segments
        last = parts[-1].wheres[-1:]
        if last and self._source.starts(last[0].start, "on there"):
            # "Turn it on there".
            parts[-1].wheres.pop()
            return self._make(self.attach(parts), ["powered on"], start, i)
        back = self._source.word(i) == "back"
        if not (end := self._on_off(i + back)):
            return None
        state = "powered on" if self._source.word(end - 1) == "on" else "powered off"
        return self._make(self.attach(parts), [state], start, end)

    def _on_off(self, at: int) -> int:
        """The position after "on" or "off" that no place follows."""
        word = self._source.word(at)
        return at + 1 if word in ("on", "off") and self.item(at + 1) is None else 0

    def result(self, at: int, parts: list[Segment], start: int) -> Dos | None:
        """A state behind things: "on", "clean", "sliced", "filled with water"."""
        source = self._source
        if not self._no_targets(parts):
            return None
        i = at
        while source.word(i) in _STRESS and (self._state_ahead(i + 1)):
            i += 1
        if (
            more := source.starts(i, "a bit more", "a little more", "a bit", "a little", "more")
        ) and (source.word(more) in VAGUE_RESULTS):
            i = more
        if source.word(i) == "and" or (
            source.word(i) in VAGUE_RESULTS and not self._state_ahead(i)
        ):
            if source.word(i) in VAGUE_RESULTS:
                raise source.ask(AskReason.DONE, i, i + 1)
            return None
        states: list[str] = []
        while state := self._state(i):
            states.append(state[0])
            i = state[1]
            comma = i + (source.word(i) == ",")
            joined = comma + (source.word(comma) == "and")
            if joined == i or not self._state(joined) or self._commands(joined):
                break
            i = joined
        return self._make(self.attach(parts), states, start, i) if states else None

    def _commands(self, at: int) -> bool:
        """Whether a verb with an object stands here: "clean the table"."""
        return any(
            Form.BASE in found.forms and self.item(at + found.length)
            for found in verbs_at(self._source.words, at)
        )

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
            if (
                Form.PAST in found.forms
                and found.verb.frame is Frame.MAKE
                and found.verb.base != "do"
            ):
                return found.verb.state, at + found.length
            if Form.PAST in found.forms and found.verb.frame in (Frame.FILL, Frame.EMPTY):
                return ("filled" if found.verb.frame is Frame.FILL else "empty"), at + found.length
        if source.word(at) == "shut":
            return "closed", at + 1
        if source.word(at) in ("going", "running") and source.word(at + 1) not in ("to", "on"):
            return "powered on", at + 1
        return None

    @staticmethod
    def _no_targets(parts: list[Segment]) -> bool:
        return all(
            w.way is not Way.TO and not isinstance(w.anchor, Spot) for p in parts for w in p.wheres
        )


def _in(wheres: list[Where], kinds: str) -> bool:
    """Whether the place is in something of some kinds."""
    return any(
        isinstance(w.anchor, Noun) and w.relation is Relation.IN and w.anchor.kind in kinds.split()
        for w in wheres
    )


def _is_slices(where: Where) -> bool:
    return isinstance(where.anchor, Noun) and where.anchor.kind in ("slice", "piece")


def is_light(thing: Phrase) -> bool:
    """Whether a noun names lights."""
    return isinstance(thing, Noun) and thing.kind.split()[-1:] in (["light"], ["lamp"])


def can(thing: Phrase, affordance: str) -> bool:
    """Whether some class that a noun covers has an affordance."""
    return isinstance(thing, Noun) and affords(thing.kind, affordance)
