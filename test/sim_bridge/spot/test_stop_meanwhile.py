"""A stop is heard while the robot powers on, stands up, sits down, or gets on or off its dock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from spot_trial import ROBOT, emulator_of

from sim_bridge.one_robot import Command
from sim_bridge.opening import default_house, open_world
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Mode
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.options import Dock, emulated

NUMBER = 520
SOON_S = 0.3
STOPS = (Command.STOP, Command.ESTOP_GENTLE, Command.ESTOP_HARD)
DEEDS = ("power_on", "stand", "sit", "power_off", "dock", "undock")


class Trial:
    """One robot behind the gate, on its feet before its dock."""

    def __init__(self) -> None:
        opened = open_world(default_house(), "", 7, 1)
        self.backend = SpotBackend(emulated())
        self.gate = SafetyGate(self.backend)
        self.gate.reset(opened.house, opened.episode, opened.seed)
        x, y, _ = self.backend.base.position_m
        self.backend.options = self.backend.options.model_copy(
            update={"dock": Dock(number=NUMBER, pose=(x, y, 0.0))}
        )
        self.machine.docks[NUMBER] = (x, y)
        emulator_of(self.backend).calls.keep_requests = True

    @property
    def machine(self) -> Machine:
        return emulator_of(self.backend).machine

    def let_pass(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK_S)):
            self.gate.attend(ROBOT)
            self.gate.step(TICK_S)

    def prepare(self, *commands: Command) -> None:
        for command in commands:
            told = self.gate.command(ROBOT, command)
            assert told.success, told
        self.let_pass(0.1)

    def begin(self, deed: str) -> None:
        """Begins a deed and goes on until the robot is in the midst of it."""
        # A person has put it elsewhere.
        self.machine.docked = 0
        up = (Command.ESTOP_RELEASE, Command.CLAIM, Command.POWER_ON, Command.STAND)
        before = {"power_on": (Command.ESTOP_RELEASE, Command.POWER_OFF), "stand": up[:3]}
        self.prepare(*before.get(deed, up))
        if deed == "stand":
            self.prepare(Command.SIT)
        if deed in ("dock", "undock"):
            assert self.gate.go_home(ROBOT).success
            self.until(lambda: self.machine.docking is not None)
            if deed == "undock":
                self.until(lambda: self.machine.docked == NUMBER)
                self.until(lambda: self.machine.motors is Motors.OFF)
                self.let_pass(0.2)
                self.prepare(Command.POWER_ON)
                assert self.gate.go_home(ROBOT, leave=True).success
                self.until(lambda: self.machine.docking is not None)
            self.let_pass(0.3)
            return
        assert self.gate.order(ROBOT, Command(deed)).outcome is None
        self.let_pass(0.3)
        assert self.gate.under_way(ROBOT) == deed

    def until(self, there: object) -> None:
        assert callable(there)
        for _ in range(round(60.0 / TICK_S)):
            if there():
                return
            self.let_pass(TICK_S)
        raise AssertionError("it did not get there")

    def stopped_as(self, stop: Command) -> bool:
        machine = self.machine
        moves = machine.walk is not None or machine.docking is not None
        lies = machine.posture in (Posture.SITTING_DOWN, Posture.SITTING)
        if stop is Command.ESTOP_HARD:
            return machine.motors is Motors.OFF
        return not moves and (stop is Command.STOP or lies)


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    made = Trial()
    yield made
    made.gate.close()


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("deed", DEEDS)
def test_rule_4_a_stop_acts_at_once_whatever_the_robot_is_doing(
    trial: Trial, deed: str, stop: Command
) -> None:
    gate, clock = trial.gate, emulator_of(trial.backend).clock
    trial.begin(deed)
    said_s = clock.now_s()
    emulator_of(trial.backend).requests.clear()
    order = gate.order(ROBOT, stop)
    trial.until(lambda: trial.stopped_as(stop))
    assert clock.now_s() - said_s <= SOON_S
    assert gate.under_way(ROBOT) in ("", stop), "what was under way is not waited for"
    trial.until(lambda: order.outcome is not None)
    assert order.outcome is not None
    assert order.outcome.success, order.outcome
    trial.let_pass(3.0)
    assert trial.stopped_as(stop), "and stays so"
    if stop is not Command.STOP or deed in ("power_on", "stand"):
        assert gate.mode(ROBOT) is not Mode.READY
    methods = [record.method for record in emulator_of(trial.backend).requests]
    assert "DockingCommand" not in methods
    if stop is Command.ESTOP_GENTLE:
        assert trial.machine.motors is Motors.OFF


def test_a_standing_robot_sits_down_before_its_motors_go_off(trial: Trial) -> None:
    trial.machine.docked = 0
    trial.prepare(Command.ESTOP_RELEASE, Command.CLAIM, Command.POWER_ON, Command.STAND)
    order = trial.gate.order(ROBOT, Command.POWER_OFF)
    seen = set()
    while order.outcome is None:
        seen.add((trial.machine.posture, trial.machine.motors))
        trial.let_pass(TICK_S)
    assert order.outcome.success
    assert (Posture.SITTING_DOWN, Motors.ON) in seen
    assert (Posture.STANDING, Motors.OFF) not in seen
    assert trial.machine.motors is Motors.OFF
