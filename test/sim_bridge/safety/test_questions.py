"""An approval belongs to one question: before a world made of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from walker import (
    CUP,
    EPISODE,
    HOUSE,
    KNIFE,
    PICK,
    ROBOT,
    asked,
    let_pass,
    made,
    options,
    result,
)

from planner.world.primitive import PrimitiveCode, PrimitiveName
from sim_bridge.control import Command
from sim_bridge.safety.answers import Reply
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.health import Lease
from sim_bridge.safety.questions import MAX_ENDED_QUESTIONS
from sim_bridge.safety.rules import Rule


def test_rule_14_an_approval_of_a_canceled_question_releases_no_other() -> None:
    gate, robot = made(options())
    cup = gate.start(ROBOT, CUP)
    seen = asked(gate).question_id
    gate.cancel(cup)
    knife = gate.start(ROBOT, KNIFE)
    gate.take_receipts()
    for reply in (Reply(seen, approve=True), Reply(seen, approve=True, remember_kind=True)):
        told = gate.answers.answer(ROBOT, reply)
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
