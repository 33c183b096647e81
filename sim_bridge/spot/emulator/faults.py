"""What goes wrong and when, as data: a list of troubles that tests and files write down."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from planner.world.files import FileModel


class TroubleKind(StrEnum):
    """What can go wrong."""

    FAIL = "fail"  # the next `count` calls of `method` end with the gRPC status `code`
    HANG = "hang"  # the next `count` calls of `method` take `seconds` of wall time
    DROP_TOKEN = "drop_token"  # noqa: S105 - a name
    TAKE_LEASE = "take_lease"  # by the client `name`
    RETURN_LEASE = "return_lease"
    REBOOT = "reboot"  # new epoch, motors off, sitting
    BEHAVIOR_FAULT = "behavior_fault"  # with the cause `name`
    BATTERY = "battery"  # at `value` percent
    CLOCK_SKEW = "clock_skew"  # the robot's clock runs `value` seconds ahead
    ESTOP = "estop"  # somebody presses the stop; value 0 releases it
    GRASPS_SLIP = "grasps_slip"  # the next `count` grasps
    PLACES_STICK = "places_stick"  # the next `count` times the gripper opens around something
    NO_SERVICE = "no_service"  # the directory does not know the service `name`
    OVERLOOK = "overlook"  # perception misses the thing `name` for `seconds`; 0 = for good


class Trouble(FileModel):
    """One thing that goes wrong, `at_s` seconds after the emulator began."""

    kind: TroubleKind
    at_s: Annotated[float, Field(ge=0)] = 0.0
    method: str = ""
    code: str = "UNAVAILABLE"
    count: Annotated[int, Field(ge=1)] = 1
    seconds: Annotated[float, Field(ge=0, le=600)] = 0.0
    name: str = ""
    value: float = 0.0


class FaultScript(FileModel):
    """All that goes wrong in one run."""

    version: Literal[1] = 1
    troubles: tuple[Trouble, ...] = ()
