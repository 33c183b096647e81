"""Readings that are no more likely than another, however well they account for every word."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from planner.language.checks import DETERMINED
from planner.language.drafts import Act, Do, Noun, Way, Where, nouns_within, says_again
from planner.language.english import THE, TOO, table, words
from planner.language.lexicon import (
    BY_HEIGHT,
    PERSON,
    Amount,
    Bound,
    Occasion,
    Pick,
    Relation,
    Spot,
    is_hollow,
)
from planner.language.modifiers import VESSELS
from planner.language.ordering import Order
from planner.language.places import BY_SIDE, ON_A_SIDE, is_furniture, is_room
from planner.language.reading import AskReason, Source
from planner.language.state_frames import is_light
from planner.language.verbs import Form, Frame, verbs_at
from planner.world.catalogue import default_word_meanings

_ASKING = words(table("asking"))
_THAT = ("that", "this")
_MODALS = words("can may might should will could would")
_HELD = (Relation.ON_TOP, Relation.IN)
_SEATS = words("couch sofa bed chair armchair")
_WASHERS = frozenset({"washing machine", "washer", "dishwasher"})


def doubt(source: Source, order: Order, *, sure: bool) -> None:
    """Asks about readings that are no more likely than another.

    `sure`: what may be a statement is known to be a request.

    Raises:
        Refused: with the question, or naming the words.
    """
    laid = any(do.occasion is Occasion.SET_TABLE for do in order.requests)
    for do in order.requests:
        _told(source, do)
        _the_same(source, do, laid=laid)
        for thing in do.things:
            for noun in nouns_within(thing):
                _held_twice(source, noun)
                _held_oddly(source, do, noun)
                _one_of_some(source, noun)
        _of_what(source, order, do)
        _listed(source, do)
        _there_or_from_there(source, do)
        _not_tolerated(source, do)
        _of_a_remark(source, order, do)
        _gone_with(source, do)
        _beside_both(source, do)
        _aside(source, do)
    for one, other in itertools.combinations(order.requests, 2):
        if says_again(other, one):
            # "Put a cup in the sink. Put a cup in the sink": two?
            raise source.ask(AskReason.WHICH, other.start, other.end)
    for going, do in itertools.pairwise(order.requests):
        _from_there(source, going, do)
    if not sure:
        _only_stated(source, order)
        for k in range(source.size):
            if end := source.starts(k, "how would you"):
                raise source.ask(AskReason.MEANT, end, source.size - (source.words[-1] == "?"))


def _of_what(source: Source, order: Order, do: Do) -> None:
    """Asks about "open the fridge, put it on the top shelf", and "on top of the top drawer"."""
    wholes = any(
        (noun.where if noun.pick in BY_HEIGHT else "open" in other.states)
        for other in order.requests
        if other is not do
        for phrase in (*other.things, *(where.anchor for where in other.to))
        for noun in nouns_within(phrase)
    )
    for phrase in (*do.things, *(where.anchor for where in do.to)):
        for noun in nouns_within(phrase):
            if wholes and noun.pick in BY_HEIGHT and not noun.where:
                raise source.ask(AskReason.WHICH, noun.start, noun.end)
    for where in do.to:
        it = where.anchor
        drawer = isinstance(it, Noun) and it.pick in BY_HEIGHT and it.kind.endswith("drawer")
        if drawer and where.relation is Relation.ON_TOP:
            raise source.ask(AskReason.WHICH, where.start, where.end)


def _told(source: Source, do: Do) -> None:
    """Refuses "you left the fridge open" and "you should see a pot on the stove", which tell."""
    subject, ahead = source.word(do.start - 1), source.word(do.start - 2)
    forms = [found.forms for found in verbs_at(source.words, do.start)]
    past = bool(forms) and not any(Form.BASE in form for form in forms)
    if past and subject in ("you", "i", "we", "he", "she", "they") and ahead != "if":
        raise source.unknown(do.start - 1, do.end)
    if do.act is Act.FIND and subject in _MODALS and ahead == "you":
        raise source.unknown(do.start - 2, do.end)


def _the_same(source: Source, do: Do, *, laid: bool) -> None:
    """Asks whether things are those said before: "if a plate is clean, put it on a plate"."""
    named = [where.anchor for where in do.to] + do.things
    for where, noun in ((w, w.anchor) for w in do.to if isinstance(w.anchor, Noun)):
        if any(place.kind == noun.kind for _, place in _places(noun)):
            # "Put the pear next to the plate and plum on plate".
            raise source.ask(AskReason.WHICH, where.start, noun.end)
        vessel = do.act is Act.MOVE and any(
            VESSELS.intersection(thing.kind.split()[-1:]) or is_hollow(thing.kind)
            for thing in _nouns(do)
        )
        if vessel and noun.holding and source.words[noun.end - 2 : noun.end] == ("in", "it"):
            # "Put the pan on the stove with the egg in it".
            raise source.ask(AskReason.WHICH, where.start, noun.end)
    for noun in (thing for thing in (*do.only_if, *do.unless) if isinstance(thing, Noun)):
        for other in (thing for thing in named if isinstance(thing, Noun) and thing is not noun):
            one = noun.count == other.count == 1 and not noun.definite and not other.definite
            if one and noun.kind == other.kind:
                raise source.ask(AskReason.WHICH, other.start, other.end)
    if laid and do.act is Act.MOVE and any(w.anchor is Spot.ME for w in do.to):
        # "Set the table, I need a fork and a plate": there, or here?
        raise source.ask(AskReason.WHERE, do.start, do.end)


def _held_twice(source: Source, noun: Noun) -> None:
    """Asks about "the apple on the counter in the sink" and "the counter in the sink"."""
    held = [
        (where, anchor)
        for where, anchor in _places(noun)
        if where.relation in _HELD and where.way is Way.STATIC and not is_room(anchor)
    ]
    inside = [anchor for where, anchor in held if where.relation is Relation.IN]
    fixed = is_furniture(noun) and any(map(is_furniture, inside))
    if fixed or len({anchor.kind for _, anchor in held}) > 1:
        raise source.ask(AskReason.WHICH, held[0][0].start, held[-1][0].end)
    for where, _ in _places(noun):
        if where.way is Way.TO and source.word(where.start) in ("into", "onto"):
            # "Pour the coffee from the pot into the mug": the pot that is in the mug?
            raise source.ask(AskReason.WHICH, where.start, where.end)


def _of_a_remark(source: Source, order: Order, do: Do) -> None:
    """Asks what "it" is in "I used it with the spoon. Wash it"."""
    first = min(other.start for other in order.requests)
    for at in (k for k in range(first) if source.word(k) in ("it", "them")):
        done = any(True for _ in verbs_at(source.words, at - 1))
        if done and any(at < noun.start < noun.end <= do.start for noun in _nouns(do)):
            raise source.ask(AskReason.WHAT, at, at + 1)


def _from_there(source: Source, going: Do, do: Do) -> None:
    """Asks whether a glass of the kitchen is meant: "go to the kitchen. Bring me a glass"."""
    places = [w.anchor for w in going.to if isinstance(w.anchor, Noun)]
    fetched = do.act is Act.MOVE and any(w.anchor is Spot.ME for w in do.to)
    anywhere = any(not thing.where for thing in _nouns(do))
    went = going.act is Act.GO and source.word(going.start) != "come"
    # "Go to the office. Find a pen, bring the pen to the desk".
    found = do.act is Act.MOVE and source.starts(going.end, ". find")
    if went and places and (fetched or found) and anywhere:
        raise source.ask(AskReason.WHICH, going.start, do.end)
    got = going.taken and any(w.anchor is Spot.ME for w in going.to)
    if got and do.act is Act.GO:
        # "Get the cup and go to the hall": with the cup?
        raise source.ask(AskReason.WHERE, going.start, do.end)


def _beside_both(source: Source, do: Do) -> None:
    """Asks whether "put it behind the plate and the cup" moves the cup as well."""
    for where, thing in itertools.product(do.to[-1:], _nouns(do)):
        joined = source.word(where.end) == "and" and where.end + 1 == thing.start
        if joined and where.relation in BY_SIDE and not source.longest(thing.end, TOO):
            raise source.ask(AskReason.WHICH, where.start, thing.end)


def _aside(source: Source, do: Do) -> None:
    """Asks about "the pen at the back of the desk"; refuses what is "in the light"."""
    phrases = (*do.things, *(where.anchor for where in do.to))
    within = [noun for phrase in phrases for noun in nouns_within(phrase)]
    held = [(noun, where) for noun in within for where in noun.where]
    for noun, where in held + [(noun, where) for noun in _nouns(do) for where in do.to]:
        if not isinstance(anchor := where.anchor, Noun):
            continue
        if where.relation is Relation.IN and anchor.kind.split()[-1:] == ["light"]:
            raise source.unknown(where.start, where.end)
        said = source.starts(where.start, "at the back of", *ON_A_SIDE)
        stands = is_furniture(noun) or (is_light(noun) and anchor.kind in _SEATS)
        if said and is_furniture(anchor) and not stands:
            raise source.ask(AskReason.WHERE, where.start, where.end)
        later = [on for on in noun.holding if isinstance(on, Noun) and on.start > anchor.start]
        either = is_furniture(anchor) and where.relation in BY_SIDE and any(
            "with" in source.words[anchor.start : on.start]
            and source.word(on.end) not in ("in", "on", "inside")
            for on in later
        )  # fmt: skip
        if either or (anchor.kind == "room" and anchor.pick and where.way is Way.STATIC):
            # "The bin next to the table with the box".
            raise source.ask(AskReason.WHICH, where.start, where.end)


def _gone_with(source: Source, do: Do) -> None:
    """Asks whether "go to the kitchen with the cup" is the kitchen that has it."""
    for where in do.to if do.act is Act.GO else ():
        room = where.anchor if isinstance(where.anchor, Noun) and is_room(where.anchor) else None
        held = room.holding if room else []
        if any(isinstance(thing, Noun) and not is_furniture(thing) for thing in held):
            raise source.ask(AskReason.WHAT, do.start, do.end)


def _held_oddly(source: Source, do: Do, noun: Noun) -> None:
    """Asks about "a lamp in each room", and whether a knife is there or used to open a box."""
    if do.act is Act.MAKE and noun.kind == PERSON:
        # "Serve coffee to the guests".
        raise source.unknown(do.start, do.end)
    if noun.holding and source.starts(do.start + 1, "the door"):
        # "Go to the counter with the microwave and open the door".
        raise source.ask(AskReason.WHICH, do.start, do.end)
    for where, anchor in _places(noun):
        loose = not (anchor.definite or is_furniture(anchor) or is_room(anchor))
        if do.tempers and loose and where.relation in _HELD and where.way is Way.STATIC:
            # "Microwave a pie in a bowl": in it, or without it?
            raise source.ask(AskReason.WHICH, noun.start, max(where.end, noun.end))
        said = {*source.words[where.start : where.end]}
        spread = anchor.count is Amount.ALL and {"each", "every"} & said
        one = noun.count == 1 and not noun.definite and not noun.each
        used = do.act is Act.MAKE and any(thing.end == do.end for thing in anchor.holding)
        poured = where.way is Way.FROM and "filled" in " ".join(do.states)
        # "Pour the water from the mug on the plant", "wash the rug in the washing machine".
        held = where.way is Way.STATIC and where.relation in _HELD and where.start >= noun.end
        pours = any(found.verb.frame is Frame.POUR for found in verbs_at(source.words, do.start))
        fixed = is_room(anchor) or (is_furniture(anchor) and not pours)
        onto = held and "empty" in do.states and not fixed
        sided = anchor.pick in (Pick.LEFTMOST, Pick.RIGHTMOST) and anchor.kind in ("sink", "basin")
        washed = (
            held
            and "clean" in do.states
            and (anchor.kind in _WASHERS or (sided and noun.count == 1))
        )
        if (spread and one) or used or (poured and where.start > do.start) or onto or washed:
            raise source.ask(AskReason.WHICH, noun.start, max(where.end, noun.end))


def _one_of_some(source: Source, noun: Noun) -> None:
    """Asks which one "wash two plates and put one away" means: nobody knows yet which two."""
    some = noun.part_of
    vague = some and not some.definite and some.count is not Amount.ALL
    if some and vague and some.kind == noun.kind and some.bound is Bound.EXACTLY:
        raise source.ask(AskReason.WHICH, noun.start, noun.end)


def _listed(source: Source, do: Do) -> None:
    """Asks how far a word goes: "all toys and candle holder", "a pear and a plum on the desk"."""
    for noun in _nouns(do):
        if source.word(noun.start) == "both" and noun.count == 1 and source.word(noun.end) != "and":
            # "Slice both lettuce".
            raise source.ask(AskReason.WHICH, noun.start, noun.end)
    for one, other in itertools.pairwise(_nouns(do)):
        if do.act is Act.FIND and one.start == other.start and one.count == 1:
            # "Look for my phone in the hall and the office".
            raise source.ask(AskReason.WHICH, do.start, do.end)
        done = other.bare and one.kind == other.kind and any(verbs_at(source.words, other.start))
        if done or source.starts(other.start, "drink from"):
            # "Find box, open box".
            raise source.unknown(other.start, other.end)
        near = source.words[max(0, other.start - 3) : other.end]
        undetermined = other.count is Amount.ALL and not other.definite
        some = one.count in (Amount.SOME, Amount.FEW) and source.word(other.start) not in THE
        all_of = one.count is Amount.ALL and not other.plural
        carried = undetermined and (some or all_of) and DETERMINED.isdisjoint(near)
        any_of = not (one.definite or other.definite or one.where or one.plural or other.plural)
        behind = [w for w, _ in _places(other) if w.way is Way.STATIC and w.start >= other.end]
        lies = any_of and any(w.relation in _HELD for w in behind)
        before, _, head = other.kind.rpartition(" ")
        joined = one.end + 1 == other.start and source.word(one.end) in ("and", "or")
        alone = bool(before) and source.word(other.start) == before.split()[0]
        shared = joined and alone and other.plural and not one.plural
        shared = shared and default_word_meanings().find(f"{one.kind} {head}") is not None
        # "One apple and one apple": two of them?
        twice = any_of and one.kind == other.kind and not (one.described or other.described)
        if carried or shared or twice or (joined and lies):
            raise source.ask(AskReason.WHICH, one.start, other.end)


def _there_or_from_there(source: Source, do: Do) -> None:
    """Asks whether a place says where things are or where they go, or what goes with them."""
    fetched = any(w.anchor is Spot.ME for w in do.to)
    taken = fetched or (do.act is Act.GRASP and source.word(do.start) == "take")
    carried = do.act is Act.MOVE and not (do.stated or do.tempers or fetched) and (
        any(w.way is Way.TO for w in do.to)
    )  # fmt: skip
    if {Spot.BACK, Spot.HERE} <= {w.anchor for w in do.to if isinstance(w.anchor, Spot)}:
        # "Bring the keys back here": where they were, or to the speaker?
        raise source.ask(AskReason.WHERE, do.start, do.end)
    if source.starts(do.start, "clean off", "clean out", "cleaning out") and any(
        map(is_furniture, _nouns(do))
    ):
        # "Clean off the table": of its dirt, or of what is on it?
        raise source.ask(AskReason.DONE, do.start, do.end)
    for noun in _nouns(do):
        said = {*source.words[noun.start : noun.end]}
        mass = noun.count is Amount.ALL and not noun.plural and noun.kind in ("fruit", "food")
        if {"different", "separate"} & said or (fetched and "anything" in said) or (
            mass and (noun.bare or source.word(noun.start) in _THAT)
        ):  # fmt: skip
            # "Bring different cups": than which? "Bring me anything from the fridge", "wash food",
            # "that fruit": all of it?
            raise source.ask(AskReason.WHICH, noun.start, noun.end)
        if do.act is Act.MAKE and source.word(do.start) in ("clean", "empty") and (
            noun.bare and not noun.plural and noun.where
        ):  # fmt: skip
            # "Clean spoon in the sink".
            raise source.ask(AskReason.WHAT, do.start, do.end)
        for where, anchor in _places(noun):
            if taken and where.relation in BY_SIDE and source.word(where.start) == "to":
                # "Get the plate to the left of the stove".
                raise source.ask(AskReason.WHERE, do.start, do.end)
            beside = where.way is Way.STATIC and where.start == noun.end
            fixed = is_room(anchor) or is_furniture(anchor) or anchor.kind == "floor"
            put = any(w.relation is Relation.ON_TOP and w.way is Way.STATIC for w in do.to)
            drawer = put and not do.stated and anchor.kind.endswith("drawer")
            if beside and where.relation in _HELD and ((carried and not fixed) or drawer):
                # "Move the knife in the cup to the sink": with the cup? "In a drawer on the desk".
                raise source.ask(AskReason.WHICH, noun.start, where.end)


def _not_tolerated(source: Source, do: Do) -> None:
    """Asks which fruit "I am allergic to apples, bring me a fruit" means."""
    told = {"allergic", "allergy", "allergies", "intolerant"} & {*source.words}
    for noun in _nouns(do) if told else ():
        if not noun.definite:
            raise source.ask(AskReason.WHICH, noun.start, noun.end)


def _only_stated(source: Source, order: Order) -> None:
    """Asks whether "the knife (should be) in the sink" is a request, where nothing else is said."""
    if len(order.requests) != 1 or order.throughout or _ASKING & set(source.words):
        return
    (do,) = order.requests
    thing = do.things[0] if len(do.things) == 1 else None
    if do.act is not Act.MOVE or not isinstance(thing, Noun) or thing.count != 1:
        return
    if thing.start < do.start or any(
        isinstance(w.anchor, Noun) and w.anchor.count != 1 for w in do.to
    ):
        # "The phone is on the sofa. It should be on the desk"; "a pillow on every bed".
        return
    put = all(w.way is Way.STATIC and w.relation not in BY_SIDE for w in do.to)
    said = range(do.start, do.end) if do.guess or do.presumed else ()
    rest = (k for k in range(source.size) if k not in said)
    if put and do.to and not any(True for k in rest for _ in verbs_at(source.words, k)):
        raise source.ask(AskReason.MEANT, do.start, do.end)


def _nouns(do: Do) -> list[Noun]:
    return [thing for thing in do.things if isinstance(thing, Noun)]


def _places(noun: Noun) -> Iterator[tuple[Where, Noun]]:
    """Where a thing is said to be, of named places."""
    return ((where, where.anchor) for where in noun.where if isinstance(where.anchor, Noun))
