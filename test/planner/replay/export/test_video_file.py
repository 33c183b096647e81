"""Pictures at a constant rate: always the newest, never one from the future."""

from __future__ import annotations

import pytest

from planner.replay.export.source import Source
from planner.replay.export.video import frames, instants, spans
from planner.world.errors import FileError


def shades(source: Source, times_s: list[float]) -> list[list[int]]:
    cameras = source.cameras
    found = frames(source, cameras, times_s)
    return [
        [int(f.pictures[c][0, 0, 0]) if c in f.pictures else -1 for c in cameras] for f in found
    ]


def test_each_frame_has_the_newest_picture_up_to_it(tapes) -> None:
    tape = tapes.tape()
    tape.clock(0.0)
    for time_s in (0.0, 0.5, 1.5):
        tape.picture("agent_0", time_s)
    source = Source(tape.close())
    shade = tapes.shade
    assert shades(source, [0.0, 0.4, 0.5, 1.0, 1.5, 2.0]) == [
        [shade(0.0)],
        [shade(0.0)],
        [shade(0.5)],
        [shade(0.5)],
        [shade(1.5)],
        [shade(1.5)],
    ]


def test_a_camera_whose_pictures_come_later_is_waited_for(tapes) -> None:
    tape = tapes.tape()
    tape.clock(0.0)
    tape.picture("agent_0", 0.0)
    tape.picture("agent_0", 0.5)
    # Taken at the same times, received behind the other's next one.
    tape.picture("agent_1", 0.0, late_ns=600_000_000)
    tape.picture("agent_0", 1.0)
    tape.picture("agent_1", 0.5, late_ns=600_000_000)
    source = Source(tape.close())
    shade = tapes.shade
    assert shades(source, [0.0, 0.5, 1.0]) == [
        [shade(0.0), shade(0.0)],
        [shade(0.5), shade(0.5)],
        [shade(1.0), shade(0.5)],
    ]


def test_a_camera_that_fell_silent_delays_nobody_and_one_that_began_late_is_missing(
    tapes,
) -> None:
    tape = tapes.tape()
    tape.clock(0.0)
    tape.picture("agent_1", 0.0)
    for number in range(40):
        tape.picture("agent_0", number / 10)
    tape.picture("agent_2", 3.9)
    source = Source(tape.close())
    found = shades(source, [0.0, 2.0, 3.9])
    assert found[1] == [tapes.shade(2.0), tapes.shade(0.0), -1]
    assert found[2] == [tapes.shade(3.9), tapes.shade(0.0), tapes.shade(3.9)]


def test_a_picture_with_an_older_stamp_is_not_shown_again(tapes) -> None:
    tape = tapes.tape()
    tape.clock(0.0)
    for time_s, late_ns in ((0.0, 0), (1.0, 0), (0.5, 10**9), (2.0, 0)):
        tape.picture("agent_0", time_s, late_ns=late_ns)
    source = Source(tape.close())
    assert shades(source, [1.0, 1.9]) == [[tapes.shade(1.0)], [tapes.shade(1.0)]]


def test_spans_and_sizes(tapes) -> None:
    tape = tapes.tape()
    tape.clock(0.0)
    for time_s in (0.2, 0.9, 0.5):
        tape.picture("agent_0", time_s)
    source = Source(tape.close())
    (span,) = spans(source, source.cameras).values()
    assert (span.first_s, span.last_s, span.size_px) == (0.2, 0.9, tapes.size_px)


def test_a_damaged_picture_is_named_with_its_topic_and_time(tapes) -> None:
    tape = tapes.tape()
    tape.clock(0.0)
    topic = "/agent_0/camera/hand/image/compressed"
    tape.put(topic, "sensor_msgs/CompressedImage", 1.25, format="jpeg", data=[1, 2, 3])
    source = Source(tape.close())
    with pytest.raises(FileError, match=f"{topic} at 1.250 s: "):
        list(frames(source, source.cameras, [2.0]))


def test_instants_reach_to_the_end_and_not_beyond() -> None:
    assert instants(1.0, 1.3, 0.1) == pytest.approx([1.0, 1.1, 1.2, 1.3])
    assert instants(1.0, 1.0, 0.1) == [1.0]
    assert instants(1.0, 0.5, 0.1) == []
