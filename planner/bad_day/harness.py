"""Interface to the robot under test, an emulated Spot or a simulator, and its safety rules."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from planner.bad_day.faults import ENABLING, RECOVERY, Event, Schedule
from planner.bad_day.permission import ClockSetBack, Motion, Request, Revocation, Sample
from planner.bad_day.watching.node import Operator, Watcher
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.opening import default_house

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


READY_S, ANSWER_S = 80.0, 20.0
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


# The embedded simulator as the robot under test: no network link, and no SDK needed.

# A state message arrives a little after the motion it reports.
TRUTH_DELAY_S = 0.3


class NoFaults(Faults):
    """A simulator inside the bridge has no link and no lease."""

    def inject(self, event: Event) -> bool:
        """Injects nothing."""
        del event
        return False

    def clear(self, event: Event) -> None:
        """Nothing was injected."""

    def clear_all(self) -> None:
        """Nothing was injected."""


class SimHarness:
    """Subscribes to the simulator's ground truth; times are wall-clock time."""

    truth_delay_s = TRUTH_DELAY_S
    silent_bridge_s = 0.0
    goal_timeout_s = GOAL_TIMEOUT_S

    def __init__(
        self, _schedule: Schedule, folder: Path, rules: Mapping[str, Any], domain: int
    ) -> None:
        self._folder, self._rules = folder, rules
        self.house = load_house(default_house())
        self.faults: Faults = NoFaults()
        self.environment: Mapping[str, str] = {}
        self._watcher = Watcher(domain, clock=time.time)

    def __enter__(self) -> SimHarness:
        return self

    def __exit__(self, *_error: object) -> None:
        self._watcher.close()

    @property
    def places(self) -> list[tuple[float, float]]:
        """The furniture."""
        return [(piece.x_m, piece.y_m) for piece in self.house.furniture]

    def arguments(self) -> dict[str, str]:
        """The bridge's arguments."""
        safety = self._folder / "safety.json"
        safety.write_text(json.dumps(safety_rules(self._rules)), "utf-8")
        return {
            "backend": "embedded",
            "house": default_house(),
            "agents": "1",
            "safety_config": str(safety),
        }

    def make_ready(self, operator: Operator) -> None:
        """Waits for the bridge; simulated agents need no preparation.

        Raises:
            PlannerError: if the bridge does not start in time.
        """
        if not operator.reaches("claim", READY_S):
            raise PlannerError("the bridge did not start in time")
        operator.prepare("stop", "sit", "release", "power_off", *RECOVERY)
        operator.prepare("estop/gentle", "estop/hard")

    def stand_still(self) -> None:
        """Does nothing: the simulator ended with its bridge."""

    def moving(self) -> list[Motion]:
        """Every step in which the agent moved."""
        return [step for steps in self._watcher.moving.values() for step in steps]

    def samples(self) -> list[Sample]:
        """None: no rule bounds the speed of simulated agents."""
        return []

    def goal_holds(self) -> bool:
        """False: it has no task."""
        return False

    def programs(self) -> list[tuple[str, int | None, str]]:
        """None: it is part of the bridge."""
        return []
