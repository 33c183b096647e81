"""Descriptions and requests in English, for questions and reports."""

from __future__ import annotations

from collections.abc import Iterable

from planner.grounding.kinds import is_room_kind
from planner.language.description import (
    Anchor,
    Description,
    Mention,
    NounPhrase,
    OneOf,
    Place,
    PlaceOf,
)
from planner.language.goal_form import (
    Find,
    Go,
    Leave,
    Make,
    Move,
    Never,
    Prepare,
    Request,
)
from planner.language.plurals import plural_of
from planner.language.words import Actor, Amount, Arrangement, Bound, Occasion, Relation, Spot

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


def words_of(phrase: NounPhrase | Anchor) -> str:
    """A noun phrase in English: "the two red cups on the table"."""
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
    if isinstance(request, Move | Make | Leave | Never | Prepare | Find | Go):
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
    if isinstance(request, Go):
        return f"go{''.join(f' {_way(place)}' for place in request.to)}"
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
    noun = it.kind
    looks = [
        str(word)
        for word in (it.pick, it.size, *it.states, it.color, it.material)
        if word is not None
    ]
    head = " ".join([*_determiner(it), *looks, _plural(noun) if plural else noun])
    tail = "".join(f" {_place(place)}" for place in it.where)
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
