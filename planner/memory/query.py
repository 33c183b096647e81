"""Questions to the memory: "where is the red cup?", "what is in the kitchen?", "what changed?".

Questions are read by rule. What they ask for is found by words, or by the meaning of the
descriptions where there is an embedder; each answer says which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from planner.memory.index import EntityIndex, words_in
from planner.memory.memory import Memory
from planner.memory.wording import delta_line, net_edits, words_of
from planner.world.embedding import Embedder, Vectors
from planner.world.entity import Edit, Entity
from planner.world.vocabulary import Relation

# Entries that an answer in words names at most.
MAX_LISTED = 10
# Descriptions whose vectors point this much the same way mean the same. Ours.
MIN_COSINE = 0.45
BY_WORDS = "words"
_SECONDS = {"s": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}
_UNITS = r"(s|sec|seconds?|min|minutes?|h|hours?)"
_SINCE = re.compile(rf"\bsince\s+(-?\d+(?:\.\d+)?)\s*{_UNITS}?\b", re.IGNORECASE)
_LAST = re.compile(rf"\blast\s+(\d+(?:\.\d+)?)?\s*{_UNITS}\b", re.IGNORECASE)
_CHANGED = re.compile(r"\b(chang\w*|new|happened)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"^\s*(?:what|which|who|list|show|everything|anything)\b.*?"
    r"\b(in|on|inside|within|at|held by)\s+(?:the\s+)?(.+?)[\s?.!]*$",
    re.IGNORECASE,
)
# Words that ask but do not name what is asked for.
_ASKING = frozenset(
    {
        *("a", "an", "any", "are", "at", "can", "did", "do", "does"),
        *("find", "for", "have", "how", "i", "in", "is", "it", "know"),
        *("list", "many", "me", "my", "of", "on", "our", "please", "see"),
        *("seen", "show", "some", "tell", "that", "the", "there", "these", "thing"),
        *("things", "this", "was", "we", "were", "what", "where", "which", "who"),
        *("you", "your"),
    }
)


class QuestionKind(StrEnum):
    """What a question asks for."""

    FIND = "find"
    PLACE = "place"
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
    since_s = _since(text, memory.stamp_s)
    if since_s is not None:
        return _changes(memory, since_s, room, limit)
    place = _PLACE.match(text)
    if place is not None:
        answer = _at_place(memory, place[1].lower(), place[2], room, limit)
        if answer is not None:
            return answer
    return _find(memory, text, room, limit, meaning)


def _since(text: str, now_s: float) -> float | None:
    """The time since which changes are asked for; None for another question."""
    if not _CHANGED.search(text):
        return None
    last = _LAST.search(text)
    if last is not None:
        return now_s - float(last[1] or 1) * _unit_s(last[2])
    since = _SINCE.search(text)
    if since is not None:
        return float(since[1]) * _unit_s(since[2] or "s")
    return -1.0 if re.match(r"\s*what\b", text, re.IGNORECASE) else None


def _unit_s(unit: str) -> float:
    unit = unit.lower()
    return _SECONDS.get(unit) or _SECONDS.get(unit.removesuffix("s")) or 1.0


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


def _at_place(memory: Memory, preposition: str, name: str, room: str, limit: int) -> Answer | None:
    """What is in a room, or on, within or held by something; None where the place is unknown."""
    rooms = [r.name for r in memory.layout.rooms if _means(name, r.name, r.class_name)]
    held = preposition == "held by"
    if rooms and not held:
        chosen = [r for r in rooms if not room or r == room]
        found = [e for r in chosen for e, _ in memory.index.find([], room=r)]
        found = [entity for entity in found if not entity.is_furniture]
        return _listed(name, f"in {' and '.join(rooms)}", found, limit)
    pieces = [p.name for p in memory.layout.furniture if _means(name, p.name, p.class_name)]
    parents = pieces or ([name] if held else [])
    if not parents:
        return None
    found = [e for p in parents for e, _ in memory.index.find([], room=room, parent=p)]
    wanted = {"on": Relation.ON, "within": Relation.WITHIN, "inside": Relation.WITHIN}
    relation = wanted.get(preposition)
    found = [e for e in found if relation is None or e.relation in (relation, None)]
    return _listed(name, f"{preposition} {' and '.join(parents[:3])}", found, limit)


def _listed(name: str, where: str, found: Sequence[Entity], limit: int) -> Answer:
    chosen = tuple(found[:limit] if limit else found)
    if chosen:
        lines = [f"{_count(len(found), 'thing', 'things')} {where}:"]
        lines += [_described(entity) for entity in chosen[:MAX_LISTED]]
        lines += _rest(len(chosen))
    else:
        lines = [f"Nothing that is remembered is {where}."]
    lines.append(f"Matched by words: {name}.")
    return Answer(QuestionKind.PLACE, "\n".join(lines), chosen, (1.0,) * len(chosen))


def _find(
    memory: Memory, text: str, room: str, limit: int, meaning: SimilaritySearch | None
) -> Answer:
    asked = [word for word in words_in(text) if word not in _ASKING]
    if meaning is not None and asked:
        known = [e for e, _ in memory.index.find([], room=room)]
        similarity = meaning.similarity(" ".join(asked), known)
        return _found(similarity[:limit] if limit else similarity, [], meaning.embedder.embedder_id)
    index = memory.index
    words = [_singular(index, word) for word in asked]
    unknown = [word for word in words if not index.knows(word)]
    known_words = [word for word in words if word not in unknown]
    if words and not known_words:
        return _found([], unknown, BY_WORDS)
    scored = index.find(known_words, room=room, limit=limit)
    share = len(known_words) / len(words) if words else 1.0
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


def _means(asked: str, name: str, class_name: str) -> bool:
    words = " ".join(words_in(asked))
    if words == " ".join(words_in(name)):
        return True
    return words.removesuffix("s") == words_of(class_name).removesuffix("s")


def _singular(index: EntityIndex, word: str) -> str:
    """`cups` is cup where nothing is called cups."""
    for ending in ("es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and not index.knows(word) and index.knows(stem):
            return stem
    return word


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
