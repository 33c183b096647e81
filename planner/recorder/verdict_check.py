"""Whether a bag has each verdict that the evaluator says it has given. No ROS here.

A verdict is the only message of its publisher, so that no jump of its numbers shows that it is
missing; but `/evaluation` repeats it every second.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class VerdictCheck:
    """Compares the verdicts of `/evaluation/result` with those that `/evaluation` repeats."""

    _recorded: set[Hashable] = field(default_factory=set)
    _repeated: dict[Hashable, int] = field(default_factory=dict)

    def record(self, verdict: Hashable) -> None:
        """Notes a verdict that is in the bag."""
        self._recorded.add(verdict)

    def repeat(self, verdict: Hashable, received_ns: int) -> None:
        """Notes a verdict that was given at some time before."""
        self._repeated.setdefault(verdict, received_ns)

    def missing(self) -> list[int]:
        """When those that the bag lacks were first repeated, nanoseconds since the epoch."""
        return sorted(
            at_ns for verdict, at_ns in self._repeated.items() if verdict not in self._recorded
        )
