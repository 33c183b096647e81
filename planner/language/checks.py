"""What no house could satisfy, what is so already, and what still lacks a place."""

from __future__ import annotations

from planner.language.comparisons import same
from planner.language.drafts import Act, Do, Noun, Way, nouns_within
from planner.language.english import FOR_SOMEBODY
from planner.language.fitness import built_in, can_be, too_big
from planner.language.modifiers import opposite
from planner.language.ordering import Order
from planner.language.places import is_furniture, is_room
from planner.language.reading import AlreadyTrue, AskReason
from planner.language.sentence import Refused, Source
from planner.language.words import Actor, Amount, Relation, Spot


def check(source: Source, order: Order) -> None:
    """Checks all requests.

    Raises:
        Refused: with the outcome.
    """
    for mention in order.mentions:
        if mention.taken:
            raise source.ask(AskReason.WHERE, mention.start, mention.end)
    _unused(source, order)
    for do in (*order.requests, *order.throughout):
        _vague(source, do)
        _for_another(source, do)
        brings = do.who is Actor.SPEAKER and "bring" in source.words[do.start : do.end]
        if brings and do.act is Act.MOVE and any(w.anchor is Spot.ME for w in do.to):
            # "You bring the chairs and I will bring the table".
            raise source.ask(AskReason.WHERE, do.start, do.end)
        _unmeasured(source, do)
        _unfit(source, do)
        _already(source, do)
    for guard in order.throughout:
        for do in order.requests:
            if _forbids(guard, do):
                raise source.impossible("contradiction", do.start, max(do.end, guard.end))


def _forbids(guard: Do, do: Do) -> bool:
    """Whether a request does what another forbids."""
    if not any(same(a, b) for a in guard.things for b in do.things):
        return False
    if guard.act is Act.LEAVE:
        return do.act is Act.MOVE
    if do.act is Act.MAKE:
        return bool(set(guard.states) & set(do.states))
    return any(
        one.relation is other.relation and _one_place(one.anchor, other.anchor)
        for one in guard.to
        for other in do.to
    )


def _unused(source: Source, order: Order) -> None:
    """Refuses what introduces things of which no request speaks."""
    used = {
        id(noun)
        for do in (*order.requests, *order.throughout)
        for phrase in (*do.things, *do.only_if, *do.unless, *do.tools, *(w.anchor for w in do.to))
        for noun in nouns_within(phrase)
    }
    for mention in order.mentions:
        about = [
            id(noun)
            for phrase in (*mention.things, *(w.anchor for w in mention.to))
            for noun in nouns_within(phrase)
        ]
        if mention.told and source.word(mention.start - 1) == "and":
            # "The cup should be on the table and the plate is next to it": the plate as well?
            about = [id(thing) for thing in mention.things if isinstance(thing, Noun)]
        if about and used.isdisjoint(about):
            raise source.unknown(mention.start, mention.end)


def _vague(source: Source, do: Do) -> None:
    for thing in do.things:
        if (
            isinstance(thing, Noun)
            and thing.kind == "thing"
            and not thing.described
            and do.act is Act.MOVE
        ):
            raise source.ask(AskReason.WHAT, thing.start, thing.end)


def _for_another(source: Source, do: Do) -> None:
    """Asks where to bring "a towel for my mother": where she is, or to the speaker."""
    if do.act is not Act.MOVE or not do.taken or any(w.anchor is not Spot.ME for w in do.to):
        return
    if end := source.longest(do.end, FOR_SOMEBODY):
        raise source.ask(AskReason.WHERE, do.start, end)


def _unmeasured(source: Source, do: Do) -> None:
    """Asks what a clean room is: rooms have no states."""
    for thing in do.things:
        if do.act is Act.MAKE and isinstance(thing, Noun) and is_room(thing):
            raise source.ask(AskReason.DONE, do.start, do.end)


def _unfit(source: Source, do: Do) -> None:
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    if do.act is Act.MAKE and not set(map(opposite, do.states)).isdisjoint(do.states):
        raise source.impossible("contradiction", do.start, do.end)
    if do.act is Act.MAKE:
        for noun in nouns:
            if not all(can_be(noun.kind, state) for state in do.states):
                raise source.impossible("unfit", do.start, do.end)
    for where in do.to if do.act is Act.MOVE else ():
        if where.relation in (Relation.IN, Relation.ON_TOP) and isinstance(where.anchor, Noun):
            for noun in nouns:
                on_object = where.relation is Relation.IN or not is_furniture(where.anchor)
                if (
                    on_object
                    and where.anchor.kind != "floor"
                    and too_big(noun.kind, where.anchor.kind, inside=where.relation is Relation.IN)
                ):
                    raise source.impossible("unfit", do.start, do.end)
        if isinstance(where.anchor, Noun) and any(same(where.anchor, noun) for noun in nouns):
            raise source.impossible("contradiction", do.start, do.end)
    if do.act is Act.MOVE and any(is_room(n) or built_in(n.kind) for n in nouns):
        # "Take the cups from the table and the sink to the kitchen".
        raise source.ask(AskReason.WHICH, do.start, do.end)


def _already(source: Source, do: Do) -> None:
    """Refuses what the description of the things says already."""
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    if not nouns:
        return
    if do.act is Act.MAKE:
        so = all(state in noun.states for noun in nouns for state in do.states)
    elif do.act is Act.MOVE and do.to and do.arrangement is None:
        so = all(
            any(
                (w.relation is to.relation or Relation.AT in (w.relation, to.relation))
                and w.way is not Way.FROM and _one_place(w.anchor, to.anchor)
                for w in noun.where
            )
            for noun in nouns for to in do.to
        )  # fmt: skip
    else:
        so = False
    if so:
        raise Refused(AlreadyTrue(words=(source.quote(do.start, do.end),)))


def _one_place(one: object, other: object) -> bool:
    return (
        isinstance(one, Noun) and isinstance(other, Noun)
        and (same(one, other) or (one.definite and other.definite and one.kind == other.kind
                                  and not other.described))
        and other.count is not Amount.SOME
    )  # fmt: skip
