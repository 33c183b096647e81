"""What grounding finds and what is still open, and its wording in English."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from planner.grounding.scene import is_room_kind
from planner.language.goal_form import (
    Anchor,
    Description,
    Find,
    Follow,
    Go,
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
    Request,
    Tell,
)
from planner.language.lexicon import (
    PERSON,
    Actor,
    Amount,
    Arrangement,
    Bound,
    Occasion,
    Relation,
    Spot,
    plural_of,
)
from planner.language.reading import AskReason


@dataclass(frozen=True, slots=True)
class Missing:
    """A description that too few known things fit, so more has to be looked for.

    Attributes:
        key: of the description in its goal.
        request: its index in `Goal.requests`.
        words: the description in English.
        classes: of what would fit; empty = any.
        where: rooms and furniture where it must be; empty = anywhere.
        count: how many more.
        condition: whether the request holds only if it exists.
    """

    key: str
    request: int
    words: str
    classes: tuple[str, ...]
    where: tuple[str, ...]
    count: int
    condition: bool = False


@dataclass(frozen=True, slots=True)
class OpenEnded:
    """All of what fits is meant, so the goal is complete only when `where` was looked at.

    Attributes as in `Missing`.
    """

    key: str
    request: int
    words: str
    classes: tuple[str, ...]
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several things that are meant alike.

    Attributes:
        words: "the one in the kitchen".
        names: of the things that these words fit.
        places: the room or furniture that tells them apart; empty if something else does.
    """

    words: str
    names: tuple[str, ...]
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What the person must decide before the request can be carried out.

    Attributes:
        key: of the description in its goal.
        request: its index in `Goal.requests`.
        words: the description in English, such as "the table".
        alternatives: empty if anything may be answered.
    """

    key: str
    request: int
    words: str
    reason: AskReason
    alternatives: tuple[Alternative, ...] = ()

    @property
    def text(self) -> str:
        """The question in English."""
        said = [alternative.words for alternative in self.alternatives]
        listed = f"{', '.join(said[:-1])} or {said[-1]}" if len(said) > 1 else "".join(said)
        if self.reason is AskReason.WHERE:
            return f"Where {self.words}: {listed}?" if listed else f"Where {self.words}?"
        if self.reason is AskReason.WHICH:
            return f"Which {self.words.removeprefix('the ')}: {listed}?"
        return f"{self.words}?"


class Why(StrEnum):
    """Why a request, or a part of it, has no proposition.

    NONE: nothing fits; TOO_FEW: less than asked for; UNFIT: it cannot be, or become, that;
    UNSAYABLE: nothing measures it; DONE: there was nothing to do; CONDITION: the condition does
    not hold; SPEAKER: the speaker does it; FIND: only to be found.
    """

    NONE = "none"
    TOO_FEW = "too_few"
    UNFIT = "unfit"
    UNSAYABLE = "unsayable"
    DONE = "done"
    CONDITION = "condition"
    SPEAKER = "speaker"
    FIND = "find"


@dataclass(frozen=True, slots=True)
class Unbound:
    """A request, or a part of it, without a proposition.

    Attributes:
        text: the reason as a sentence.
        names: for FIND, the things that were found.
    """

    request: int
    words: str
    why: Why
    text: str
    names: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the instruction cannot have been carried out as understood."""
        return self.why in (Why.NONE, Why.TOO_FEW, Why.UNFIT, Why.UNSAYABLE)


@dataclass(frozen=True, slots=True)
class Grounding:
    """A goal in the names of what is known.

    Attributes:
        evaluation: as in an episode (docs/evaluation.md); None while nothing can be bound.
        criteria: where agents shall be, as in an episode; None if nowhere.
        requests: for each proposition the index of its request in `Goal.requests`.
        request_words: each request in English.
        bound: names of things by the keys of their descriptions.
        words: these descriptions in English.
    """

    evaluation: Mapping[str, JsonValue] | None
    criteria: Mapping[str, JsonValue] | None = None
    requests: tuple[int, ...] = ()
    request_words: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    open_ended: tuple[OpenEnded, ...] = ()
    questions: tuple[Question, ...] = ()
    unbound: tuple[Unbound, ...] = ()
    bound: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def sought(self) -> tuple[Missing | OpenEnded, ...]:
        """Everything that has to be looked for."""
        return (*self.missing, *self.open_ended)


