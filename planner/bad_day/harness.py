"""Interface to the robot under test, an emulated Spot or a simulator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from planner.bad_day.calls.node import Operator
from planner.bad_day.motion import Motion, Sample
from planner.bad_day.permission import ClockSetBack, Revocation
from planner.bad_day.schedule import Event
from planner.world.house import House

READY_S, ANSWER_S = 40.0, 20.0


class Faults(ABC):
    """Faults of link and robot; `revocations` records when each of them forbids motion."""

    def __init__(self) -> None:
        self.revocations: list[Revocation] = []
        self.set_back: list[ClockSetBack] = []
        self.longest_round_trip_s = 0.0

    @abstractmethod
    def inject(self, event: Event) -> bool:
        """Injects a fault; False if it is not one of link or robot."""

    @abstractmethod
    def clear(self, event: Event) -> None:
        """Ends a fault of limited duration."""

    @abstractmethod
    def clear_all(self) -> None:
        """Restores a good link and drops pending faults."""


class RobotHarness(Protocol):
    """The robot under test, as a context manager."""

    faults: Faults
    house: House
    # Delay of the ground truth.
    truth_delay_s: float

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables for the bridge."""

    def __enter__(self) -> Self:
        """Begins."""

    def __exit__(self, *_error: object) -> None:
        """Ends."""

    def arguments(self) -> dict[str, str]:
        """The bridge's parameters."""

    def make_ready(self, operator: Operator) -> None:
        """Brings the robot into a state in which it accepts goals."""

    def stand_still(self) -> None:
        """Stops its time."""

    def moving(self) -> list[Motion]:
        """Every step in which it moved, oldest first."""

    def samples(self) -> Sequence[Sample]:
        """All steps, if a rule bounds their speed."""
