"""Reading the states of a bag that lacks some of its messages."""

from __future__ import annotations

from pathlib import Path

from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.bag import Bag
from planner.replay.judging import judge
from planner.replay.runs import Request
from planner.replay.states import STATES, recorded_states, updates_before


def without(film, *lost: int) -> tuple[list, Path]:
    """The states of a longer film, and a bag of it that lacks some messages."""
    for n in range(8):
        film.put("cup_0", 0.02 * n)
    everything = Bag(film.bag("everything", live=False))
    part = BagWriter(film.folder / "part")
    raw = list(everything.raw((STATES,)))
    topic = part.add_topic(Topic(STATES, raw[0].type_name, raw[0].definition, ""))
    for n, message in enumerate(raw):
        if n not in lost:
            at_ns = message.received_ns
            part.write(topic, at_ns, at_ns, message.data, n + 1)
    part.close()
    assert [n for n, message in enumerate(raw) if message.content().keyframe] == [0, 3, 7]
    return [found.state for found in recorded_states(everything)], film.folder / "part"


def test_a_slice_is_read_from_its_first_keyframe_on(film) -> None:
    states, part = without(film, 0, 1)
    found = list(recorded_states(Bag(part)))
    assert [item.state for item in found] == states[3:]
    assert found[0].changed is None
    assert all(item.gap is None for item in found)


def test_what_follows_a_lost_message_is_missing_up_to_the_next_keyframe(film) -> None:
    states, part = without(film, 4)
    found = list(recorded_states(Bag(part)))
    assert [item.state for item in found] == [*states[:4], *states[7:]]
    gaps = [item.gap for item in found if item.gap is not None]
    assert [(gap.from_ns, gap.to_ns, gap.missing) for gap in gaps] == [(4, 8, 3)]
    (judged,) = judge(part, Request(episode=str(film.path)))
    assert [gap.missing for gap in judged.gaps] == [3]


def test_what_gives_the_state_at_a_time_begins_with_a_keyframe(film) -> None:
    without(film)
    bag = Bag(film.folder / "everything")
    raw = list(bag.raw((STATES,)))
    for n in range(1, len(raw) + 1):
        begin = max(place for place in (0, 3, 7) if place < n)
        assert updates_before(bag, raw[n - 1].received_ns + 1) == raw[begin:n]
    assert updates_before(bag, bag.start_ns) == []
