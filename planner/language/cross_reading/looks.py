"""Colours, materials, sizes, states and picks: which noun they belong to."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import word_set
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for
from planner.language.cross_reading.occurrences import GoalFacts, Role
from planner.language.description import Description
from planner.language.reading import AskReason
from planner.language.words import Pick

_PICK_WORDS = {
    Pick.NEAREST: frozenset({"nearest", "closest", "nearer", "closer"}),
    Pick.FARTHEST: frozenset({"farthest", "furthest", "farther", "further"}),
    Pick.BIGGEST: word_set(
        "biggest largest bigger larger tallest taller longest heaviest longer greatest"
    ),
    Pick.SMALLEST: word_set("smallest smaller littlest tiniest shortest shorter lightest"),
    Pick.LEFTMOST: frozenset({"left", "leftmost"}),
    Pick.RIGHTMOST: frozenset({"right", "rightmost"}),
}


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Looks of the goal against those of the text, and the other way round."""
    yield from _moved(text, goal)
    yield from _lost(text, goal)
    yield from _picked(text, goal)


def _looks(it: Description) -> set[str]:
    return {str(look) for look in (it.color, it.material, it.size) if look}


def _moved(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """A look or state that stands before another noun than in the goal."""
    for occurrence in goal.occurrences:
        it = occurrence.description
        for look in (*sorted(_looks(it)), *it.states):
            holders = [c for c in text.chunks if look in c.looks or look in c.states]
            others = chunks_for(text, it.kind)
            if not holders or not others or any(c in others for c in holders):
                continue
            if _is_loose(text, look):
                continue
            words = tuple(text.quoted(chunk) for chunk in (*holders, *others))
            yield Contradiction(Subject.LOOK, words, AskReason.WHICH)


def _is_loose(text: TextFacts, look: str) -> bool:
    """Whether the word stands elsewhere too, not only before those nouns."""
    inside = {i for chunk in text.chunks for i in range(chunk.start, chunk.end)}
    free = [w for i, w in enumerate(text.words) if i not in inside]
    return any(word == look or word in ("one", "ones") for word in free)


def _lost(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """A look before a noun that none of its descriptions has."""
    if text.has_correction:
        return
    for chunk in text.chunks:
        for look in sorted(chunk.looks):
            found = [
                o for o in goal.occurrences
                if any(o.description.kind == k or k.endswith(f" {o.description.kind}")
                       for k in chunk.kinds)
            ]  # fmt: skip
            if not found or any(
                look in _looks(o.description) or look in o.description.kind for o in found
            ):
                continue
            if any(o.role is Role.CONDITION for o in goal.occurrences):
                continue
            yield Contradiction(Subject.LOOK, (text.quoted(chunk),), AskReason.WHICH)


def _picked(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """A pick without its word, or with one that is a verb ("left")."""
    for occurrence in goal.occurrences:
        pick = occurrence.description.pick
        if pick is None:
            continue
        words = _PICK_WORDS[pick]
        sites = [i for i, word in enumerate(text.words) if word in words]
        if not any(_is_adjective(text, i) for i in sites):
            found = tuple(text.quoted(c) for c in chunks_for(text, occurrence.description.kind))
            yield Contradiction(Subject.LOOK, found or (text.text.strip(),), AskReason.WHICH)


def _is_adjective(text: TextFacts, at: int) -> bool:
    word = text.words[at]
    if word not in ("left", "right"):
        return True
    before = text.words[at - 1] if at else ""
    return before in ("the", "my", "your", "its", "to", "on", "far", "their", "our", "other")
