"""Rule 14: the operator approves what hands do, before a world made of records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from walker import (
    CUP,
    EPISODE,
    HOUSE,
    KNIFE,
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
from sim_bridge.one_robot import Command
from sim_bridge.safety.approvals import MAX_ENDED_QUESTIONS
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.health import Lease
from sim_bridge.safety.options import Rule
from sim_bridge.safety.order_executor import Reply


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


def test_rule_14_an_approval_of_a_canceled_question_releases_no_other() -> None:
    gate, robot = made(options())
    cup = gate.start(ROBOT, CUP)
    seen = asked(gate).question_id
    gate.cancel(cup)
    knife = gate.start(ROBOT, KNIFE)
    gate.take_receipts()
    for given in (Reply(seen, approve=True), Reply(seen, approve=True, remember_kind=True)):
        told = gate.answers.answer(ROBOT, given)
        assert not told.success
        assert told.message == f"question {seen} was canceled; nothing was approved"
    assert gate.poll(knife).phase == "waiting for approval"
    assert robot.told == []
    assert [(r.command, r.allowed, r.rule) for r in gate.take_receipts()] == [
        ("safety/answer", False, Rule.APPROVAL)
    ] * 2
    # Refusing what is not asked any more refuses nothing else.
    assert not gate.answers.answer(ROBOT, Reply(seen, approve=False)).success
    assert gate.poll(knife).phase == "waiting for approval"
    assert gate.answers.answer(ROBOT, Reply(asked(gate).question_id, approve=True)).success
    assert robot.told == [KNIFE]


def test_rule_14_ids_are_never_given_twice() -> None:
    seen = set()
    for _ in range(2):
        gate, _ = made(options())
        for _ in range(3):
            gate.start(ROBOT, CUP)
            seen.add(asked(gate).question_id)
            gate.stop(ROBOT)
        gate.reset(HOUSE, EPISODE, 0)
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            gate.command(ROBOT, command)
        gate.start(ROBOT, CUP)
        seen.add(asked(gate).question_id)
    assert len(seen) == 8


def test_rule_14_a_question_of_long_ago_is_still_told_from_none() -> None:
    gate, robot = made(options())
    gate.start(ROBOT, CUP)
    first = asked(gate).question_id
    gate.stop(ROBOT)
    for _ in range(MAX_ENDED_QUESTIONS):
        gate.start(ROBOT, CUP)
        gate.stop(ROBOT)
    told = gate.answers.answer(ROBOT, Reply(first, approve=True))
    assert told.message == f"question {first} ended long ago; nothing was approved"
    assert robot.told == []


def lose_lease(gate: SafetyGate) -> None:
    robot = gate.backend
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="tablet")  # type: ignore[attr-defined]
    gate.step(0.1)


def lose_link(gate: SafetyGate) -> None:
    robot = gate.backend
    robot.condition = replace(robot.condition, age_s=9.0)  # type: ignore[attr-defined]
    gate.step(0.1)


def answer(gate: SafetyGate, *, approve: bool) -> None:
    assert gate.answers.answer(ROBOT, Reply(asked(gate).question_id, approve)).success


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda gate: answer(gate, approve=True), "was approved already"),
        (lambda gate: answer(gate, approve=False), "was refused already"),
        (lambda gate: gate.answers.refuse(ROBOT), "was refused already"),
        (lambda gate: let_pass(gate, 2.2), "has expired"),
        (lambda gate: gate.stop(ROBOT), "ended when the agent was stopped"),
        (lambda gate: gate.command(ROBOT, Command.RELEASE), "ended when the agent was stopped"),
        (lambda gate: gate.command(ROBOT, Command.CLAIM), "ended when the agent was claimed again"),
        (lambda gate: gate.reset(HOUSE, EPISODE, 0), "ended when another episode was loaded"),
        (lose_lease, "ended: "),
        (lose_link, "ended: "),
        (lambda gate: let_pass(gate, 1.5, attended=False), "ended: the executive"),
    ],
)
def test_rule_14_a_late_answer_is_refused_with_why_its_question_ended(
    end: Callable[[SafetyGate], object], words: str
) -> None:
    gate, robot = made(options(approval={"timeout_s": 2}))
    gate.start(ROBOT, CUP)
    seen = asked(gate).question_id
    end(gate)
    begun = list(robot.told)
    assert gate.asked(ROBOT) is None
    told = gate.answers.answer(ROBOT, Reply(seen, approve=True))
    assert not told.success
    assert told.message.startswith(f"question {seen} {words}")
    assert robot.told == begun


def test_rule_14_an_answer_after_the_time_limit_is_refused_before_the_next_step_too() -> None:
    gate, robot = made(options(approval={"timeout_s": 2}))
    pick = gate.start(ROBOT, CUP)
    seen = asked(gate)
    assert seen.expires_s - seen.issued_s == pytest.approx(2.0)
    robot.time_s += 2.0
    told = gate.answers.answer(ROBOT, Reply(seen.question_id, approve=True))
    assert not told.success
    assert "has expired" in told.message
    assert result(gate, pick).evidence["reason"] == "NOT_APPROVED"
    assert robot.told == []


@pytest.mark.parametrize(
    ("question_id", "words"),
    [
        ("", "an answer names its question: question_id is empty"),
        ("x" * 100, "was never asked"),
        ("0-1", "was never asked"),
    ],
)
def test_rule_14_an_id_that_nobody_gave_approves_nothing(question_id: str, words: str) -> None:
    gate, robot = made(options())
    gate.start(ROBOT, CUP)
    told = gate.answers.answer(ROBOT, Reply(question_id, approve=True))
    assert not told.success
    assert words in told.message
    assert len(told.message) < 150
    future = asked(gate).question_id + "1"
    assert "was never asked" in gate.answers.answer(ROBOT, Reply(future, approve=True)).message
    assert robot.told == []


def waits(gate: SafetyGate) -> bool:
    """Whether a cup is asked about; it is stopped afterwards."""
    found = gate.poll(gate.start(ROBOT, CUP)).phase == "waiting for approval"
    gate.stop(ROBOT)
    return found


def release(gate: SafetyGate) -> None:
    gate.command(ROBOT, Command.RELEASE)


def take_lease(gate: SafetyGate) -> None:
    # As where the loss is seen only with the take.
    robot = gate.backend
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="tablet")  # type: ignore[attr-defined]
    assert not gate.take_lease(ROBOT).success
    assert gate.take_lease(ROBOT).success


def claim(gate: SafetyGate) -> None:
    assert gate.command(ROBOT, Command.CLAIM).success


@pytest.mark.parametrize("end", [release, lose_lease, take_lease, claim])
@pytest.mark.parametrize("kind", [False, True])
def test_rule_14_what_was_approved_for_good_ends_with_the_claim(
    end: Callable[[SafetyGate], None], kind: bool
) -> None:
    gate, robot = made(options())
    gate.start(ROBOT, CUP)
    reply = Reply(asked(gate).question_id, approve=True, remember_kind=kind)
    assert gate.answers.answer(ROBOT, reply).success
    gate.stop(ROBOT)
    assert not waits(gate)
    end(gate)
    robot.condition = replace(robot.condition, lease=Lease.FREE, owner="")
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        if end is not take_lease or command is not Command.CLAIM:
            assert gate.command(ROBOT, command).success
    robot.condition = replace(robot.condition, lease=Lease.OURS)
    gate.step(0.1)
    assert waits(gate)


def test_rule_14_what_is_unknown_to_perception_is_never_approved_for_good() -> None:
    gate, robot = made(options())
    gate.start(ROBOT, PICK)
    assert asked(gate).what == "pick (unknown to perception)"
    reply = Reply(asked(gate).question_id, approve=True, remember_kind=True)
    told = gate.answers.answer(ROBOT, reply)
    assert told.success
    assert "its kind is not remembered" in told.message
    gate.stop(ROBOT)
    gate.start(ROBOT, PICK)
    assert asked(gate).why == "what is unknown to perception is approved one by one"
    gate.stop(ROBOT)
    # The kind was allowed, of what is known.
    gate.start(ROBOT, CUP)
    reply = Reply(asked(gate).question_id, approve=True, remember_kind=True)
    assert gate.answers.answer(ROBOT, reply).message == "pick was approved, and later ones too"
    gate.stop(ROBOT)
    assert gate.poll(gate.start(ROBOT, KNIFE)).phase == "at it"
    gate.stop(ROBOT)
    gate.start(ROBOT, PICK)
    assert asked(gate).why == "what is unknown to perception is approved one by one"
    assert len(robot.told) == 3


def test_rule_14_an_agent_s_question_is_not_answered_as_another_s() -> None:
    gate, _ = made(options())
    cup = gate.start(ROBOT, CUP)
    why = gate.questions.why_gone("agent_1", asked(gate).question_id)
    assert why == f"question {asked(gate).question_id} is of {ROBOT}; nothing was approved"
    gate.cancel(cup)
    assert result(gate, cup).code is PrimitiveCode.CANCELED


def test_rule_14_the_operator_is_not_asked_about_what_the_hand_cannot_do() -> None:
    """A pick with a full hand, however often it is sent, and a place with an empty one."""
    gate, robot = made(options())
    robot.held = True
    for _ in range(3):
        refused = result(gate, gate.start(ROBOT, CUP))
        assert (refused.code, gate.asked(ROBOT)) == (PrimitiveCode.HAND_FULL, None)
    place = replace(CUP, name=PrimitiveName.PLACE, thing_class="")
    gate.start(ROBOT, place)
    assert asked(gate).primitive == place
    gate.answers.refuse(ROBOT)
    robot.held = False
    empty = result(gate, gate.start(ROBOT, place))
    assert (empty.code, gate.asked(ROBOT)) == (PrimitiveCode.HAND_EMPTY, None)
    assert robot.told == []
    assert gate.take_receipts()[-1].reason == empty.text
