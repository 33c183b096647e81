"""Interface to the robot under test, an emulated Spot or a simulator, and its safety rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

from planner.bad_day.faults import ENABLING, RECOVERY, Event
from planner.bad_day.permission import ClockSetBack, Motion, Request, Revocation, Sample
from planner.bad_day.watching.node import Operator
from planner.world.errors import PlannerError
from planner.world.house import House

# The safety rules used under fault injection.


def safety_rules(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """As config/safety.yaml, but without approvals, and the robot sits down sooner.

    A simulator requires heartbeats too, so that a silent client has an effect there.
    """
    return {
        "version": 1,
        "approval": {"where": "never"},
        "people": {"where": "never"},
        "executive": {"where": "always"},
        # The emulator renders its pictures on the same CPU.
        "timeouts": {"image_s": 3.0},
        "keepalive": {"warn_after_s": 1.0, "motors_off_after_s": 3.0},
        **overrides,
    }


READY_S, ANSWER_S = 40.0, 20.0
# Of a client's goals, unless the robot is slower.
GOAL_TIMEOUT_S = 5.0
_TRIES = 4


def enable(
    operator: Operator, between: Callable[[Request], None] = lambda _: None, tries: int = _TRIES
) -> None:
    """Claims the robot, powers it on and makes it stand; `between` sees each refusal.

    Raises:
        PlannerError: if one of these fails.
    """
    if not operator.reaches("claim", READY_S):
        raise PlannerError("the bridge did not start in time")
    for name in ENABLING:
        # On a busy machine a call may time out although nothing is wrong.
        for _ in range(tries):
            answer = operator.wait(operator.call(name), ANSWER_S)
            if answer.success:
                break
            between(answer)
        else:
            raise PlannerError(f"{name}: {answer.outcome or 'no answer'}")
    operator.prepare("stop", "sit", "release", "power_off", *RECOVERY)
    operator.prepare("estop/gentle", "estop/hard")


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
    # How much longer it may move after the bridge fell silent than in other cases.
    silent_bridge_s: float
    goal_timeout_s: float

    @property
    def truth_delay_s(self) -> float:
        """Delay of the ground truth, once its time has stopped."""

    @property
    def places(self) -> Sequence[tuple[float, float]]:
        """Where a client sends it: x and y in the frame `map`, metres."""

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

    def goal_holds(self) -> bool:
        """Whether the goal of its task holds; False where it has none."""

    def programs(self) -> Sequence[tuple[str, int | None, str]]:
        """Its processes, once its time has stopped: name, exit status and output of each."""
