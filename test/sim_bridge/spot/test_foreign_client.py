"""Somebody else's client against the emulator, so that it is not tuned to our own bridge (F2.7)."""

from __future__ import annotations

import logging
import time

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")
import bosdyn.util

from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.clock import WallClock
from sim_bridge.spot.emulator.machine import Motors, Posture
from sim_bridge.spot.emulator.server import SpotEmulator


def test_spot_wrapper_claims_powers_stands_and_sits() -> None:
    wrapper = pytest.importorskip(
        "spot_wrapper.wrapper",
        reason="spot_wrapper is on no package index; install it from its source",
    )
    bosdyn.util.set_clock_source(time.time)
    opened = open_world(default_house(), "", 7, 1)
    with SpotEmulator(WallClock()) as emulator:
        emulator.load(opened.house, opened.episode, opened.seed)
        spot = wrapper.SpotWrapper(
            username=emulator.user,
            password=emulator.password,
            hostname=emulator.address,
            port=emulator.port,
            robot_name="spot",
            logger=logging.getLogger("spot_wrapper"),
            cert_resource_glob=str(emulator.authority),
            use_take_lease=False,
            start_estop=False,
        )
        for step in (spot.claim, spot.power_on, spot.stand):
            done, message = step()
            assert done, message
        time.sleep(1.5)
        emulator.advance()
        assert emulator.machine.motors is Motors.ON
        assert emulator.machine.posture is Posture.STANDING
        done, message = spot.sit()
        assert done, message
        spot.disconnect()
