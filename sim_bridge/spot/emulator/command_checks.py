"""Checks that reject a command with one of the SDK's statuses."""

from __future__ import annotations

from typing import Any

from bosdyn.api import robot_command_pb2

from sim_bridge.spot.convert import seconds_of
from sim_bridge.spot.emulator.machine import Machine, Motors

REPLY = robot_command_pb2.RobotCommandResponse


class CommandError(Exception):
    """A rejected command, with the SDK's status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def need_power(machine: Machine) -> None:
    """Rejects commands that need the motors while they are off or blocked by a fault.

    Raises:
        CommandError: if so.
    """
    if machine.motors is not Motors.ON:
        raise CommandError(REPLY.STATUS_NOT_POWERED_ON, "the motors are off")
    if machine.behavior_faults:
        raise CommandError(REPLY.STATUS_BEHAVIOR_FAULT, "a behavior fault is active")


def end_of(machine: Machine, stamp: Any) -> float:
    """The end time of a command, given in robot time, on the emulator's clock.

    Raises:
        CommandError: if it is past.
    """
    ends_s = seconds_of(stamp) - machine.skew_s
    if ends_s <= machine.now_s:
        raise CommandError(REPLY.STATUS_EXPIRED, "the end time is over")
    return ends_s
