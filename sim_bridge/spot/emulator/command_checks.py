"""What a command may be refused for, in the SDK's statuses."""

from __future__ import annotations

from typing import Any

from bosdyn.api import robot_command_pb2

from sim_bridge.spot.convert import seconds_of
from sim_bridge.spot.emulator.machine import Machine, Motors

REPLY = robot_command_pb2.RobotCommandResponse


class CommandError(Exception):
    """A command that is refused, with the SDK's status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def need_power(machine: Machine) -> None:
    """Refuses what needs the motors while they are off or a fault holds them.

    Raises:
        CommandError: where it is so.
    """
    if machine.motors is not Motors.ON:
        raise CommandError(REPLY.STATUS_NOT_POWERED_ON, "the motors are off")
    if machine.behavior_faults:
        raise CommandError(REPLY.STATUS_BEHAVIOR_FAULT, "a behavior fault is active")


def end_of(machine: Machine, stamp: Any) -> float:
    """The end time of a command, given in the robot's time, on the emulator's clock.

    Raises:
        CommandError: where it is over.
    """
    ends_s = seconds_of(stamp) - machine.skew_s
    if ends_s <= machine.now_s:
        raise CommandError(REPLY.STATUS_EXPIRED, "the end time is over")
    return ends_s
