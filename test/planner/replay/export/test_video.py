"""Videos are decoded again: how many frames, when, and what is on them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from planner.replay.export.source import Source, read_story
from planner.replay.export.video import (
    AV1,
    Captions,
    Panel,
    VideoFile,
    VideoOptions,
    clock_text,
    write_video,
)
from planner.world.errors import FileError, PlannerError

av = pytest.importorskip("av")


def decoded(path):
    """Stream's size and rate, the frames' times and pictures."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [
            (float(f.pts * stream.time_base), f.to_ndarray(format="rgb24"))
            for f in container.decode(stream)
        ]
        return stream.codec.canonical_name, stream.average_rate, frames


def middle(frame, panel: int = 0) -> float:
    """The colour in the middle of a panel of 64 x 48 pixels."""
    height, left = frame.shape[0], panel * (64 + 8)
    return float(frame[height // 2 - 4 : height // 2 + 4, left + 28 : left + 36].mean())


@pytest.mark.slow
def test_a_video_has_a_constant_rate_and_shows_the_pictures_of_the_time(tapes, tmp_path) -> None:
    path = tmp_path / "a.mp4"
    count = write_video(Source(tapes.run()), path, VideoOptions(fps=10))
    codec, rate, frames = decoded(path)
    assert (codec, rate, count, len(frames)) == ("h264", 10, 41, 41)
    assert np.diff([at_s for at_s, _ in frames]) == pytest.approx([0.1] * 40)
    for number in (0, 13, 40):
        # 5 pictures a second: the newest of them.
        assert middle(frames[number][1]) == pytest.approx(tapes.shade(number // 2 / 5), abs=6)


def test_speed_shortens_it_and_agents_stand_side_by_side(tapes, tmp_path) -> None:
    path = tmp_path / "a.mp4"
    bag = tapes.run(agents=("agent_0", "agent_1"))
    assert write_video(Source(bag), path, VideoOptions(fps=20, speed=4.0)) == 21
    _, rate, frames = decoded(path)
    assert rate == 20
    assert frames[0][1].shape[1] == 2 * 64 + 8
    assert middle(frames[20][1], 1) == pytest.approx(tapes.shade(4.0), abs=6)
    assert write_video(Source(bag), path, VideoOptions(agents=("agent_1",), speed=4.0)) == 11
    assert decoded(path)[2][0][1].shape[1] == 64


def test_the_caption_follows_the_story(tapes) -> None:
    story = read_story(Source(tapes.run()))
    captions = Captions(story, [Panel("agent_0", (320, 240))])

    def page(time_s: float):
        return captions.draw(time_s, {}).astype(int)

    running, ended = page(1.0), page(2.05)
    foot = slice(running.shape[0] - 60, None)
    assert np.abs(running[foot] - ended[foot]).max() > 50
    # A quarter of the bar under the instruction is green from when the judge said so.
    bar = captions._head_px - 3
    green = page(2.6)[bar, :, 1] - page(2.6)[bar, :, 0] > 60
    assert green.sum() == pytest.approx(0.25 * 320, abs=2)
    assert not (page(2.4)[bar, :, 1] - page(2.4)[bar, :, 0] > 60).any()


def test_long_and_strange_texts_stay_on_the_page(tapes) -> None:
    tape = tapes.tape()
    tapes.status(tape, 0.0, "word " * 5000 + "\x00\u202e<b>" + "x" * 5000)
    captions = Captions(read_story(Source(tape.close())), [Panel("agent_0", (64, 48))])
    width, height = captions.size_px
    assert captions.draw(1.0, {}).shape == (height, width, 3)
    assert width % 2 == height % 2 == 0


def test_clock_text() -> None:
    assert [clock_text(t) for t in (0.0, 9.95, 61.25, 3600.0)] == [
        "00:00.0",
        "00:10.0",
        "01:01.2",
        "60:00.0",
    ]


def test_a_bag_without_pictures_says_so(tapes, tmp_path) -> None:
    tape = tapes.tape()
    tapes.body(tape, 0.0)
    with pytest.raises(FileError, match="there are no such pictures; the bag has none"):
        write_video(Source(tape.close()), tmp_path / "a.mp4", VideoOptions())


def test_stamps_that_are_years_apart_make_no_endless_video(tapes, tmp_path) -> None:
    tape = tapes.tape()
    tape.picture("agent_0", 1e9)
    tape.picture("agent_0", 2e9)
    with pytest.raises(FileError, match="more than 1000000 frames"):
        write_video(Source(tape.close()), tmp_path / "a.mp4", VideoOptions())


def test_a_picture_of_another_size_is_no_frame(tmp_path) -> None:
    with VideoFile(tmp_path / "a.mp4", (33, 16), 5) as video:
        video.add(np.zeros((16, 33, 3), np.uint8))
        with pytest.raises(PlannerError, match="a picture of 64x16 in a video of 32x16 pixels"):
            video.add(np.zeros((16, 64, 3), np.uint8))
    assert len(decoded(tmp_path / "a.mp4")[2]) == 1


REAL_TIME = {os.SCHED_FIFO, os.SCHED_RR}


def test_no_thread_becomes_a_real_time_one(tmp_path) -> None:
    """SVT-AV1 would make them so for root, and starve everything else on the machine."""
    with VideoFile(tmp_path / "a.mp4", (64, 48), 10, AV1) as video:
        video.add(np.zeros((48, 64, 3), np.uint8))
        threads = [int(each.name) for each in Path("/proc/self/task").iterdir()]
        # The simulators of other tests may have left threads with a lower priority.
        assert not {os.sched_getscheduler(thread) for thread in threads} & REAL_TIME
        video.add(np.zeros((48, 64, 3), np.uint8))
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
