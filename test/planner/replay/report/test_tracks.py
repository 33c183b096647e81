"""The report's time: stamps and receipts on one axis."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bags import Recording, new, reader, serialised

from planner.replay.report.tracks import (
    ClockAnchors,
    FrameTree,
    PathPoint,
    TrueWorld,
    WorldClock,
    add_point,
    thinned,
)
from planner.world.geometry import Pose
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Hands, Relation

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
    anchors = ClockAnchors()
    try:
        anchors.take(0, memoryview(data))
    except ValueError:
        assert len(data) < 12
    else:
        assert len(anchors.stamps_s) == 1


def test_anchors_are_a_few_a_second() -> None:
    anchors = ClockAnchors()
    data = memoryview(b"\x00\x01\x00\x00" + (7).to_bytes(4, "little") + bytes(4))
    for ms in range(100):
        anchors.take(ms * 1_000_000, data)
    assert len(anchors.stamps_s) == 2
    assert anchors.stamps_s[0] == pytest.approx(7.0)


TYPE = "tf2_msgs/msg/TFMessage"


def tf(*parts) -> memoryview:
    return memoryview(serialised(TYPE, new(TYPE, transforms=list(parts))))


part = Recording.frame


def test_a_base_is_in_the_map_through_its_odometry_s_frame() -> None:
    tree = FrameTree(["agent_0"], reader(TYPE))
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
    tree = FrameTree(["agent_0"], reader(TYPE))
    tree.take(1, tf(part("agent_0/odom", "agent_0/base_link", 1.0, 2.0, 0.0)))
    assert not tree.paths
    tree.take_static(2, tf(part("map", "agent_0/odom", 0.0, 1.0, 1.0)))
    tree.take(3, tf(part("agent_0/odom", "agent_0/base_link", 2.0, 3.0, 0.0)))
    (point,) = tree.paths["agent_0"]
    assert (point.x_m, point.y_m, point.stamp_s) == (4.0, 1.0, 2.0)


def test_odometry_alone_is_no_place_in_the_map() -> None:
    tree = FrameTree(["agent_0"], reader(TYPE))
    tree.take(1, tf(part("agent_0/odom", "agent_0/base_link", 1.0, 2.0, 0.0)))
    assert tree.in_map("agent_0/base_link") is None


def test_what_goes_round_in_a_circle_is_not_connected() -> None:
    tree = FrameTree(["agent_0"], reader(TYPE))
    tree.take_static(1, tf(part("a", "b", 0.0, 1.0, 0.0), part("b", "a", 0.0, 1.0, 0.0)))
    assert tree.in_map("a") is None


def test_the_bytes_between_texts_may_be_anything() -> None:
    tree = FrameTree(["agent_0"], reader(TYPE))
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
    tree = FrameTree(["agent_0"], reader(TYPE), period_s=1.0)
    for i in range(30):
        tree.take(i, tf(part("map", "agent_0/base_link", i / 10, float(i), 0.0)))
    assert len(tree.paths["agent_0"]) == 3


def test_numbers_that_are_none_are_left_out() -> None:
    tree = FrameTree(["agent_0"], reader(TYPE))
    tree.take(1, tf(part("map", "agent_0/base_link", 1.0, math.nan, 0.0)))
    assert not tree.paths


@given(st.binary(max_size=300))
def test_other_bytes_are_an_error_or_nothing(data) -> None:
    tree = FrameTree(["agent_0"], reader(TYPE))
    with suppress(ValueError):
        tree.take(1, memoryview(b"\x00\x01\x00\x00" + data))
    assert len(tree.paths) <= 1


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_damaged_messages_are_an_error_or_nothing(at, noise) -> None:
    data = bytearray(tf(*(part("map", f"agent_{i}/base_link", 1.0, 2.0, 3.0) for i in range(4))))
    at %= len(data)
    data[at : at + len(noise)] = noise
    tree = FrameTree([f"agent_{i}" for i in range(4)], reader(TYPE))
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


AT = Pose((1.0, 2.0, 0.0))


@pytest.mark.parametrize(
    ("hands", "hand"), [((None, "cup_0"), "the left hand"), (("cup_0",), ""), ((), "")]
)
def test_the_hand_is_named_where_there_are_two(hands: Hands, hand: str) -> None:
    cup = EntityState(
        "cup_0", EntityKind.OBJECT, "cup", 1, AT, (0.1, 0.1, 0.1), "agent_1", Relation.HELD, None
    )
    person = EntityState(
        "agent_1", EntityKind.AGENT, "human", 2, AT, (0.5, 0.5, 1.7), None, None, None, hands=hands
    )
    world = TrueWorld()
    world.take(0, WorldState(0.0, 0, 0, "small", "e", {"cup_0": cup, "agent_1": person}), None)
    (spot,) = world.spots["cup_0"]
    assert (spot.holder, spot.hand) == ("agent_1", hand)
