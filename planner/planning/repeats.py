"""Breaks an agent's repetition of the same call with the same result.

The papers' traces show models that repeat a failing call until the episode ends (PARTNR-11.2); the
papers only warn of it in the prompt. Here the call is removed from the grammar for a while, and the
trace records it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult

# Counted whether or not other calls came in between.
MAX_FAILURES = 3
# Consecutive; successful calls are often repeated for a reason, but not indefinitely.
MAX_SUCCESSES = 6
# Other calls that the agent must make before it may try again.
PAUSE_CALLS = 5
# These are repeated by nature.
_FREE = frozenset({SkillName.WAIT, SkillName.DONE})


@dataclass
class Repeats:
    """One agent's calls; `broken` counts how often repetition was broken."""

    broken: int = 0
    _failed: Counter[tuple[SkillCall, SkillCode]] = field(default_factory=Counter)
    _last: SkillCall | None = None
    _in_a_row: int = 0
    _blocked: dict[SkillCall, int] = field(default_factory=dict)

    @property
    def blocked(self) -> tuple[SkillCall, ...]:
        """The calls that are currently excluded."""
        return tuple(self._blocked)

    def take(self, call: SkillCall, result: SkillResult) -> str:
        """Records a result; returns a sentence for the model if the call is now excluded."""
        self._blocked = {c: left - 1 for c, left in self._blocked.items() if left > 1}
        if call.name in _FREE:
            return ""
        self._in_a_row = self._in_a_row + 1 if call == self._last else 1
        self._last = call
        if result.succeeded:
            if self._in_a_row < MAX_SUCCESSES:
                return ""
            return self._block(call, "was done again and again")
        self._failed[call, result.code] += 1
        if self._failed[call, result.code] < MAX_FAILURES:
            return ""
        del self._failed[call, result.code]
        return self._block(call, "failed in the same way again and again")

    def _block(self, call: SkillCall, how: str) -> str:
        self._blocked[call] = PAUSE_CALLS
        self._in_a_row = 0
        self.broken += 1
        return f"{call} {how}; it is not possible now. Do something else first."
