"""Rule 14: the operator approves what hands do, before a world made of records."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from walker import (
    OPEN,
    PICK,
    ROBOT,
    WALK,
    ZONE,
    let_pass,
    made,
    options,
    refused_by,
    result,
)

from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from sim_bridge.safety.rules import Rule


def test_rule_14_hands_wait_for_the_operator() -> None:
    gate, robot = made(options())
    pick = gate.start(ROBOT, PICK)
    assert gate.poll(pick).phase == "waiting for approval"
    let_pass(gate, 1)
    assert robot.running is None
    assert result(gate, gate.start(ROBOT, WALK)).code is PrimitiveCode.BUSY
    assert robot.running is None
    assert gate.answers.answer(ROBOT, approve=True, remember=True).success
    assert robot.running is not None
    gate.stop(ROBOT)
    again = gate.start(ROBOT, PICK)
    assert gate.poll(again).phase == "at it", "a pick was approved for good"
    gate.stop(ROBOT)
    opened = gate.start(ROBOT, OPEN)
    assert gate.answers.answer(ROBOT, approve=True, remember=True).success
    gate.stop(ROBOT)
    opened = gate.start(ROBOT, OPEN)
    assert gate.poll(opened).phase == "waiting for approval", "doors are approved one by one"
    assert gate.answers.answer(ROBOT, approve=False).success
    refused_by(gate, opened, Rule.APPROVAL, "REFUSED")
    assert not gate.answers.answer(ROBOT, approve=True).success


def test_rule_14_the_first_grasp_of_a_class_is_approved_and_no_further_one() -> None:
    cup, bowl = replace(PICK, thing_class="cup"), replace(PICK, thing_class="bowl")
    gate, _ = made(options())

    def waits(primitive: Primitive) -> bool:
        asked = gate.poll(gate.start(ROBOT, primitive)).phase == "waiting for approval"
        gate.stop(ROBOT)
        return asked

    gate.start(ROBOT, cup)
    asked = gate.asked(ROBOT)
    assert asked is not None
    assert (asked.what, asked.why) == ("pick cup", "no pick of a cup was approved yet")
    assert gate.answers.answer(ROBOT, approve=False).success
    assert waits(cup), "it was refused"
    gate.start(ROBOT, cup)
    assert gate.answers.answer(ROBOT, approve=True, target_m=(1.2, 0.1, 0.6)).success
    gate.stop(ROBOT)
    assert waits(cup), "something else was approved, in another place"
    gate.start(ROBOT, cup)
    assert gate.answers.answer(ROBOT, approve=True).success
    gate.stop(ROBOT)
    assert not waits(cup)
    assert waits(bowl)
    assert waits(PICK), "nobody knows what it is"
    assert waits(replace(cup, name=PrimitiveName.PLACE))


def test_rule_14_every_grasp_may_be_asked_for() -> None:
    cup = replace(PICK, thing_class="cup")
    gate, _ = made(options(approval={"every_grasp": True}))
    for _ in range(2):
        pick = gate.start(ROBOT, cup)
        assert gate.poll(pick).phase == "waiting for approval"
        assert gate.answers.answer(ROBOT, approve=True, remember=True).success
        gate.stop(ROBOT)


def test_rule_14_the_operator_sees_picture_and_pixel_and_may_choose_another() -> None:
    gate, robot = made(options())
    robot.sees = True
    pick = gate.start(ROBOT, PICK)
    asked = gate.asked(ROBOT)
    assert asked is not None
    assert asked.view is not None
    # The camera is at the origin and looks along x; the thing is 1 m ahead and 0.5 m up.
    assert asked.pixel == (50, 0)
    nothing = gate.answers.answer(ROBOT, approve=True, pixel=(99, 99))
    assert not nothing.success
    assert "still waits" in nothing.message
    assert gate.answers.answer(ROBOT, approve=True, pixel=(50, 50)).success
    assert gate.poll(pick).phase == "at it"
    assert robot.told[-1].target_m == pytest.approx((2.0, 0.0, 0.0))
    assert robot.told[-1].frame == "map"
    gate.stop(ROBOT)
    gate.start(ROBOT, PICK)
    assert gate.answers.answer(ROBOT, approve=True, target_m=(1.2, 0.1, 0.6)).success
    assert robot.told[-1].target_m == (1.2, 0.1, 0.6)


def test_rule_14_another_place_is_checked_like_the_first() -> None:
    gate, _ = made(options(keep_out=ZONE))
    pick = gate.start(ROBOT, PICK)
    assert not gate.answers.answer(ROBOT, approve=True, target_m=(2.5, 0.0, 0.5)).success
    refused_by(gate, pick, Rule.KEEP_OUT)


def test_rule_14_another_place_may_be_given_in_a_frame_or_as_a_pixel_of_the_picture() -> None:
    gate, robot = made(options())
    robot.sees, robot.at = True, (1.0, 0.0, 0.0)
    told = {
        "map": ((1.2, 0.1, 0.6), (1.2, 0.1, 0.6)),
        f"{ROBOT}/base_link": ((0.2, 0.1, 0.6), (1.2, 0.1, 0.6)),
        f"{ROBOT}/odom": ((1.2, 0.1, 0.6), (1.2, 0.1, 0.6)),
        f"{ROBOT}/hand_optical_frame": ((50.2, 49.9, math.pi), (2.0, 0.0, 0.0)),
    }
    for frame, (place, point_m) in told.items():
        gate.start(ROBOT, PICK)
        asked = gate.asked(ROBOT)
        assert asked is not None
        assert asked.target_m == PICK.target_m
        assert gate.answers.answer_at(ROBOT, place, frame).success, frame
        assert (robot.told[-1].target_m, robot.told[-1].frame) == (pytest.approx(point_m), "map")
        gate.stop(ROBOT)


@pytest.mark.parametrize(
    ("frame", "point_m", "words"),
    [
        ("odom", (1.0, 0.0, 0.5), "the frame 'odom' is not used; give a point of 'map'"),
        ("agent_1/base_link", (1.0, 0.0, 0.5), "is not used"),
        ("map", (math.nan, 0.0, 0.5), "give finite values"),
        (f"{ROBOT}/hand_optical_frame", (math.inf, 0.0, 0.0), "give finite values"),
        (f"{ROBOT}/hand_optical_frame", (500.0, 0.0, 0.0), "shows nothing; it still waits"),
    ],
)
def test_rule_14_a_place_that_makes_no_sense_approves_nothing(
    frame: str, point_m: Vec3, words: str
) -> None:
    gate, robot = made(options())
    robot.sees = True
    pick = gate.start(ROBOT, PICK)
    gate.take_receipts()
    told = gate.answers.answer_at(ROBOT, point_m, frame)
    assert not told.success
    assert words in told.message
    assert gate.poll(pick).phase == "waiting for approval"
    assert robot.running is None
    assert [(r.command, r.rule) for r in gate.take_receipts()] == [
        ("safety/approve_at", Rule.APPROVAL)
    ]


def test_rule_14_no_answer_is_a_refusal_and_cancel_withdraws_the_question() -> None:
    gate, robot = made(options(approval={"timeout_s": 2}))
    pick = gate.start(ROBOT, PICK)
    let_pass(gate, 2.2)
    refused_by(gate, pick, Rule.APPROVAL, "NOT_APPROVED")
    pick = gate.start(ROBOT, PICK)
    gate.cancel(pick)
    assert result(gate, pick).code is PrimitiveCode.CANCELED
    assert gate.asked(ROBOT) is None
    pick = gate.start(ROBOT, PICK)
    gate.stop(ROBOT)
    assert result(gate, pick).code is PrimitiveCode.STOPPED
    assert robot.running is None


def test_rule_14_what_went_wrong_meanwhile_counts_when_the_operator_approves() -> None:
    gate, robot = made(options())
    pick = gate.start(ROBOT, PICK)
    robot.condition = replace(robot.condition, battery=0.18)
    gate.step(0.1)
    assert not gate.answers.answer(ROBOT, approve=True).success
    refused_by(gate, pick, Rule.BATTERY)
