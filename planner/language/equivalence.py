"""Whether two readings of an instruction mean the same, however they are written.

The order within a step, synonyms, labels, and several things in one request or one request for each
make no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from planner.language.english import MASS
from planner.language.goal_form import (
    Anchor,
    Description,
    Find,
    Follow,
    Go,
    Goal,
    Grasp,
    Guide,
    Leave,
    Make,
    Meet,
    Mention,
    Move,
    Never,
    NounPhrase,
    OneOf,
    Place,
    PlaceOf,
    Prepare,
    Request,
    Tell,
)
from planner.language.lexicon import (
    GENERIC_KINDS,
    Actor,
    Amount,
    Occasion,
    Relation,
    Spot,
    goes_inside,
    resting_relations,
)
from planner.language.reading import NoCommand, Reading
from planner.world.catalogue import default_catalogue, default_word_meanings, word_key

# Nested tuples of what is compared; unordered parts are sorted by their text.
Normal = object


class Grade(StrEnum):
    """How a reading compares with the annotated one.

    WRONG: something would be done that is not meant. ASKED: no goal although there is one, or
    another reason for having none; nothing moves.
    """

    RIGHT = "right"
    ASKED = "asked"
    WRONG = "wrong"


def grade(found: Reading, annotated: Reading) -> Grade:
    """Grades a reading of an annotated instruction."""
    if same_meaning(found, annotated):
        return Grade.RIGHT
    return Grade.WRONG if isinstance(found, Goal) else Grade.ASKED


def same_meaning(one: Reading, other: Reading) -> bool:
    """Whether two readings mean the same.

    Outcomes without a goal are the same if they are of one kind and, where they name words, have
    some of them in common; their reasons only decide how a person is answered.
    """
    if isinstance(one, Goal) and isinstance(other, Goal):
        return _Normalizer(one).goal() == _Normalizer(other).goal()
    if isinstance(one, Goal) or isinstance(other, Goal):
        return False
    if type(one) is not type(other):
        return False
    if isinstance(one, NoCommand) or isinstance(other, NoCommand):
        return True
    return bool(_words(one.words) & _words(other.words))


def _words(phrases: Iterable[str]) -> set[str]:
    return {word for phrase in phrases for word in phrase.lower().split()}


def _sorted(items: Iterable[Normal]) -> tuple[Normal, ...]:
    return tuple(sorted(items, key=repr))


class _Normalizer:
    """Writes one goal in the only way that its meaning has."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        phrases = tuple(goal.phrases())
        self._labelled = {
            phrase.label: phrase
            for phrase in phrases
            if isinstance(phrase, Description) and phrase.label
        }
        self._mentioned = Counter(p.label for p in phrases if isinstance(p, Mention))

    def goal(self) -> Normal:
        steps = [self._requests(step) for step in self._goal.steps]
        free = self._requests(self._goal.any_time)
        throughout = [item for item in self._goal.requests if isinstance(item, Leave | Never)]
        if len(steps) <= 1:
            # Without an order nothing is outside of it.
            steps, free = [_sorted((*(steps[0] if steps else ()), *free))], ()
        return (
            tuple(step for step in steps if step),
            free,
            _sorted(part for item in throughout for part in self._split(item)),
        )

    def _requests(self, requests: Sequence[Request]) -> tuple[Normal, ...]:
        return _sorted(
            part
            for item in requests
            if not isinstance(item, Leave | Never)
            for part in self._split(item)
        )

    def _split(self, item: Request) -> Iterable[Normal]:
        """A request as one for each thing, where things do not depend on each other."""
        common = (
            type(item).__name__,
            # What anybody may do and what the robot shall do is done by the robot.
            item.who is Actor.SPEAKER,
            _sorted(map(self._phrase, item.only_if)),
            _sorted(map(self._phrase, item.unless)),
        )
        if isinstance(item, Prepare):
            at = None if item.at is None or _is_the_table(item) else self._anchor(item.at)
            return [(*common, item.occasion, item.people, at)]
        if isinstance(item, Go):
            return [(*common, self._places(item.to, target=True))]
        things = [self._phrase(phrase) for phrase in item.things]
        several = len(things) > 1
        match item:
            case Make():
                rest: Normal = _sorted(item.states)
            case Never():
                rest = (self._places(item.to, shared=several, target=True), _sorted(item.states))
            case Move():
                rest = (self._places(item.to, shared=several, target=True), item.arrangement)
                if item.arrangement is not None:
                    return [(*common, _sorted(things), rest)]
            case Follow() | Guide():
                rest = self._places(item.to, shared=several, target=True)
            case Tell():
                told = (*common, item.topic, self._anchor(item.to))
                return [(*told, thing) for thing in things] or [told]
            case Leave() | Find() | Grasp() | Meet():
                rest = ()
        return [(*common, thing, rest) for thing in things]

    def _places(
        self, places: Iterable[Place], *, shared: bool = False, target: bool = False
    ) -> Normal:
        return _sorted(
            (self._relation(place, target=target), self._anchor(place.anchor, shared=shared))
            for place in places
        )

    def _relation(self, place: Place, *, target: bool) -> Relation:
        """The relation that things have there: at a table is on it.

        What has both a top and an inside is used for its top; what is at it can be on or in it.
        """
        anchor = place.anchor
        if isinstance(anchor, Mention):
            anchor = self._labelled[anchor.label]
        if place.relation not in (Relation.AT, Relation.IN) or not isinstance(anchor, Description):
            return place.relation
        if target and goes_inside(anchor.kind):
            return Relation.IN
        possible = resting_relations(anchor.kind)
        if len(possible) == 1:
            return next(iter(possible))
        return (
            Relation.ON_TOP
            if possible and target and place.relation is Relation.AT
            else place.relation
        )

    def _anchor(self, anchor: Anchor, *, shared: bool = False) -> Normal:
        if isinstance(anchor, Spot):
            return anchor
        if isinstance(anchor, PlaceOf):
            return ("place of", self._phrase(anchor.place_of))
        return self._phrase(anchor, shared=shared)

    def _phrase(self, phrase: NounPhrase, *, shared: bool = False) -> Normal:
        if isinstance(phrase, OneOf):
            return ("one of", *(self._phrase(item) for item in phrase.one_of))
        if isinstance(phrase, Mention):
            phrase, shared = self._labelled[phrase.label], True
        elif phrase.label is not None and self._mentioned[phrase.label]:
            shared = True
        # "The cup" and "all cups" are the same ones each time.
        if shared and not phrase.definite and phrase.count is not Amount.ALL and not phrase.each:
            return ("the same", self._description(phrase))
        return self._description(phrase)

    def _description(self, it: Description) -> Normal:
        return (
            _kind(it.kind),
            (_count(it), it.bound, _is_definite(it), it.elsewhere, it.each),
            (it.color, it.material, it.size, it.pick, it.nth, _sorted(it.states)),
            (it.name, _sorted(it.wears)),
            self._places(it.where),
            _sorted(map(self._phrase, it.holding)),
            _sorted(map(self._phrase, it.but)),
            _sorted(self._description(self._labelled[label]) for label in it.other_than),
        )


