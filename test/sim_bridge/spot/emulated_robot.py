"""The emulator for tests of its services, with the SDK connected to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bosdyn.util
from bosdyn.client import create_standard_sdk
from bosdyn.client.lease import LeaseClient, LeaseKeepAlive
from bosdyn.client.robot_command import RobotCommandClient, blocking_stand

from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.machine import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator


@contextmanager
def emulated() -> Iterator[SpotEmulator]:
    """An emulator at the wall clock's time in the first shipped house."""
    bosdyn.util.set_clock_source(time.time)
    opened = open_world(default_house(), "", 7, 1)
    with SpotEmulator(WallClock()) as made:
        made.load(opened.house, opened.episode, opened.seed)
        yield made


@contextmanager
def connected(emulator: SpotEmulator, name: str = "tests") -> Iterator[Any]:
    """A robot of the SDK that is logged in and knows the time."""
    sdk = create_standard_sdk(name, cert_resource_glob=str(emulator.authority))
    robot = sdk.create_robot(emulator.address)
    robot.update_secure_channel_port(emulator.port)
    robot.authenticate(emulator.user, emulator.password, timeout=5)
    robot.time_sync.wait_for_sync(5)
    try:
        yield robot
    finally:
        robot.stop_time_sync()


@contextmanager
def standing(robot: Any) -> Iterator[RobotCommandClient]:
    """A robot with its lease, switched on and standing."""
    leases = robot.ensure_client(LeaseClient.default_service_name)
    commands: RobotCommandClient = robot.ensure_client(RobotCommandClient.default_service_name)
    with LeaseKeepAlive(leases, must_acquire=True, return_at_exit=True):
        robot.power_on(timeout_sec=10)
        blocking_stand(commands, update_frequency=20)
        yield commands
