"""The report's time: stamps and receipts on one axis."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.report.clock import ClockAnchors, WorldClock, stamp_in

S = 1_000_000_000


def test_without_a_clock_receipts_count() -> None:
    clock = WorldClock(5 * S)
    assert clock.at_receipt(7 * S) == 2.0
    assert clock.at(123.0, 8 * S) == 3.0
    assert not clock.from_stamps


def test_stamps_count_from_the_first_and_receipts_go_with_them() -> None:
    # Twice as fast as the wall.
    clock = WorldClock(0, [0, 10 * S], [100.0, 120.0])
    assert clock.at(110.0, 0) == 10.0
    assert clock.at_receipt(5 * S) == 10.0
    assert clock.restarts == ()


def test_stamps_of_another_clock_count_as_they_were_received() -> None:
    clock = WorldClock(0, [0, 10 * S], [0.0, 10.0])
    assert clock.at(1.7e9, 4 * S) == 4.0


def test_a_clock_that_goes_back_is_a_restart_and_time_continues() -> None:
    clock = WorldClock(0, [0, S, 2 * S, 3 * S], [0.0, 5.0, 0.0, 2.0])
    (restart,) = clock.restarts
    assert (restart.t_s, restart.from_stamp_s, restart.to_stamp_s) == (5.0, 5.0, 0.0)
    assert clock.at_receipt(3 * S) == 7.0
    assert clock.at(1.0, 3 * S) == 7.0


def test_where_the_clock_ends_early_other_stamps_continue() -> None:
    anchors = ClockAnchors()
    anchors.received_ns, anchors.stamps_s = [0, 10 * S], [0.0, 20.0]
    clock = WorldClock.extended(0, anchors, [(15 * S, 30.0), (5 * S, 10.0)])
    assert clock.at_receipt(15 * S) == 30.0


@given(st.lists(st.tuples(st.integers(0, 10**12), st.floats(0, 1e6)), min_size=2))
def test_time_never_goes_back(pairs) -> None:
    clock = WorldClock(0, [ns for ns, _ in pairs], [stamp for _, stamp in pairs])
    times = [clock.at_receipt(ns) for ns in sorted(ns for ns, _ in pairs)]
    assert times == sorted(times)
    assert times[0] >= 0


@given(st.binary(max_size=40))
def test_what_is_no_stamp_is_an_error(data) -> None:
    try:
        assert stamp_in(memoryview(data)) is not None
    except ValueError:
        assert data[:2] != b"\x00\x01" or len(data) < 12


def test_anchors_are_a_few_a_second() -> None:
    anchors = ClockAnchors()
    data = memoryview(b"\x00\x01\x00\x00" + (7).to_bytes(4, "little") + bytes(4))
    for ms in range(100):
        anchors.take(ms * 1_000_000, data)
    assert len(anchors.stamps_s) == 2
    assert anchors.stamps_s[0] == pytest.approx(7.0)
