"""What the emulated gripper catches, carries, drops, pulls and loses."""

from __future__ import annotations

import math

import pytest
from robot_stage import BY_CHEST, DOWN, Stage

from planner.world.geometry import Pose
from planner.world.vocabulary import Relation
from sim_bridge.ros.emulator.joint_control import Status

CANDLE = "candle_0"


def by_candle(stage: Stage, back_m: float = 0.0, up_m: float = 0.0) -> Pose:
    x, y, z = stage.sim.house.world.things[CANDLE].center_m
    return Pose.planar(x - back_m, y, 0.0, z + up_m)


def take_candle(stage: Stage) -> None:
    assert stage.move_grip(by_candle(stage, 0.15)).code == 1
    assert stage.move_grip(by_candle(stage)).code == 1
    stage.grip(0.0)


def test_closing_on_a_thing_stalls_at_its_width_and_holds_it(stage: Stage) -> None:
    take_candle(stage)
    candle = stage.sim.house.world.things[CANDLE]
    assert candle.relation is Relation.HELD
    assert stage.sim.gripper.gap_m == pytest.approx(candle.size_m[1], abs=0.004)
    assert stage.sim.gripper.effort_n > 0


def test_by_its_default_a_stalled_gripper_aborts_and_may_be_set_to_succeed() -> None:
    for allowed, status in ((False, Status.ABORTED), (True, Status.SUCCEEDED)):
        stage = Stage(BY_CHEST, allow_stalling=allowed)
        stage.move_grip(by_candle(stage, 0.15))
        stage.move_grip(by_candle(stage))
        ended = stage.grip(0.0)
        assert (ended.status, ended.text) == (status, "stalled")


def test_closing_on_nothing_reaches_the_goal(stage: Stage) -> None:
    ended = stage.grip(0.0)
    assert (ended.status, ended.text) == (Status.SUCCEEDED, "reached")
    assert stage.sim.gripper.gap_m == 0.0
    assert stage.sim.house.agent.holding is None


def test_a_thing_beside_the_fingers_is_not_caught(stage: Stage) -> None:
    above = by_candle(stage, up_m=0.12)
    assert stage.move_grip(above).code == 1
    stage.grip(0.0)
    assert stage.sim.house.agent.holding is None


def test_what_is_held_follows_and_falls_onto_what_is_below(stage: Stage) -> None:
    take_candle(stage)
    candle = stage.sim.house.world.things[CANDLE]
    x, y, z = candle.center_m
    assert stage.move_grip(Pose.planar(x, y + 0.2, 0.0, z + 0.1)).code == 1
    assert candle.center_m == pytest.approx((x, y + 0.2, z + 0.1), abs=0.02)
    stage.grip(0.11)
    assert (candle.parent, candle.relation) == ("chest_of_drawers_0", Relation.ON)
    assert math.dist(candle.center_m[:2], (x, y + 0.2)) < 0.1


def test_beside_furniture_it_falls_to_the_floor(stage: Stage) -> None:
    take_candle(stage)
    candle = stage.sim.house.world.things[CANDLE]
    assert stage.move_grip(Pose.planar(5.45, 1.45, 0.5, 0.9)).code == 1
    stage.grip(0.11)
    assert (candle.parent, candle.z_m) == ("floor_bedroom_0", 0.0)


def test_a_share_of_grasps_slips_and_leaves_the_thing() -> None:
    stage = Stage(BY_CHEST, fail_grasps=1.0)
    take_candle(stage)
    assert stage.sim.house.agent.holding is None
    assert stage.sim.gripper.gap_m == 0.0


