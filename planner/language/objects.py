"""Which of the places behind things are where they go."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from planner.language.drafts import Act, Do, Noun, Phrase, Way, Where
from planner.language.lexicon import Amount, Arrangement, Relation, Spot, drapes, includes
from planner.language.lists import Lists, Segment
from planner.language.places import BY_SIDE, LEFT_RIGHT, belongs, grouped, is_furniture, is_room
from planner.language.reading import Ask, AskReason, Refused

_ON_IN = (Relation.ON_TOP, Relation.IN, Relation.AT)


@dataclass(slots=True)
class Placed:
    """Things, and where they go; nowhere if no place says so."""

    things: list[Phrase]
    to: list[Where]
    arrangement: Arrangement | None
    later: list[int]


class Objects(Lists):
    """Reads the objects of verbs."""

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
            sided = where.relation in LEFT_RIGHT
            if whose or (sided and any(noun.pick for noun in nouns)):
                raise self._source.ask(AskReason.WHICH, where.start, where.end)

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
        beside = one.relation in BY_SIDE and other.relation in _ON_IN
        if isinstance(one.anchor, Noun) and (
            is_room(one.anchor) or (beside and not is_furniture(one.anchor))
        ):
            # "Put the ball next to the doll in the hall on the dresser".
            raise self._source.ask(AskReason.WHICH, one.start, one.end)
        self._describe(segment.things, [one])
        return [other]

    def move(self, placed: Placed, start: int, end: int) -> Do:
        """The request to put things where they go; a named place says more than "away"."""
        named = [w for w in placed.to if not isinstance(w.anchor, Spot)]
        if sum(w.relation in _ON_IN for w in named) > 1:
            # "Take the apples to the kitchen in the basket": nothing is at two places at once.
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
            if isinstance(anchor, Noun) and anchor.kind == "furniture" and anchor.bare:
                raise self._source.ask(AskReason.WHERE, where.start, where.end)
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


def _is_beside(where: Where) -> bool:
    return where.relation is Relation.NEXT_TO


def _beside_thing(to: list[Where]) -> bool:
    # "On the desk next to the cup and the pen" as well.
    anchor = to[-1].anchor if to[-1].relation is Relation.NEXT_TO else None
    return isinstance(anchor, Noun) and not is_furniture(anchor)


def _next_to(thing: Phrase) -> Where:
    return Where(Relation.NEXT_TO, thing, Way.STATIC, thing.start, thing.end, comma=True)


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
