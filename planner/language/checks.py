"""Checks of a reading: whether it can be satisfied, and what its words must have become."""

from __future__ import annotations

from collections.abc import Iterable

from planner.language.drafts import Act, Do, Noun, Way, nouns_within
from planner.language.english import FILLERS, FOR_SOMEBODY, table, words
from planner.language.lexicon import (
    Actor,
    Amount,
    Relation,
    Spot,
    built_in,
    can_be,
    includes,
    too_big,
)
from planner.language.modifiers import opposite
from planner.language.ordering import Order, same
from planner.language.places import BY_SIDE, is_furniture, is_room
from planner.language.reading import STOPS, AlreadyTrue, AskReason, Refused, Source

_ITEMS = words("things items objects stuff")
DETERMINED = words("all every each any both whatever everything whichever")


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
        _announced(source, order, do)
        _another_place(source, order, do)
        _untempered(source, do)
        _made_again(source, do)
        if do.heats and not any(do.heats in on.things for on in order.requests):
            raise source.unknown(do.start, do.end)
        if do.act is Act.GO and source.word(do.start) == "move" and any(
            on.act is Act.MOVE and on.start < do.start for on in order.requests
        ):  # fmt: skip
            # "Take the mug to the sink, move to the desk": with the mug?
            raise source.ask(AskReason.WHAT, do.start, do.end)
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


def _untempered(source: Source, do: Do) -> None:
    """Refuses "slice the heated potato": only what is moved is made hot or cold first."""
    for phrase in (*do.things, *(where.anchor for where in do.to)):
        for noun in nouns_within(phrase):
            if noun.heated is not None:
                raise source.unknown(noun.start, noun.end)


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


def _announced(source: Source, order: Order, do: Do) -> None:
    """Refuses "move some things to the hall. Put the pen on the desk": which, is said next."""
    later = [d for d in order.requests if d.act is Act.MOVE and d.start > do.start]
    named = [t.kind for d in later for t in d.things if isinstance(t, Noun)]
    for thing in (t for t in do.things if isinstance(t, Noun) and named and do.act is Act.MOVE):
        # "The things in the hall need to be put away. Put the pen in the box".
        opening = {*source.words[thing.start : thing.start + 3]}
        vague = do.stated or (opening & _ITEMS and DETERMINED.isdisjoint(opening))
        stated = vague and thing.kind == "thing" and thing.count is Amount.ALL
        if (stated or thing.count is Amount.SOME) and (
            thing.kind == "thing"
            or (any(k != thing.kind and includes(thing.kind, k) for k in named)
            and not _to_the_same(do, later))
        ):  # fmt: skip
            raise source.unknown(do.start, do.end)


def _to_the_same(do: Do, later: Iterable[Do]) -> bool:
    """Whether later requests name the place of one again, as "the table" for the dining table."""
    places = [w.anchor.kind for w in do.to if isinstance(w.anchor, Noun)]
    again = [w.anchor.kind for each in later for w in each.to if isinstance(w.anchor, Noun)]
    return all(any(kind == p or includes(kind, p) for p in places) for kind in again)


def _another_place(source: Source, order: Order, do: Do) -> None:
    """Asks whether "another box" is another than the box of an earlier request, or of now.

    Where that too is "another", each is another than where its thing is now.
    """
    for where in do.to:
        place = where.anchor
        if not isinstance(place, Noun) or not place.elsewhere or place.definite:
            continue
        before = [w.anchor for d in order.requests if d.start < do.start for w in d.to]
        named = [p for p in before if isinstance(p, Noun) and p is not place and not p.elsewhere]
        if any(p.kind == place.kind for p in named):
            raise source.ask(AskReason.WHICH, place.start, place.end)


def _made_again(source: Source, do: Do) -> None:
    """Asks what "slice two slices" and "I want the toast on a plate" mean, which may be so."""
    for thing in do.things if do.act is Act.MAKE else ():
        if not isinstance(thing, Noun):
            continue
        another = thing.other and not thing.definite and not thing.other_than
        toast = thing.definite and thing.kind == "toast" and "toasted" in do.states
        if another or toast or ("slice" in thing.kind.split() and "sliced" in do.states):
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


# What holds of every right reading, however its sentence is built.
#
# A rule that reads a new construction wrongly seldom leaves a word without a trace, which is what
# `accounting.py` looks for. More often an order word orders nothing, or one thing has two places.

_ORDER = words(table("order"))
# "The first", "next to", "once more", "after all".
_NOT_BEHIND = {"last": "the one", "first": "the one", "next": "the one", "before": "was were"}
_NOT_AHEAD = {"next": "to", "once": "more again", "after": "all"}
_WAITING = frozenset({"have", "get", "are", "can", "find", "come"})
_AGAIN = _ORDER | {"back", "return", "again"}