def pull_drawer(stage: Stage, way_m: float) -> float:
    """Grips the upper drawer's handle and pulls; how far the drawer opened, metres."""
    piece = stage.sim.house.world.pieces["chest_of_drawers_0"]
    joint = piece.record.joint("upper_drawer")
    x, y, z = piece.handle(joint)
    assert stage.move_grip(Pose.planar(x - 0.12, y, 0.0, z)).code == 1
    assert stage.move_grip(Pose.planar(x, y, 0.0, z)).code == 1
    stage.grip(0.0)
    moved = stage.move_grip(Pose.planar(x - way_m, y, 0.0, z))
    assert moved.code == 1, moved.text
    return piece.opening["upper_drawer"] * joint.travel


def test_a_gripped_handle_pulls_its_drawer(stage: Stage) -> None:
    assert pull_drawer(stage, 0.1) == pytest.approx(0.1, abs=0.01)
    stage.grip(0.11)
    x, y, z = stage.grip_pose.position_m
    stage.move_grip(Pose.planar(x - 0.05, y, 0.0, z))
    piece = stage.sim.house.world.pieces["chest_of_drawers_0"]
    assert piece.opening["upper_drawer"] * 0.3454 == pytest.approx(0.1, abs=0.01)


def test_a_gripper_that_leaves_the_handles_path_loses_it(stage: Stage) -> None:
    assert pull_drawer(stage, 0.05) == pytest.approx(0.05, abs=0.01)
    x, y, z = stage.grip_pose.position_m
    stage.move_grip(Pose.planar(x - 0.02, y, 0.0, z + 0.2))
    assert stage.sim.house.handle is None


def test_a_gripped_door_follows_the_gripper_on_its_arc_and_keeps_its_place(stage: Stage) -> None:
    house = stage.sim.house
    piece = house.world.pieces["cabinet_0"]
    joint = piece.record.joint("left_door")
    base = stage.sim.base.pose
    house.follow(base, Pose(piece.handle(joint)))
    assert house.obstacle_m(0.11) == pytest.approx(0.02)
    house.closed(0.02)
    for opening in (0.2, 0.5, 0.9, 1.0, 0.6):
        at = piece.moved(joint.handle, joint)
        piece_at = piece.to_map(joint.moved(joint.handle, opening))
        for share in (0.25, 0.5, 0.75, 1.0):
            way = tuple(a + (b - a) * share for a, b in zip(at, piece_at, strict=True))
            house.follow(base, Pose((way[0], way[1], way[2])))
        assert piece.opening["left_door"] == pytest.approx(opening, abs=0.02)
    house.opened(0.11)
    house.follow(base, Pose((0.0, 0.0, 1.0)))
    assert piece.opening["left_door"] == pytest.approx(0.6, abs=0.02)


def test_a_bowl_is_too_wide_but_for_its_rim(stage: Stage) -> None:
    house = stage.sim.house
    bowl, table = house.world.things["bowl_0"], house.world.pieces["table_2"]
    bowl.parent, bowl.relation, bowl.part = "table_2", Relation.ON, "top"
    x, y, z = table.to_map((0.0, 0.3, 0.74))
    bowl.x_m, bowl.y_m, bowl.z_m, bowl.yaw_rad = x, y, z, 0.0
    house.world.touch(bowl.name)
    assert bowl.size_m[1] > 0.11
    down = DOWN.orientation
    top_m = z + bowl.size_m[2]
    house.follow(stage.sim.base.pose, Pose((x, y, top_m - 0.02), down))
    assert house.obstacle_m(0.11) == 0.0
    rim = Pose((x, y + bowl.size_m[1] / 2, top_m - 0.012), down)
    house.follow(stage.sim.base.pose, rim)
    assert 0.0 < house.obstacle_m(0.11) < 0.05


def test_what_is_behind_a_closed_door_is_not_caught(stage: Stage) -> None:
    house = stage.sim.house
    bowl = house.world.things["bowl_0"]
    rim = Pose((bowl.x_m, bowl.y_m + bowl.size_m[1] / 2, bowl.z_m + 0.05), DOWN.orientation)
    house.follow(stage.sim.base.pose, rim)
    assert house.obstacle_m(0.11) == 0.0
