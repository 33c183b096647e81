"""What a later part of a text leaves out: "and the plates in the sink", "the lemons too"."""

from __future__ import annotations

import copy

from planner.language.clauses import Clauses
from planner.language.discourse import Discourse
from planner.language.drafts import Act, Do, Noun, Phrase, Pronoun, Way, Where
from planner.language.english import ALSO, SPEAKER, TOO, phrases
from planner.language.lexicon import Actor, Occasion, Spot, includes
from planner.language.ordering import Order
from planner.language.places import BY_SIDE, belongs, is_furniture, is_room
from planner.language.reading import AskReason, Source
from planner.language.state_frames import Dos, is_light
from planner.language.statements import forbidden
from planner.language.verbs import Form

_SHARES = phrases("do|get|take|handle|take care of|deal with|see to|take on|look after")


class Gaps(Clauses):
    """Completes clauses by the one before."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.order = Order(source)
        self._discourse = Discourse(source)
        self._previous: list[Do] = []
        self._forms: frozenset[Form] = frozenset({Form.BASE})
        self._given: list[Phrase] = []
        self._conditions: list[tuple[str, list[Phrase]]] = []
        self._open_condition: tuple[int, int] | None = None
        self._sentence: list[Do] = []
        self._pending: list[Do] = []
        self._then = False
        self._numbers = 0
        self._said_number: tuple[int | None, int, int] | None = None
        self._within: Do | None = None
        self._reverse = False
        self._before_do: Do | None = None
        self._complete = False
        self._wishing = False
        self._force_then: Do | None = None
        self._ignored: set[int] = set()
        self._told_states: tuple[Do, list[str]] | None = None

    def person_before(self) -> Noun | None:
        """The person of whom was spoken last."""
        return self._discourse.person

    def _spoke_of_people(self) -> bool:
        return self._discourse.is_about_people

    def _gap(self, at: int) -> Dos | None:
        """Reads "and the plates in the sink", "the lemons as well", "not the ball"."""
        source = self._source
        i = self.skip(at) if source.word(at) in ("please", "also") else at
        last = next((do for do in reversed(self._previous)), None)
        if end := source.longest(i, ALSO):
            return self._again(end, last)
        if last is not None and source.word(i) == "you" and (others := self.objects(i + 1)):
            # "I will take the laptop to the office, and you the headphones".
            if any(part.wheres for part in others[0]) or not self._ends(others[1]):
                return None
            do = self._like(last, self.attach(others[0]), i, others[1])
            do.who = Actor.ROBOT
            return [do], others[1]
        j = i + (source.word(i) in ("well", "right"))
        if last is not None and last.act is Act.MOVE and (spread := self.arrangement(j)):
            return [Do(Act.MOVE, list(last.things), i, spread[1], arrangement=spread[0])], spread[1]
        if (lights := self.item(i)) and source.word(lights[1]) == "out" and is_light(lights[0]):
            return self._make([lights[0]], ["powered off"], i, lights[1] + 1)
        contrast = source.starts(i, "not", "never", "instead of", "rather than")
        if contrast and last is not None:
            return self._gap_not(contrast, last)
        if last is not None and last.act is Act.MAKE and (of := self._off_gap(i, last)):
            return of
        if (
            last is not None
            and self._sentence
            and last.act in (Act.MOVE, Act.MAKE)
            and (wheres := self.places(i))[0]
        ):
            do = Do(Act.MOVE, list(last.things), i, wheres[1], wheres[0])
            return ([do], wheres[1]) if self._then else None
        if last is not None and last.act is Act.LEAVE and source.word(i) == "off":
            i += 1
        tidies = last is not None and last.occasion is Occasion.TIDY
        i += tidies and source.word(i) == "do"
        if (found := self.objects(i)) is None:
            return None
        parts, end = found
        if (
            last is not None
            and (self._sentence or self._then)
            and tidies
            and self._no_targets(parts)
        ):
            rooms = self.attach(parts)
            if not all(
                isinstance(room, Noun) and (is_room(room) or is_furniture(room)) for room in rooms
            ):
                return None
            return [self._like(last, [room], i, end) for room in rooms], end
        things = [thing for part in parts for thing in part.things]
        if not self._sentence:
            # "Lamp on, please" means the lamp.
            _name_known(things)
        fits_all = last is not None and last.act is Act.MAKE
        if not parts[-1].arrangement and (result := self.result(end, parts, i)):
            return result
        people, after = self.people(end)
        if people and not any(part.wheres for part in parts):
            parts[-1].wheres, after = self.places(after)
            end = after
            for thing in things:
                if isinstance(thing, Noun) and thing.bare and thing.plural:
                    thing.count = people
        if any(part.wheres or part.arrangement for part in parts):
            too = source.longest(end, TOO)
            ones = all(
                isinstance(t, Noun) and not (t.kind or t.described or t.other) for t in things
            )
            one_place = len(parts) == 1 and _one_place(parts[0].wheres)
            if ones and last is not None and last.to and one_place:
                # "Take the plates to the kitchen, and the ones on the desk."
                return [self._like(last, self.attach(parts), i, end)], end
            if too and last is not None and last.to and not self._sentence:
                # "Put the pears in the bowl. The lemons on the table too": there, or from there.
                raise source.ask(AskReason.WHERE, i, end)
            if (
                last is not None
                and self._sentence
                and (fits_all or last.act is Act.LEAVE or (too and last.to))
            ):
                return [self._like(last, self.attach(parts), i, end)], end
            if last is None and _only_names_place(things[0], parts[-1].wheres):
                # "Cup on table", "cup next to the sink": it is there, or shall be.
                return None
            placed = self.placed(parts, static=True)
            if (
                all(p.to or p.arrangement for p in placed[:-1])
                and not placed[-1].to
                and last is not None
                and last.to
            ):
                placed[-1].to = last.to
            if all(p.to or p.arrangement for p in placed):
                return [self.move(p, i, end) for p in placed], end
            return None
        if last is None or last.act is Act.GO or (last.act is Act.MENTION and not last.taken):
            return None
        too = source.longest(end, TOO) or (
            end + 1 if source.word(end) == "," and source.longest(end + 1, TOO) else 0
        )
        before = (
            self._then
            or self._reverse
            or source.word(at - 1) in ("and", ",", "also", "to")
            or source.word(at) == "also"
        )
        trails = isinstance(things[0], Pronoun) and source.word(end).isalnum()
        if too or (before and not trails):
            # Not "they stink".
            return [self._like(last, things, i, end)], end
        return None

    def _my_part(self, at: int) -> Dos | None:
        """Reads "You load the dishwasher with the plates and I'll do the glasses": likewise."""
        source = self._source
        last = self._previous[-1] if self._previous else None
        who = Actor.SPEAKER if source.longest(at, SPEAKER) else Actor.ROBOT
        i = source.longest(at, SPEAKER) or (at + 1) * (source.word(at) == "you")
        i = source.longest(i, _SHARES) if i else 0
        if not i or last is None or last.act not in (Act.MOVE, Act.MAKE) or last.taken:
            return None
        if last.who is None or last.who is who:
            return None
        found = self.objects(i)
        if found is None or not self._no_targets(found[0]) or not self._ends(found[1]):
            return None
        ones = all(isinstance(t, Noun) and not t.kind for part in found[0] for t in part.things)
        if not ones and any(part.wheres for part in found[0]):
            return None
        things = self.attach(found[0])
        if any(isinstance(thing, Pronoun) for thing in things):
            return None
        do = self._like(last, things, at, found[1])
        do.who = who
        return [do], found[1]

    def _off_gap(self, at: int, last: Do) -> Dos | None:
        """Reads "And the radio off" after "switch the laptop on"."""
        if (found := self.objects(at)) is None:
            return None
        end = self._on_off(found[1])
        if not end or not any(state.startswith("powered") for state in last.states):
            return None
        state = "powered on" if self._source.word(end - 1) == "on" else "powered off"
        things = self.attach(found[0])
        # "TV off, radio on".
        _name_known(things)
        return self._make(things, [state], at, end)

    def _again(self, at: int, last: Do | None) -> Dos | None:
        if last is None:
            return None
        if (segments := self.objects(at)) is None:
            return None
        return [self._like(last, self.attach(segments[0]), at, segments[1])], segments[1]

    @staticmethod
    def _like(last: Do, things: list[Phrase], start: int, end: int) -> Do:
        """The last request, of other things."""
        do = copy.copy(last)
        do.things, do.start, do.end = things, start, end
        do.to, do.states = list(last.to), list(last.states)
        if any(where.anchor is Spot.ELSEWHERE for where in last.to):
            # "Take the plates out of the dishwasher and the cups too": out of it as well.
            _share_origin(last.things, things)
        do.only_if = (
            list(things) if last.only_if and last.only_if == last.things else list(last.only_if)
        )
        do.unless = list(last.unless)
        return do

    def _gap_not(self, at: int, last: Do) -> Dos | None:
        """Reads "But never the router", "not the ball"."""
        wheres, end = self.places(at)
        if wheres and last.to:
            if any(_same_place(one, other) for one in wheres for other in last.to):
                raise self._source.impossible("contradiction", last.start, end)
            if last.act is Act.MOVE and any(_is_any_other(where) for where in last.to):
                # "Somewhere else, not on the bed": nothing else keeps them off it.
                kept_off = self._like(last, list(last.things), at, end)
                kept_off.to = wheres
                banned = forbidden(kept_off)
                return ([banned], end) if banned else None
            # "On the bed, not on the floor" says where it is now.
            return [Do(Act.MENTION, [], at, end)], end
        if (segments := self.objects(at)) is None or any(part.wheres for part in segments[0]):
            return None
        things = segments[0][0].things
        place = things[0]
        if last.to and isinstance(place, Noun) and (is_room(place) or is_furniture(place)):
            targets = [where.anchor for where in last.to]
            if any(isinstance(t, Noun) and includes(t.kind, place.kind) for t in targets):
                # "On the table, but not the dining table".
                raise self._source.unknown(at - 1, segments[1])
            return [Do(Act.MENTION, [], at, segments[1])], segments[1]
        if self._source.word(at - 1) == "not" and last.act in (Act.MOVE, Act.MAKE):
            for thing in last.things:
                if isinstance(thing, Noun):
                    thing.but += things
            return [Do(Act.MENTION, list(things), at, segments[1])], segments[1]
        do = forbidden(self._like(last, list(things), at, segments[1]))
        return ([do], segments[1]) if do else None


def _only_names_place(thing: Phrase, wheres: list[Where]) -> bool:
    """Whether one thing without an article is beside something, or at a place without one."""
    return isinstance(thing, Noun) and thing.bare and not thing.plural and any(
        isinstance(w.anchor, Noun) and w.way is Way.STATIC
        and (w.anchor.bare or w.relation in BY_SIDE)
        for w in wheres
    )  # fmt: skip


def _name_known(things: list[Phrase]) -> None:
    """Reads one thing without an article, as in telegrams, as the one that is known."""
    for thing in things:
        if isinstance(thing, Noun) and thing.bare and thing.count == 1:
            thing.definite = True


def _share_origin(earlier: list[Phrase], things: list[Phrase]) -> None:
    """Adds where things were to those that are named after them and are taken from there too."""
    origin = earlier[-1].where if earlier and isinstance(earlier[-1], Noun) else []
    for thing in things:
        if isinstance(thing, Noun) and not thing.where:
            thing.where = list(origin)


def _one_place(wheres: list[Where]) -> bool:
    """Whether places are one: where the things are, and not also where they go."""
    return len(wheres) == 1 or (len(wheres) == 2 and bool(belongs(*wheres)))


def _is_any_other(where: Where) -> bool:
    """Whether a place is whichever is not that of now: "somewhere else", "in another room"."""
    anchor = where.anchor
    return anchor is Spot.ELSEWHERE or (
        isinstance(anchor, Noun) and not anchor.definite and (anchor.other or anchor.elsewhere)
    )


def _same_place(one: Where, other: Where) -> bool:
    """Whether two undescribed places are the same: "on the table but not on the table"."""
    first, second = one.anchor, other.anchor
    return (
        isinstance(first, Noun) and isinstance(second, Noun) and one.relation is other.relation
        and first.kind == second.kind and not first.described and not second.described
    )  # fmt: skip
