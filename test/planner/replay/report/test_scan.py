"""How topics came: rates, silences, and what is missing."""

from __future__ import annotations

from planner.replay.report.collect import collect


def topic_of(bag, name="/t"):
    return next(t for t in collect(bag.close(), "bag", 1000).report.topics if t.name == name)


def said(record, times):
    bag = record()
    for t_s in times:
        bag.say("/t", "std_msgs/msg/Bool", t_s, data=True)
    return bag


def test_a_regular_topic_has_a_rate_and_no_gap(record) -> None:
    topic = topic_of(said(record, [i / 10 for i in range(101)]))
    assert (topic.messages, topic.rate_hz, topic.median_s, topic.gaps) == (101, 10.0, 0.1, ())
    assert sum(topic.counts) == 101


def test_a_silence_of_a_regular_topic_is_a_gap(record) -> None:
    times = [i / 10 for i in range(100)] + [20 + i / 10 for i in range(100)]
    topic = topic_of(said(record, times))
    (gap,) = topic.gaps
    assert (gap.from_s, gap.to_s, gap.missing) == (9.9, 20.0, None)
    assert (topic.longest_s, topic.longest_at_s) == (10.1, 9.9)


def test_an_irregular_topic_has_pauses_and_no_gaps(record) -> None:
    times = [i * i / 10 for i in range(60)]
    assert topic_of(said(record, times)).gaps == ()


def test_a_single_message_has_no_rate(record) -> None:
    topic = topic_of(said(record, [1.0]))
    assert (topic.rate_hz, topic.median_s, topic.longest_s) == (None, None, None)


def test_what_the_recorder_missed_is_a_gap(record) -> None:
    bag = said(record, [1.0, 2.0])
    begin = 1_700_000_001_000_000_000
    told = {
        "topic": "/t",
        "from_ns": str(begin),
        "to_ns": str(begin + 1_000_000_000),
        "missing": "4",
    }
    bag.writer.add_record("planner.gap", told)
    (gap,) = topic_of(bag).gaps
    assert (gap.from_s, gap.to_s, gap.missing) == (0.0, 1.0, 4)
