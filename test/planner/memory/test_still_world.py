"""Looks that can be left out, and those that cannot."""

from __future__ import annotations

from planner.memory.still_world import STILL_PERIOD_S, StillWorld


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