def _alike(it: Description) -> bool:
    """Whether "the" and "a" are the same, as any trash can is as good as another."""
    return it.count == 1 and not it.where and _kind(it.kind) == _kind("trash can")


def _is_definite(it: Description) -> bool:
    return it.definite and not _alike(it) and _count(it) is it.count


def _is_the_table(item: Prepare) -> bool:
    """Whether "set the table" names no table: the words belong to the occasion."""
    return item.occasion is Occasion.SET_TABLE and item.at == Description(
        kind="table", definite=True
    )


def _count(it: Description) -> int | Amount:
    """How many: "the mail" and "all mail" are the same, as nobody counts it."""
    uncounted = it.definite and it.count == 1 and it.kind in MASS
    return Amount.ALL if uncounted else it.count


def _kind(word: str) -> Normal:
    """One value for all synonyms; a name such as "dining table" stays narrower than "table"."""
    if word in GENERIC_KINDS:
        return word
    catalogue = default_catalogue()
    for found in (catalogue.object_name, catalogue.furniture_name, catalogue.room_name):
        if (name := found(word)) is not None:
            return word if word.endswith(f" {word_key(name)}") else name
    meaning = default_word_meanings().find(word)
    return (
        word
        if meaning is None
        else tuple(
            _sorted(classes) for classes in (meaning.objects, meaning.furniture, meaning.rooms)
        )
    )
