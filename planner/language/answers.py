"""Answers to questions about the state, the look and the size of remembered things."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.language.questions import AskedPlace, Question, QuestionSort
from planner.world.belief import Edit, Entity
from planner.world.catalogue import default_word_meanings
from planner.world.states import default_states
from planner.world.vocabulary import Relation

BY_WORDS = "words"
_WORD = re.compile(r"[^\W_]+")
UNSEEN = "I have not seen"
# Entries that an answer in words names at most.
MAX_LISTED = 10
BESIDE = "I have not seen what is beside, under or behind things, only what they are on or in."
BY_POSITION = "I cannot tell which is the {}: what I have seen I know by name."
LOOK_FOR_IT = "Tell me to find it, and I will look."
# How furniture that is closed may still be ajar.
_OPEN_FROM = 0.05
_MASS = frozenset({"heaviest", "lightest"})
_SMALLEST = frozenset({"smallest", "tiniest", "littlest", "smaller", "thinnest"})


class QuestionKind(StrEnum):
    """What a question asks for."""

    FIND = "find"
    PLACE = "place"
    COUNT = "count"
    CHANGES = "changes"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in words, and what it rests on.

    Attributes:
        kind: how the question was understood.
        text: the answer in words; its last sentence says how it was matched.
        entities: best first, equals by id.
        scores: one an entity, 0 to 1.
        edits: of a question for changes: the net effect per entity, in order.
        matched_by: "words", or the embedder's id.
        unknown: words that fit nothing in the memory.
    """

    kind: QuestionKind
    text: str
    entities: tuple[Entity, ...] = ()
    scores: tuple[float, ...] = ()
    edits: tuple[Edit, ...] = ()
    matched_by: str = BY_WORDS
    unknown: tuple[str, ...] = ()


def is_so(entity: Entity, state: str) -> bool | None:
    """Whether a thing has a state or look by its word; None if that is not known."""
    look = entity.look.color, entity.look.material
    if any(state == str(word) for word in look):
        return True
    table = default_states().by_word()
    if state in ("open", "closed"):
        opened = None if entity.openness is None else entity.openness > _OPEN_FROM
        return None if opened is None else opened is (state == "open")
    if state not in table:
        # A colour: another one is known, or none.
        return False if any(look) else None
    name, wanted = table[state]
    value = entity.states.get(name)
    return None if value is None else value is wanted


def fits(entity: Entity, question: Question) -> bool:
    """Whether a thing is of the kind that a question names, with the looks that it names."""
    meaning = default_word_meanings().find(question.kind) if question.kind else None
    kind = entity.class_name.replace("_", " ") == question.kind or not question.kind
    if meaning is not None and entity.class_name in meaning.objects | meaning.furniture:
        kind = True
    return kind and all(is_so(entity, look) for look in question.among)


def is_countable(entity: Entity, kind: str) -> bool:
    """Whether an entity is a thing, or furniture of the kind that is asked for."""
    meaning = default_word_meanings().find(kind) if kind else None
    asked = meaning.furniture if meaning is not None else frozenset()
    return not entity.is_furniture or entity.class_name in asked


def fits_all(entity: Entity, question: Question) -> bool:
    """Whether an entity is of the kind and has the other words of a question."""
    meaning = default_word_meanings().find(question.kind) if question.kind else None
    left = {word for word in question.words if not is_so(entity, word)}
    if meaning is not None and entity.class_name in meaning.objects | meaning.furniture:
        left -= set(question.kind.split())
    text = f"{entity.name} {entity.class_name} {entity.description}".lower()
    return left <= set(_WORD.findall(text))


def names_place(place: AskedPlace, kind: str, name: str, class_name: str) -> bool:
    """Whether a room or piece of furniture is the one named, or of a kind."""
    meaning = default_word_meanings().find(kind) if kind else None
    covered = meaning.rooms | meaning.furniture if meaning is not None else frozenset()
    return class_name in covered or (not kind and place.words == name)


