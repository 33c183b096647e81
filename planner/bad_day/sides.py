"""What a run needs of the robot's side, be it an emulated Spot or a simulator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from planner.bad_day.calls.node import Operator
from planner.bad_day.motion import Motion, Sample
from planner.bad_day.permission import SetBack, Silence
from planner.bad_day.schedule import Event
from planner.world.house import House

READY_S, ANSWER_S = 40.0, 20.0


class Faults(ABC):
    """The faults of link and robot; what each forbids is kept in `silences`."""

    def __init__(self) -> None:
        self.silences: list[Silence] = []
        self.set_back: list[SetBack] = []
        self.longest_round_trip_s = 0.0

    @abstractmethod
    def do(self, event: Event) -> bool:
        """Does one; whether it is of this kind."""

    @abstractmethod
    def undo(self, event: Event) -> None:
        """Ends one that has a time, once that is over."""

    @abstractmethod
    def mend(self) -> None:
        """A good link, and nothing owed."""


class Side(Protocol):
    """Made for a `with`."""

    faults: Faults
    house: House
    # By how much its truth is late.
    heard_s: float

    @property
    def environment(self) -> Mapping[str, str]:
        """What the bridge needs of it."""

    def __enter__(self) -> Self:
        """Begins."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends."""

    def arguments(self) -> dict[str, str]:
        """The bridge's parameters."""

    def make_ready(self, operator: Operator) -> None:
        """Brings the robot to where it may be asked for something."""

    def stand_still(self) -> None:
        """Ends its time."""

    def moving(self) -> list[Motion]:
        """Every step in which it moved, oldest first."""

    def samples(self) -> Sequence[Sample]:
        """All steps, where their speed is bounded."""
