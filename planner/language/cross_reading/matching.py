"""Which noun of a text a description of a goal stands for."""

from __future__ import annotations

from functools import lru_cache

from planner.language.cross_reading.chunks import Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import word_set
from planner.language.description import Description
from planner.language.plurals import plural_of

_ANYTHING = word_set("everything anything whatever things stuff all it")


_plural = lru_cache(maxsize=4096)(plural_of)


def is_called(chunk: Chunk, kind: str) -> bool:
    """Whether a noun of the text has that very name, in the singular or plural."""
    return kind in chunk.kinds or any(_plural(name) == kind for name in chunk.kinds)


def kinds_match(chunk: Chunk, kind: str) -> bool:
    """Whether a noun of the text is called that, or is a sort of it: "desk lamp" for "lamp"."""
    return is_called(chunk, kind) or any(name.endswith(f" {kind}") for name in chunk.kinds)


def chunks_for(text: TextFacts, kind: str) -> tuple[Chunk, ...]:
    """All nouns of the text that are called that, those with the very name if there are any."""
    known = text.chunks_by_kind.get(kind)
    if known is None:
        exact = tuple(chunk for chunk in text.chunks if is_called(chunk, kind))
        known = exact or tuple(chunk for chunk in text.chunks if kinds_match(chunk, kind))
        text.chunks_by_kind[kind] = known
    return known


def words_of(text: TextFacts, it: Description) -> tuple[str, ...]:
    """How the text names what a description means; the whole text if it does not."""
    found = chunks_for(text, it.kind)
    if not found:
        at = next((i for i, word in enumerate(text.words) if word in _ANYTHING), None)
        return (text.text.strip(),) if at is None else (text.quote(at, at + 1),)
    best = max(found, key=lambda chunk: _likeness(chunk, it))
    return (text.quoted(best),)


def _likeness(chunk: Chunk, it: Description) -> int:
    looks = {str(look) for look in (it.color, it.material, it.size) if look}
    return len(looks & chunk.looks) + len(set(it.states) & chunk.states) - len(chunk.looks - looks)
