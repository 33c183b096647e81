"""What a robot says about itself, and what backends of robots can do beyond `Backend`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from sim_bridge.backend import Backend, Handle
from sim_bridge.control import Command, Outcome
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.safety.rules import Rule


class Lease(StrEnum):
    """Who may command the robot."""

    OURS = "ours"
    FREE = "free"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with the robot; `blocks` says that it must not move meanwhile."""

    name: str
    cause: str
    blocks: bool


# The only cause that goes away by claiming the robot again; falls need a person.
CLEARABLE_CAUSE = "LEASE_TIMEOUT"


@dataclass(frozen=True, slots=True)
class Health:
    """The last that is known of a robot.

    Attributes:
        age_s: seconds since the robot last answered.
        epoch: of the lease; another one means that the robot was started anew.
        lease: who may command it, and `owner` the name it gave.
        battery: share of a full one, 0 to 1; None where unknown.
        estopped: whether an emergency stop is engaged.
        powered, standing: as the robot reports; `docked` whether it stands on its dock.
        faults: those that are active.
        round_trip_s: of late from a question to the robot's answer.
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
    """What every mobility command must be bounded by.

    A walk that is sent from now on lives until `until_s` of `time.monotonic()` at most.
    """

    linear_m_s: float
    angular_rad_s: float
    until_s: float = math.inf


@runtime_checkable
class Supervised(Protocol):
    """A backend whose agents are machines with a will of their own."""

    def health(self, agent: str) -> Health:
        """The last that is known; never waits."""

    def obey(self, safety: SafetyOptions) -> None:
        """Takes up the numbers of the rules that the driver keeps; before the first episode."""

    def begin(self, agent: str, command: Command) -> Outcome | None:
        """Begins what a Trigger service asks, in place of what was begun before; never waits.

        Returns:
            Its outcome, or None where it takes some time: then `ended` tells after each `step`.
        """

    def ended(self, agent: str) -> Outcome | None:
        """How what was begun has ended; None while it goes on."""

    def operate(self, agent: str, command: Command, within_s: float = ...) -> Outcome:
        """Carries out what a Trigger service asks; waits for the robot's answer, so long at most.

        A refusal or a failure is an outcome, never an exception.
        """

    def stow(self, agent: str, within_s: float) -> Outcome:
        """Folds the arm, unless the gripper holds something."""

    def pause(self, agent: str) -> None:
        """Halts what moves and sends nothing that moves until `resume`; never waits.

        What is under way is not over. Holds for what is begun meanwhile too; a second call
        changes nothing.
        """

    def resume(self, agent: str) -> None:
        """What was paused goes on, if it is still under way; without a pause nothing changes."""

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        """Bounds every mobility command from now on."""

    def clear_faults(self, agent: str, cause: str) -> None:
        """Clears the behaviour faults of one cause."""

    def dock(self, agent: str) -> Handle | None:
        """Begins the way to its dock and onto it, as a primitive; None where it has no dock."""

    def undock(self, agent: str) -> Handle | None:
        """Begins to walk off the dock and stand; None where it has no dock."""

    def take_lease(self, agent: str) -> Outcome:
        """Takes the lease by force; only ever called for a person who saw the owner's name."""


def unsupervised_methods(backend: Backend) -> list[str]:
    """The methods of `Supervised` that a backend lacks, in the order of their names."""
    wanted = {name for name in vars(Supervised) if not name.startswith("_")}
    return sorted(name for name in wanted if not callable(getattr(backend, name, None)))


@runtime_checkable
class Notifying(Protocol):
    """A backend with threads of its own, which learn of an answer before the next `step`."""

    def notify(self, on_answer: Callable[[], None]) -> None:
        """Has `on_answer` called, from any thread, when an order's end can be asked for."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One command and what became of it; `rule` is what refused it or ended it."""

    stamp_s: float
    agent: str
    command: str
    allowed: bool
    reason: str
    rule: Rule | None = None
