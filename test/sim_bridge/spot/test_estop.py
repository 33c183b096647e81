"""Rule 4: our own emergency-stop endpoint, in its own process, before a robot in real time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from spot_trial import ROBOT

from planner.world.errors import PlannerError
from sim_bridge.one_robot import Command
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.options import SafetyOptions, default_safety
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.emulator.machine import POSTURE_S, SETTLE, Motors, Posture, WallClock
from sim_bridge.spot.emulator.server import SpotEmulator
from sim_bridge.spot.options import emulated
from sim_bridge.spot.permit import EstopProcess

# In real time, and with processes that import the SDK.
pytestmark = pytest.mark.slow

OWN = SafetyOptions.model_validate({"estop": {"mode": "endpoint", "timeout_s": 2.0}})


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_world(default_house(), "", 0, 1)


@pytest.fixture
def emulator(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Iterator[SpotEmulator]:
    with SpotEmulator(WallClock()) as made:
        made.load(opened.house, opened.episode, 0)
        monkeypatch.setenv("SPOT_IP", made.address)
        monkeypatch.setenv("SPOT_PORT", str(made.port))
        monkeypatch.setenv("SPOT_CERTIFICATE", str(made.authority))
        monkeypatch.setenv("BOSDYN_CLIENT_USERNAME", made.user)
        monkeypatch.setenv("BOSDYN_CLIENT_PASSWORD", made.password)
        yield made


def ready(opened: Opened) -> tuple[SafetyGate, EstopProcess]:
    backend = SpotBackend()
    gate = SafetyGate(backend, OWN)
    gate.reset(opened.house, opened.episode, 0)
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        outcome = gate.command(ROBOT, command)
        assert outcome.success, outcome
    estop = backend.watch.estop
    assert estop is not None
    return gate, estop


class Diary:
    """What the robot did at each of its own steps, however busy this machine is."""

    def __init__(self, emulator: SpotEmulator) -> None:
        self._emulator = emulator
        self._go_on = emulator.machine.on_step
        self.lines: list[tuple[float, bool, bool]] = []
        emulator.machine.on_step = self._note

    def _note(self, dt_s: float) -> None:
        if self._go_on is not None:
            self._go_on(dt_s)
        machine, agent = self._emulator.machine, self._emulator.world.agent
        self.lines.append((machine.last_s, agent.linear_m_s > 0, machine.motors is Motors.ON))

    def until_off(self, most_s: float = 30.0) -> float:
        """Waits until the motors are off; the robot's time of that."""
        ends_s = time.monotonic() + most_s
        while time.monotonic() < ends_s:
            self._emulator.advance()
            if self._emulator.machine.motors is Motors.OFF:
                return next(at_s for at_s, _, on in reversed(self.lines) if on)
            time.sleep(0.05)
        raise AssertionError(f"the motors are on after {most_s} s")


def test_rule_4_gentle_hard_and_release_go_through_the_endpoint_without_the_lease(
    opened: Opened, emulator: SpotEmulator
) -> None:
    gate, _ = ready(opened)
    machine = emulator.machine
    assert [end.message.name for end in machine.endpoints.values()] == ["planner-estop"]  # type: ignore[attr-defined]
    machine.lease.give("tablet", machine.now_s)
    stopped = gate.command(ROBOT, Command.ESTOP_GENTLE)
    assert stopped.success, stopped
    assert (machine.posture, machine.motors) == (Posture.SITTING, Motors.OFF)
    assert machine.estopped
    assert gate.command(ROBOT, Command.ESTOP_RELEASE).success
    assert not machine.estopped
    machine.motors = Motors.ON
    assert gate.command(ROBOT, Command.ESTOP_HARD).success
    assert machine.motors is Motors.OFF
    gate.close()


