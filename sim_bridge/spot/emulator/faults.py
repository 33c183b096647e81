"""Fault scripts: what goes wrong and when, as data for tests and files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from planner.world.files import FileModel


class LinkFaults(FileModel):
    """Faults of the network, applied to the bytes of every connection; by default none."""

    # Half of it in each direction.
    round_trip_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    # Maximum additional delay in each direction, uniformly distributed; bytes stay in order, as in
    # TCP.
    jitter_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    # The share of lost packets. TCP retransmits them and delays what follows.
    loss: Annotated[float, Field(ge=0, le=0.9)] = 0.0
    # Nothing passes either way; connections stay open.
    stalled: bool = False
    seed: int = 0


class TroubleKind(StrEnum):
    """Kinds of faults."""

    FAIL = "fail"  # the next `count` calls of `method` end with the gRPC status `code`
    HANG = "hang"  # the next `count` calls of `method` take `seconds` of wall time
    # The next `count` calls of `method` are neither executed nor answered.
    DROP_REQUEST = "drop_request"
    # They are executed but not answered.
    DROP_ANSWER = "drop_answer"
    # They are executed after a later call of `method`, or after `seconds` without one.
    REORDER = "reorder"
    DROP_TOKEN = "drop_token"  # noqa: S105 - a name
    TAKE_LEASE = "take_lease"  # by the client `name`
    RETURN_LEASE = "return_lease"
    REBOOT = "reboot"  # new epoch, motors off, sitting
    BEHAVIOR_FAULT = "behavior_fault"  # with the cause `name`
    BATTERY = "battery"  # at `value` percent
    CLOCK_SKEW = "clock_skew"  # the robot's clock runs `value` seconds ahead
    ESTOP = "estop"  # by a person; value 0 releases it
    GRASPS_SLIP = "grasps_slip"  # the next `count` grasps
    PLACES_STICK = "places_stick"  # the next `count` times the gripper opens around something
    NO_SERVICE = "no_service"  # the directory does not know the service `name`
    OVERLOOK = "overlook"  # perception misses the thing `name` for `seconds`; 0 = for good
    # The link in front of the emulator: `seconds` of silence, another round-trip time or packet
    # loss (`value`), and a reset of every connection.
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
    """One fault, `at_s` seconds after the emulator's start."""

    kind: TroubleKind
    at_s: Annotated[float, Field(ge=0)] = 0.0
    method: str = ""
    code: str = "UNAVAILABLE"
    count: Annotated[int, Field(ge=1)] = 1
    # For call faults: the probability that a call is one of the `count`.
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    seconds: Annotated[float, Field(ge=0, le=600)] = 0.0
    name: str = ""
    value: float = 0.0


class FaultScript(FileModel):
    """All faults of one run; `seed` determines those with a `share` below 1."""

    version: Literal[1] = 1
    seed: int = 0
    link: LinkFaults = LinkFaults()
    troubles: tuple[Trouble, ...] = ()
