import itertools

import pytest

from sim_bridge.one_robot import Command, Control, Estop


def test_a_simulated_agent_may_move_at_once_and_a_robot_only_when_asked() -> None:
    assert Control(ready=True).obstacles == ()
    robot = Control(ready=False)
    assert len(robot.obstacles) == 3
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        assert robot.apply(command).success
    assert robot.obstacles == ()


@pytest.mark.parametrize(
    "command",
    [
        Command.RELEASE,
        Command.POWER_OFF,
        Command.SIT,
        Command.STOP,
        Command.ESTOP_GENTLE,
        Command.ESTOP_HARD,
    ],
)
def test_what_ends_motion_stops_the_agent(command: Command) -> None:
    control = Control(ready=True)
    outcome = control.apply(command)
    assert outcome.success
    assert outcome.stops
    assert bool(control.obstacles) == (command is not Command.STOP)


def test_an_emergency_stop_is_left_in_order_only() -> None:
    control = Control(ready=True)
    control.apply(Command.ESTOP_HARD)
    assert "hard" in control.apply(Command.POWER_ON).message
    assert not control.apply(Command.ESTOP_GENTLE).success
    assert control.estop is Estop.HARD
    assert control.apply(Command.ESTOP_RELEASE).success
    assert not control.apply(Command.STAND).success
    assert control.apply(Command.POWER_ON).success
    assert control.obstacles == ("it is not standing",)
    assert control.apply(Command.STAND).success
    assert control.obstacles == ()


def test_a_client_without_the_claim_can_only_stop_it() -> None:
    control = Control(ready=True)
    control.apply(Command.RELEASE)
    refused = {command for command in Command if not control.apply(command).success}
    assert Command.STOP not in refused
    assert Command.ESTOP_HARD not in refused
    control = Control(ready=False)
    outcome = control.apply(Command.POWER_ON)
    assert not outcome.success
    assert "claim" in outcome.message


def test_after_any_commands_motion_needs_all_four() -> None:
    for commands in itertools.product(Command, repeat=3):
        control = Control(ready=True)
        for command in commands:
            control.apply(command)
        may = control.claimed and control.powered and control.standing
        assert (control.obstacles == ()) == (may and control.estop is Estop.NONE)
        if control.standing:
            assert control.powered
