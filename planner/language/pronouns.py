"""What pronouns, "there" and "close by" stand for among what was said before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from planner.language.drafts import (
    Either,
    Noun,
    Phrase,
    Pronoun,
    Way,
    Where,
    only_plural,
    several,
    single,
)
from planner.language.english import LIQUIDS
from planner.language.lexicon import Amount, Relation, can_hold, plural_of
from planner.language.places import BY_SIDE, SIDES, is_furniture, is_room
from planner.language.reading import AskReason, Source

_MIRRORED = {
    Relation.LEFT_OF: Relation.RIGHT_OF, Relation.RIGHT_OF: Relation.LEFT_OF,
    Relation.BEHIND: Relation.IN_FRONT_OF, Relation.IN_FRONT_OF: Relation.BEHIND,
}  # fmt: skip


@dataclass(slots=True)
class Spoken:
    """The things and places of one request, as they can be referred to."""

    things: list[Noun]
    targets: list[Noun] = field(default_factory=list)
    anchors: list[Noun] = field(default_factory=list)
    places: list[Where] = field(default_factory=list)
    topics: list[Noun] = field(default_factory=list)


class Pronouns:
    """Finds what is meant among what the requests so far were about, the latest first."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spoken: list[Spoken] = []
        self._changing = False

    def _around(self, relation: Relation) -> Noun | None:
        """Reads "the fork left of the plate, the knife right of it, the glass behind it"."""
        at = [
            spoken.places[0] for spoken in self._spoken[-2:]
            if len(spoken.places) == 1 and spoken.places[0].relation in SIDES
        ]  # fmt: skip
        if not at or at[-1] not in self._spoken[-1].places or relation not in SIDES:
            return None
        same = len(at) == 2 and at[0].anchor is at[1].anchor
        anchor = at[-1].anchor
        mirrored = _MIRRORED[relation] is at[-1].relation
        return anchor if isinstance(anchor, Noun) and (same or mirrored) else None

    def _check_anchor(self, pronoun: Pronoun, relation: Relation, own: list[Noun]) -> None:
        """Asks what "it" is in "the fork next to the plate and the knife behind it"."""
        last = self._spoken[-1]
        beside = [
            where.anchor
            for where in last.places
            if isinstance(where.anchor, Noun)
            and not is_room(where.anchor)
            and not is_furniture(where.anchor)
            and where.anchor.kind != "floor"
        ]
        things = [noun for noun in last.things if noun not in own]
        beside += [
            where.anchor
            for where in last.places
            if isinstance(where.anchor, Noun)
            and (
                where.relation in SIDES
                or (where.relation in BY_SIDE and relation in (Relation.ON_TOP, Relation.IN))
            )
        ]
        if beside and things and all(map(single, (*beside, *things))):
            raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)

    def _check_holder(self, pronoun: Pronoun, relation: Relation, own: list[Noun]) -> None:
        """Asks what "it" is in "the ball under the table and the doll on it"."""
        last = self._spoken[-1]
        things = [noun for noun in last.things if single(noun) and noun not in own]
        places = [noun for noun in last.anchors if single(noun) and noun not in things]
        likely = any(can_hold(noun.kind, relation) for noun in things)
        if things and not likely and any(can_hold(noun.kind, relation) for noun in places):
            raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)

    def _there(self, where: Where, own: list[Noun]) -> None:
        """Finds what "there" and "inside" mean: the last place, or what holds things."""
        if where.relation is Relation.AT and own and is_furniture(own[0]):
            rooms = (
                room
                for spoken in reversed(self._spoken)
                for place in reversed(spoken.places)
                if isinstance(place.anchor, Noun) and (room := room_of(place.anchor))
            )
            where.relation, where.anchor = Relation.IN, next(rooms, None)
            if where.anchor is None:
                raise self._source.ask(AskReason.WHERE, where.start, where.end)
            return
        if self._source.starts(where.start, "close by", "nearby"):
            where.anchor = self._neighbours(where, own)
            return
        for spoken in reversed(self._spoken):
            things = [n for n in spoken.things if n not in own]
            if where.relation is Relation.AT and spoken.places:
                last = spoken.places[-1]
                keeps = where.way is Way.STATIC or (
                    isinstance(last.anchor, Noun) and is_room(last.anchor)
                )
                where.relation = last.relation if keeps else Relation.AT
                where.anchor = last.anchor
                return
            if where.relation is not Relation.AT:
                targets = [n for n in spoken.targets if n not in own]
                anchors = [n for n in spoken.anchors if n not in own]
                if where.relation is Relation.IN:
                    things = [n for n in things if can_hold(n.kind, where.relation)]
                found = targets or (things if len(things) == 1 else []) or anchors
                if where.relation is Relation.ON_TOP:
                    found = [noun for noun in found if not is_room(noun)]
                if found:
                    where.anchor = found[-1]
                    return
            if len(things) == 1 and (is_furniture(things[0]) or is_room(things[0])):
                where.anchor = things[0]
                return
        raise self._source.ask(AskReason.WHERE, where.start, where.end)

    def _neighbours(self, where: Where, own: list[Noun]) -> Phrase:
        """What "the can close by" is close to: one of the things that were named last."""
        last = self._spoken[-1] if self._spoken else Spoken([])
        beside = [w.anchor for w in last.places if _is_beside(w)]
        found = [n for n in (*last.things, *beside) if isinstance(n, Noun) and n not in own]
        found = [noun for noun in found if not is_furniture(noun) and not is_room(noun)]
        if not found:
            raise self._source.ask(AskReason.WHERE, where.start, where.end)
        if len(found) == 1 and several(found[0]):
            found *= 2
        return found[0] if len(found) == 1 else Either(found, where.start, where.end)

    def _pronoun(
        self, pronoun: Pronoun, fits: Callable[[Noun], bool], own: list[Noun]
    ) -> Iterator[Noun]:
        if pronoun.word in ("former", "latter"):
            pair = next((s.things for s in reversed(self._spoken) if len(s.things) == 2), None)
            if pair is None:
                raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)
            yield pair[0 if pronoun.word == "former" else 1]
            return
        if "both" in pronoun.word:
            yield from self._pair(pronoun, own)
            return
        if pronoun.word.startswith("all these") and (found := self._several(pronoun, fits, own)):
            yield from found
            return
        latest = self._spoken[-1].things if self._spoken else []
        excepted = [
            n for t in latest if t.kind != "thing" for n in t.but
            if isinstance(n, Noun) and single(n)
        ]  # fmt: skip
        if pronoun.number == 1 and excepted:
            # "The fruit in the bowl, but not the banana, it goes in the bin".
            raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)
        for later, spoken in enumerate(reversed(self._spoken)):
            things = [n for n in spoken.things if n not in own]
            anchors = [n for n in spoken.anchors if n not in own and not is_room(n)]
            if pronoun.number == 1 and any(map(fits, spoken.topics)) and any(map(fits, things)):
                # "Fill the can, water the plant with it and put it back".
                yield next(noun for noun in spoken.topics if fits(noun))
                return
            if found := self._meant(pronoun, things, anchors, fits):
                self._check_vessel(pronoun, found, fits)
                between = self._spoken[-later:] if later else []
                if pronoun.number == 2 and later > 1 and not self._came_there_too(
                    spoken, between, fits
                ) and sum(any(map(fits, other.things)) for other in between) > 1:  # fmt: skip
                    # "The cups ... Then the fork ... Then the spoon ... Then them": which?
                    raise self._source.ask(AskReason.WHAT, pronoun.start, pronoun.end)
                yield from found
                if pronoun.number == 2 and later:
                    yield from self._came_there_too(spoken, self._spoken[-later:], fits)
                return
        for spoken in reversed(self._spoken):
            things = [n for n in spoken.things if n not in own]
            if found := self._meant(pronoun, things, [], lambda _: True):
                yield from found
                return
        if pronoun.number == 2 and (found := self._several(pronoun, fits, own)):
            yield from found
            return
        if pronoun.number == 2 and self._spoken:
            yield from self._pair(pronoun, own)
            return
        raise self._source.ask(AskReason.WHAT, pronoun.start, pronoun.end)

    @staticmethod
    def _came_there_too(
        spoken: Spoken, later: list[Spoken], fits: Callable[[Noun], bool]
    ) -> list[Noun]:
        """Reads "put the cups on the bed and the hat there as well. Move these": the hat, too."""
        together = all(
            other.targets and spoken.targets and other.targets[-1] is spoken.targets[-1]
            for other in later
        )
        added = [noun for other in later for noun in other.things if noun not in spoken.things]
        return added if together and all(map(fits, added)) else []

    def _check_vessel(
        self, pronoun: Pronoun, found: list[Noun], fits: Callable[[Noun], bool]
    ) -> None:
        """Asks what is washed in "take the spoon out of the mug and wash it"."""
        if not self._changing or pronoun.number != 1 or len(found) != 1:
            return
        origins = [where for where in found[0].where if where.way is Way.FROM]
        last = self._spoken[-1]
        put = last.places if found[0] in last.things and len(last.places) == 1 else []
        for where in (*origins, *(w for w in put if w not in found[0].where)):
            vessel = where.anchor
            if not isinstance(vessel, Noun) or not single(vessel):
                continue
            if fits(vessel) and not (is_furniture(vessel) or is_room(vessel)):
                raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)

    def _several(
        self, pronoun: Pronoun, fits: Callable[[Noun], bool], own: list[Noun]
    ) -> list[Noun]:
        """Reads "all of them" after several requests, and "them" after "the cup next to it"."""
        if pronoun.word.startswith(("all", "these")):
            named = [noun for spoken in self._spoken for noun in spoken.things]
        else:
            last = self._spoken[-1:]
            beside = [w.anchor for s in last for w in s.places if w.relation is Relation.NEXT_TO]
            named = [n for s in last for n in s.things]
            named += [anchor for anchor in beside if isinstance(anchor, Noun)]
        found = list({id(n): n for n in named if n not in own and not is_furniture(n)}.values())
        found = [n for n in found if not is_room(n) and n.kind != "floor"]
        return found if len(found) > 1 and all(map(fits, found)) else []

    def _pair(self, pronoun: Pronoun, own: list[Noun]) -> list[Noun]:
        """Two things that one request, or two requests, named before; otherwise asks."""
        groups = [[n for n in spoken.things if n not in own] for spoken in reversed(self._spoken)]
        for later, group in enumerate(groups):
            if sum(len(single_group) == 1 for single_group in groups[:later]) > 1:
                # "The cup and the plate ... Then the fork ... Then the spoon ... them both".
                break
            if len(group) == 2 or (len(group) == 1 and group[0].count == 2):
                return group
        named = list(dict.fromkeys(noun for group in reversed(groups) for noun in group))
        if len(named) == 1:
            # "Put the cup next to the plate and bring me both".
            beside = [w.anchor for s in self._spoken for w in s.places if _is_beside(w)]
            named += [n for n in beside if isinstance(n, Noun) and not is_furniture(n)]
        if len(named) != 2:
            raise self._source.ask(AskReason.WHAT, pronoun.start, pronoun.end)
        return named

    def _said_plural(self, noun: Noun) -> bool:
        """Whether one thing is named by a plural, such as "the keys", which "it" is not."""
        if only_plural(noun):
            return True
        plural = plural_of(noun.kind)
        if self._source.words[noun.start : noun.start + 2] == ("one", "of"):
            return False
        return plural != noun.kind and plural in self._source.words[noun.start : noun.end]

    def _meant(
        self,
        pronoun: Pronoun,
        things: list[Noun],
        anchors: list[Noun],
        fits: Callable[[Noun], bool],
    ) -> list[Noun]:
        """What a pronoun means among the things and anchors of one request; empty if nothing."""
        if pronoun.number == 0:
            return things
        if pronoun.number == 2:
            if (len(things) > 1 or any(map(several, things))) and all(map(fits, things)):
                return things
            for anchor in anchors:
                if several(anchor) and fits(anchor):
                    return [anchor]
            return []
        # "There is juice on the floor, wipe it up" is about the floor.
        fitting = [
            n for n in things
            if single(n) and fits(n) and not self._said_plural(n)
            and (n.kind not in LIQUIDS or not self._changing)
        ]  # fmt: skip
        if len(things) > 1 and len(fitting) == 1:
            # "Put the shirts and the belt in the bag and take it to the hall": hardly the belt.
            held = [noun for noun in anchors if single(noun) and fits(noun)]
            if len(held) != 1:
                raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)
            return held
        if len(fitting) > 1:
            raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)
        if fitting:
            return fitting
        whole = [n for n in things if n.kind == "thing" and n.count is Amount.ALL and fits(n)]
        for anchor in anchors:
            if single(anchor) and fits(anchor):
                if whole and any(w.way is Way.FROM and w.anchor is anchor for w in whole[0].where):
                    # "Take everything out of the box and put it on the shelf".
                    raise self._source.ask(AskReason.WHICH, pronoun.start, pronoun.end)
                return [anchor]
        # "Take everything out and put it on the counter".
        return whole


