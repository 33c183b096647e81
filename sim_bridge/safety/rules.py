"""The twenty rules by number, and who enforces each; receipts and tests use the numbers."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Rule(IntEnum):
    """The safety rules of docs/spot.md."""

    COMMANDS_EXPIRE = 1
    CALLS_TIME_OUT = 2
    KEEPALIVE_POLICY = 3
    ESTOP = 4
    LEASE_IS_NEVER_TAKEN = 5
    LEASE_LOST = 6
    LINK_LOST = 7
    EXECUTIVE_LOST = 8
    SPEED = 9
    NO_DISABLED_SENSES = 10
    KEEP_OUT = 11
    ARM = 12
    CARRYING = 13
    APPROVAL = 14
    BATTERY = 15
    FAULTS = 16
    CONSENT = 17
    SHUTDOWN = 18
    BOUNDED_SKILLS = 19
    NOT_A_SAFETY_FUNCTION = 20


class Keeper(StrEnum):
    """Who enforces a rule: the gate in front of every backend, or the driver of a real robot."""

    GATE = "gate"
    DRIVER = "driver"
    BOTH = "both"


KEEPERS: dict[Rule, Keeper] = {
    Rule.COMMANDS_EXPIRE: Keeper.BOTH,
    Rule.CALLS_TIME_OUT: Keeper.DRIVER,
    Rule.KEEPALIVE_POLICY: Keeper.DRIVER,
    Rule.ESTOP: Keeper.BOTH,
    Rule.LEASE_IS_NEVER_TAKEN: Keeper.BOTH,
    Rule.LEASE_LOST: Keeper.BOTH,
    Rule.LINK_LOST: Keeper.BOTH,
    Rule.EXECUTIVE_LOST: Keeper.GATE,
    Rule.SPEED: Keeper.BOTH,
    Rule.NO_DISABLED_SENSES: Keeper.DRIVER,
    Rule.KEEP_OUT: Keeper.BOTH,
    Rule.ARM: Keeper.BOTH,
    Rule.CARRYING: Keeper.DRIVER,
    Rule.APPROVAL: Keeper.GATE,
    Rule.BATTERY: Keeper.BOTH,
    Rule.FAULTS: Keeper.BOTH,
    Rule.CONSENT: Keeper.GATE,
    Rule.SHUTDOWN: Keeper.BOTH,
    Rule.BOUNDED_SKILLS: Keeper.GATE,
    Rule.NOT_A_SAFETY_FUNCTION: Keeper.GATE,
}


def notice(physical_stop: str) -> str:
    """What the operator of a robot has to know; `physical_stop` is how a person stops it."""
    return (
        "This software limits what a robot is asked to do. It is not a certified safety function: "
        f"the physical stop is {physical_stop}. Keep people 2 m away."
    )
