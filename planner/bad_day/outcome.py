"""What came of one interleaving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Check(StrEnum):
    """What must hold after each run."""

    MOTION = "motion"  # no motion outside of its permission and time limit
    OUTCOMES = "outcomes"  # an outcome for every request
    BAG = "bag"  # the bag reads
    MEMORY = "memory"  # the memory's store opens and is whole
    VERDICT = "verdict"  # the bag says what was said live
    ENDS = "ends"  # every process ends when it is asked to, and leaves the robot at rest


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that did not hold."""

    check: Check
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: which checks were made, and what did not hold.

    `trouble` is why there was nothing to check, where the harness itself failed: no violation, and
    no clean run either. `figures` are the longest of their kind, by their names.
    """

    form: str
    seed: int
    checked: frozenset[Check]
    violations: tuple[Violation, ...] = ()
    trouble: str = ""
    # Faults of the schedule that cannot be made here, and why.
    left_out: str = ""
    requests: int = 0
    motions: int = 0
    seconds: float = 0.0
    figures: Mapping[str, float] = field(default_factory=dict)
