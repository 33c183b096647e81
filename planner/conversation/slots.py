"""The descriptions in a goal, in their places, and what replaces them, read from few words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.grounding.records import words_of
from planner.grounding.scene import is_room_kind
from planner.language.english import NUMBERS
from planner.language.goal_form import (
    Description,
    Find,
    Goal,
    Grasp,
    Leave,
    Make,
    Mention,
    Move,
    Never,
    NounPhrase,
    Place,
    Request,
)
from planner.language.interpretation import interpret
from planner.language.lexicon import Relation, includes, plural_of
from planner.world.catalogue import default_word_meanings

# Where in a goal a description stands.


class Role(StrEnum):
    """THING: what something is done with; FROM: where it is; TO: where it goes; IN: the room."""

    THING = "thing"
    FROM = "from"
    TO = "to"
    IN = "in"


@dataclass(frozen=True, slots=True)
class Slot:
    """One description: of a request, of the place that it is at or goes to, or of that place."""

    request: int
    role: Role
    index: int
    inner: int
    phrase: Description

    @property
    def key(self) -> tuple[Role, str]:
        """The same for those that mean the same."""
        return self.role, words_of(self.phrase)


def things_of(request: Request) -> tuple[NounPhrase, ...]:
    """The things of a request; none for those that have none."""
    have = (Move, Make, Find, Grasp, Leave, Never)
    return request.things if isinstance(request, have) else ()


def places_of(request: Request) -> tuple[Place, ...]:
    """The places that a request is about."""
    return getattr(request, "to", ())


def slots(goal: Goal) -> list[Slot]:
    """The descriptions of a goal that can be meant by a change."""
    found = []
    for number, request in enumerate(goal.requests):
        for index, phrase in enumerate(things_of(request)):
            if isinstance(phrase, Description):
                found.append(Slot(number, Role.THING, index, -1, phrase))
                found += _inner(number, Role.FROM, index, phrase)
        for index, place in enumerate(places_of(request)):
            if isinstance(place.anchor, Description):
                found.append(Slot(number, Role.TO, index, -1, place.anchor))
                found += _inner(number, Role.IN, index, place.anchor)
    return found


def _inner(number: int, role: Role, index: int, outer: Description) -> Iterator[Slot]:
    for k, place in enumerate(outer.where):
        if isinstance(place.anchor, Description):
            yield Slot(number, role, index, k, place.anchor)


def rebuilt(goal: Goal, requests: Sequence[Request | None]) -> Goal | None:
    """A goal with these requests in place of its own, in their order; None leaves one out."""
    left = iter(requests)
    steps = [tuple(r for _ in step if (r := next(left)) is not None) for step in goal.steps]
    any_time = tuple(r for _ in goal.any_time if (r := next(left)) is not None)
    steps = [step for step in steps if step]
    if not steps and not any(not isinstance(r, Leave | Never) for r in any_time):
        return None
    try:
        return Goal(steps=tuple(steps), any_time=any_time)
    except ValueError:
        return None


def _set(items: Sequence[object], index: int, item: object) -> tuple[object, ...]:
    return (*items[:index], item, *items[index + 1 :])


def put_in(
    goal: Goal, slot: Slot, new: Description, relation: Relation | None = None
) -> Goal | None:
    """The goal with another description in a slot; its label stays."""
    requests: list[Request | None] = list(goal.requests)
    request = goal.requests[slot.request]
    new = new.model_copy(update={"label": slot.phrase.label})
    if slot.role in (Role.THING, Role.FROM):
        thing = things_of(request)[slot.index]
        if slot.role is Role.FROM and isinstance(thing, Description):
            new = _moved(thing, slot.inner, new)
        update: dict[str, object] = {"things": _set(things_of(request), slot.index, new)}
    else:
        place = places_of(request)[slot.index]
        if slot.role is Role.IN and isinstance(place.anchor, Description):
            new = _moved(place.anchor, slot.inner, new)
        how = relation if relation is not None and slot.role is Role.TO else place.relation
        there = Place(relation=how, anchor=new)
        update = {"to": _set(places_of(request), slot.index, there)}
    requests[slot.request] = request.model_copy(update=update)
    return rebuilt(goal, requests)


def _moved(outer: Description, inner: int, new: Description) -> Description:
    place = outer.where[inner].model_copy(update={"anchor": new})
    return outer.model_copy(update={"where": _set(outer.where, inner, place)})


def without(goal: Goal, gone: Collection[Slot]) -> Goal | None:
    """The goal without some things; a request without things is left out, too."""
    dropped = {(slot.request, slot.index) for slot in gone}
    labels = {slot.phrase.label: slot.phrase for slot in gone if slot.phrase.label}
    requests: list[Request | None] = []
    for number, request in enumerate(goal.requests):
        things = [
            thing
            for k, thing in enumerate(things_of(request))
            if (number, k) not in dropped
            and not (isinstance(thing, Mention) and thing.label in labels)
        ]
        if len(things) == len(things_of(request)):
            requests.append(request)
        else:
            kept = request.model_copy(update={"things": tuple(things)}) if things else None
            requests.append(kept)
    return rebuilt(goal, requests)


# Noun phrases and places that are all of what is said, read as parts of whole instructions.

ONES = re.compile(r"\b(one|ones)\b")
_ARTICLES = re.compile(
    r"^(the|a|an|all|both|every|each|some|any|my|your|our|his|her|their|this|that|these|those"
    r"|another"
    r"|everything|anything|\d+)\b"
)
_IN_WORDS = {
    Relation.ON_TOP: "on",
    Relation.IN: "in",
    Relation.AT: "to",
    Relation.NEXT_TO: "next to",
    Relation.UNDER: "under",
    Relation.BEHIND: "behind",
    Relation.IN_FRONT_OF: "in front of",
    Relation.LEFT_OF: "left of",
    Relation.RIGHT_OF: "right of",
}
PREPOSITION = re.compile(
    r"^(in|into|on|onto|to|under|next to|beside|by|near|behind|inside|at|from|off|over to"
    r"|out of|back)\b"
)


def _with_article(words: str) -> Iterator[str]:
    if words and not _ARTICLES.match(words) and words.split()[0] not in NUMBERS:
        yield f"the {words}"
    yield words


def phrases_in(words: str, kind: str = "") -> tuple[Description, ...]:
    """Things by their words alone; "one" is one of a kind."""
    if kind:
        words = ONES.sub(lambda m: plural_of(kind) if m.group() == "ones" else kind, words)
    elif ONES.search(words):
        return ()
    for said in _with_article(words):
        reading = interpret(f"find {said}")
        if isinstance(reading, Goal) and len(reading.requests) == 1:
            things = things_of(reading.requests[0])
            if all(isinstance(thing, Description) for thing in things):
                return tuple(t for t in things if isinstance(t, Description))
    return ()


def place_in(words: str) -> Place | None:
    """A place by its words with a preposition: "in the office"."""
    for head in ("put the ball", "bring the ball"):
        reading = interpret(f"{head} {words}")
        if isinstance(reading, Goal) and len(reading.requests) == 1:
            places = places_of(reading.requests[0])
            if len(places) == 1:
                return places[0]
    return None


def anchor_in(words: str, relation: Relation) -> Place | None:
    """A place by its words without one: next to it, say, as with another, or else to it."""
    usual = relation in (Relation.IN, Relation.ON_TOP, Relation.AT)
    for said in _with_article(words):
        for preposition in ("to",) if usual else (_IN_WORDS[relation], "to"):
            place = place_in(f"{preposition} {said}")
            if place is not None and isinstance(place.anchor, Description):
                return place
    return None


def is_room(phrase: Description) -> bool:
    """Whether a description means rooms."""
    return is_room_kind(phrase.kind)


def is_furniture(phrase: Description) -> bool:
    """Whether a description means furniture and nothing that is carried."""
    meaning = default_word_meanings().find(phrase.kind)
    return meaning is not None and bool(meaning.furniture) and not meaning.objects


_LOOKS = ("color", "size", "material", "pick", "nth", "states", "where", "holding")


def fits(said: Description, phrase: Description) -> bool:
    """Whether what is said may mean what a description means: "the cups", of "two red cups"."""
    if not includes(said.kind, phrase.kind):
        return False
    looks = (("color", None), ("size", None), ("material", None), ("states", ()))
    return all(getattr(said, look) in (none, getattr(phrase, look)) for look, none in looks)


def contrasts(said: Description, phrase: Description) -> bool:
    """Whether both say a look, and not the same."""
    return any(
        getattr(said, look)
        and getattr(phrase, look)
        and getattr(said, look) != getattr(phrase, look)
        for look in _LOOKS
    )


def corrected(said: Description, phrase: Description) -> Description:
    """A description as it is put right: of the same kind, all that is not said stays."""
    if said.kind != phrase.kind:
        return said if said.where else said.model_copy(update={"where": phrase.where})
    given = {look: getattr(said, look) for look in _LOOKS if getattr(said, look)}
    counted = {"count": said.count, "bound": said.bound, "definite": said.definite}
    return phrase.model_copy(update=counted | given)
