"""Pronouns that could mean either of two things."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.chunks import Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import CHANGING, ORIGINS
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for
from planner.language.cross_reading.meanings import meaning
from planner.language.cross_reading.occurrences import GoalFacts
from planner.language.goal_form import Make, Move
from planner.language.reading import AskReason


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "It" behind a verb, after a clause with two things."""
    yield from _spoon_or_mug(text, goal)
    yield from _tool_or_thing(text, goal)


def _is_thing(chunk: Chunk) -> bool:
    """Whether a noun is one movable thing."""
    found = [meaning(name) for name in chunk.kinds]
    return not chunk.plural and all(
        f is not None and f.objects and not f.furniture and not f.rooms for f in found
    )


def _spoon_or_mug(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "Take the spoon out of the mug and wash it": both can be washed."""
    for before, clause in zip(text.clauses, text.clauses[1:], strict=False):
        if clause.verb not in CHANGING or text.words[clause.verb_at + 1 : clause.verb_at + 2] != (
            "it",
        ):
            continue
        named = [c for c in text.chunks if before.start <= c.start < before.end]
        if len(named) != 2 or named[1].preposition not in ORIGINS or not all(map(_is_thing, named)):
            continue
        if any(isinstance(item, Make) for _, item in goal.requests):
            at = clause.verb_at + 1
            yield Contradiction(Subject.THING, (text.quote(at, at + 1),), AskReason.WHICH)


def _tool_or_thing(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "Water the plant with it and put it back": the tool, not the plant."""
    for index, clause in enumerate(text.clauses[:-1]):
        words = text.words[clause.start : clause.end]
        if not any(words[i : i + 2] == ("with", "it") for i in range(len(words))):
            continue
        objects = [c for c in text.chunks if clause.start <= c.start < clause.end]
        later = text.clauses[index + 1]
        if not objects or "it" not in text.words[later.start : later.end]:
            continue
        for i, (_, item) in enumerate(goal.requests):
            if isinstance(item, Move) and any(
                chunks_for(text, o.description.kind) == (objects[0],) for o in goal.things(i)
            ):
                yield Contradiction(Subject.THING, (text.quoted(objects[0]),), AskReason.WHICH)
