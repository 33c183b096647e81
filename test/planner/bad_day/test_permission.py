"""Times of a simulator whose bridge is killed and begins at 0 again."""

from __future__ import annotations

import pytest

from planner.bad_day.permission import WorldTime


def test_time_continues_within_a_world_also_where_a_topic_is_a_little_late() -> None:
    time = WorldTime()
    assert [time.of(stamp_s) for stamp_s in (0.0, 5.0, 4.5, 6.0)] == [0.0, 5.0, 4.5, 6.0]


def test_another_world_is_later_than_all_of_the_one_before() -> None:
    time = WorldTime()
    first = [time.of(stamp_s) for stamp_s in (0.0, 12.5)]
    second = [time.of(stamp_s) for stamp_s in (0.0, 3.6, 8.9)]
    assert min(second) > max(first) + 90.0
    assert [each - second[0] for each in second] == pytest.approx([0.0, 3.6, 8.9])
