"""A robot's reported health, and what robot backends implement beyond `Backend`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from sim_bridge.backend import Backend, Handle
from sim_bridge.one_robot import Command, Outcome
from sim_bridge.safety.options import Rule, SafetyOptions


class Lease(StrEnum):
    """Who may command the robot."""

    OURS = "ours"
    FREE = "free"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the robot; `blocks`: it must not move until cleared."""

    name: str
    cause: str
    blocks: bool


# The only cause that claiming the robot clears; falls need a person.
CLEARABLE_CAUSE = "LEASE_TIMEOUT"


@dataclass(frozen=True, slots=True)
class Health:
    """The last known health of a robot.

    Attributes:
        age_s: seconds since the robot last answered.
        epoch: of the lease; a new one means that the robot was restarted.
        lease: who may command it, and `owner` the name it gave.
        battery: state of charge, 0 to 1; None if unknown.
        estopped: whether an emergency stop is engaged.
        powered, standing: as the robot reports; `docked` whether it stands on its dock.
        faults: active ones.
        round_trip_s: recent round-trip time of requests.
    """

    age_s: float = 0.0
    epoch: str = ""
    lease: Lease = Lease.OURS
    owner: str = ""
    battery: float | None = None
    estopped: bool = False
    powered: bool = True
    standing: bool = True
    docked: bool = False
    faults: tuple[Fault, ...] = ()
    round_trip_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SpeedLimit:
    """Limits of every mobility command.

    Commands sent from now on expire at `until_s` of `time.monotonic()` at the latest.
    """

    linear_m_s: float
    angular_rad_s: float
    until_s: float = math.inf


@runtime_checkable
class Supervised(Protocol):
    """A backend whose agents are real robots."""

    def health(self, agent: str) -> Health:
        """The last known health; never waits."""

    def obey(self, safety: SafetyOptions) -> None:
        """Sets the parameters of the rules that the driver enforces; before the first episode."""

    def begin(self, agent: str, command: Command) -> Outcome | None:
        """Starts a Trigger service's command, replacing the current one; never waits.

        Returns:
            Its outcome, or None while it is running: poll `ended` after each `step`.
        """

    def ended(self, agent: str) -> Outcome | None:
        """The outcome of the command; None while it is running."""

    def operate(self, agent: str, command: Command, within_s: float = ...) -> Outcome:
        """Carries out a Trigger service's command and waits at most `within_s` for the robot.

        A refusal or a failure is an outcome, never an exception.
        """

    def stow(self, agent: str, within_s: float) -> Outcome:
        """Folds the arm, unless the gripper holds something."""

    def pause(self, agent: str) -> None:
        """Halts all motion and sends no motion commands until `resume`; never waits.

        The running primitive does not end. Also applies to primitives started meanwhile;
        idempotent.
        """

    def resume(self, agent: str) -> None:
        """Resumes the paused primitive, if any; idempotent."""

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        """Bounds every mobility command from now on."""

    def clear_faults(self, agent: str, cause: str) -> None:
        """Clears the behaviour faults of one cause."""

    def dock(self, agent: str) -> Handle | None:
        """Starts walking to the dock and docking, as a primitive; None without a dock."""

    def undock(self, agent: str) -> Handle | None:
        """Starts undocking, as a primitive; None without a dock."""

    def take_lease(self, agent: str) -> Outcome:
        """Takes the lease by force; only for a person who was shown the owner's name."""


def unsupervised_methods(backend: Backend) -> list[str]:
    """The methods of `Supervised` that a backend lacks, sorted by name."""
    required = {name for name in vars(Supervised) if not name.startswith("_")}
    return sorted(name for name in required if not callable(getattr(backend, name, None)))


@runtime_checkable
class Notifying(Protocol):
    """A backend with threads of its own, which may get an answer before the next `step`."""

    def notify(self, on_answer: Callable[[], None]) -> None:
        """Registers `on_answer`, called from any thread when a command has ended."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of one command and its outcome; `rule` refused or ended it."""

    stamp_s: float
    agent: str
    command: str
    allowed: bool
    reason: str
    rule: Rule | None = None