def test_rule_4_the_endpoint_stays_while_the_bridge_is_well_and_is_taken_away_at_rest(
    opened: Opened, emulator: SpotEmulator
) -> None:
    gate, _ = ready(opened)
    ends_s = time.monotonic() + 3.0
    while time.monotonic() < ends_s:
        gate.step(0.1)
        time.sleep(0.1)
    assert emulator.machine.motors is Motors.ON
    gate.close()
    assert emulator.machine.motors is Motors.OFF
    assert emulator.machine.endpoints == {}


def test_rule_4_a_bridge_that_hangs_lets_the_robot_sit_down_and_cuts_the_motors(
    opened: Opened, emulator: SpotEmulator
) -> None:
    gate, _ = ready(opened)
    # Nobody steps the gate: to its endpoint the bridge is not well any more.
    diary = Diary(emulator)
    diary.until_off()
    (endpoint,) = emulator.machine.endpoints.values()
    assert endpoint.level == SETTLE, "the endpoint itself said so, before its own timeout"
    gate.close()


def test_rule_4_a_killed_endpoint_stops_the_robot_after_its_timeout(
    opened: Opened, emulator: SpotEmulator
) -> None:
    gate, estop = ready(opened)
    diary = Diary(emulator)
    os.kill(estop.pid, signal.SIGKILL)
    off_s = diary.until_off()
    (endpoint,) = emulator.machine.endpoints.values()
    assert off_s - endpoint.last_s < OWN.estop.timeout_s + POSTURE_S + 0.2
    told = gate.command(ROBOT, Command.ESTOP_GENTLE)
    assert not told.success
    assert "use the stop on the tablet" in told.message
    gate.close()


def test_rule_4_it_is_not_set_up_while_the_motors_are_on(
    opened: Opened, emulator: SpotEmulator
) -> None:
    emulator.machine.motors = Motors.ON
    backend = SpotBackend(safety=OWN)
    with pytest.raises(PlannerError, match="while the motors are on; let the robot sit down"):
        backend.reset(opened.house, opened.episode, 0)
    assert emulator.machine.motors is Motors.ON
    backend.close()


def test_rule_4_an_emulator_of_stepped_time_cannot_have_one(opened: Opened) -> None:
    backend = SpotBackend(emulated(), OWN)
    with pytest.raises(PlannerError, match="for a robot in real time"):
        backend.reset(opened.house, opened.episode, 0)
    backend.close()


BRIDGE = """
import time
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.one_robot import Command
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.backend import SpotBackend
opened = open_world(default_house(), "", 0, 1)
backend = SpotBackend()
backend.reset(opened.house, opened.episode, 0)
for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
    assert backend.operate("agent_0", command).success
far = max(opened.house.furniture, key=lambda p: abs(p.x_m) + abs(p.y_m))
goal = (far.x_m, far.y_m, far.size_m[2] / 2)
walk = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, goal))
while not backend.poll(walk).done:
    backend.step(0.05)
    if backend.state.linear_m_s > 0.3:
        print("walking", flush=True)
    time.sleep(0.05)
print(backend.poll(walk).result)
"""


def test_rules_1_and_3_a_bridge_that_is_killed_stops_the_robot_and_sits_it_down(
    opened: Opened, emulator: SpotEmulator
) -> None:
    """SPOT-F6.4: SIGKILL of the bridge at 0.5 m/s: stops within its TTL, then the policy acts."""
    diary = Diary(emulator)
    bridge = subprocess.Popen([sys.executable, "-c", BRIDGE], stdout=subprocess.PIPE, text=True)
    assert bridge.stdout is not None
    assert bridge.stdout.readline() == "walking\n"
    bridge.kill()
    bridge.wait()
    bridge.stdout.close()
    off_s = diary.until_off()
    safety = default_safety()
    said_s = max(r.at_s for r in emulator.requests if r.method == "RobotCommand")
    walked_s = max(at_s for at_s, walks, _ in diary.lines if walks)
    assert walked_s - said_s < safety.motion.command_ttl_s + 0.1
    checked_s = max(r.at_s for r in emulator.requests if r.method == "CheckIn")
    assert off_s - checked_s < safety.keepalive.motors_off_after_s + 3.0
    assert emulator.machine.posture is Posture.SITTING
