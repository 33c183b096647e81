"""Onto the dock and off it: by the SDK alone, by the operator, and with a low battery (rule 15)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.client.docking import DockingClient
from spot_trial import ROBOT, emulator_of, opened_corner, trouble

from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from sim_bridge.one_robot import Command
from sim_bridge.opening import Opened
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.options import default_safety
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.convert import seconds_of
from sim_bridge.spot.emulator.faults import TroubleKind
from sim_bridge.spot.emulator.machine import Motors, Posture
from sim_bridge.spot.options import Dock, emulated

NUMBER = 520


@pytest.fixture(params=["all services"])
def guarded(
    opened: Opened, request: pytest.FixtureRequest
) -> Iterator[tuple[SafetyGate, SpotBackend]]:
    plain = SpotBackend(emulated())
    plain.reset(opened.house, opened.episode, opened.seed)
    x, y, _ = plain.base.position_m
    plain.close()
    # The dock stands where the robot begins, so there is a way to it.
    dock = Dock(number=NUMBER, pose=(x, y, 0.0))
    backend = SpotBackend(emulated().model_copy(update={"dock": dock}))
    emulator_of(backend).calls.keep_requests = True
    if request.param == "no service":
        trouble(backend, TroubleKind.NO_SERVICE, name="docking")
    gate = SafetyGate(backend)
    gate.reset(opened.house, opened.episode, opened.seed)
    yield gate, backend
    gate.close()


def let_pass(gate: SafetyGate, seconds: float) -> None:
    for _ in range(round(seconds / TICK_S)):
        gate.step(TICK_S)


def until_home(gate: SafetyGate) -> list[tuple[str, bool, str]]:
    """What became of each command until the robot is on its dock, or at rest without."""
    told: list[tuple[str, bool, str]] = []
    for _ in range(round(120.0 / TICK_S)):
        gate.step(TICK_S)
        told += [(r.command, r.allowed, r.reason) for r in gate.take_receipts()]
        if told and told[-1][0] in ("power_off", "sit"):
            return told
    raise AssertionError(told)


def test_rule_15_with_a_low_battery_it_ends_its_step_walks_home_and_switches_off_on_the_dock(
    guarded: tuple[SafetyGate, SpotBackend], opened: Opened
) -> None:
    gate, backend = guarded
    machine = emulator_of(backend).machine
    walk = gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    let_pass(gate, 3.0)
    gate.take_receipts()
    trouble(backend, TroubleKind.BATTERY, value=12.0)
    let_pass(gate, 0.5)
    assert not gate.poll(walk).done
    told = until_home(gate)
    assert gate.poll(walk).done
    assert [(name, allowed) for name, allowed, _ in told] == [
        ("dock", True),
        ("dock", True),
        ("power_off", True),
    ]
    assert (machine.docked, machine.motors) == (NUMBER, Motors.OFF)
    health = gate.health(ROBOT)
    assert (health.docked, health.standing) == (True, False)
    # Rule 1: the way onto the dock ends by itself unless it is prolonged.
    sent = [r for r in emulator_of(backend).requests if r.method == "DockingCommand"]
    again = [r for r in emulator_of(backend).requests if r.method == "DockingCommandFeedback"]
    assert len(sent) == 1
    assert len(again) > 5
    ends = [(seconds_of(r.request.end_time), r.at_s) for r in sent]
    ends += [(seconds_of(r.request.update_docking_params.end_time), r.at_s) for r in again]
    most_s = default_safety().motion.command_ttl_s
    assert all(0 < end_s - at_s <= most_s + 1e-6 for end_s, at_s in ends)

    trouble(backend, TroubleKind.BATTERY, value=80.0)
    assert gate.command(ROBOT, Command.POWER_ON).success
    let_pass(gate, 0.2)
    refused = gate.poll(gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0))))
    assert refused.result is not None
    assert refused.result.code is PrimitiveCode.NOT_ALLOWED
    assert gate.go_home(ROBOT, leave=True).success
    let_pass(gate, 8.0)
    assert (machine.docked, machine.posture) == (0, Posture.STANDING)
    assert gate.obstacles(ROBOT) == ()


def test_rule_15_a_bridge_that_dies_on_the_way_onto_the_dock_leaves_it_within_its_time(
    guarded: tuple[SafetyGate, SpotBackend],
) -> None:
    gate, backend = guarded
    emulator = emulator_of(backend)
    assert gate.go_home(ROBOT).success
    for _ in range(round(30.0 / TICK_S)):
        if emulator.machine.docking is not None:
            break
        gate.step(TICK_S)
    assert emulator.machine.docking is not None
    for _ in range(round(0.7 / TICK_S)):
        backend._clock.advance(TICK_S)
        emulator.advance()
    assert emulator.machine.docking is None
    assert emulator.machine.docked == 0


@pytest.mark.parametrize(
    ("guarded", "words"),
    [("no dock", "it sees no such dock"), ("no service", "a service is missing")],
    indirect=["guarded"],
)
def test_rule_15_a_dock_that_is_not_there_is_reported_and_it_sits_down_instead(
    guarded: tuple[SafetyGate, SpotBackend], words: str
) -> None:
    """SPOT-F6.4: a directory without docking: degraded, no crash."""
    gate, backend = guarded
    if "no such dock" in words:
        emulator_of(backend).machine.docks.clear()
    trouble(backend, TroubleKind.BATTERY, value=12.0)
    told = until_home(gate)
    assert [(name, allowed) for name, allowed, _ in told] == [
        ("dock", True),
        ("dock", False),
        ("sit", True),
    ]
    assert words in told[1][2], told
    assert emulator_of(backend).machine.posture in (Posture.SITTING_DOWN, Posture.SITTING)


def test_what_it_holds_is_put_down_before_it_docks(
    guarded: tuple[SafetyGate, SpotBackend],
) -> None:
    gate, backend = guarded
    world = emulator_of(backend).world
    name = next(iter(world.world.things))
    world.agent.hands = (name,)
    assert gate.go_home(ROBOT).success
    let_pass(gate, 15.0)
    told = [r for r in gate.take_receipts() if r.command == "dock"]
    assert not told[-1].allowed
    assert "its gripper holds something" in told[-1].reason
    world.agent.hands = (None,)


def test_a_program_with_the_sdk_alone_reads_the_dock(
    guarded: tuple[SafetyGate, SpotBackend],
) -> None:
    _, backend = guarded
    client = backend.link.robot.ensure_client(DockingClient.default_service_name)
    (config,) = client.get_docking_config(timeout=5.0)
    assert (config.id_start, config.id_end) == (NUMBER, NUMBER)
    assert client.get_docking_state(timeout=5.0).dock_id == 0
