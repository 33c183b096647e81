"""The outcome of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Check(StrEnum):
    """Checks of a run."""

    MOTION = "motion"  # no motion outside of its permission and time limit
    OUTCOMES = "outcomes"  # an outcome for every request
    BAG = "bag"  # the bag reads
    SAID = "said"  # a bag says what it lacks, and lacks nothing for want of a full disk
    MEMORY = "memory"  # the memory's store opens and is whole
    VERDICT = "verdict"  # the bag gives the live verdict
    ENDS = "ends"  # every process ends on request and leaves the robot at rest
    ALIVE = "alive"  # no process ends before it is asked to, unless the harness kills it
    EFFECT = "effect"  # no call is answered with success whose effect did not come
    TASK = "task"  # the task succeeds, with no call that failed because of the outage


@dataclass(frozen=True, slots=True)
class Violation:
    """One failed check."""

    check: Check
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: which checks were made, and which failed.

    `trouble` says why nothing could be checked when the harness itself failed: neither a violation
    nor a clean run. `figures` has the maximum of each measurement by its name.
    """

    form: str
    seed: int
    checked: frozenset[Check]
    violations: tuple[Violation, ...] = ()
    trouble: str = ""
    # Faults of the schedule that cannot be injected on this machine, and why.
    left_out: str = ""
    requests: int = 0
    motions: int = 0
    seconds: float = 0.0
    # The outage that its task had to survive.
    survives: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
