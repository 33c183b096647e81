"""Parts of a goal that no sensible instruction means together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import CHANGING, ORDER_WORDS, word_set
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for, words_of
from planner.language.cross_reading.meanings import meaning
from planner.language.cross_reading.occurrences import GoalFacts, Occurrence, Role
from planner.language.description import Anchor, Description, Mention, NounPhrase, OneOf, Place
from planner.language.goal_form import Find, Go, Leave, Make, Move, Never, Prepare
from planner.language.reading import AskReason
from planner.language.words import Amount, Relation, Spot
from planner.world.catalogue import default_catalogue

_OPPOSITES = frozenset({
    frozenset({"powered on", "powered off"}), frozenset({"open", "closed"}),
    frozenset({"clean", "dirty"}), frozenset({"filled", "empty"}),
    frozenset({"filled with water", "empty"}), frozenset({"dusted", "dusty"}),
})  # fmt: skip
_HOLDERS = word_set("bags containers drinkware dishes cookware kitchenware shoes clothes toys")

_OPEN = word_set("trash_can toy_box bathtub shower shelves bookcase")
_HOLLOW = word_set("case box basket bag holder rack block pot jar")


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Compares the requests of a goal with each other."""
    yield from _same_twice(text, goal)
    yield from _two_places(text, goal)
    yield from _opposite_states(text, goal)
    yield from _impossible_places(text, goal)
    yield from _forbidden_and_wanted(text, goal)
    yield from _forbidden_alternatives(text, goal)
    yield from _only_arranged(text, goal)
    yield from _goes_before(text, goal)
    yield from _described_by_wishes(text, goal)
    yield from _beside_its_fellow(text, goal)


def _about(text: TextFacts, occurrence: Occurrence) -> tuple[str, ...]:
    return words_of(text, occurrence.description)


