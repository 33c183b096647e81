"""What takes a robot some seconds: meanwhile a stop is heard, and nothing else begins."""

from __future__ import annotations

import pytest
from walker import EPISODE, HOUSE, ROBOT, WALK, Walker, let_pass, made, refused_by

from planner.world.errors import PlannerError
from sim_bridge.control import Command, Estop
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Mode
from sim_bridge.safety.options import Rule

BEFORE = {
    Command.POWER_ON: (Command.CLAIM,),
    Command.STAND: (Command.CLAIM, Command.POWER_ON),
    Command.SIT: (Command.CLAIM, Command.POWER_ON, Command.STAND),
    Command.POWER_OFF: (Command.CLAIM, Command.POWER_ON, Command.STAND),
    Command.ESTOP_GENTLE: (Command.CLAIM, Command.POWER_ON, Command.STAND),
}


def at_it(command: Command) -> tuple[SafetyGate, Walker]:
    """A robot that takes some time for a command, and is ready for it."""
    gate, robot = made(ready=False)
    for first in BEFORE[command]:
        assert gate.command(ROBOT, first).success
    robot.slow = {command}
    return gate, robot


@pytest.mark.parametrize("command", list(BEFORE))
def test_it_is_reported_at_the_end_and_nothing_begins_before(command: Command) -> None:
    gate, robot = at_it(command)
    order = gate.order(ROBOT, command)
    let_pass(gate, 1)
    assert order.outcome is None
    assert gate.under_way(ROBOT) == command
    assert f"{command} is under way" in gate.obstacles(ROBOT)
    gate.take_receipts()
    refused_by(gate, gate.start(ROBOT, WALK), Rule.CONSENT, "NOT_READY")
    robot.gets_there = True
    let_pass(gate, 0.2)
    assert order.outcome is not None
    assert order.outcome.success, order.outcome
    assert [(r.command, r.allowed) for r in gate.take_receipts()] == [(command, True)]
    ends_in = {Command.POWER_ON: Mode.POWERED, Command.STAND: Mode.READY, Command.SIT: Mode.POWERED}
    assert gate.mode(ROBOT) is ends_in.get(command, Mode.CLAIMED)


@pytest.mark.parametrize("command", [c for c in BEFORE if c is not Command.ESTOP_GENTLE])
@pytest.mark.parametrize("stop", [Command.STOP, Command.ESTOP_GENTLE, Command.ESTOP_HARD])
def test_a_stop_takes_its_place_at_once(command: Command, stop: Command) -> None:
    gate, robot = at_it(command)
    order = gate.order(ROBOT, command)
    told = gate.order(ROBOT, stop)
    assert robot.operated[-1] is stop
    assert told.outcome is not None
    assert told.outcome.success
    assert order.outcome is not None
    assert not order.outcome.success
    assert f"{stop} took its place" in order.outcome.message
    robot.gets_there = True
    let_pass(gate, 1)
    assert command not in robot.operated[-1:], "what was stopped is not taken up again"
    assert gate.mode(ROBOT) is not Mode.READY or command in (Command.SIT, Command.POWER_OFF)


def test_an_emergency_stop_is_ended_by_a_harder_one_alone() -> None:
    gate, robot = at_it(Command.ESTOP_GENTLE)
    robot.slow.add(Command.ESTOP_HARD)
    gentle = gate.order(ROBOT, Command.ESTOP_GENTLE)
    assert gate.control(ROBOT).estop is Estop.GENTLE, "it holds from the first moment"
    for command in (Command.STAND, Command.POWER_ON, Command.ESTOP_RELEASE, Command.RELEASE):
        refused = gate.order(ROBOT, command).outcome
        assert refused is not None
        assert not refused.success
    stop = gate.order(ROBOT, Command.STOP).outcome
    assert stop is not None
    assert (stop.success, gentle.outcome) == (True, None)
    again = gate.order(ROBOT, Command.ESTOP_GENTLE)
    assert again.outcome is None, "it has not stopped before the first one has ended"
    assert robot.begun == [Command.ESTOP_GENTLE], "nothing holds up its way to the ground"
    hard = gate.order(ROBOT, Command.ESTOP_HARD)
    assert gentle.outcome is not None
    assert robot.begun[-1] is Command.ESTOP_HARD
    robot.gets_there = True
    let_pass(gate, 0.2)
    assert hard.outcome is not None
    assert hard.outcome.success
    assert gate.control(ROBOT).estop is Estop.HARD


def test_another_command_waits_and_a_new_episode_does_too() -> None:
    gate, _ = at_it(Command.STAND)
    gate.order(ROBOT, Command.STAND)
    for command in (Command.STAND, Command.POWER_ON, Command.CLAIM, Command.RELEASE):
        told = gate.order(ROBOT, command).outcome
        assert told is not None
        assert "stand is under way; wait for its end, or stop it" in told.message
    with pytest.raises(PlannerError, match="stand is under way"):
        gate.reset(HOUSE, EPISODE, 0)
    refused = gate.go_home(ROBOT)
    assert "stand is under way" in refused.message


def test_what_is_under_way_at_the_end_is_reported() -> None:
    gate, robot = at_it(Command.STAND)
    order = gate.order(ROBOT, Command.STAND)
    gate.close()
    assert order.outcome is not None
    assert order.outcome.message == "the world was closed"
    assert robot.operated[-3:] == [Command.SIT, Command.POWER_OFF, Command.RELEASE]
