"""Faults, and the schedule of those of one run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """Kinds of fault; the comments explain what `value`, `seconds` and `name` mean for each."""

    # The link between bridge and robot.
    ROUND_TRIP = "round_trip"  # seconds `value`, for the rest of the run
    LOSS = "loss"  # the share `value` of packets, for the rest of the run
    STALL = "stall"  # for `seconds`
    CUT = "cut"
    DROP_REQUEST = "drop_request"  # the next call of the method `name`
    DROP_ANSWER = "drop_answer"
    REORDER = "reorder"
    # The robot.
    TAKE_LEASE = "take_lease"  # by a client with the name `name`
    CLOCK_STEP = "clock_step"  # the robot's clock jumps by `value` seconds
    ESTOP = "estop"  # pressed on the robot, released after `seconds`
    SERVER_DEAD = "server_dead"  # Nav2 or MoveIt, as `name` says, killed and back after `seconds`
    # The machine.
    CPU_SHARE = "cpu_share"  # of the process `name` down to `value`, for `seconds`
    BUSY = "busy"  # `value` busy processes compete for the CPU, for `seconds`
    FULL_DISK = "full_disk"  # of the recorder, for `seconds`; 0 = for the rest of the run
    # Processes.
    FREEZE = "freeze"  # SIGSTOP of the process `name`, SIGCONT after `seconds`
    KILL = "kill"  # SIGKILL of the process `name`
    SECOND_CLIENT = "second_client"  # another client that sends goals of its own
    SECOND_BRIDGE = "second_bridge"  # another bridge in the same ROS domain
    # The language model's server.
    MODEL_SLOW = "model_slow"  # each answer takes `value` seconds, for `seconds`
    MODEL_DEAD = "model_dead"  # connections are refused, for `seconds`
    # The operator.
    CALL = "call"  # the service `name`


@dataclass(frozen=True, slots=True)
class Event:
    """One fault, `at_s` seconds after everything was ready."""

    at_s: float
    fault: Fault
    seconds: float = 0.0
    value: float = 0.0
    name: str = ""

    def __str__(self) -> str:
        words = [f"{self.at_s:.2f} s {self.fault}"]
        words += [self.name] if self.name else []
        words += [f"{self.value:g}"] if self.value else []
        words += [f"for {self.seconds:g} s"] if self.seconds else []
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The faults of one run, and the seed of everything else that is random in it."""

    form: str
    seed: int
    events: tuple[Event, ...]
    # How long faults last; then all of them are cleared.
    seconds: float
    # The one outage that the task has to survive, if that is what is tried.
    survives: Fault | None = None


# Calls that bring a stopped robot back to its feet.
RECOVERY = ("estop/release", "claim", "power_on", "stand")
# What makes a robot ready that nobody has stopped.
ENABLING = ("claim", "power_on", "stand")