def _same_twice(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """The same is asked for twice, or the same thing is brought to one place twice."""
    verbs = Counter(clause.verb for clause in text.clauses if clause.verb)
    if "again" in text.vocabulary or any(verbs[verb] > 1 for verb in verbs if verb in CHANGING):
        return
    for (i, (_, one)), (j, (_, other)) in combinations(enumerate(goal.requests), 2):
        if type(one) is not type(other) or one.who != other.who:
            continue
        if not isinstance(one, Move | Make | Find) or not isinstance(other, Move | Make | Find):
            continue
        if one.only_if or one.unless or other.only_if or other.unless:
            continue
        for first in goal.things(i):
            for second in goal.things(j):
                if not same_things(first, second) or _is_named_twice(text, first):
                    continue
                if isinstance(one, Make) and isinstance(other, Make):
                    same = one.states == other.states
                elif isinstance(one, Move) and isinstance(other, Move):
                    same = (
                        bool(one.to)
                        and one.arrangement is other.arrangement
                        and [_target(goal, p) for p in one.to]
                        == [_target(goal, p) for p in other.to]
                    )
                else:
                    same = True
                if same:
                    words = _about(text, first)
                    yield Contradiction(Subject.CONSISTENCY, words, AskReason.DONE)


def _is_named_twice(text: TextFacts, thing: Occurrence) -> bool:
    return len(chunks_for(text, thing.description.kind)) > 1


def _target(goal: GoalFacts, place: Place) -> object:
    anchor: Anchor = place.anchor
    if isinstance(anchor, Mention):
        anchor = goal.labelled[anchor.label]
    return plain(anchor) if isinstance(anchor, Description) else anchor


def plain(it: Description) -> tuple[object, ...]:
    """What a description says, without its label."""
    return (
        it.kind, it.count, it.definite, it.color, it.material, it.size, it.pick, it.states,
        tuple((p.relation, _plain_anchor(p.anchor)) for p in it.where), it.other_than, it.each,
        tuple(map(_plain_anchor, it.but)),
    )  # fmt: skip


def _plain_anchor(anchor: Anchor | NounPhrase) -> object:
    return plain(anchor) if isinstance(anchor, Description) else anchor


def same_things(one: Occurrence, other: Occurrence) -> bool:
    """Whether two occurrences certainly mean the same things."""
    first, second = one.description, other.description
    if first is second:
        return True
    certain = first.definite or first.count is Amount.ALL
    return certain and plain(first) == plain(second)


def _two_places(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """One thing is brought to two places, although nothing in the text says one after another."""
    if not text.vocabulary.isdisjoint(ORDER_WORDS):
        return
    moves = [(i, item) for i, (_, item) in enumerate(goal.requests) if isinstance(item, Move)]
    for (i, one), (j, other) in combinations(moves, 2):
        if not one.to or not other.to or one.who != other.who or one.only_if or other.only_if:
            continue
        if one.unless or other.unless or not (_rests(one) and _rests(other)):
            continue
        for first in goal.things(i):
            if _changed_between(goal, first, i, j) or _is_narrower(one, other):
                continue
            if [_target(goal, p) for p in one.to] == [_target(goal, p) for p in other.to]:
                continue
            if any(same_things(first, second) for second in goal.things(j)):
                yield Contradiction(Subject.CONSISTENCY, _about(text, first), AskReason.WHERE)


def _rests(item: Move) -> bool:
    """Whether a move says what things are on or in, not only what they are next to."""
    return all(p.relation in (Relation.ON_TOP, Relation.IN, Relation.AT) for p in item.to)


def _is_narrower(one: Move, other: Move) -> bool:
    """Whether the second place is in the first: "to the hall", "on the table in the hall"."""
    rooms = {p.anchor.kind for p in one.to if isinstance(p.anchor, Description)}
    return any(
        isinstance(inner.anchor, Description) and inner.anchor.kind in rooms
        for place in other.to
        if isinstance(place.anchor, Description)
        for inner in place.anchor.where
    )


def _changed_between(goal: GoalFacts, thing: Occurrence, i: int, j: int) -> bool:
    """Whether something is done to a thing at its first place: "to the sink, wash it, ..."."""
    return any(
        isinstance(goal.requests[k][1], Make) and any(same_things(thing, o) for o in goal.things(k))
        for k in range(i + 1, j)
    )


def _opposite_states(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    for i, (step, item) in enumerate(goal.requests):
        if not isinstance(item, Make):
            continue
        for j, (later, other) in enumerate(goal.requests[i:], start=i):
            if not isinstance(other, Make) or later != step or item.only_if or other.only_if:
                continue
            if not any(frozenset({a, b}) in _OPPOSITES for a in item.states for b in other.states):
                continue
            for first in goal.things(i):
                if any(same_things(first, second) for second in goal.things(j)):
                    yield Contradiction(Subject.CONSISTENCY, _about(text, first), AskReason.DONE)


def _impossible_places(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Nothing is on a room, or in what has no inside."""
    for occurrence in goal.occurrences:
        if occurrence.relation is None or occurrence.role is Role.PLACE_OF:
            continue
        if not _possible(occurrence.relation, occurrence.description.kind):
            words = _about(text, occurrence)
            yield Contradiction(Subject.PLACE, words, AskReason.WHERE)


def _possible(relation: Relation, kind: str) -> bool:
    found = meaning(kind)
    if found is None or kind in ("thing", "furniture", "room", "floor"):
        return True
    if kind.split()[-1] in _HOLLOW:
        return True
    catalogue = default_catalogue()
    objects = [catalogue.objects[name] for name in found.objects]
    pieces = [catalogue.furniture[name] for name in found.furniture]
    if relation is Relation.ON_TOP:
        if found.rooms and not objects and not pieces:
            return False
        return (
            bool(pieces)
            or any(item.top or not {"dishes", "kitchenware", "containers", "linens", "clothes",
                                    "books"}.isdisjoint(item.groups) for item in objects)
            or not objects
        )  # fmt: skip
    if relation is Relation.IN:
        return (
            bool(found.rooms)
            or any(piece.interiors or piece.faucet or piece.name in _OPEN for piece in pieces)
            or any(item.hollow or not _HOLDERS.isdisjoint(item.groups) for item in objects)
        )
    return True


def _forbidden_and_wanted(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """A thing must never come somewhere and has to go elsewhere, or it stays and is moved."""
    for i, (_, item) in enumerate(goal.requests):
        if not isinstance(item, Never | Leave):
            continue
        if isinstance(item, Never) and not item.to:
            continue
        for j, (_, other) in enumerate(goal.requests):
            if not isinstance(other, Move):
                continue
            for first in goal.things(i):
                if any(same_things(first, second) for second in goal.things(j)):
                    here = isinstance(item, Never) and any(
                        place.anchor in (Spot.HERE, Spot.ME) for place in item.to
                    )
                    if here or isinstance(item, Leave):
                        words = _about(text, first)
                        yield Contradiction(Subject.CONSISTENCY, words, AskReason.WHERE)


def _forbidden_alternatives(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "No cups or plates" is neither, not one of both."""
    for i, (_, item) in enumerate(goal.requests):
        if isinstance(item, Never | Leave) and any(isinstance(p, OneOf) for p in item.things):
            words = tuple(w for o in goal.things(i) for w in _about(text, o))
            yield Contradiction(Subject.ALTERNATIVE, words, AskReason.WHICH)


def _only_arranged(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "Together on the shelf" may say where they come, not where they are."""
    if not any(
        c.preposition
        and text.words[c.start - len(c.preposition) - 1] in ("together", "apart", "up")
        for c in text.chunks
        if c.start > len(c.preposition)
    ):
        return
    for i, (_, item) in enumerate(goal.requests):
        if isinstance(item, Move) and not item.to:
            for thing in goal.things(i):
                if thing.description.where:
                    yield Contradiction(Subject.PLACE, _about(text, thing), AskReason.WHERE)


def _goes_before(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "Go to the kitchen and get the cup": going there says where the cup is."""
    for i, (step, item) in enumerate(goal.requests):
        if (
            not isinstance(item, Go)
            or "come" in text.vocabulary
            or any(o.relation is None for o in goal.targets(i))
        ):
            continue
        for j, (later, other) in enumerate(goal.requests):
            if j == i or isinstance(other, Go | Leave | Never) or other.who != item.who:
                continue
            if later == step and not isinstance(other, Prepare):
                words = tuple(w for o in goal.targets(i) for w in _about(text, o))
                if words:
                    yield Contradiction(Subject.CONSISTENCY, words, AskReason.WHERE)


def _described_by_wishes(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Where things belong, were or are not describes nothing."""
    for occurrence in goal.occurrences:
        for place in occurrence.description.where:
            if place.anchor in (Spot.USUAL, Spot.BACK, Spot.ELSEWHERE):
                yield Contradiction(
                    Subject.PLACE, words_of(text, occurrence.description), AskReason.WHERE
                )


def _beside_its_fellow(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "One left of the TV, the other right of it": of the TV, not of the first one."""
    for i in range(len(goal.requests)):
        for thing in goal.things(i):
            for target in goal.targets(i):
                if target.mentioned and target.description.label in thing.description.other_than:
                    words = words_of(text, target.description)
                    yield Contradiction(Subject.PLACE, words, AskReason.WHICH)
