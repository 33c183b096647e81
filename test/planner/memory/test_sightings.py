"""What is worth a look: what the memory was not told as it is now."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from memory_samples import layout_of, piece_state, world_of

from planner.memory.entity_list import EntityList
from planner.memory.sightings import (
    BLIND_S,
    SILENT_S,
    STILL_PERIOD_S,
    PictureWatch,
    StaleEntities,
    StillWorld,
)

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


def test_a_world_that_stands_still_is_looked_at_once_a_period() -> None:
    still = StillWorld()
    assert still.needs_look("agent_0", 10.0, 9.0)
    still.note_look("agent_0", 10.0, 9.0)
    assert not still.needs_look("agent_0", 10.1, 9.0)
    assert still.needs_look("agent_0", 10.0 + STILL_PERIOD_S, 9.0)
    # The other agent has not looked yet.
    assert still.needs_look("agent_1", 10.1, 9.0)


def test_whatever_moves_is_looked_at_at_once() -> None:
    still = StillWorld()
    still.note_look("agent_0", 10.0, 10.0)
    assert not still.needs_look("agent_0", 10.1, 10.0)
    assert still.needs_look("agent_0", 10.1, 10.05)


def test_a_state_that_came_after_the_picture_was_not_seen() -> None:
    still = StillWorld()
    still.note_look("agent_0", 10.0, 10.03)
    assert still.needs_look("agent_0", 10.1, 10.03)


def test_without_ground_truth_every_picture_may_tell_something() -> None:
    still = StillWorld()
    still.note_look("agent_0", 10.0, None)
    assert still.needs_look("agent_0", 10.1, None)


def test_a_new_world_is_looked_at_and_so_is_one_whose_time_went_back() -> None:
    still = StillWorld()
    still.note_look("agent_0", 10.0, 9.0)
    assert still.needs_look("agent_0", 0.5, 9.0)
    still.forget()
    assert still.needs_look("agent_0", 10.1, 9.0)


def test_a_world_is_told_of_once_a_picture_of_it_came_or_after_a_while() -> None:
    watch = PictureWatch()
    assert not watch.is_blind(0.0)
    assert not watch.problem
    watch.begin(100.0)
    assert watch.problem == "no picture has come yet"
    assert watch.is_blind(100.0)
    assert watch.is_blind(100.0 + BLIND_S - 0.1)
    assert not watch.is_blind(100.0 + BLIND_S)
    watch.begin(200.0)
    watch.note("agent_0", 0.0, 201.0)
    assert not watch.is_blind(201.0)
    assert not watch.problem
    assert watch.is_silent("agent_0", SILENT_S, 201.0 + SILENT_S)
    assert watch.problem == "no picture of agent_0 comes"
    watch.note("agent_1", SILENT_S, 201.0 + SILENT_S)
    assert watch.problem == "no picture of agent_0 comes"
    watch.note("agent_0", SILENT_S, 202.0 + SILENT_S)
    assert not watch.problem


@given(
    pictures=st.lists(st.floats(0.0, 60.0), max_size=8),
    speed=st.sampled_from([0.0, 0.2, 1.0, 8.0]),
)
def test_a_camera_is_silent_only_after_seconds_of_both_clocks(
    pictures: list[float], speed: float
) -> None:
    watch = PictureWatch()
    watch.begin(0.0)
    waited_from, left = 0.0, sorted(pictures)
    for tick in range(120):
        wall_s = tick * 0.5
        while left and left[0] <= wall_s:
            waited_from = left.pop(0)
            watch.note("agent_0", speed * waited_from, waited_from)
        waited_s = wall_s - waited_from
        found = watch.is_silent("agent_0", speed * wall_s, wall_s)
        assert found == (min(waited_s, speed * waited_s) >= SILENT_S)
        if found:
            waited_from = wall_s
