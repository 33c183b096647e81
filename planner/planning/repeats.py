"""What an agent tries again and again: the same call with the same end is taken away.

The papers' traces show models that repeat a failing call until the episode ends
(PARTNR-11.2) and only warn of it in the prompt. Here a rule breaks it: the call is left
out of the grammar for a while, and the trace says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult

# Whether something else was done in between or not.
MAX_FAILURES = 3
# In a row: what succeeds is repeated with reason more often, but not for ever.
MAX_SUCCESSES = 6
# Other calls of the agent until it may try again.
PAUSE_CALLS = 5
# These say nothing new by nature.
_FREE = frozenset({SkillName.WAIT, SkillName.DONE})


@dataclass
class Repeats:
    """One agent's calls; `broken` counts how often the rule was needed."""

    broken: int = 0
    _failed: Counter[tuple[SkillCall, SkillCode]] = field(default_factory=Counter)
    _last: SkillCall | None = None
    _in_a_row: int = 0
    _blocked: dict[SkillCall, int] = field(default_factory=dict)

    @property
    def blocked(self) -> tuple[SkillCall, ...]:
        """The calls that are not possible now."""
        return tuple(self._blocked)

    def take(self, call: SkillCall, result: SkillResult) -> str:
        """Notes the end of a call; a sentence for the model where it is taken away, else ""."""
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
