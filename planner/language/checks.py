"""Checks of a reading: whether it can be satisfied, and what its words must have become."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from planner.language.drafts import Act, Do, Noun, Way, nouns_within
from planner.language.english import (
    FILLERS,
    FOR_SOMEBODY,
    table,
    words,
)
from planner.language.lexicon import (
    Actor,
    Amount,
    Bound,
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
from planner.language.verbs import Form, verbs_at
from planner.world.catalogue import default_word_meanings

_ITEMS = words("things items objects stuff")
_DETERMINED = words("all every each any both whatever everything whichever")


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
        vague = do.stated or (opening & _ITEMS and _DETERMINED.isdisjoint(opening))
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
    """Asks what "slice two slices" and "toast another slice" mean, which may be so already."""
    for thing in do.things if do.act is Act.MAKE else ():
        if not isinstance(thing, Noun):
            continue
        another = thing.other and not thing.definite and not thing.other_than
        if another or ("slice" in thing.kind.split() and "sliced" in do.states):
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


# Where another reading is as likely, however well every word is accounted for, it is asked which.

_ASKING = words(table("asking"))
_MODALS = words("can may might should will could would")
_HELD = (Relation.ON_TOP, Relation.IN)


def doubt(source: Source, order: Order, *, sure: bool) -> None:
    """Asks about readings that are no more likely than another.

    Args:
        source: the words.
        order: what they were read as.
        sure: whether the person said that what may be a statement is a request.

    Raises:
        Refused: with the question, or naming the words.
    """
    for do in order.requests:
        _happened(source, do)
        _shown(source, do)
        for thing in do.things:
            for noun in nouns_within(thing):
                _held_twice(source, noun)
                _one_of_some(source, noun)
        _carried_over(source, do)
        _shared_head(source, do)
        _fetched_beside(source, do)
        _in_vessel(source, do)
        _adjective(source, do)
    if not sure:
        _only_stated(source, order)


def _happened(source: Source, do: Do) -> None:
    """Refuses "you left the fridge open": what was done is no request."""
    forms = [found.forms for found in verbs_at(source.words, do.start)]
    subject = source.word(do.start - 1) in ("you", "i", "we", "he", "she", "they", "somebody")
    wished = source.word(do.start - 2) == "if"
    if subject and forms and not wished and not any(Form.BASE in form for form in forms):
        raise source.unknown(do.start - 1, do.end)


def _shown(source: Source, do: Do) -> None:
    """Refuses "you should see a pot on the stove", which says where one is."""
    if do.act is Act.FIND and source.word(do.start - 1) in _MODALS and (
        source.word(do.start - 2) == "you"
    ):  # fmt: skip
        raise source.unknown(do.start - 2, do.end)


def _held_twice(source: Source, noun: Noun) -> None:
    """Asks about "the apple on the counter in the sink" and "the counter in the sink"."""
    held = [w for w in noun.where if w.relation in _HELD and isinstance(w.anchor, Noun)
            and w.way is Way.STATIC and not is_room(w.anchor)]  # fmt: skip
    kinds = {w.anchor.kind for w in held if isinstance(w.anchor, Noun)}
    fixed = is_furniture(noun) and any(
        w.relation is Relation.IN and isinstance(w.anchor, Noun) and is_furniture(w.anchor)
        for w in held
    )
    if len(kinds) > 1 or fixed:
        raise source.ask(AskReason.WHICH, held[0].start, held[-1].end)
    for where in noun.where:
        if where.way is Way.TO and source.word(where.start) in ("into", "onto"):
            # "Pour the coffee from the pot into the mug": the pot that is in the mug?
            raise source.ask(AskReason.WHICH, where.start, where.end)


def _one_of_some(source: Source, noun: Noun) -> None:
    """Asks which one "wash two plates and put one away" means: nobody knows yet which two."""
    some = noun.part_of
    vague = some and not some.definite and some.count is not Amount.ALL
    if some and vague and some.kind == noun.kind and some.bound is Bound.EXACTLY:
        raise source.ask(AskReason.WHICH, noun.start, noun.end)


def _carried_over(source: Source, do: Do) -> None:
    """Asks how far "all" goes in "all toys and candle holder"."""
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    for first, noun in itertools.pairwise(nouns):
        near = source.words[max(0, noun.start - 3) : noun.end]
        listed = noun.count is Amount.ALL and not noun.plural and not noun.definite
        if listed and first.count is Amount.ALL and _DETERMINED.isdisjoint(near):
            raise source.ask(AskReason.WHICH, first.start, noun.end)


def _shared_head(source: Source, do: Do) -> None:
    """Asks whether "wine and water glasses" are wine glasses as well."""
    for one, other in itertools.pairwise(t for t in do.things if isinstance(t, Noun)):
        head = other.kind.rpartition(" ")
        joined = one.end + 1 == other.start and source.word(one.end) in ("and", "or")
        shared = default_word_meanings().find(f"{one.kind} {head[2]}") if head[0] else None
        if joined and shared and other.plural and one.bare and not one.plural:
            raise source.ask(AskReason.WHICH, one.start, other.end)


def _fetched_beside(source: Source, do: Do) -> None:
    """Asks what "get the plate to the left of the stove" wants: that plate, or it there?"""
    taken = do.act is Act.GRASP and source.word(do.start) == "take"
    if not taken and not any(w.anchor is Spot.ME for w in do.to):
        return
    for thing in do.things:
        for where in thing.where if isinstance(thing, Noun) else ():
            if where.relation in BY_SIDE and source.word(where.start) == "to":
                raise source.ask(AskReason.WHERE, do.start, do.end)


def _in_vessel(source: Source, do: Do) -> None:
    """Asks whether "move the knife in the cup to the sink" is about the cup as well."""
    to = [w for w in do.to if w.way is Way.TO and w.anchor is not Spot.ME]
    if do.act is not Act.MOVE or do.stated or not to:
        return
    for thing in do.things:
        for where in thing.where if isinstance(thing, Noun) else ():
            vessel = where.anchor
            static = (
                where.way is Way.STATIC and isinstance(thing, Noun) and where.start == thing.end
            )
            if static and where.relation in _HELD and isinstance(vessel, Noun) and not (
                is_room(vessel) or is_furniture(vessel) or vessel.kind == "floor"
            ):  # fmt: skip
                raise source.ask(AskReason.WHICH, thing.start, where.end)


def _adjective(source: Source, do: Do) -> None:
    """Asks whether "clean spoon in the sink" is to be cleaned, or to be there."""
    if do.act is not Act.MAKE or source.word(do.start) not in ("clean", "empty", "dry", "open"):
        return
    for thing in do.things:
        if isinstance(thing, Noun) and thing.bare and not thing.plural and thing.where:
            raise source.ask(AskReason.WHAT, do.start, do.end)


def _only_stated(source: Source, order: Order) -> None:
    """Asks whether "the knife (should be) in the sink" is a request, where nothing else is said."""
    if len(order.requests) != 1 or order.throughout or _ASKING & set(source.words):
        return
    (do,) = order.requests
    thing = do.things[0] if len(do.things) == 1 else None
    if do.act is not Act.MOVE or not isinstance(thing, Noun) or thing.count != 1:
        return
    if thing.start < do.start or any(isinstance(w.anchor, Noun) and w.anchor.each for w in do.to):
        # "The phone is on the sofa. It should be on the desk"; "a pillow on every bed".
        return
    put = all(w.way is Way.STATIC and w.relation not in BY_SIDE for w in do.to)
    unsaid = range(do.end, source.size) if do.guess or do.presumed else range(source.size)
    if put and do.to and not any(True for k in unsaid for _ in verbs_at(source.words, k)):
        raise source.ask(AskReason.MEANT, do.start, do.end)
