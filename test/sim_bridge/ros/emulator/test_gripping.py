"""What the emulated gripper catches, carries, drops, pulls and loses."""

from __future__ import annotations

import math

import pytest
from robot_stage import BY_CHEST, Stage

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
