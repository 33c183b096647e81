"""Questions to the memory: "where is the red cup?", "what is in the kitchen?", "what changed?".

`planner.language.questions` reads them. What they ask for is found by words, or by the meaning of
the descriptions where there is an embedder; each answer says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.language import answers as qa
from planner.language.answers import BY_WORDS, UNSEEN, Answer, QuestionKind
from planner.language.lexicon import Relation as PlaceRelation
from planner.language.questions import AskedPlace, Question, QuestionSort, read_question
from planner.memory.index import EntityIndex
from planner.memory.memory import Deltas, Memory
from planner.memory.wording import delta_line, net_edits
from planner.world.belief import Belief, Entity
from planner.world.embedding import Embedder, Vectors
from planner.world.house import House
from planner.world.vocabulary import EntityKind, Relation

# Descriptions whose vectors point this much the same way mean the same. Ours.
MIN_COSINE = 0.45
_RELATIONS = {PlaceRelation.ON_TOP, PlaceRelation.IN, PlaceRelation.AT, None}
_WORDS = {PlaceRelation.ON_TOP: "on", PlaceRelation.IN: "in"}


@dataclass(frozen=True)
class Believed:
    """What a planner has of a memory: no changes, only how things are."""

    belief: Belief
    layout: House

    @property
    def stamp_s(self) -> float:
        """Of the belief."""
        return self.belief.stamp_s

    @property
    def index(self) -> EntityIndex:
        """The entities among the nodes."""
        kinds = {EntityKind.FURNITURE: True, EntityKind.OBJECT: False}
        nodes = [n for n in self.belief.nodes.values() if n.entity_id and n.kind in kinds]
        agents = {n.name for n in self.belief.of_kind(EntityKind.AGENT)}
        return EntityIndex(
            Entity(
                n.entity_id or 0, n.name, n.class_name, kinds[n.kind], n.description,
                n.position_m, picked=n.parent in agents, size_m=n.size_m, parent=n.parent,
                relation=n.relation, room=n.room, states=n.states, openness=n.openness,
                source=n.source, stamp_s=n.stamp_s, look=n.look, maybe=n.maybe,
                person=n.person,
            )
            for n in sorted(nodes, key=lambda node: node.entity_id or 0)
        )  # fmt: skip

    def changed_since(self, _stamp_s: float) -> Deltas:
        """Nothing is known of changes."""
        return Deltas(self.belief.sequence, False, ())


class SimilaritySearch:
    """Vectors of descriptions, each text embedded once; for one memory."""

    def __init__(self, embedder: Embedder) -> None:
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
    memory: Memory | Believed,
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
    if question.sort is QuestionSort.DONE:
        return _done(memory)
    answer = None
    if question.position:
        return Answer(QuestionKind.FACT, qa.BY_POSITION.format(question.position))
    if question.sort in (QuestionSort.WHAT, QuestionSort.HOW_MANY):
        answer = _listed(memory, question, room, limit)
    elif question.sort is not QuestionSort.WHERE:
        answer = _fact(memory, question, room)
    if answer is not None:
        return answer
    return _find(memory, question, room, limit, meaning)


def _changes(memory: Memory | Believed, since_s: float, room: str, limit: int) -> Answer:
    deltas = memory.changed_since(since_s)
    edits = [e for e in net_edits(deltas.changes) if not room or e.entity.room == room]
    edits = edits[:limit] if limit else edits
    when = "at all" if since_s < 0 else f"since {since_s:g} s"
    lines = [f"Nothing changed {when}."]
    if edits:
        lines = [f"{qa.counted(len(edits), 'entry', 'entries')} changed {when}:"]
        lines += [delta_line(edit) for edit in edits[: qa.MAX_LISTED]]
        lines += qa.rest_of(len(edits))
    if not deltas.complete:
        lines.append("Older changes are no longer known.")
    entities = tuple(edit.entity for edit in edits)
    scores = (1.0,) * len(entities)
    return Answer(QuestionKind.CHANGES, "\n".join(lines), entities, scores, tuple(edits))


def _done(memory: Memory | Believed) -> Answer:
    """What agents did: the changes that their skills made, oldest first."""
    deltas = memory.changed_since(-1.0)
    acts = [c for c in deltas.changes if c.author.startswith("agent_") and c.edits]
    lines = [
        f"{c.author} {c.edits[0].entity.name} at {c.stamp_s:.1f} s." for c in acts[-qa.MAX_LISTED :]
    ]
    lines = lines or ["Nothing that I remember."]
    lines += [] if deltas.complete else ["Older changes are no longer known."]
    entities = tuple(c.edits[0].entity for c in acts[-qa.MAX_LISTED :])
    return Answer(QuestionKind.FACT, "\n".join(lines), entities, (1.0,) * len(entities))


def _fact(memory: Memory | Believed, question: Question, room: str) -> Answer | None:
    """Whether something is so, which is the biggest, or what colour things have."""
    searched = _searched(memory, question.place, room)
    if searched is None:
        return None
    where = searched[0] if question.place is not None else ""
    anywhere = [e for e, _ in memory.index.find([], room=room) if qa.fits(e, question)]
    if not question.kind:
        anywhere = [e for e in anywhere if not e.is_furniture]
    ids = {entity.entity_id for entity in searched[1]}
    there = [e for e in anywhere if question.place is None or e.entity_id in ids]
    first, things = qa.reply(question, there, anywhere, where)
    told = [qa.described(entity, memory.stamp_s) for entity in things[: qa.MAX_LISTED]]
    lines = [first, *told, *qa.rest_of(len(things))]
    return Answer(QuestionKind.FACT, "\n".join(lines), (*things,), (1.0,) * len(things))


def _listed(memory: Memory | Believed, question: Question, room: str, limit: int) -> Answer | None:
    """What is at a place, or how much of it; None where the place is unknown."""
    if question.kind == "room":
        rooms = [r.name for r in memory.layout.rooms]
        return Answer(
            QuestionKind.COUNT, f"{qa.counted(len(rooms), 'room', 'rooms')}: {', '.join(rooms)}."
        )
    if question.place is not None and question.place.relation not in _RELATIONS:
        return Answer(QuestionKind.PLACE, qa.BESIDE)
    searched = _searched(memory, question.place, room, question.kind)
    if searched is None:
        return None
    where, found = searched
    found = [entity for entity in found if qa.fits_all(entity, question)]
    chosen = tuple(found[:limit] if limit else found)
    counting = question.sort is QuestionSort.HOW_MANY
    if chosen:
        lines = [f"{qa.counted(len(found), 'thing', 'things')} {where}:"]
        lines += [qa.described(entity, memory.stamp_s) for entity in chosen[: qa.MAX_LISTED]]
        lines += qa.rest_of(len(chosen))
    else:
        lines = [f"Nothing that is remembered is {where}."]
    said = [*question.words, *([question.place.words] if question.place is not None else [])]
    lines.append(f"Matched by words: {' '.join(said)}.")
    kind = QuestionKind.COUNT if counting else QuestionKind.PLACE
    return Answer(kind, "\n".join(lines), chosen, (1.0,) * len(chosen))


def _searched(
    memory: Memory | Believed, place: AskedPlace | None, room: str, kind: str = ""
) -> tuple[str, list[Entity]] | None:
    """A place in words, and the things that are there; None if it is unknown."""
    layout, index = memory.layout, memory.index
    if place is None:
        things = [e for e, _ in index.find([], room=room) if qa.is_countable(e, kind)]
        return "in the house", things
    rooms = [
        r.name for r in layout.rooms if qa.names_place(place, place.kind, r.name, r.class_name)
    ]
    if rooms and place.relation is not None:
        chosen = [r for r in rooms if not room or r == room]
        found = [e for r in chosen for e, _ in index.find([], room=r) if qa.is_countable(e, kind)]
        return f"in {' and '.join(rooms)}", found
    inside = {r.name for r in layout.rooms if qa.names_place(place, place.room, "", r.class_name)}
    parents = [
        p.name
        for p in layout.furniture
        if qa.names_place(place, place.kind, p.name, p.class_name)
        and (not place.room or p.room in inside)
    ] or ([place.words] if place.relation is None else [])
    if not parents:
        return None
    found = [e for p in parents for e, _ in index.find([], room=room, parent=p)]
    wanted = {PlaceRelation.ON_TOP: Relation.ON, PlaceRelation.IN: Relation.WITHIN}
    relation = wanted.get(place.relation) if place.relation is not None else None
    found = [e for e in found if relation is None or e.relation in (relation, None)]
    word = "held by" if place.relation is None else _WORDS.get(place.relation, "at")
    return f"{word} {' and '.join(parents[:3])}", found


def _find(
    memory: Memory | Believed,
    question: Question,
    room: str,
    limit: int,
    meaning: SimilaritySearch | None,
) -> Answer:
    asked = question.words
    if meaning is not None and asked:
        known = [e for e, _ in memory.index.find([], room=room)]
        similarity = meaning.similarity(" ".join(asked), known)
        found = similarity[:limit] if limit else similarity
        return _found(memory, question, found, [], meaning.embedder.embedder_id)
    index = memory.index
    unknown = [word for word in asked if not index.knows(word)]
    known_words = [word for word in asked if word not in unknown]
    if asked and not known_words:
        return _found(memory, question, [], unknown, BY_WORDS)
    scored = index.find(known_words, room=room, limit=limit)
    share = len(known_words) / len(asked) if asked else 1.0
    return _found(memory, question, [(e, score * share) for e, score in scored], unknown, BY_WORDS)


def _found(
    memory: Memory | Believed,
    question: Question,
    scored: Sequence[tuple[Entity, float]],
    unknown: Sequence[str],
    matched_by: str,
) -> Answer:
    best = scored[0][1] if scored else 0.0
    # What fits less well than the best is in the list, but not told.
    told = [entity for entity, score in scored if score == best]
    by_words = bool(question.words) and matched_by == BY_WORDS
    exact = [entity for entity in told if by_words and qa.fits_all(entity, question)]
    kin = exact or [entity for entity in told if question.kind and qa.fits(entity, question)]
    told = kin or told
    lines = [qa.described(entity, memory.stamp_s) for entity in told[: qa.MAX_LISTED]] or [
        "Nothing like that is remembered."
    ]
    lines += qa.rest_of(len(told))
    named = " ".join(question.words)
    if named and not told:
        lines.append(f"{UNSEEN} any {named}. {qa.LOOK_FOR_IT}")
    elif by_words and not exact and best < 1.0:
        lines.insert(0, f"{UNSEEN} any {named}; what comes nearest:")
    if unknown and not exact:
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
