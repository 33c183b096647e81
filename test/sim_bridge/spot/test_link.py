"""The backend and an emulator of its own time, as with a real robot: nothing is stepped."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from sim_bridge.one_robot import Command
from sim_bridge.opening import default_house, open_world
from sim_bridge.runtime import Request, Runtime
from sim_bridge.safety.guard import Mode
from sim_bridge.safety.options import default_safety
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
from sim_bridge.spot.emulator.machine import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator

ROBOT = "agent_0"


def test_a_real_robot_waits_for_the_operator_and_survives_a_frozen_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SPOT-F6.4: a link that freezes ends a walk as COMMS_LOST and comes back by itself."""
    opened = open_world(default_house(), "", 0, 1)
    with SpotEmulator(WallClock()) as emulator:
        emulator.load(opened.house, opened.episode, 0)
        monkeypatch.setenv("SPOT_IP", emulator.address)
        monkeypatch.setenv("SPOT_PORT", str(emulator.port))
        monkeypatch.setenv("SPOT_CERTIFICATE", str(emulator.authority))
        monkeypatch.setenv("BOSDYN_CLIENT_USERNAME", emulator.user)
        monkeypatch.setenv("BOSDYN_CLIENT_PASSWORD", emulator.password)
        runtime = Runtime(SpotBackend())
        runtime.load(opened.house, opened.episode, 0)
        assert runtime.world_state() is None
        day_s = runtime.sense(ROBOT, ()).stamp_s
        assert day_s > datetime(2026, 1, 1, tzinfo=UTC).timestamp(), "stamps are the time of day"
        assert runtime.gate.mode(ROBOT) is Mode.OBSERVING
        refused = runtime.begin(ROBOT, Request("look", (0.0, 0.0, 0.5), "map"))
        assert refused.status.done
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            assert runtime.command(ROBOT, command).success
        # On a busy machine the picture may be late; that it is asked for is what counts.
        runtime.sense(ROBOT, ("hand",))
        assert_prompt(emulator)
        turning = Request(
            "look", (math.nan,) * 3, "", pan_rad=(1.0, -1.0) * 20, tilt_rad=(0.3,) * 40
        )
        runtime.gate.attend(ROBOT)
        job = runtime.begin(ROBOT, turning)
        _run(runtime, 1.0)
        assert not job.status.done
        # Of every thread of the bridge, however they share the calls.
        emulator.trouble(Trouble(kind=TroubleKind.HANG, count=1000, seconds=1.5))
        _run(runtime, 4.0)
        emulator.forget_call_faults()
        assert job.status.result is not None
        assert job.status.result.evidence["reason"] == "COMMS_LOST"
        emulator.calls.keep_requests = False
        _run(runtime, 8.0)
        assert runtime.gate.obstacles(ROBOT) == ()
        runtime.close()
        assert emulator.machine.motors.value == "off"
        assert emulator.machine.lease.owner == ""


def assert_prompt(emulator: SpotEmulator) -> None:
    """Rule 2: no call waits longer than config/safety.yaml says, and the SDK's 30 s never."""
    within = default_safety().timeouts
    kinds = {
        "GetRobotState": within.state_s,
        "RobotCommand": within.command_s,
        "PowerCommand": within.command_s,
        "AcquireLease": within.lease_s,
        "RetainLease": within.lease_s,
        "ModifyPolicy": within.lease_s,
        "GetImage": within.image_s,
    }
    waits: dict[str, float] = {}
    for record in emulator.requests:
        waits[record.method] = max(waits.get(record.method, 0.0), record.within_s)
    assert kinds.keys() <= waits.keys()
    assert {m: s for m, s in waits.items() if s > kinds.get(m, within.login_s) + 0.1} == {}


def _run(runtime: Runtime, seconds: float) -> None:
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s:
        runtime.step()
        runtime.gate.attend(ROBOT)
        time.sleep(0.02)
