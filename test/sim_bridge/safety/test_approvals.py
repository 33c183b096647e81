"""Rule 14: the operator approves what hands do, before a world made of records."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from walker import (
    CUP,
    OPEN,
    PICK,
    ROBOT,
    WALK,
    ZONE,
    asked,
    let_pass,
    made,
    options,
    refused_by,
    reply,
    result,
)

from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from sim_bridge.safety.rules import Rule


def test_rule_14_hands_wait_for_the_operator() -> None:
    gate, robot = made(options())
    pick = gate.start(ROBOT, CUP)
    assert gate.poll(pick).phase == "waiting for approval"
    let_pass(gate, 1)
    assert robot.running is None
    assert result(gate, gate.start(ROBOT, WALK)).code is PrimitiveCode.BUSY
    assert robot.running is None
    assert reply(gate, remember_kind=True).success
    assert robot.running is not None
    gate.stop(ROBOT)
    again = gate.start(ROBOT, CUP)
    assert gate.poll(again).phase == "at it", "a pick was approved for good"
    gate.stop(ROBOT)
    opened = gate.start(ROBOT, OPEN)
    assert reply(gate, remember_kind=True).success
    gate.stop(ROBOT)
    opened = gate.start(ROBOT, OPEN)
    assert gate.poll(opened).phase == "waiting for approval", "doors are approved one by one"
    assert reply(gate, approve=False).success
    refused_by(gate, opened, Rule.APPROVAL, "REFUSED")
    assert gate.asked(ROBOT) is None


def test_rule_14_an_approval_of_what_the_robot_refuses_is_no_success() -> None:
    gate, robot = made(options())
    pick = gate.start(ROBOT, CUP)
    # Something else moves it meanwhile.
    robot.start(ROBOT, WALK)
    outcome = reply(gate)
    assert (outcome.success, outcome.message) == (False, "pick was approved and refused: busy")
    assert result(gate, pick).code is PrimitiveCode.BUSY


def test_rule_14_the_first_grasp_of_a_class_is_approved_and_no_further_one() -> None:
    cup, bowl = CUP, replace(PICK, thing_class="bowl")
    gate, robot = made(options())

    def waits(primitive: Primitive) -> bool:
        waiting = gate.poll(gate.start(ROBOT, primitive)).phase == "waiting for approval"
        gate.stop(ROBOT)
        return waiting

    gate.start(ROBOT, cup)
    assert (asked(gate).what, asked(gate).why) == ("pick cup", "no pick of a cup was approved yet")
    assert reply(gate, approve=False).success
    assert waits(cup), "it was refused"
    gate.start(ROBOT, cup)
    assert reply(gate, target_m=(1.2, 0.1, 0.6)).success
    gate.stop(ROBOT)
    assert waits(cup), "something else was approved, in another place"
    gate.start(ROBOT, cup)
    assert reply(gate).success
    gate.stop(ROBOT)
    assert not waits(cup)
    assert waits(bowl)
    assert waits(PICK), "nobody knows what it is"
    robot.held = True
    assert waits(replace(cup, name=PrimitiveName.PLACE))


def test_rule_14_every_grasp_may_be_asked_for() -> None:
    gate, _ = made(options(approval={"every_grasp": True}))
    for _ in range(2):
        pick = gate.start(ROBOT, CUP)
        assert gate.poll(pick).phase == "waiting for approval"
        assert "its kind is not remembered" in reply(gate, remember_kind=True).message
        gate.stop(ROBOT)


def test_rule_14_the_operator_sees_picture_and_pixel_and_may_choose_another() -> None:
    gate, robot = made(options())
    robot.sees = True
    pick = gate.start(ROBOT, PICK)
    assert asked(gate).view is not None
    # The camera is at the origin and looks along x; the thing is 1 m ahead and 0.5 m up.
    assert asked(gate).pixel == (50, 0)
    nothing = reply(gate, pixel=(99, 99))
    assert not nothing.success
    assert "still open" in nothing.message
    assert reply(gate, pixel=(50, 50)).success
    assert gate.poll(pick).phase == "at it"
    assert robot.told[-1].target_m == pytest.approx((2.0, 0.0, 0.0))
    assert robot.told[-1].frame == "map"
    gate.stop(ROBOT)
    gate.start(ROBOT, PICK)
    assert reply(gate, target_m=(1.2, 0.1, 0.6)).success
    assert robot.told[-1].target_m == (1.2, 0.1, 0.6)


def test_rule_14_another_place_is_checked_like_the_first() -> None:
    gate, _ = made(options(keep_out=ZONE))
    pick = gate.start(ROBOT, PICK)
    assert not reply(gate, target_m=(2.5, 0.0, 0.5)).success
    refused_by(gate, pick, Rule.KEEP_OUT)


def test_rule_14_another_place_may_be_given_in_a_frame_or_as_a_pixel_of_the_picture() -> None:
    gate, robot = made(options())
    robot.sees, robot.at = True, (1.0, 0.0, 0.0)
    places: list[tuple[dict[str, Any], Vec3]] = [
        ({"target_m": (1.2, 0.1, 0.6)}, (1.2, 0.1, 0.6)),
        ({"target_m": (0.2, 0.1, 0.6), "frame": f"{ROBOT}/base_link"}, (1.2, 0.1, 0.6)),
        ({"target_m": (1.2, 0.1, 0.6), "frame": f"{ROBOT}/odom"}, (1.2, 0.1, 0.6)),
        ({"pixel": (50, 50)}, (2.0, 0.0, 0.0)),
    ]
    for fields, point_m in places:
        gate.start(ROBOT, PICK)
        assert asked(gate).target_m == PICK.target_m
        assert reply(gate, **fields).success, fields
        assert (robot.told[-1].target_m, robot.told[-1].frame) == (pytest.approx(point_m), "map")
        gate.stop(ROBOT)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"target_m": (1.0, 0.0, 0.5), "frame": "odom"}, "'odom' is not used; give a point of"),
        ({"target_m": (1.0, 0.0, 0.5), "frame": "agent_1/base_link"}, "is not used"),
        ({"target_m": (1.0, 0.0, 0.5), "frame": f"{ROBOT}/hand_optical_frame"}, "is not used"),
        ({"target_m": (math.nan, 0.0, 0.5)}, "must be finite"),
        ({"pixel": (500, 0)}, "shows nothing; the question is still open"),
        (
            {"pixel": (50, 50), "target_m": (1.0, 0.0, 0.5)},
            "give one of them; the question is still open",
        ),
    ],
)
def test_rule_14_a_place_that_makes_no_sense_approves_nothing(
    fields: dict[str, Any], words: str
) -> None:
    gate, robot = made(options())
    robot.sees = True
    pick = gate.start(ROBOT, PICK)
    gate.take_receipts()
    told = reply(gate, **fields)
    assert not told.success
    assert words in told.message
    assert gate.poll(pick).phase == "waiting for approval"
    assert robot.running is None
    assert [(r.command, r.rule) for r in gate.take_receipts()] == [("safety/answer", Rule.APPROVAL)]


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
    assert not reply(gate).success
    refused_by(gate, pick, Rule.BATTERY)
