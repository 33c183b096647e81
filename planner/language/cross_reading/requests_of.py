"""Which requests of a goal a noun of the text is in."""

from __future__ import annotations

from planner.language.cross_reading.chunks import Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.matching import chunks_for
from planner.language.cross_reading.occurrences import GoalFacts, Role


def request_of(text: TextFacts, goal: GoalFacts, chunk: Chunk) -> int | None:
    """The only request that is about a noun of which there is only one; None if unsure."""
    about = [o for o in goal.occurrences if chunks_for(text, o.description.kind) == (chunk,)]
    found = {o.request for o in about}
    return found.pop() if len(found) == 1 and any(o.role is Role.THING for o in about) else None


def requests_in(text: TextFacts, goal: GoalFacts, start: int, end: int) -> list[tuple[Chunk, int]]:
    """The nouns between two tokens with the request about each, in the order of the text."""
    named = [(c, request_of(text, goal, c)) for c in text.chunks if start <= c.start < end]
    return [(chunk, index) for chunk, index in named if index is not None]
