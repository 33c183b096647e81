"""Questions to the memory: "where is the red cup?", "what is in the kitchen?", "what changed?".

`planner.language.questions` reads them. What they ask for is found by words, or by the meaning of
the descriptions where there is an embedder; each answer says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from planner.language.lexicon import Relation as PlaceRelation
from planner.language.questions import AskedPlace, Question, QuestionSort, read_question
from planner.memory.index import words_in
from planner.memory.memory import Memory
from planner.memory.wording import delta_line, net_edits, words_of
from planner.world.belief import Edit, Entity
from planner.world.catalogue import default_word_meanings
from planner.world.embedding import Embedder, Vectors
from planner.world.vocabulary import Relation

# Entries that an answer in words names at most.
MAX_LISTED = 10
# Descriptions whose vectors point this much the same way mean the same. Ours.
MIN_COSINE = 0.45
BY_WORDS = "words"
_WORDS = {PlaceRelation.ON_TOP: "on", PlaceRelation.IN: "in"}


class QuestionKind(StrEnum):
    """What a question asks for."""

    FIND = "find"
    PLACE = "place"
    COUNT = "count"
    CHANGES = "changes"


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


class SimilaritySearch:
    """Vectors of descriptions, each text embedded once; for one memory."""

    def __init__(self, embedder: Embedder) -> None:
        """Takes who turns texts into vectors."""
        self.embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    def similarity(self, text: str, entities: Sequence[Entity]) -> list[tuple[Entity, float]]:
        """The entities whose description means about the same, best first, equals by id."""
        texts = {entity.description for entity in entities}
        self._vectors = {t: v for t, v in self._vectors.items() if t in texts}
        fresh = sorted(texts - self._vectors.keys())
        if fresh:
            self._vectors.update(zip(fresh, self.embedder.embed(fresh), strict=True))
        if not texts:
            return []
        names = sorted(texts)
        asked = self.embedder.embed([text])[0]
        cosines = np.stack([self._vectors[name] for name in names]) @ asked
        near = {n: float(c) for n, c in zip(names, cosines, strict=True) if c >= MIN_COSINE}
        found = [(e, near[e.description]) for e in entities if e.description in near]
        return sorted(found, key=lambda item: (-item[1], item[0].entity_id))


def ask(
    memory: Memory,
    text: str,
    room: str = "",
    limit: int = 0,
    meaning: SimilaritySearch | None = None,
) -> Answer:
    """Answers a question.

    Args:
        memory: that is asked.
        text: a question or only words; "" = everything.
        room: only entities of this room; "" = every room.
        limit: most entities; 0 = all that match.
        meaning: compares by meaning; None = by words.
    """
    question = read_question(text)
    if question.sort is QuestionSort.CHANGED:
        since_s = -1.0 if question.since_s is None else question.since_s
        if question.last_s is not None:
            since_s = memory.stamp_s - question.last_s
        return _changes(memory, since_s, room, limit)
    if question.sort in (QuestionSort.WHAT, QuestionSort.HOW_MANY):
        answer = _listed(memory, question, room, limit)
        if answer is not None:
            return answer
    return _find(memory, question.words, room, limit, meaning)


def _changes(memory: Memory, since_s: float, room: str, limit: int) -> Answer:
    deltas = memory.changed_since(since_s)
    edits = [e for e in net_edits(deltas.changes) if not room or e.entity.room == room]
    edits = edits[:limit] if limit else edits
    when = "at all" if since_s < 0 else f"since {since_s:g} s"
    lines = [f"Nothing changed {when}."]
    if edits:
        lines = [f"{_count(len(edits), 'entry', 'entries')} changed {when}:"]
        lines += [delta_line(edit) for edit in edits[:MAX_LISTED]]
        lines += _rest(len(edits))
    if not deltas.complete:
        lines.append("Older changes are no longer known.")
    entities = tuple(edit.entity for edit in edits)
    scores = (1.0,) * len(entities)
    return Answer(QuestionKind.CHANGES, "\n".join(lines), entities, scores, tuple(edits))


def _listed(memory: Memory, question: Question, room: str, limit: int) -> Answer | None:
    """What is at a place, or how much of it; None where the place is unknown."""
    searched = _searched(memory, question.place, room)
    if searched is None:
        return None
    where, found = searched
    found = [entity for entity in found if _fits(entity, question)]
    chosen = tuple(found[:limit] if limit else found)
    counting = question.sort is QuestionSort.HOW_MANY
    if chosen:
        lines = [f"{_count(len(found), 'thing', 'things')} {where}:"]
        lines += [_described(entity) for entity in chosen[:MAX_LISTED]]
        lines += _rest(len(chosen))
    else:
        lines = [f"Nothing that is remembered is {where}."]
    said = [*question.words, *([question.place.words] if question.place is not None else [])]
    lines.append(f"Matched by words: {' '.join(said)}.")
    kind = QuestionKind.COUNT if counting else QuestionKind.PLACE
    return Answer(kind, "\n".join(lines), chosen, (1.0,) * len(chosen))


def _searched(
    memory: Memory, place: AskedPlace | None, room: str
) -> tuple[str, list[Entity]] | None:
    """A place in words, and the things that are there; None if it is unknown."""
    layout, index = memory.layout, memory.index
    if place is None:
        things = [e for e, _ in index.find([], room=room) if not e.is_furniture]
        return "in the house", things
    rooms = [r.name for r in layout.rooms if _is(place, place.kind, r.name, r.class_name)]
    if rooms and place.relation is not None:
        chosen = [r for r in rooms if not room or r == room]
        found = [e for r in chosen for e, _ in index.find([], room=r) if not e.is_furniture]
        return f"in {' and '.join(rooms)}", found
    inside = {r.name for r in layout.rooms if _is(place, place.room, "", r.class_name)}
    parents = [
        p.name
        for p in layout.furniture
        if _is(place, place.kind, p.name, p.class_name) and (not place.room or p.room in inside)
    ] or ([place.words] if place.relation is None else [])
    if not parents:
        return None
    found = [e for p in parents for e, _ in index.find([], room=room, parent=p)]
    wanted = {PlaceRelation.ON_TOP: Relation.ON, PlaceRelation.IN: Relation.WITHIN}
    relation = wanted.get(place.relation) if place.relation is not None else None
    found = [e for e in found if relation is None or e.relation in (relation, None)]
    word = "held by" if place.relation is None else _WORDS.get(place.relation, "at")
    return f"{word} {' and '.join(parents[:3])}", found


def _fits(entity: Entity, question: Question) -> bool:
    """Whether an entity is of the kind and has the other words of a question."""
    meaning = default_word_meanings().find(question.kind) if question.kind else None
    left = set(question.words)
    if meaning is not None and entity.class_name in meaning.objects | meaning.furniture:
        left -= set(question.kind.split())
    return left <= set(words_in(f"{entity.name} {entity.class_name} {entity.description}"))


def _is(place: AskedPlace, kind: str, name: str, class_name: str) -> bool:
    """Whether a room or piece of furniture is the one named, or of a kind."""
    meaning = default_word_meanings().find(kind) if kind else None
    covered = meaning.rooms | meaning.furniture if meaning is not None else frozenset()
    return class_name in covered or (not kind and place.words == name)


def _find(
    memory: Memory, asked: Sequence[str], room: str, limit: int, meaning: SimilaritySearch | None
) -> Answer:
    if meaning is not None and asked:
        known = [e for e, _ in memory.index.find([], room=room)]
        similarity = meaning.similarity(" ".join(asked), known)
        return _found(similarity[:limit] if limit else similarity, [], meaning.embedder.embedder_id)
    index = memory.index
    unknown = [word for word in asked if not index.knows(word)]
    known_words = [word for word in asked if word not in unknown]
    if asked and not known_words:
        return _found([], unknown, BY_WORDS)
    scored = index.find(known_words, room=room, limit=limit)
    share = len(known_words) / len(asked) if asked else 1.0
    return _found([(e, score * share) for e, score in scored], unknown, BY_WORDS)


def _found(
    scored: Sequence[tuple[Entity, float]], unknown: Sequence[str], matched_by: str
) -> Answer:
    best = scored[0][1] if scored else 0.0
    # What fits less well than the best is in the list, but not told.
    told = [entity for entity, score in scored if score == best]
    lines = [_described(entity) for entity in told[:MAX_LISTED]] or [
        "Nothing like that is remembered."
    ]
    lines += _rest(len(told))
    if unknown:
        lines.append(f"Nothing is known of: {', '.join(unknown)}.")
    how = "words" if matched_by == BY_WORDS else f"meaning ({matched_by})"
    lines.append(f"Matched by {how}.")
    return Answer(
        QuestionKind.FIND,
        "\n".join(lines),
        tuple(entity for entity, _ in scored),
        tuple(score for _, score in scored),
        (),
        matched_by,
        tuple(unknown),
    )


def _described(entity: Entity) -> str:
    """Such as `Object.149 cup_149 (cup) is on table_3 in kitchen_0, seen at 12.0 s`."""
    room = entity.room or "an unknown room"
    name = f"Object.{entity.entity_id} {entity.name} ({words_of(entity.class_name)})"
    when = f"{entity.source.value} at {entity.stamp_s:.1f} s"
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


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _rest(number: int) -> list[str]:
    return [f"and {number - MAX_LISTED} more"] if number > MAX_LISTED else []


def structured(answer: Answer) -> Mapping[str, object]:
    """The answer as JSON's types, for `planner memory query --json`."""
    return {
        "question": answer.kind.value,
        "answer": answer.text,
        "matched_by": answer.matched_by,
        "unknown_words": list(answer.unknown),
        "entities": [
            {
                "id": entity.entity_id,
                "name": entity.name,
                "class": entity.class_name,
                "description": entity.description,
                "room": entity.room,
                "parent": entity.parent,
                "relation": entity.relation.value if entity.relation else None,
                "held": entity.picked,
                "position_m": list(entity.position_m),
                "source": entity.source.value,
                "stamp_s": entity.stamp_s,
                "score": round(score, 4),
            }
            for entity, score in zip(answer.entities, answer.scores, strict=True)
        ],
        "changes": [delta_line(edit) for edit in answer.edits],
    }
