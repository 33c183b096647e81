"""The twenty safety rules by number, and their parameters (config/safety.yaml)."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from functools import cached_property, lru_cache
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from shapely.geometry import Polygon

from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

Seconds = Annotated[float, Field(gt=0, le=600)]
Metres = Annotated[float, Field(ge=0, le=100)]
Speed = Annotated[float, Field(gt=0, le=1.6)]
Share = Annotated[float, Field(ge=0, le=1)]
# Upper limit for all speed settings.
MAX_SPEED_M_S = 1.0


class Where(StrEnum):
    """For which backends a rule applies."""

    REAL = "real"
    ALWAYS = "always"
    NEVER = "never"

    def holds(self, *, simulated: bool) -> bool:
        """Whether the rule applies to a simulated or a real backend."""
        return self is Where.ALWAYS or (self is Where.REAL and not simulated)


class Motion(FileModel):
    """Rules 1 and 9: commands expire and limit the speed."""

    command_ttl_s: Annotated[float, Field(gt=0.1, le=2.0)] = 0.6
    resend_s: Annotated[float, Field(gt=0, le=1.0)] = 0.2
    longest_primitive_s: Seconds = 600.0
    speed_m_s: Speed = 0.5
    turn_speed_rad_s: Annotated[float, Field(gt=0, le=2)] = 0.8
    careful_speed_m_s: Speed = 0.25
    hard_cap_m_s: Annotated[float, Field(gt=0, le=MAX_SPEED_M_S)] = 1.0
    braking_m_s2: Annotated[float, Field(gt=0, le=5)] = 1.0
    hand_speed_m_s: Annotated[float, Field(gt=0, le=1)] = 0.5
    hand_turn_speed_rad_s: Annotated[float, Field(gt=0, le=3)] = 1.0
    obstacle_padding_m: Metres = 0.1

    @model_validator(mode="after")
    def _re_sent_in_time(self) -> Self:
        if self.resend_s > self.command_ttl_s / 2:
            raise ValueError("resend_s must be at most half of command_ttl_s")
        if self.speed_m_s > self.hard_cap_m_s:
            raise ValueError("speed_m_s must not be above hard_cap_m_s")
        return self

    def stopping_m(self, speed_m_s: float) -> float:
        """Stopping distance without further commands, metres."""
        return speed_m_s * self.command_ttl_s + speed_m_s**2 / (2 * self.braking_m_s2)


class Timeouts(FileModel):
    """Rule 2: timeout of each kind of call to the robot."""

    state_s: Seconds = 0.5
    command_s: Seconds = 0.5
    lease_s: Seconds = 0.5
    image_s: Seconds = 1.0
    login_s: Seconds = 3.0
    upload_s: Seconds = 30.0


class Keepalive(FileModel):
    """Rule 3: what the robot does when the bridge falls silent."""

    warn_after_s: Seconds = 2.0
    motors_off_after_s: Seconds = 5.0


class EstopMode(StrEnum):
    """Whether the bridge has an emergency-stop endpoint."""

    NONE = "none"
    ENDPOINT = "endpoint"


class EstopOptions(FileModel):
    """Rule 4: by default the tablet keeps the emergency stop."""

    mode: EstopMode = EstopMode.NONE
    timeout_s: Seconds = 5.0


class Link(FileModel):
    """Rule 7: when the link counts as lost, and as found again."""

    stale_after_s: Seconds = 1.0
    good_for_s: Seconds = 1.0
    most_skew_s: Seconds = 60.0
    compare_clocks_s: Seconds = 5.0


class Executive(FileModel):
    """Rule 8: an agent's executive must send heartbeats; times since the last one."""

    where: Where = Where.REAL
    pause_after_s: Seconds = 0.3
    expire_after_s: Seconds = 0.7
    stop_after_s: Seconds = 1.0
    sit_after_s: Seconds = 10.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.pause_after_s > self.stop_after_s:
            raise ValueError("pause_after_s must not be above stop_after_s")
        if self.pause_after_s > self.expire_after_s:
            raise ValueError("pause_after_s must not be above expire_after_s")
        return self


class People(FileModel):
    """Rules 9 and 12: distance at which a person is near, and lifetime of a report."""

    where: Where = Where.REAL
    near_m: Metres = 2.0
    seen_for_s: Annotated[float, Field(gt=0, le=10)] = 1.0


class Zone(FileModel):
    """A polygon of the map that no agent may enter or reach into."""

    name: str
    polygon_m: tuple[tuple[float, float], ...] = Field(min_length=3)

    @model_validator(mode="after")
    def _is_simple(self) -> Self:
        if not self.shape.is_valid or self.shape.area <= 0:
            raise ValueError(f"{self.name}: polygon_m is not a simple polygon")
        return self

    @cached_property
    def shape(self) -> Polygon:
        """The zone as a shapely polygon."""
        return Polygon(self.polygon_m)


class KeepOut(FileModel):
    """Rule 11."""

    margin_m: Metres = 0.3
    zones: tuple[Zone, ...] = ()


class Approval(FileModel):
    """Rule 14: the operator approves manipulation."""

    where: Where = Where.REAL
    timeout_s: Seconds = 60.0
    every_grasp: bool = False


class Battery(FileModel):
    """Rule 15: thresholds as shares of a full battery."""

    warn: Share = 0.30
    no_new_task: Share = 0.20
    finish_and_dock: Share = 0.15
    sit_and_power_off: Share = 0.10

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        steps = (self.warn, self.no_new_task, self.finish_and_dock, self.sit_and_power_off)
        if list(steps) != sorted(steps, reverse=True):
            raise ValueError("warn, no_new_task, finish_and_dock, sit_and_power_off must not rise")
        return self


class SafetyOptions(FileModel):
    """All parameters of the safety rules."""

    version: Literal[1] = 1
    motion: Motion = Motion()
    timeouts: Timeouts = Timeouts()
    keepalive: Keepalive = Keepalive()
    estop: EstopOptions = EstopOptions()
    link: Link = Link()
    executive: Executive = Executive()
    people: People = People()
    keep_out: KeepOut = KeepOut()
    approval: Approval = Approval()
    battery: Battery = Battery()
    shutdown_s: Seconds = 15.0


@lru_cache(maxsize=1)
def default_safety() -> SafetyOptions:
    """The shipped parameters."""
    return read_model(config_dir() / "safety.yaml", SafetyOptions)


# The twenty rules by number, and who enforces each; receipts and tests use the numbers.


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
