"""Where agents are by /tf, read by its bytes."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bags import Recording, new, serialised

from planner.replay.report.frames import FrameTree, PathPoint, add_point, thinned

TYPE = "tf2_msgs/msg/TFMessage"


def tf(*parts) -> memoryview:
    return memoryview(serialised(TYPE, new(TYPE, transforms=list(parts))))


part = Recording.frame


def test_a_base_is_in_the_map_through_its_odometry_s_frame() -> None:
    tree = FrameTree(["agent_0"])
    quarter = math.pi / 2
    tree.take(
        1,
        tf(
            part("map", "agent_0/odom", 1.0, 10.0, 0.0, quarter),
            part("agent_0/odom", "agent_0/base_link", 1.0, 2.0, 0.0),
        ),
    )
    (point,) = tree.paths["agent_0"]
    assert (point.x_m, point.y_m, point.yaw_rad) == pytest.approx((10.0, 2.0, quarter))


def test_frames_of_several_messages_are_one_tree() -> None:
    tree = FrameTree(["agent_0"])
    tree.take(1, tf(part("agent_0/odom", "agent_0/base_link", 1.0, 2.0, 0.0)))
    assert not tree.paths
    tree.take_static(2, tf(part("map", "agent_0/odom", 0.0, 1.0, 1.0)))
    tree.take(3, tf(part("agent_0/odom", "agent_0/base_link", 2.0, 3.0, 0.0)))
    (point,) = tree.paths["agent_0"]
    assert (point.x_m, point.y_m, point.stamp_s) == (4.0, 1.0, 2.0)


def test_odometry_alone_is_no_place_in_the_map() -> None:
    tree = FrameTree(["agent_0"])
    tree.take(1, tf(part("agent_0/odom", "agent_0/base_link", 1.0, 2.0, 0.0)))
    assert tree.in_map("agent_0/base_link") is None


def test_what_goes_round_in_a_circle_is_not_connected() -> None:
    tree = FrameTree(["agent_0"])
    tree.take_static(1, tf(part("a", "b", 0.0, 1.0, 0.0), part("b", "a", 0.0, 1.0, 0.0)))
    assert tree.in_map("a") is None


def test_the_bytes_between_texts_may_be_anything() -> None:
    tree = FrameTree(["agent_0"])
    data = bytearray(tf(part("map", "agent_0/base_link", 1.0, 2.0, 3.0)))
    # "map\0" is followed by the next length at once; the end of the child's name by padding.
    end = data.index(b"base_link\0") + len(b"base_link\0")
    tree.take(1, memoryview(data))
    pad = -(end - 4) % 8
    data[end : end + pad] = b"\xff" * pad
    data[8:12] = (9).to_bytes(4, "little")
    tree.take(2, memoryview(data))
    assert [(p.x_m, p.stamp_s) for p in tree.paths["agent_0"]] == [(2.0, 1.0), (2.0, 9.0)]


def test_of_what_comes_often_some_is_looked_at() -> None:
    tree = FrameTree(["agent_0"], period_s=1.0)
    for i in range(30):
        tree.take(i, tf(part("map", "agent_0/base_link", i / 10, float(i), 0.0)))
    assert len(tree.paths["agent_0"]) == 3


def test_numbers_that_are_none_are_left_out() -> None:
    tree = FrameTree(["agent_0"])
    tree.take(1, tf(part("map", "agent_0/base_link", 1.0, math.nan, 0.0)))
    assert not tree.paths


@given(st.binary(max_size=300))
def test_other_bytes_are_an_error_or_nothing(data) -> None:
    tree = FrameTree(["agent_0"])
    with suppress(ValueError):
        tree.take(1, memoryview(b"\x00\x01\x00\x00" + data))
    assert len(tree.paths) <= 1


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_damaged_messages_are_an_error_or_nothing(at, noise) -> None:
    data = bytearray(tf(*(part("map", f"agent_{i}/base_link", 1.0, 2.0, 3.0) for i in range(4))))
    at %= len(data)
    data[at : at + len(noise)] = noise
    tree = FrameTree([f"agent_{i}" for i in range(4)])
    with suppress(ValueError):
        tree.take(1, memoryview(data))
    # Whatever was read, it is numbers.
    points = [point for path in tree.paths.values() for point in path]
    assert all(math.isfinite(p.x_m) and math.isfinite(p.yaw_rad) for p in points)


def test_a_path_keeps_what_moves_and_a_sign_of_life() -> None:
    path: list[PathPoint] = []
    for i in range(100):
        add_point(path, PathPoint(i, i / 10, 0.0, 0.0, 0.0))
    assert [p.stamp_s for p in path] == [0.0, 5.0]
    add_point(path, PathPoint(101, 5.1, 0.5, 0.0, 0.0))
    assert path[-1].x_m == 0.5


def test_a_thinned_path_has_both_ends() -> None:
    path = [PathPoint(i, float(i), float(i), 0.0, 0.0) for i in range(1000)]
    few = thinned(path, 10)
    assert (len(few), few[0], few[-1]) == (10, path[0], path[-1])