def _is_beside(where: Where) -> bool:
    return where.relation is Relation.NEXT_TO


def room_of(place: Noun) -> Noun | None:
    """The room that a place is or is said to be in."""
    if is_room(place):
        return place
    rooms = (w.anchor for w in place.where if w.relation is Relation.IN)
    return next((room for room in rooms if isinstance(room, Noun) and is_room(room)), None)


# The room of furniture that is named without one, as what was said before tells.

# Furniture that hardly stands in another room than these.
_OF_ROOM = dict.fromkeys(("bed", "bedside table", "nightstand"), "bedroom")
_OF_ROOM |= dict.fromkeys(("toilet", "bathtub", "shower"), "bathroom")


class RoomContexts(Pronouns):
    """Knows the room that was announced, and the rooms that things were brought to."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._room: Noun | None = None

    def within(self, room: Noun | None) -> None:
        """Sets the room that an announcement names: later furniture without a room is there."""
        self._room = room

    def _into_context(self, place: Noun, things: list[Noun]) -> None:
        """Adds the room to "bring them to the kitchen and put them on the table"."""
        if not is_furniture(place) or place.holding:
            return
        if any(isinstance(w.anchor, Noun) and room_of(w.anchor) for w in place.where):
            return
        room = self._brought_to(things)
        if room is None and self._room is not None and not self._left(self._room):
            own = _OF_ROOM.get(place.kind, self._room.kind)
            room = self._room if own == self._room.kind else None
        if room is not None and _OF_ROOM.get(place.kind, room.kind) == room.kind:
            place.where.append(Where(Relation.IN, room, Way.STATIC, room.start, room.end))

    def _left(self, announced: Noun) -> bool:
        """Whether the last place was in another room, where later furniture may stand, too."""
        rooms = [room_of(target) for spoken in self._spoken for target in spoken.targets]
        last = next((room for room in reversed(rooms) if room is not None), announced)
        return last.kind != announced.kind

    def _brought_to(self, things: list[Noun]) -> Noun | None:
        """The room that things of these kinds were last brought to."""
        room: Noun | None = None
        for spoken in self._spoken:
            kinds = {thing.kind for thing in spoken.things}
            others = any(thing.other_than for thing in things)
            if things and not others and all(thing.kind in kinds for thing in things):
                room = next((r for n in spoken.targets if (r := room_of(n))), room)
        return room

    def _leave_other_room(self, place: object, things: list[Noun]) -> None:
        """Reads "bring it to the bedroom and put it on the table", not on one in another room."""
        room = self._brought_to(things)
        if room is None or not isinstance(place, Noun) or not is_furniture(place):
            return
        earlier = self._repeated(place)
        there = None if earlier is None else room_of(earlier)
        if there is not None and there.kind != room.kind:
            place.where.append(Where(Relation.IN, room, Way.STATIC, room.start, room.end))

    def _repeated(self, _noun: Noun) -> Noun | None:
        """The earlier noun that is named again; what remembers nouns overrides this."""
        return None