def reply(
    question: Question, there: Sequence[Entity], anywhere: Sequence[Entity], where: str
) -> tuple[str, list[Entity]]:
    """The first sentence of an answer, and the things that it is about.

    Args:
        question: WHETHER, WHICH or LOOK.
        there: the things that fit it at its place.
        anywhere: those that fit it but for the place.
        where: its place in words, such as "on table_1"; empty if it names none.
    """
    named = " ".join((*question.among, *question.words)) or "thing"
    if not (there if question.states or question.pick else anywhere):
        return f"{UNSEEN} any {named}{where and f' {where}'}. {LOOK_FOR_IT}", []
    if question.sort is QuestionSort.WHICH:
        return _extreme(question.pick, there)
    if question.sort is QuestionSort.LOOK:
        known = [e for e in there if getattr(e.look, question.pick) is not None]
        told = [f"{e.name} is {getattr(e.look, question.pick)}" for e in known]
        first = "; ".join(told) or f"{UNSEEN} what {question.pick} it has"
        return f"{first}.", known or list(there)
    if question.states:
        return _whether(there, question.states)
    if there:
        return "Yes.", list(there)
    return f"{UNSEEN} any {named} {where}, but elsewhere:", list(anywhere)


def _whether(things: Sequence[Entity], states: Sequence[str]) -> tuple[str, list[Entity]]:
    """Whether all of some things have states; which of them do and do not."""
    said = " and ".join(states)
    sorts: dict[bool | None, list[Entity]] = {True: [], False: [], None: []}
    for thing in things:
        values = [is_so(thing, state) for state in states]
        sorts[False if False in values else None if None in values else True].append(thing)
    parts = [
        f"{', '.join(thing.name for thing in some)} {'is' if len(some) == 1 else 'are'} {how}"
        for some, how in ((sorts[True], said), (sorts[False], f"not {said}"))
        if some
    ]
    if sorts[None]:
        names = ", ".join(thing.name for thing in sorts[None])
        parts.append(f"{UNSEEN} whether {names} is {said}")
    first = "" if sorts[None] else "Yes: " if not sorts[False] else "No: "
    return f"{first}{'; '.join(parts)}.", list(things)


def _extreme(pick: str, things: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """The biggest, smallest or thinnest of some things, by the sizes that were seen."""
    if pick in _MASS:
        return f"{UNSEEN} how heavy things are.", []
    measured = [thing for thing in things if all(thing.size_m)]
    if not measured:
        return f"{UNSEEN} how big they are.", []
    measure: Callable[[Entity], float] = _volume
    if pick in ("thinnest", "tallest"):
        measure = _thickness if pick == "thinnest" else _height
    best = sorted(measured, key=lambda thing: (measure(thing), thing.entity_id))
    chosen = best[0] if pick in _SMALLEST else best[-1]
    size = " x ".join(f"{100 * side:.0f}" for side in chosen.size_m)
    return f"The {pick} is {chosen.name} ({size} cm).", [chosen]


def _volume(thing: Entity) -> float:
    depth, width, height = thing.size_m
    return depth * width * height


def _thickness(thing: Entity) -> float:
    return min(thing.size_m)


def _height(thing: Entity) -> float:
    return thing.size_m[2]


def described(entity: Entity, now_s: float) -> str:
    """Such as `Object.149 cup_149 (cup) is on table_3 in kitchen_0, seen at 12.0 s`."""
    room = entity.room or "an unknown room"
    name = f"Object.{entity.entity_id} {entity.name} ({entity.class_name.replace('_', ' ')})"
    age_s = now_s - entity.stamp_s
    when = f"{entity.source.value} at {entity.stamp_s:.1f} s"
    when += f", {age_s:.0f} s ago" if age_s >= 1.0 else ""
    if entity.is_furniture:
        return f"{name} is in {room}, {when}."
    if entity.picked:
        return f"{name} is held by {entity.parent or 'somebody'}, {when}."
    relation = "within" if entity.relation is Relation.WITHIN else "on"
    place = (
        f"{relation} {entity.parent}"
        if entity.parent
        else "at {:.1f}, {:.1f}, {:.1f}".format(*entity.position_m)
    )
    return f"{name} is {place} in {room}, {when}."


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


def rest_of(number: int) -> list[str]:
    """What follows a list that is cut off."""
    return [f"and {number - MAX_LISTED} more"] if number > MAX_LISTED else []
