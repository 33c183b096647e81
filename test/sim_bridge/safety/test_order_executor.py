"""Rule 15: with a low battery it goes to its dock, if it has one, and off it only when told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from walker import ROBOT, WALK, Walker, let_pass, made, refused_by, result

from planner.world.primitive import PrimitiveCode
from sim_bridge.one_robot import Command
from sim_bridge.runtime import Runtime
from sim_bridge.safety.approvals import Answer
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Mode
from sim_bridge.safety.options import Rule


def with_dock() -> tuple[SafetyGate, Walker]:
    gate, robot = made()
    robot.has_dock = True
    return gate, robot


def battery(gate: SafetyGate, robot: Walker, share: float) -> None:
    robot.condition = replace(robot.condition, battery=share)
    gate.step(0.1)


def told(gate: SafetyGate) -> list[tuple[str, bool]]:
    return [(receipt.command, receipt.allowed) for receipt in gate.take_receipts()]


def test_rule_15_it_finishes_its_step_and_goes_to_the_dock_and_switches_off_there() -> None:
    gate, robot = with_dock()
    walk = gate.start(ROBOT, WALK)
    battery(gate, robot, 0.12)
    let_pass(gate, 1)
    assert robot.home == [], "what it does is finished first"
    assert gate.poll(walk).result is None
    robot.arrive()
    gate.take_receipts()
    # Nobody attends this walk but the gate.
    let_pass(gate, 3, attended=False)
    assert robot.home == ["dock"]
    assert result(gate, gate.start(ROBOT, WALK)).code is PrimitiveCode.BUSY
    robot.arrive()
    let_pass(gate, 1)
    assert robot.operated[-1] is Command.POWER_OFF
    assert Command.SIT not in robot.operated
    busy = ("navigate", False)
    assert told(gate) == [("dock", True), busy, ("dock", True), ("power_off", True)]
    battery(gate, robot, 0.05)
    assert robot.home == ["dock"]
    assert robot.operated[-1] is Command.POWER_OFF, "on the dock an empty battery is no matter"


def test_rule_15_where_the_dock_is_not_reached_it_sits_down_where_it_is() -> None:
    gate, robot = with_dock()
    battery(gate, robot, 0.12)
    assert robot.home == ["dock"]
    robot.arrive(PrimitiveCode.BLOCKED)
    let_pass(gate, 1)
    assert robot.home == ["dock"], "once is enough"
    assert robot.operated[-1] is Command.SIT
    gate, robot = with_dock()
    battery(gate, robot, 0.12)
    battery(gate, robot, 0.08)
    assert robot.running is None, "an empty battery does not carry it there"
    assert robot.operated[-2:] == [Command.SIT, Command.POWER_OFF]


def test_rule_15_without_a_dock_it_sits_down_as_before() -> None:
    gate, robot = made()
    battery(gate, robot, 0.12)
    assert robot.operated[-1] is Command.SIT


@pytest.mark.parametrize("stop", ["stop", "estop", "lease"])
def test_rule_15_on_its_way_home_it_stops_as_ever(stop: str) -> None:
    gate, robot = with_dock()
    battery(gate, robot, 0.12)
    if stop == "stop":
        assert gate.command(ROBOT, Command.STOP).success
    else:
        robot.condition = replace(
            robot.condition, **({"estopped": True} if stop == "estop" else {"epoch": "two"})
        )
        if stop == "lease":
            gate.step(0.1)
            robot.condition = replace(robot.condition, epoch="three")
        gate.step(0.1)
    assert robot.running is None
    assert robot.speed_m_s == 0.0


def test_rule_15_the_operator_sends_it_there_and_calls_it_back() -> None:
    gate, robot = with_dock()
    runtime = Runtime.__new__(Runtime)
    runtime.gate = gate
    walk = gate.start(ROBOT, WALK)
    busy = runtime.answer(ROBOT, Answer.DOCK)
    assert "stop it first" in busy.message
    gate.cancel(walk)
    assert runtime.answer(ROBOT, Answer.DOCK).success
    robot.arrive()
    gate.step(0.1)
    assert gate.mode(ROBOT) is Mode.CLAIMED
    asleep = runtime.answer(ROBOT, Answer.UNDOCK)
    assert not asleep.success
    assert "motors are off" in asleep.message, "rule 17: power is never a side effect"
    assert gate.command(ROBOT, Command.POWER_ON).success
    gate.step(0.1)
    refused_by(gate, gate.start(ROBOT, WALK), Rule.CONSENT)
    assert runtime.answer(ROBOT, Answer.UNDOCK).success
    gate.step(0.1)
    assert robot.running is not None, "it need not stand to get off the dock"
    robot.arrive()
    gate.step(0.1)
    assert gate.mode(ROBOT) is Mode.READY


def test_rule_15_a_robot_without_a_dock_or_that_may_not_move_is_reported() -> None:
    gate, _ = made()
    assert "has no dock (dock in its settings)" in gate.go_home(ROBOT).message
    gate, robot = made(ready=False)
    robot.has_dock = True
    assert "not claimed" in gate.go_home(ROBOT).message
    assert robot.home == []