# Descriptions and requests in English, for questions and reports.

_PREPOSITIONS = {
    Relation.ON_TOP: "on",
    Relation.IN: "in",
    Relation.AT: "at",
    Relation.NEXT_TO: "next to",
    Relation.UNDER: "under",
    Relation.BEHIND: "behind",
    Relation.IN_FRONT_OF: "in front of",
    Relation.LEFT_OF: "left of",
    Relation.RIGHT_OF: "right of",
}
_SPOTS = {
    Spot.ME: "to you",
    Spot.HERE: "to where you are",
    Spot.BACK: "back",
    Spot.USUAL: "where it belongs",
    Spot.ELSEWHERE: "somewhere else",
}
_ARRANGEMENTS = {
    Arrangement.TOGETHER: "together",
    Arrangement.APART: "apart",
    Arrangement.STACKED: "stacked",
}
_OCCASIONS = {
    Occasion.SET_TABLE: "set the table",
    Occasion.TIDY: "tidy",
    Occasion.MAKE_COFFEE: "make coffee",
    Occasion.MAKE_TEA: "make tea",
}
_RANKS = {2: "second", 3: "third"}
_ALWAYS_PLURAL = ("clothes", "scissors", "jeans", "groceries")
# What is done to things so that they get a state.
_CHANGES = {
    "clean": "clean {}",
    "filled": "fill {}",
    "empty": "empty {}",
    "powered on": "switch on {}",
    "powered off": "switch off {}",
    "filled with water": "fill {} with water",
    "filled with coffee": "fill {} with coffee",
    "filled with milk": "fill {} with milk",
    "filled with juice": "fill {} with juice",
    "cooked": "cook {}",
    "boiled": "boil {}",
    "toasted": "toast {}",
    "sliced": "slice {}",
    "watered": "water {}",
    "dusted": "dust {}",
    "open": "open {}",
    "closed": "close {}",
}


def is_speaker(phrase: Description) -> bool:
    """Whether a description means who gives the instruction: "follow me"."""
    return phrase.kind == PERSON and any(place.anchor is Spot.ME for place in phrase.where)


def words_of(phrase: NounPhrase | Anchor) -> str:
    """A noun phrase in English: "the two red cups on the table"."""
    if isinstance(phrase, Description) and is_speaker(phrase):
        return "you"
    if isinstance(phrase, Description):
        return _described(phrase)
    if isinstance(phrase, Mention):
        return f"the {phrase.label.replace('_', ' ')}"
    if isinstance(phrase, OneOf):
        return " or ".join(words_of(inner) for inner in phrase.one_of)
    if isinstance(phrase, PlaceOf):
        return f"where {words_of(phrase.place_of)} was"
    return _SPOTS[phrase]


def request_words(request: Request) -> str:
    """A request in English: "put the cup in the sink"."""
    said = f"you {_core(request)}" if request.who is Actor.SPEAKER else _core(request)
    if request.only_if:
        said += f" if there is {_all(request.only_if)}"
    if request.unless:
        said += f" unless there is {_all(request.unless)}"
    return said


def _core(request: Request) -> str:
    if isinstance(request, Move):
        how = f" {_ARRANGEMENTS[request.arrangement]}" if request.arrangement else ""
        where = _to(request.to)
        if len(request.things) > 1 or any(map(_is_plural, request.things)):
            where = where.replace(_SPOTS[Spot.USUAL], "where they belong")
        things = " and ".join(map(_moved, request.things))
        if request.to and all(map(_is_left_open, request.to)):
            return f"bring {things} {' and '.join(_way(place) for place in request.to)}{how}"
        return f"put {things}{where}{how}"
    if isinstance(request, Make):
        said = _all(request.things)
        return " and ".join(_CHANGES.get(s, f"make {{}} {s}").format(said) for s in request.states)
    if isinstance(request, Leave):
        return f"leave {_all(request.things)} alone"
    if isinstance(request, Never):
        be = (
            f" become {' or '.join(request.states)}"
            if request.states
            else f" come{_to(request.to)}"
        )
        return f"never let {_all(request.things)}{be}"
    if isinstance(request, Find):
        return f"find {_all(request.things)}"
    if isinstance(request, Grasp):
        return f"pick up {_all(request.things)}"
    if isinstance(request, Go):
        return f"go{''.join(f' {_way(place)}' for place in request.to)}"
    if isinstance(request, Meet):
        return f"meet {_all(request.things)}"
    if isinstance(request, Tell):
        about = f" of {_all(request.things)}" if request.things else ""
        whom = "you" if request.to is Spot.ME else words_of(request.to)
        return f"tell {whom} the {request.topic.replace('_', ' ')}{about}"
    if isinstance(request, Follow | Guide):
        verb = "follow" if isinstance(request, Follow) else "guide"
        where = "".join(f" {_way(place)}" for place in request.to)
        return f"{verb} {_all(request.things)}{where}"
    people = f" for {request.people}" if request.people else ""
    at = f" at {words_of(request.at)}" if request.at else ""
    return f"{_OCCASIONS[request.occasion]}{people}{at}"


