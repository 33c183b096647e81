"""How several things that fit alike are told apart, in a question and by its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planner.grounding.fitting import Fitting
from planner.grounding.records import Alternative, Question
from planner.grounding.scene import Scene, Thing
from planner.language.answers import AnswerSort, read_answer
from planner.language.reading import Ask
from planner.world.catalogue import word_key
from planner.world.vocabulary import EntityKind, Relation

# How an answer to "where are you" may begin.
_SELF = re.compile(r"^\s*(i am|i'm|we are|we're)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person chose where several things fit alike.

    Attributes:
        names: of the chosen things; empty if any of them will do.
        places: the room or furniture that told them apart.
        every: all of the names are meant, not one.
    """

    names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    every: bool = False

    def of(self, scene: Scene, candidates: Sequence[str]) -> list[str]:
        """The chosen ones of the things that fit; all if none of them was offered."""
        named = [name for name in candidates if name in self.names]
        there = [
            name
            for name in candidates
            if not {scene.things[name].room, scene.things[name].parent}.isdisjoint(self.places)
        ]
        return named or there or list(candidates)


def alternatives(scene: Scene, things: Sequence[Thing]) -> tuple[Alternative, ...]:
    """How to tell things apart in words; empty if there is no way, so that any will do."""
    best: dict[str, Alternative] = {}
    for told in (_by_color, _by_room, _by_parent, _by_parent_in_room):
        groups: dict[str, Alternative] = {}
        for thing in things:
            words, places = told(scene, thing)
            words = words if words.startswith("the ") else f"the one {words}"
            known = groups.get(words, Alternative(words, ()))
            at = tuple(dict.fromkeys((*known.places, *places)))
            groups[words] = Alternative(words, (*known.names, thing.name), at)
        if len(groups) > len(best):
            best = groups
    return tuple(best.values()) if len(best) > 1 else ()


def choice_of(question: Question, text: str, scene: Scene) -> Choice | None:
    """What an answer chooses; None if it is not clear."""
    # In an answer "the blue one" stands for "the other bowl", too.
    words = question.words.replace("the other ", "the ", 1)
    answer = read_answer(words, Ask(words=(words,), reason=question.reason), _SELF.sub("", text))
    offered = question.alternatives
    everything = tuple(name for one in offered for name in one.names)
    if answer.sort is AnswerSort.ANY:
        return Choice()
    if answer.sort is AnswerSort.ALL:
        return Choice(everything, every=True)
    if answer.sort is AnswerSort.OPTION and answer.option is not None:
        at = answer.option - 1 if answer.option > 0 else len(offered) + answer.option
        return _chosen([offered[at]]) if 0 <= at < len(offered) else None
    names: Iterable[str] = ()
    fitting = Fitting(scene, {})
    if answer.things is not None:
        names = fitting.names(answer.things)
    if answer.places:
        names = (name for place in answer.places for name in fitting.names(place.anchor))
    meant = set(names)
    hit = [one for one in offered if meant.intersection((*one.names, *one.places))]
    return _chosen(hit) if hit and len(hit) < len(offered) else None


def _chosen(offered: Sequence[Alternative]) -> Choice:
    names = tuple(name for one in offered for name in one.names)
    return Choice(names, tuple(place for one in offered for place in one.places))


def choice_json(key: str, choice: Choice) -> dict[str, JsonValue]:
    """A choice as it is published with the goal."""
    return {
        "about": key,
        "names": list(choice.names),
        "places": list(choice.places),
        "every": choice.every,
    }


def choices_of(document: Sequence[JsonValue]) -> Mapping[str, Choice]:
    """Choices from what was published; what is none is ignored."""
    found: dict[str, Choice] = {}
    for item in document:
        if isinstance(item, dict) and isinstance(item.get("about"), str):
            found[str(item["about"])] = Choice(
                _texts(item.get("names")), _texts(item.get("places")), item.get("every") is True
            )
    return found


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


_Told = tuple[str, tuple[str, ...]]


def _by_color(_scene: Scene, thing: Thing) -> _Told:
    return (f"the {thing.color} one" if thing.color else "", ())


def _by_room(scene: Scene, thing: Thing) -> _Told:
    if thing.kind is EntityKind.ROOM or thing.room is None:
        return ("", ())
    return (f"in the {_word(scene, thing.room)}", (thing.room,))


def _by_parent(scene: Scene, thing: Thing) -> _Told:
    parent = scene.things.get(thing.parent or "")
    if parent is None or parent.kind is EntityKind.ROOM:
        return _by_room(scene, thing)
    how = "in" if thing.relation is Relation.WITHIN else "on"
    if parent.kind is EntityKind.AGENT:
        return (f"that {parent.name} holds", (parent.name,))
    return (f"{how} the {_word(scene, parent.name)}", (parent.name,))


def _by_parent_in_room(scene: Scene, thing: Thing) -> _Told:
    words, places = _by_parent(scene, thing)
    room, _ = _by_room(scene, thing)
    return (words if words == room else f"{words} {room}", places)


def _word(scene: Scene, name: str) -> str:
    known = scene.things.get(name)
    return word_key(known.class_name if known is not None else name.rpartition("_")[0])
