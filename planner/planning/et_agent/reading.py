"""Reads a task by rules: its class and its parts, where no model is asked.

`planner.language` reads what the catalogue has words for; `phrases` the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from planner.language.description import (
    Anchor,
    Description,
    Mention,
    NounPhrase,
    OneOf,
    Place,
)
from planner.language.goal_form import Find, Go, Goal, Move
from planner.language.interpretation import interpret
from planner.language.words import Relation, Spot
from planner.planning.et_agent.errand import Errand, Sought, TaskClass, Where
from planner.planning.et_agent.phrases import read_phrases, without_contents
from planner.planning.et_agent.words import is_meant

_WHERE = {
    Relation.IN: Where.INSIDE,
    Relation.ON_TOP: Where.ON,
    Relation.NEXT_TO: Where.CLOSE,
}
_SPEAKER = frozenset({Spot.ME, Spot.HERE})


@dataclass(frozen=True, slots=True)
class Reading:
    """What the words of a task say; without errands they were not understood."""

    task_class: TaskClass
    errands: tuple[Errand, ...]

    @property
    def only_sought(self) -> Sought | None:
        """What a task only asks to find; None if it was not understood or asks for more."""
        if len(self.errands) != 1 or self.errands[0].place is not None:
            return None
        return self.errands[0].target


@lru_cache(maxsize=1024)
def read_task(text: str) -> Reading:
    """Reads a task, the same each time."""
    text = without_contents(text)
    # "Where is it? Go there" goes to the place that a question names, by the rules of language.
    asks = text.casefold().lstrip().startswith("where")
    errands = (() if asks else _by_language(text)) or read_phrases(text)
    return Reading(class_of(errands), errands)


def class_of(errands: Sequence[Errand]) -> TaskClass:
    """The class of tasks with these parts."""
    moved = [errand for errand in errands if errand.place is not None]
    if not moved:
        related = any(errand.target.anchor is not None for errand in errands)
        return TaskClass.NAVIGATION_RELATION if related else TaskClass.NAVIGATION
    if len(moved) > 1:
        return TaskClass.NEST_AND_PLACE if is_nested(moved) else TaskClass.PLACE_TWO
    place = moved[0].place
    related = moved[0].target.anchor is not None or (place is not None and place.anchor is not None)
    return TaskClass.PLACE_RELATION if related else TaskClass.PLACE


def is_nested(errands: Sequence[Errand]) -> bool:
    """Whether something is first put into what is put somewhere after that."""
    first, *later = errands
    return first.place is not None and any(
        is_meant(first.place.word, errand.target.word) for errand in later
    )


class _CannotError(Exception):
    """The goal form says something that a task of this benchmark does not."""


def _by_language(text: str) -> tuple[Errand, ...]:
    found = interpret(text)
    if not isinstance(found, Goal):
        return ()
    labels: dict[str, Sought] = {}
    errands: list[Errand] = []
    try:
        for step in found.steps:
            for request in step:
                if not _goes_where_it_is(request, errands, labels):
                    errands += _errands(request, labels)
    except _CannotError:
        return ()
    return tuple(_joined(errands))


def _joined(errands: Sequence[Errand]) -> Iterator[Errand]:
    """What is found before it is moved is part of moving it, with what is said about it."""
    moved = {errand.target.word for errand in errands if errand.place is not None}
    found: dict[str, Sought] = {}
    for errand in errands:
        word = errand.target.word
        if errand.place is None and word in moved:
            found[word] = errand.target
        else:
            yield replace(errand, target=found.pop(word, errand.target))


def _goes_where_it_is(
    request: object, errands: Sequence[Errand], labels: dict[str, Sought]
) -> bool:
    """Whether "go there" only means where the thing is that was to be found before."""
    if not isinstance(request, Go) or len(request.to) != 1 or not errands:
        return False
    anchor = errands[-1].target.anchor
    return anchor is not None and _sought(request.to[0].anchor, labels).word == anchor.word


def _errands(request: object, labels: dict[str, Sought]) -> Iterator[Errand]:
    if isinstance(request, Find):
        yield from (Errand(_sought(thing, labels)) for thing in request.things)
    elif isinstance(request, Go) and len(request.to) == 1:
        yield Errand(_sought(request.to[0].anchor, labels))
    elif isinstance(request, Move) and len(request.to) == 1:
        place = request.to[0]
        if place.anchor in _SPEAKER:
            # "Bring me" asks to find it (ETPLAN-2.4).
            yield from (Errand(_sought(thing, labels)) for thing in request.things)
            return
        where = _WHERE.get(place.relation)
        if where is None and place.relation is not Relation.AT:
            raise _CannotError
        things = [_sought(thing, labels) for thing in request.things]
        goes = _sought(place.anchor, labels)
        yield from (Errand(thing, where, goes) for thing in things)
    else:
        raise _CannotError


def _sought(phrase: NounPhrase | Anchor, labels: dict[str, Sought]) -> Sought:
    if isinstance(phrase, Mention):
        known = labels.get(phrase.label)
        if known is None:
            raise _CannotError
        return Sought(known.word)
    if isinstance(phrase, OneOf):
        return _sought(phrase.one_of[0], labels)
    if not isinstance(phrase, Description) or phrase.count != 1:
        raise _CannotError
    made = Sought(str(phrase.kind))
    for place in phrase.where[:1]:
        made = _related(made, place, labels)
    if phrase.label is not None:
        labels[phrase.label] = made
    return made


def _related(made: Sought, place: Place, labels: dict[str, Sought]) -> Sought:
    where = _WHERE.get(place.relation)
    if where is None:
        raise _CannotError
    return Sought(made.word, where, _sought(place.anchor, labels))
