"""Which pictures of a camera are kept: one for each view, and what moves in it."""

from __future__ import annotations

import numpy as np
import pytest

from planner.recorder.view_choice import LONGEST_S, Pixels, ViewChoice

COLOUR, DEPTH = "/agent_0/camera/hand/image", "/agent_0/depth_registered/hand/image"
IDS, OTHER = "/agent_0/instances/hand/image", "/agent_1/camera/hand/image"
PERIOD_NS = 333_333_333
RNG = np.random.default_rng(3)
WALL = np.kron(RNG.integers(60, 200, (24, 24, 3)), np.ones((16, 16, 1))).astype(np.uint8)


def stamp(seconds: float) -> int:
    return round(seconds * 1e9)


def kept(choice: ViewChoice, pictures: list[Pixels], topic: str = COLOUR) -> list[int]:
    """The indices of those kept of pictures that come ten times a second."""
    return [k for k, p in enumerate(pictures) if choice.keeps(topic, stamp(k / 10), lambda p=p: p)]


def test_a_camera_that_moves_is_kept_three_times_a_second() -> None:
    """The first exposure in each slot, as a memory looks."""
    moving = [np.roll(WALL, 3 * k, axis=1) for k in range(31)]
    assert kept(ViewChoice(PERIOD_NS), moving) == [0, 4, 7, 10, 14, 17, 20, 24, 27, 30]


def test_a_view_that_stays_is_kept_now_and_then() -> None:
    """Noise of the camera is no change."""
    noisy = [
        np.clip(WALL + RNG.normal(0, 3, WALL.shape), 0, 255).astype(np.uint8) for _ in range(102)
    ]
    assert kept(ViewChoice(PERIOD_NS), noisy) == [0, round(10 * LONGEST_S), round(20 * LONGEST_S)]


def test_a_small_thing_that_moves_is_a_change() -> None:
    """A cup at two metres, taken away."""
    with_cup = WALL.copy()
    with_cup[200:214, 150:160] = 255 - WALL[200:214, 150:160]
    pictures = [with_cup] * 10 + [WALL] * 10
    assert kept(ViewChoice(PERIOD_NS), pictures) == [0, 10]


@pytest.mark.parametrize(("near", "far"), [(2.0, 2.2), (2.0, np.nan)])
def test_depth_tells_as_well(near: float, far: float) -> None:
    """Also in what was not measured; noise of some centimetres does not."""
    before = np.full((384, 384), near, np.float32)
    moved = before.copy()
    moved[100:140, 100:140] = far
    noise = before + RNG.normal(0, 0.02, before.shape).astype(np.float32)
    assert kept(ViewChoice(PERIOD_NS), [before] * 4 + [noise] * 4 + [moved] * 4, DEPTH) == [0, 10]


def test_all_pictures_of_an_exposure_are_kept_or_none() -> None:
    """Whichever comes first decides, and another camera decides for itself."""
    choice, depth = ViewChoice(PERIOD_NS), np.ones((384, 384), np.float32)
    ids = np.zeros((384, 384), np.int32)
    assert choice.keeps(COLOUR, stamp(0.0), lambda: WALL)
    assert choice.keeps(DEPTH, stamp(0.0), lambda: depth)
    assert choice.keeps(IDS, stamp(0.0), lambda: ids)
    # The same view: its depth is not even read.
    assert not choice.keeps(COLOUR, stamp(0.4), lambda: WALL)
    assert not choice.keeps(DEPTH, stamp(0.4), lambda: pytest.fail("read"))
    assert choice.keeps(OTHER, stamp(0.4), lambda: WALL)
    # Depth first, and the colours that had come later.
    assert choice.keeps(DEPTH, stamp(0.7), lambda: 2 * depth)
    assert choice.keeps(IDS, stamp(0.7), lambda: ids)
    assert choice.keeps(COLOUR, stamp(0.7), lambda: WALL)


def test_a_picture_that_is_sent_again_is_kept_once() -> None:
    """As of a world that stands while a planner thinks."""
    choice = ViewChoice(PERIOD_NS)
    assert [choice.keeps(COLOUR, stamp(2.0), lambda: WALL) for _ in range(3)] == [
        True,
        False,
        False,
    ]


def test_another_exposure_is_no_change() -> None:
    brighter = [np.rint(WALL * gain).astype(np.uint8) for gain in (1.0, 1.2, 0.85, 1.1)]
    assert kept(ViewChoice(PERIOD_NS), [b for b in brighter for _ in range(4)]) == [0]


def test_a_limit_thins_what_would_be_too_much_evenly() -> None:
    """A megabyte a picture, 30 a minute: the first minute's worth, then one each two seconds."""
    now = [0.0]
    choice = ViewChoice(PERIOD_NS, 30e6, lambda: now[0])
    times = []
    for k in range(1800):
        now[0] = k / 10
        if choice.keeps(COLOUR, stamp(now[0]), lambda k=k: np.roll(WALL, 7 * k, axis=1)):
            choice.spend(1_000_000)
            times.append(now[0])
    assert len([t for t in times if t < 60]) == pytest.approx(60, abs=2)
    later = [t for t in times if t >= 60]
    assert len(later) == pytest.approx(60, abs=2)
    assert np.diff(later).max() < 2.5


def test_a_world_that_begins_anew_is_recorded_from_its_beginning() -> None:
    """Its clock goes back."""
    choice = ViewChoice(PERIOD_NS)
    assert choice.keeps(COLOUR, stamp(0.1), lambda: WALL)
    assert not choice.keeps(COLOUR, stamp(0.5), lambda: WALL)
    assert choice.keeps(COLOUR, stamp(0.1), lambda: WALL)
    assert choice.keeps(COLOUR, stamp(0.5), lambda: WALL[::-1])
