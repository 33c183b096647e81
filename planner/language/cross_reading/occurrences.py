"""What a goal says of each thing: a flat list, to be compared with the words of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from planner.language.description import (
    Anchor,
    Description,
    Mention,
    NounPhrase,
    OneOf,
    PlaceOf,
)
from planner.language.goal_form import Find, Go, Goal, Leave, Make, Move, Never, Prepare, Request
from planner.language.words import Relation


class Role(StrEnum):
    """What a description is in a request."""

    THING = "thing"
    TARGET = "target"
    WHERE = "where"
    HOLDING = "holding"
    EXCEPTION = "exception"
    CONDITION = "condition"
    PLACE_OF = "place of"
    OCCASION_AT = "occasion at"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A description in one role.

    Attributes:
        description: with the label resolved, if it is a mention.
        step: index of the step, or -1 outside of the order.
        request: index of the request among all.
        relation: of targets and places, else None.
        owner: the description that this one is part of, or None.
        mentioned: it stands in the goal as a label only.
        alternative: it is one of several, "or".
    """

    description: Description
    role: Role
    step: int
    request: int
    relation: Relation | None = None
    owner: Description | None = None
    mentioned: bool = False
    alternative: bool = False


class GoalFacts:
    """The requests of a goal, numbered, and the occurrences of descriptions in them."""

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self.labelled = {
            phrase.label: phrase
            for phrase in goal.phrases()
            if isinstance(phrase, Description) and phrase.label
        }
        numbered = [(step, item) for step, items in enumerate(goal.steps) for item in items]
        numbered += [(-1, item) for item in goal.any_time]
        self.requests: tuple[tuple[int, Request], ...] = tuple(numbered)
        self.occurrences = tuple(
            found
            for index, (step, item) in enumerate(numbered)
            for found in self._of(item, step, index)
        )

    def things(self, request: int) -> list[Occurrence]:
        """What a request is about."""
        return [o for o in self.occurrences if o.request == request and o.role is Role.THING]

    def targets(self, request: int) -> list[Occurrence]:
        """The places of a request."""
        return [o for o in self.occurrences if o.request == request and o.role is Role.TARGET]

    def _of(self, item: Request, step: int, index: int) -> Iterator[Occurrence]:
        for phrase in (*item.only_if, *item.unless):
            yield from self._within(phrase, Role.CONDITION, step, index)
        if isinstance(item, Move | Make | Leave | Never | Find):
            for phrase in item.things:
                yield from self._within(phrase, Role.THING, step, index)
        if isinstance(item, Move | Never | Go):
            for place in item.to:
                yield from self._within(place.anchor, Role.TARGET, step, index, place.relation)
        if isinstance(item, Prepare) and item.at is not None:
            yield from self._within(item.at, Role.OCCASION_AT, step, index)

    def _within(
        self,
        phrase: NounPhrase | Anchor,
        role: Role,
        step: int,
        index: int,
        relation: Relation | None = None,
        owner: Description | None = None,
        alternative: bool = False,
    ) -> Iterator[Occurrence]:
        if isinstance(phrase, OneOf):
            for inner in phrase.one_of:
                yield from self._within(inner, role, step, index, relation, owner, True)
        elif isinstance(phrase, PlaceOf):
            yield from self._within(phrase.place_of, Role.PLACE_OF, step, index, relation, owner)
        elif isinstance(phrase, Mention):
            found = self.labelled[phrase.label]
            yield Occurrence(found, role, step, index, relation, owner, True, alternative)
        elif isinstance(phrase, Description):
            yield Occurrence(phrase, role, step, index, relation, owner, False, alternative)
            for place in phrase.where:
                yield from self._within(
                    place.anchor, Role.WHERE, step, index, place.relation, phrase
                )
            for inner in phrase.holding:
                yield from self._within(inner, Role.HOLDING, step, index, None, phrase)
            for inner in phrase.but:
                yield from self._within(inner, Role.EXCEPTION, step, index, None, phrase)
