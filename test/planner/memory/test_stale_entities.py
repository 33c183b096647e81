"""What is worth a look: what the memory was not told as it is now."""

from __future__ import annotations

from collections.abc import Sequence

from memory_samples import layout_of, piece_state, world_of

from planner.memory.entity_list import EntityList
from planner.memory.stale_entities import StaleEntities

LAYOUT = layout_of(1)


def mark_reported(openness: Sequence[float]) -> list[float]:
    """Of how far a piece stands open from moment to moment, what is told if it is in view."""
    news, known, said = StaleEntities(), EntityList(LAYOUT).entities, []
    for moment, now in enumerate(openness):
        state = world_of(piece_state(LAYOUT, 0, now), stamp_s=float(moment))
        news.follow(state, known)
        if news.names:
            assert news.names == ("table_0",)
            news.mark_reported(news.names, state.entities)
            said.append(now)
    return said


def test_what_opens_is_told_of_now_and_then_and_at_its_end() -> None:
    assert mark_reported([0.0, 0.1, 0.15, 0.25, 0.4, 0.5, 0.9, 0.99, 1.0]) == [
        0.0,
        0.25,
        0.5,
        0.9,
        1.0,
    ]
    assert mark_reported([1.0, 0.95, 0.5, 0.4, 0.05, 0.0]) == [1.0, 0.5, 0.05, 0.0]