def conserve(source: Source, order: Order, passed: frozenset[int]) -> None:
    """Checks what the words must have become, whichever rules read them.

    Args:
        source: the words.
        order: what they were read as.
        passed: positions of words that ask for nothing.

    Raises:
        Refused: naming an order word that orders nothing, or asking where or which.
    """
    requests = sorted(order.requests, key=lambda do: do.start)
    _ordered(source, order, requests, passed)
    _conservation_one_place(source, requests)
    for do in requests:
        _listed(source, do)


def _ordered(source: Source, order: Order, requests: list[Do], passed: frozenset[int]) -> None:
    """An order word stands between, before or behind requests of different steps."""
    if len(requests) < 2:
        return
    for at in range(source.size):
        if source.word(at) not in _ORDER or at in passed or not _says_when(source, at):
            continue
        if any(noun.start <= at < noun.end for do in requests for noun in _nouns(do)):
            # "Whichever mug you find first".
            continue
        if len(near := _near(requests, at, source.word(at))) > 1 and (
            len({order.step_of(do) for do in near}) < 2
        ):
            raise source.unknown(at, at + 1)


def _near(requests: list[Do], at: int, word: str) -> list[Do]:
    """The requests that an order word can order: around it, or all after "first"."""
    ahead = [do for do in requests if do.start >= at]
    around = [do for do in requests if do.start < at <= do.end]
    behind = [do for do in requests if do.end < at]
    if around or not ahead:
        return [*behind[-1 if around else -2 :], *around, *ahead[:1]]
    return [*behind[-1:], *(ahead if word == "first" else ahead[:2])]


def _says_when(source: Source, at: int) -> bool:
    word = source.word(at)
    if source.longest(at, FILLERS):
        return False
    if word == "when" and source.word(at + 1) == "you" and source.word(at + 2) in _WAITING:
        # "When you have a second".
        return False
    return (
        source.word(at - 1) not in _NOT_BEHIND.get(word, "").split()
        and source.word(at + 1) not in _NOT_AHEAD.get(word, "").split()
    )


def _nouns(do: Do) -> list[Noun]:
    return [noun for thing in do.things for noun in nouns_within(thing)]


def _conservation_one_place(source: Source, requests: list[Do]) -> None:
    """A thing is not moved again, or given a state again, unless a word says so."""
    placed: dict[int, Do] = {}
    made: dict[tuple[int, str], Do] = {}
    for do in requests:
        for thing in do.things:
            if do.act is Act.MOVE and do.who is None and _supported(do):
                if _unexplained(source, placed.get(id(thing)), do):
                    raise source.ask(AskReason.WHERE, do.start, do.end)
                placed[id(thing)] = do
            if do.act is not Act.MAKE:
                continue
            # "Take it to the sink, wash it, and put it on the shelf".
            placed.pop(id(thing), None)
            for state in do.states:
                if _unexplained(source, made.get((id(thing), state)), do):
                    raise source.ask(AskReason.WHICH, do.start, do.end)
                made[id(thing), state] = do


def _supported(do: Do) -> bool:
    """Whether a request says what a thing is in or on, and not only what it is next to."""
    return not do.tempers and any(where.relation not in BY_SIDE for where in do.to)


def _unexplained(source: Source, first: Do | None, again: Do) -> bool:
    if first is None or again.arrangement is not None:
        # "Bring them to the table and stack them on the counter".
        return False
    end = again.end
    while source.word(end) and source.word(end) not in STOPS:
        end += 1
    if _AGAIN & set(source.words[first.start : end]):
        return False
    rooms = [where.anchor for where in first.to]
    if all(any(to.anchor is room for room in rooms) for to in again.to):
        # Said twice.
        return False
    within = [where.anchor for to in again.to if isinstance(to.anchor, Noun)
              for where in to.anchor.where]  # fmt: skip
    # "Bring them to the office and put the cups on the table": on the one in the office.
    return not (rooms and all(any(room is one for one in within) for room in rooms))


def _listed(source: Source, do: Do) -> None:
    """Of "the puzzle and the game on the table", moved elsewhere: which are on the table?"""
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    if do.act is not Act.MOVE or not do.to or len(nouns) < 2:
        return
    last = nouns[-1]
    if any(noun.where for noun in nouns[:-1]):
        return
    for where in last.where:
        behind = where.way is Way.STATIC and where.start >= last.end
        if behind and any(to.start >= where.end and to.way is Way.STATIC for to in do.to):
            raise source.ask(AskReason.WHICH, where.start, where.end)
