"""Counting messages: what never arrived shows, what arrived does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.recorder.topic_counts import QUEUE_FULL, Gap, TopicCounts, summary

A, B = b"a" * 16, b"b" * 16


def test_a_jump_is_a_gap_between_two_receipts() -> None:
    counts = TopicCounts("/world/state")
    assert counts.take(A, 5, 100) is None
    assert counts.take(A, 6, 200) is None
    assert counts.take(A, 9, 300) == Gap("/world/state", 200, 300, 2)
    assert (counts.received, counts.missed) == (3, 2)


def test_what_a_late_listener_was_never_offered_is_not_missed() -> None:
    counts = TopicCounts("/tf")
    assert counts.take(A, 1000, 100) is None
    assert counts.missed == 0


def test_a_latched_topic_is_complete_from_its_first_message() -> None:
    counts = TopicCounts("/world/state", latched=True)
    assert counts.take(A, 1, 100) is None
    late = TopicCounts("/world/state", latched=True)
    assert late.take(A, 3, 100) == Gap("/world/state", 0, 100, 2)


def test_a_queue_that_was_full_at_first_has_lost_one_at_least() -> None:
    counts = TopicCounts("/depth")
    assert counts.begin_full(51, 100) == Gap("/depth", 0, 100, 1, QUEUE_FULL)
    assert counts.take(A, 51, 100) is None
    assert (counts.received, counts.missed, counts.sequence) == (1, 1, 1)


def test_a_full_queue_is_no_loss_where_its_first_message_shows_it() -> None:
    assert TopicCounts("/depth").begin_full(1, 100) is None
    # Here the jump itself is counted.
    assert TopicCounts("/world/state", latched=True).begin_full(51, 100) is None


def test_publishers_are_counted_apart_and_a_new_one_begins_again() -> None:
    counts = TopicCounts("/tf")
    for number in range(1, 5):
        assert counts.take(A, number, number) is None
        assert counts.take(B, number + 70, number) is None
    # Killed and started again: another identity that counts from 1.
    assert counts.take(b"c" * 16, 1, 50) is None
    assert counts.missed == 0


def test_middleware_that_does_not_count_gives_no_gaps() -> None:
    counts = TopicCounts("/tf", latched=True)
    assert [counts.take(A, 0, stamp) for stamp in (1, 2, 3)] == [None] * 3


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.booleans())
def test_received_and_missed_are_all_that_was_sent_up_to_the_last(
    arrived: list[bool], latched: bool
) -> None:
    counts = TopicCounts("/x", latched=latched)
    gaps = [counts.take(A, number, number) for number, here in enumerate(arrived, start=1) if here]
    numbers = [number for number, here in enumerate(arrived, start=1) if here]
    if not numbers:
        assert (counts.received, counts.missed) == (0, 0)
        return
    first = 1 if latched else numbers[0]
    assert counts.received == len(numbers)
    assert counts.received + counts.missed == numbers[-1] - first + 1
    assert sum(gap.missing for gap in gaps if gap) == counts.missed


@given(st.lists(st.integers(1, 4), min_size=1, max_size=40))
def test_numbers_in_the_bag_jump_by_what_was_missed(steps: list[int]) -> None:
    counts = TopicCounts("/x", latched=True)
    number, written = 0, []
    for step in steps:
        number += step
        counts.take(A, number, number)
        written.append(counts.sequence)
        counts.written += 1
    assert written == [sum(steps[: k + 1]) - 1 for k in range(len(steps))]


def test_the_last_line_says_what_is_missing() -> None:
    whole = TopicCounts("/a", received=3, written=3)
    assert summary([whole]) == "3 messages of 1 topics, none missing"
    holed = TopicCounts("/b", received=7, written=7, missed=2)
    assert summary([whole, holed]) == "10 messages of 2 topics; MISSING: /b 2 of 9"
    cut = TopicCounts("/c", received=9, written=4, left_out=2)
    assert summary([whole, cut], "the disk is full") == (
        "7 messages of 2 topics; INCOMPLETE, 3 not written: the disk is full"
    )
