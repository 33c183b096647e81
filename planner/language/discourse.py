"""What words for things said before stand for: pronouns, "one", "the other", "there"."""

from __future__ import annotations

import copy
from collections.abc import Callable

from planner.language.drafts import (
    Act,
    Do,
    Either,
    Noun,
    Phrase,
    PlaceWhere,
    Pronoun,
    Way,
    Where,
    several,
)
from planner.language.lexicon import PERSON, Amount, Relation, Spot, can_be, whole_of
from planner.language.places import is_furniture, is_room
from planner.language.pronouns import RoomContexts, Spoken
from planner.language.reading import AlreadyTrue, AskReason, Refused, Source


class Discourse(RoomContexts):
    """Resolves one request after another, in the order of the text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._nouns: list[Noun] = []
        self._protected: list[Noun] = []
        # What each request sliced, from where slices were last spoken of.
        self._sliced: list[list[Noun]] = []
        self._slices_meant = False
        self._made: list[tuple[Noun, str]] = []
        self._before: int | None = None
        # The last of whom was spoken, and whether the latest request is about people alone.
        self.person: Noun | None = None
        self.is_about_people = False

    def forget_places(self) -> None:
        """Makes the places of the latest request none that "it" can mean."""
        spoken = self._spoken[-1]
        spoken.targets, spoken.anchors, spoken.places = [], [], []

    def accept(self, do: Do) -> None:
        """Replaces what a request refers to and remembers its things and places."""

        def fits(noun: Noun) -> bool:
            if do.act in (Act.MAKE, Act.NEVER) and do.states:
                return all(can_be(noun.kind, state) for state in do.states)
            if do.act is Act.PREPARE:
                return is_room(noun) or is_furniture(noun)
            fixed = is_room(noun) or noun.kind == "floor"
            return not fixed and (do.act is not Act.MOVE or not is_furniture(noun))

        self._check_any(do)
        self._changing = do.act is Act.MAKE
        self._before = len(self._nouns)
        do.things = [thing for phrase in do.things for thing in self._phrase(phrase, fits, [])]
        self._before = None
        if do.told:
            self._describe(do)
        topical = any(isinstance(tool, Pronoun) for tool in do.tools)
        do.tools = [
            thing for phrase in do.tools for thing in self._phrase(phrase, lambda _: True, [])
        ]
        own = [thing for thing in do.things if isinstance(thing, Noun)]
        people = [thing for thing in own if thing.kind == PERSON and not several(thing)]
        # "It" and "them" are things, unless a verb is about people.
        own = [thing for thing in own if thing.kind != PERSON]
        for thing in own if do.act is Act.MAKE and self._room is not None else ():
            self._into_context(thing, [])
        self._swap_places(do, own)
        for where in do.to:
            if isinstance(where.anchor, Noun) and where.anchor.other:
                self._other_place(where.anchor, own)
            self._leave_other_room(where.anchor, own)
            fresh = where.anchor
            known = len(self._nouns)
            self._where(where, own)
            if where.anchor is fresh and isinstance(fresh, Noun) and fresh in self._nouns[known:]:
                self._into_context(fresh, own)
                for inner in fresh.where:
                    # "Next to the lamp on the table".
                    if where.relation is Relation.NEXT_TO and isinstance(inner.anchor, Noun):
                        self._into_context(inner.anchor, own)
        if (
            do.act is Act.MOVE
            and do.to
            and all(
                w.anchor is Spot.BACK
                and w.end - w.start != 2
                and self._source.word(w.end - 1)
                not in ("was", "were", "from", "it", "them", "before", "place", "places")
                for w in do.to
            )
            and not self._moved(own)
        ):
            origins = [w.anchor for thing in own for w in thing.where if w.way is Way.FROM]
            for where in do.to:
                # "Wash the cup from the cabinet and put it back".
                where.anchor = origins[0] if len(own) == len(origins) == 1 else Spot.USUAL
        if do.act is Act.LEAVE:
            self._protected += own
        targets = [w.anchor for w in do.to if isinstance(w.anchor, Noun) and not do.guess]
        people += [noun for noun in targets if noun.kind == PERSON]
        targets = [noun for noun in targets if noun.kind != PERSON]
        self.is_about_people = bool(people) and not own
        self.person = people[-1] if people else self.person
        described = [w for thing in own for w in thing.where]
        anchors = targets + [w.anchor for w in described if isinstance(w.anchor, Noun)]
        if own or anchors:
            places = [w for w in do.to if not isinstance(w.anchor, Spot) and not _is_person(w)]
            if not places:
                cleared = any(w.anchor is Spot.ELSEWHERE for w in do.to)
                places = [w for w in described if cleared or w.way is not Way.FROM]
            topics = [tool for tool in do.tools if topical and isinstance(tool, Noun)]
            self._spoken.append(Spoken(own, targets, anchors, places, topics))
        if do.act is Act.MAKE and "sliced" in do.states:
            before = {id(thing) for group in self._sliced for thing in group}
            if whole := [thing for thing in own if id(thing) not in before]:
                self._sliced = [*([] if self._slices_meant else self._sliced), whole]
                self._slices_meant = False
        self._made += [(thing, s) for thing in own for s in do.states if do.act is Act.MAKE]

    def _swap_places(self, do: Do, own: list[Noun]) -> None:
        """Reads "bring me the vase and put the orchid in its place": where the vase was."""
        last = self._spoken[-1] if self._spoken else None
        if last is None or len(last.things) != 1 or last.things[0] in own or not own:
            return
        for where in do.to:
            said = self._source.starts(where.start, "in its place", "in their place")
            if where.anchor is Spot.USUAL and said and self._source.word(where.start - 1) != "back":
                where.anchor = PlaceWhere(last.things[0])

    def _check_any(self, do: Do) -> None:
        """Reads "any lamp that is on" as all of them, unless one is fetched; may have to ask."""
        fetched = any(where.anchor in (Spot.ME, Spot.HERE) for where in do.to)
        if do.act not in (Act.MOVE, Act.MAKE) or fetched:
            return
        for thing in do.things:
            if not isinstance(thing, Noun) or thing.plural or thing.count != 1:
                continue
            if (
                self._source.word(thing.start) != "any"
                or self._source.word(thing.start + 1) == "one"
            ):
                continue
            if thing.states:
                thing.count = Amount.ALL
            elif thing.described or do.act is Act.MAKE:
                raise self._source.ask(AskReason.WHICH, thing.start, thing.end)

    def _describe(self, do: Do) -> None:
        """Adds what is said of things to what they are: "it is on the desk"."""
        for where in do.to:
            self._where(where, [thing for thing in do.things if isinstance(thing, Noun)])
        for thing in do.things:
            if isinstance(thing, Noun):
                thing.states += [state for state in do.states if state not in thing.states]
                # "Two of the glasses are dirty. Wash those."
                thing.definite = thing.definite or isinstance(thing.count, int)
                thing.where += [where for where in do.to if where not in thing.where]
        do.states, do.to = [], []

    def join(self, number: int) -> None:
        """Makes the things of the last requests, which one verb names, one group for "them"."""
        group = self._spoken[-number:]
        if number > 1 and len(group) == number:
            things = [thing for spoken in group for thing in spoken.things]
            self._spoken.append(Spoken(
                things,
                [noun for spoken in group for noun in spoken.targets],
                [noun for spoken in group for noun in spoken.anchors],
                group[-1].places,
            ))  # fmt: skip

    def _moved(self, things: list[Noun]) -> bool:
        known = {id(noun) for spoken in self._spoken if spoken.places for noun in spoken.things}
        return any(id(thing) in known for thing in things)

    def _phrase(
        self, phrase: Phrase, fits: Callable[[Noun], bool], own: list[Noun]
    ) -> list[Phrase]:
        if isinstance(phrase, Pronoun):
            return list(self._pronoun(phrase, fits, own))
        if isinstance(phrase, Either):
            phrase.options = [self._noun(option, own) for option in phrase.options]
            return [phrase]
        if phrase.kind == "slice" and phrase.plural and not phrase.described and self._sliced:
            self._slices_meant = True
            return [thing for group in self._sliced for thing in group]
        return [self._noun(phrase, own)]

    def _noun(self, noun: Noun, own: list[Noun]) -> Noun:
        """A noun with its own references resolved, or the earlier one that it repeats."""
        if noun.kind == "slice" and self._sliced:
            last = self._sliced[-1]
            if len(last) > 1:
                # "Slice a potato and an apple and cook one slice".
                raise self._source.ask(AskReason.WHICH, noun.start, noun.end)
            # "Slice a potato and cook one slice": of that.
            noun.part_of = noun.part_of or last[0]
            cut = f"{last[0].kind} slice"
            noun.kind = cut if whole_of(cut) else noun.kind
        if noun.vague:
            raise self._source.ask(AskReason.WHAT, noun.start, noun.end)
        if any(noun is known for known in self._nouns):
            return noun
        if again := (
            self._brought_there(noun) or self._all_that(noun) or self._made_so(noun)
            or self._taken_from(noun)
        ):  # fmt: skip
            return again
        for where in noun.where:
            self._where(where, [noun, *own])
        noun.holding = [
            x for p in noun.holding for x in self._phrase(p, lambda _: True, [noun, *own])
        ]
        noun.but = [x for p in noun.but for x in self._phrase(p, lambda _: True, [noun, *own])]
        if noun.other:
            self._other(noun)
        if not noun.kind:
            before = self._noun_before(noun)
            noun.kind = before.kind
            counted = isinstance(noun.count, int) and not noun.definite and several(before)
            told = noun.color or noun.size or noun.material or noun.states
            meant = noun.definite or noun.count is Amount.ALL
            chosen = noun.pick or counted or (told and meant and several(before))
            if chosen and not noun.where:
                # "There are two boxes in the hall. Take the bigger one", "take one".
                noun.where = list(before.where)
            noun.part_of = before if counted or (chosen and several(before)) else None
        if noun.kind == "thing" and noun.count == 1 and not noun.described:
            raise self._source.ask(AskReason.WHAT, noun.start, noun.end)
        that = self._source.word(noun.start) == "that"
        if that and is_room(noun) and not any(n.kind == noun.kind for n in self._nouns):
            raise self._source.ask(AskReason.WHICH, noun.start, noun.end)
        if is_room(noun) and noun.states:
            # "Everything in the kitchen that is open": not the kitchen.
            raise self._source.ask(AskReason.WHICH, noun.start, noun.end)
        if earlier := self._repeated(noun):
            return earlier
        self._nouns.append(noun)
        return noun

    def _brought_there(self, noun: Noun) -> Noun | None:
        """Reads "take the cup to the kitchen and wash the cup there": the one that was brought."""
        there, last = noun.where, self._spoken[-1] if self._spoken else None
        if not there or last is None or any(where.anchor is not None for where in there):
            return None
        noun.where = []
        earlier = self._repeated(noun)
        noun.where = there
        brought = last.places and any(thing is earlier for thing in last.things)
        return earlier if brought else None

    def _made_so(self, noun: Noun) -> Noun | None:
        """Reads "wash the cup, then put the clean cup away": the one that was washed."""
        states, noun.states = noun.states, []
        plain = not noun.described and (noun.definite or noun.count is Amount.ALL)
        noun.states = states
        made = [n for n, state in self._made if n.kind == noun.kind and states == [state]]
        return made[-1] if plain and made else None

    def _taken_from(self, noun: Noun) -> Noun | None:
        """Reads "take the cup to the desk, then the cup from the desk to the bed": the same cup."""
        place = noun.where[0] if noun.definite and len(noun.where) == 1 else None
        if place is None or place.way is not Way.FROM or not isinstance(place.anchor, Noun):
            return None
        for spoken in reversed(self._spoken):
            there = any(target.kind == place.anchor.kind for target in spoken.targets)
            same = [thing for thing in spoken.things if thing.kind == noun.kind]
            if there and len(same) == 1:
                return same[0]
        return None

    def _all_that(self, noun: Noun) -> Noun | None:
        """Reads "clear the table and put everything in the dishwasher": all that was on it."""
        last = self._spoken[-1].things if self._spoken else []
        if noun.kind != "thing" or noun.count is not Amount.ALL or noun.described or len(last) != 1:
            return None
        whole = last[0].kind == "thing" and last[0].count is Amount.ALL and last[0].described
        return last[0] if whole and self._source.word(noun.start) == "everything" else None

    def _other(self, noun: Noun) -> None:
        """Reads "The other one", "another cup", "the rest": not those named before."""
        earlier = [
            n for spoken in reversed(self._spoken) for n in spoken.things
            if not noun.kind or n.kind == noun.kind or noun.kind == "thing"
        ]  # fmt: skip
        if not earlier and noun.definite and noun.kind:
            anchors = [n for spoken in self._spoken for n in spoken.anchors if n.kind == noun.kind]
            earlier = anchors if len(set(map(id, anchors))) == 1 else []
        if not earlier:
            if noun.count is Amount.ALL and not noun.kind:
                raise self._source.ask(AskReason.WHAT, noun.start, noun.end)
            if noun.definite:
                raise self._source.ask(AskReason.WHICH, noun.start, noun.end)
            return
        noun.kind = noun.kind or earlier[0].kind
        if noun.count is Amount.ALL:
            if any(
                n in self._protected and isinstance(n.count, int) and not n.definite
                for n in earlier
            ):
                # "Leave two cups there and move the others": from there, whichever two stay.
                raise self._source.ask(AskReason.WHICH, noun.start, noun.end)
            noun.but += [n for n in earlier if n in self._protected and n not in noun.but]
            earlier = [n for n in earlier if n not in self._protected]
        else:
            if noun.definite:
                noun.where = noun.where or copy.copy(earlier[0].where)
        noun.other_than = list(dict.fromkeys(earlier)) if noun.count is Amount.ALL else earlier[:1]

    def _other_place(self, place: Noun, things: list[Noun]) -> None:
        """Reads "to the other table": not the one that the things are at."""
        origins = [w.anchor for t in things for w in t.where if isinstance(w.anchor, Noun)]
        named = [n for spoken in self._spoken for n in (*spoken.things, *spoken.anchors)]
        if place.definite and place.kind and (
            any(origin.kind == place.kind for origin in origins)
            or not any(noun.kind == place.kind for noun in named)
        ):  # fmt: skip
            place.other, place.elsewhere = False, True

    def _noun_before(self, noun: Noun) -> Noun:
        """The noun that "one" and "ones" stand for."""
        inner = [where.anchor for where in noun.where]
        known = [
            n
            for n in reversed(self._nouns)
            if n.kind not in ("", "floor", PERSON) and not is_room(n) and n not in inner
        ]
        fresh = self._before is not None and len(self._nouns) == self._before
        counted = isinstance(noun.count, int) and not noun.definite and not noun.described
        if fresh and counted and self._spoken:
            # "Put a spoon in each cup and one on the table".
            things = [n for n in self._spoken[-1].things if n in known]
            known = things or known
        for earlier in sorted(known, key=is_furniture):
            # "Put the black one in the closet and bring me the red one": of the same.
            return earlier.part_of or earlier
        raise self._source.ask(AskReason.WHAT, noun.start, noun.end)

    def _repeated(self, noun: Noun) -> Noun | None:
        """The earlier noun that a definite one without further description repeats."""
        telegraphic = noun.bare and noun.count == 1
        if (
            noun.described
            or (noun.bare and not telegraphic)
            or noun.but
            or noun.each
            or not (
                noun.definite
                or telegraphic
                or (
                    noun.count is Amount.ALL
                    and self._source.word(noun.start) in ("the", "those", "these", "that")
                )
            )
        ):
            return None
        matching = [
            n for n in self._nouns[: self._before]
            if n.plural == noun.plural
            and (f" {n.kind}".endswith(f" {noun.kind}")
                 or _head_last(n.kind) == _head_last(noun.kind))
        ]  # fmt: skip
        if noun.plural and isinstance(noun.count, int):
            matching = [n for n in matching if n.count == noun.count]
        if telegraphic:
            # "Get (the) egg from sink, wash egg".
            matching = [n for n in matching if n.count == 1 and not n.plural]
        return matching[0] if len(matching) == 1 else None

    def _where(self, where: Where, own: list[Noun]) -> None:
        anchor = where.anchor
        if anchor is None:
            self._there(where, own)
        elif isinstance(anchor, PlaceWhere):
            if isinstance(anchor.noun, Pronoun) and not self._spoken:
                # "Put the cup where it is".
                raise Refused(AlreadyTrue(words=(self._source.quote(where.start, where.end),)))
            anchor.noun = self._phrase(anchor.noun, lambda _: True, own)[0]
        elif not isinstance(anchor, Spot):
            if anchor in own:
                raise self._source.unknown(where.start, where.end)
            if isinstance(anchor, Noun) and not anchor.kind and not anchor.other:
                # "The plates in the left cabinet, the cups in the right one".
                targets = [n for spoken in self._spoken for n in spoken.targets if n not in own]
                # "From the table in the hall to the one in the kitchen".
                origins = [
                    w.anchor for t in own for w in t.where
                    if isinstance(w.anchor, Noun) and w.anchor is not anchor
                    and (w.way is Way.FROM or is_furniture(w.anchor))
                ]  # fmt: skip
                targets = origins or targets
                anchor.kind = targets[-1].kind if targets else ""
            if isinstance(anchor, Pronoun) and anchor.number == 1 and self._spoken:
                if around := self._around(where.relation):
                    where.anchor = anchor = around
                else:
                    self._check_anchor(anchor, where.relation, own)
                    self._check_holder(anchor, where.relation, own)
            found = self._phrase(anchor, lambda noun: noun not in own, own)
            if len(found) != 1:
                raise self._source.ask(AskReason.WHICH, where.start, where.end)
            where.anchor = found[0]
            if (
                isinstance(found[0], Noun)
                and is_room(found[0])
                and where.relation is Relation.AT
                and where.way is not Way.FROM
            ):
                where.relation = Relation.IN


def _head_last(kind: str) -> str:
    """One wording of a kind that has two: "apple slice" for "slice of apple"."""
    head, _, whole = kind.partition(" of ")
    return f"{whole} {head}" if whole else kind


def _is_person(where: Where) -> bool:
    return isinstance(where.anchor, Noun) and where.anchor.kind == PERSON
