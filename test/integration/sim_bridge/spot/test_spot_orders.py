"""`backend:=spot` over real DDS and TLS: a stop is heard while the robot powers on or stands up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bridge_harness import LATCHED, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticStatus
from std_srvs.srv import Trigger

from planner.world.episode import Episode
from planner.world.house import House
from sim_bridge.spot.emulator.machine import Motors, WallClock
from sim_bridge.spot.emulator.server import SpotEmulator

# In real time, and with a process that imports the SDK.
pytestmark = pytest.mark.slow


@pytest.fixture
def emulator(small_house: House, small_episode: Episode) -> Iterator[SpotEmulator]:
    alone = small_episode.model_copy(update={"agents": small_episode.agents[:1]})
    with SpotEmulator(WallClock()) as made:
        made.load(small_house, alone, 0)
        yield made


def test_services_answer_at_the_end_and_a_stop_is_heard_meanwhile(
    emulator: SpotEmulator,
    small_house: House,
    small_episode: Episode,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = small_episode.model_copy(update={"agents": small_episode.agents[:1]})
    # However busy this machine is: the robot takes as long as it is let, and no call is late.
    monkeypatch.setattr("sim_bridge.spot.emulator.machine.POWERING_S", 1e6)
    monkeypatch.setattr("sim_bridge.spot.emulator.machine.STALE_S", 1e6)
    safety = tmp_path / "safety.yaml"
    safety.write_text(
        "version: 1\nlink: {stale_after_s: 60.0}\nkeepalive: {motors_off_after_s: 300.0}\n"
        "timeouts: {state_s: 30.0, command_s: 30.0, lease_s: 30.0, image_s: 30.0, login_s: 30.0}\n"
    )
    environment = {
        "SPOT_IP": emulator.address,
        "SPOT_PORT": str(emulator.port),
        "SPOT_CERTIFICATE": str(emulator.authority),
        "BOSDYN_CLIENT_USERNAME": emulator.user,
        "BOSDYN_CLIENT_PASSWORD": emulator.password,
    }
    world = {"episode": write_world(tmp_path, small_house, alone), "safety_config": safety}
    machine = emulator.machine
    with bridge(environment, backend="spot", **world):
        client = Client()
        states = client.listen(DiagnosticStatus, "/agent_0/safety/state", LATCHED)

        def under_way() -> str:
            values = states[-1].values if states else []
            return next((v.value for v in values if v.key == "under_way"), "")

        def ask(name: str) -> Any:
            service = client.node.create_client(Trigger, f"/agent_0/{name}")
            client.wait(service.service_is_ready, name)
            return service.call_async(Trigger.Request())

        assert client.call(Trigger, "/agent_0/claim").success
        for stop in ("stop", "estop/gentle", "estop/hard"):
            powers = ask("power_on")
            client.wait(lambda: under_way() == "power_on", "that it powers on")
            client.wait(lambda: machine.motors is Motors.POWERING_ON, "the robot")
            stopped = client.call(Trigger, f"/agent_0/{stop}")
            assert stopped.success, stopped.message
            client.wait(powers.done, "the answer of power_on")
            assert not powers.result().success
            if stop != "stop":
                assert machine.motors is Motors.OFF
                assert client.call(Trigger, "/agent_0/estop/release").success
        # What it is let finish is answered at its end.
        monkeypatch.undo()
        for name in ("power_on", "stand", "sit", "power_off"):
            response = client.call(Trigger, f"/agent_0/{name}")
            assert response.success, response.message
        assert machine.motors is Motors.OFF
        client.close()