def _all(phrases: Iterable[NounPhrase]) -> str:
    return " and ".join(words_of(phrase) for phrase in phrases)


def _to(places: Iterable[Place]) -> str:
    return "".join(f" {_place(place)}" for place in places)


def _place(place: Place) -> str:
    if isinstance(place.anchor, Spot):
        return _SPOTS[place.anchor]
    anchor, preposition = place.anchor, _PREPOSITIONS[place.relation]
    if place.relation is Relation.AT and isinstance(anchor, Description):
        preposition = "in" if is_room_kind(anchor.kind) else preposition
    return f"{preposition} {words_of(anchor)}"


def _moved(phrase: NounPhrase) -> str:
    """A thing that goes elsewhere: "the cup that is in the sink", not "the cup in the sink"."""
    if not isinstance(phrase, Description) or not phrase.where:
        return words_of(phrase)
    tail = "".join(f" {_place(place)}" for place in phrase.where)
    relative = f" that {'are' if _is_plural(phrase) else 'is'}{tail}"
    return words_of(phrase).replace(tail, relative, 1)


def _is_left_open(place: Place) -> bool:
    """Whether a place says neither "on" nor "in", so that things are brought to it."""
    if isinstance(place.anchor, Spot):
        return place.anchor in (Spot.ME, Spot.HERE)
    return place.relation is Relation.AT


def _way(place: Place) -> str:
    """A place as where somebody goes: "to the kitchen"."""
    if isinstance(place.anchor, Spot) or place.relation not in (Relation.IN, Relation.AT):
        return _place(place)
    return f"to {words_of(place.anchor)}"


def _is_plural(phrase: NounPhrase) -> bool:
    return isinstance(phrase, Description) and (
        phrase.count != 1 or phrase.kind.endswith(_ALWAYS_PLURAL)
    )


def _described(it: Description) -> str:
    plural = it.count != 1
    if it.name:
        return " ".join((it.name, *(_place(place) for place in it.where)))
    noun = it.kind
    looks = [
        str(word)
        for word in (
            it.nth and _RANKS.get(it.nth, f"{it.nth}th"),
            it.pick,
            it.size,
            *it.states,
            it.color,
            it.material,
        )
        if word is not None
    ]
    head = " ".join([*_determiner(it), *looks, _plural(noun) if plural else noun])
    tail = "".join(f" {_place(place)}" for place in it.where)
    if it.wears:
        tail = f" wearing a {' and a '.join(it.wears)}{tail}"
    if it.holding:
        tail += f" with {_all(it.holding)}"
    if it.but:
        tail += f" except {_all(it.but)}"
    return head + tail


def _plural(noun: str) -> str:
    return noun if noun.endswith(_ALWAYS_PLURAL) else plural_of(noun)


def _determiner(it: Description) -> list[str]:
    other = ["other"] if it.other_than or it.elsewhere else []
    if isinstance(it.count, Amount):
        return [{"all": "all", "some": "some", "few": "a few"}[it.count], *other]
    many = [str(it.count)] if it.count > 1 else []
    if it.definite:
        return ["the", *other, *many]
    bound = {Bound.AT_LEAST: ["at least"], Bound.AT_MOST: ["at most"]}.get(it.bound, [])
    return [*bound, *(many or ([] if it.pick else ["one" if bound or other else "a"])), *other]
