"""What goes wrong and when, as data: a list of troubles that tests and files write down."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from planner.world.files import FileModel


class LinkFaults(FileModel):
    """What a network does to the bytes of every connection; by default nothing."""

    # Half of it each way.
    round_trip_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    # Up to so much more each way, evenly distributed; bytes stay in order, as in TCP.
    jitter_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    # The share of packets that are lost. TCP sends them again, and what follows waits for them.
    loss: Annotated[float, Field(ge=0, le=0.9)] = 0.0
    # Nothing passes either way; connections stay open.
    stalled: bool = False
    seed: int = 0


class TroubleKind(StrEnum):
    """What can go wrong."""

    FAIL = "fail"  # the next `count` calls of `method` end with the gRPC status `code`
    HANG = "hang"  # the next `count` calls of `method` take `seconds` of wall time
    # The next `count` calls of `method` are never carried out and never answered.
    DROP_REQUEST = "drop_request"
    # They are carried out and never answered.
    DROP_ANSWER = "drop_answer"
    # They are carried out after a later call of `method`, or after `seconds` without one.
    REORDER = "reorder"
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
    # Of the link before the emulator: `seconds` of silence, another round trip or share of lost
    # packets (`value`), and the end of every connection.
    LINK_STALL = "link_stall"
    LINK_ROUND_TRIP = "link_round_trip"
    LINK_LOSS = "link_loss"
    LINK_CUT = "link_cut"


LINK_KINDS = frozenset(
    {
        TroubleKind.LINK_STALL,
        TroubleKind.LINK_ROUND_TRIP,
        TroubleKind.LINK_LOSS,
        TroubleKind.LINK_CUT,
    }
)


class Trouble(FileModel):
    """One thing that goes wrong, `at_s` seconds after the emulator began."""

    kind: TroubleKind
    at_s: Annotated[float, Field(ge=0)] = 0.0
    method: str = ""
    code: str = "UNAVAILABLE"
    count: Annotated[int, Field(ge=1)] = 1
    # Of troubles with calls: how likely each call is to be one of the `count`.
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    seconds: Annotated[float, Field(ge=0, le=600)] = 0.0
    name: str = ""
    value: float = 0.0


class FaultScript(FileModel):
    """All that goes wrong in one run; `seed` is that of the troubles with a `share` below 1."""

    version: Literal[1] = 1
    seed: int = 0
    link: LinkFaults = LinkFaults()
    troubles: tuple[Trouble, ...] = ()
