"""Whether two requests, things or places of an instruction are the same, or exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.drafts import Act, Do, Noun, Phrase, Way, Where
from planner.language.modifiers import opposite
from planner.language.place_words import BY_SIDE
from planner.language.places import is_furniture, is_room
from planner.language.words import Actor, Amount, Relation

_PLACED = (Relation.ON_TOP, Relation.IN, Relation.AT)


def is_one_of(thing: Phrase, group: Phrase) -> bool:
    """Whether one is picked of several: "wash both bowls, put the bigger one in the cupboard"."""
    if isinstance(thing, Noun) and thing.part_of is not None and thing.part_of is group:
        return True
    return (
        isinstance(thing, Noun) and isinstance(group, Noun) and thing.definite
        and (group.count is Amount.ALL or group.plural)
        and thing.kind == group.kind and not thing.where
        and bool(thing.pick or thing.size or thing.color or thing.material)
    )  # fmt: skip


def apart(one: Do, other: Do) -> bool:
    """Whether two moves have the same things at places of which each excludes the other."""
    if not (one.act is other.act is Act.MOVE) or len(one.to) != 1 or len(other.to) != 1:
        return False
    first, second = one.to[0].anchor, other.to[0].anchor
    if not isinstance(first, Noun) or not isinstance(second, Noun) or first.kind == second.kind:
        return False
    alike = (is_room(first) and is_room(second)) or (is_furniture(first) and is_furniture(second))
    placed = all(to.relation in _PLACED for to in (one.to[0], other.to[0]))
    return alike and placed and any(same(a, b) for a in one.things for b in other.things)


def same(one: Phrase, other: Phrase) -> bool:
    """Whether two resolved phrases are about the same things."""
    if one is other:
        return True
    if not isinstance(one, Noun) or not isinstance(other, Noun):
        return False
    known = (one.definite or one.count is Amount.ALL) and (
        other.definite or other.count is Amount.ALL
    )
    return known and one.kind == other.kind and signature(one) == signature(other)


def signature(noun: Noun) -> tuple[object, ...]:
    """What a definite description says, for comparison."""
    return (
        noun.kind, noun.count, noun.color, noun.material, noun.size, noun.pick, tuple(noun.states),
        tuple(
            (w.relation, signature(w.anchor) if isinstance(w.anchor, Noun) else str(w.anchor))
            for w in noun.where
        ),
        len(noun.other_than), len(noun.holding), noun.elsewhere,
    )  # fmt: skip


def repeats(do: Do, earlier: Do) -> bool:
    """Whether a request is said twice: "the cans go in the bin, all of them"."""
    shared = (do.who is Actor.SPEAKER) is (earlier.who is Actor.SPEAKER)
    return (
        do.act is earlier.act and do.act in (Act.MOVE, Act.MAKE) and do.states == earlier.states
        and do.arrangement is earlier.arrangement and shared
        and len(do.things) <= len(earlier.things) and len(do.to) == len(earlier.to)
        and all(any(same(a, b) for b in earlier.things) for a in do.things)
        and all(same_place(a, b) for a, b in zip(do.to, earlier.to, strict=True))
    )  # fmt: skip


def undoes(do: Do, other: Do) -> bool:
    """Whether a request brings things away from where, or out of the state, another gives them."""
    if do.act is not other.act or not any(same(a, b) for a in do.things for b in other.things):
        return False
    if do.act is Act.MAKE:
        return bool(set(map(opposite, do.states)) & set(other.states))
    return not all(same_place(a, b) for a, b in zip(do.to, other.to, strict=False))


def same_place(one: Where, other: Where) -> bool:
    """Whether two places have the same relation to the same anchor."""
    if isinstance(one.anchor, Noun) and isinstance(other.anchor, Noun):
        return one.relation is other.relation and same(one.anchor, other.anchor)
    return one.anchor is other.anchor


def at_one_place(one: list[Where], other: list[Where]) -> bool:
    """Whether things go to one thing, or to what is the same by its description."""
    if len(one) != 1 or len(other) != 1:
        return False
    first, second = one[0].anchor, other[0].anchor
    return isinstance(first, Noun) and isinstance(second, Noun) and same(first, second)


def refines(do: Do, earlier: Do) -> bool:
    """Whether some things go to furniture in the room that all were brought to."""
    rooms = [w.anchor for w in earlier.to if isinstance(w.anchor, Noun) and is_room(w.anchor)]
    inside = [
        w.anchor
        for to in do.to
        if isinstance(to.anchor, Noun)
        for w in to.anchor.where
        if isinstance(w.anchor, Noun)
    ]
    return bool(rooms) and any(same(a, b) for a in inside for b in rooms)


def only_beside(do: Do) -> bool:
    """Whether a request only says beside what things shall be."""
    return bool(do.to) and all(where.relation in BY_SIDE for where in do.to)


def taken_from(thing: Phrase) -> bool:
    """Whether a thing is described by where it is taken from."""
    where = thing.where if isinstance(thing, Noun) else []
    return any(w.way is Way.FROM for w in where)


def anchors(do: Do) -> Iterator[Phrase]:
    """What a request puts things on, into or beside."""
    for where in do.to:
        if isinstance(where.anchor, Noun):
            yield where.anchor
