"""When a look through a camera can tell nothing new, because the world has stood still since."""

from __future__ import annotations

# Between two looks at a world that stands still, its seconds: often enough to keep the times at
# which things were last seen, and to notice twice that something is gone.
STILL_PERIOD_S = 1.0
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6


class StillWorld:
    """Knows at which state of the world each agent looked last.

    A state stands until a newer one comes: while the newest is the one that was looked at, and
    robots are part of the state, the next picture is the same as the last.
    """

    def __init__(self) -> None:
        self._looked: dict[str, tuple[float, float | None]] = {}

    def forget(self) -> None:
        """Another world: every look tells something new."""
        self._looked.clear()

    def note_look(self, agent: str, stamp_s: float, newest_s: float | None) -> None:
        """An agent looked at `stamp_s`; `newest_s` is of the newest state then, None = unknown."""
        # A state that is newer than the picture is not in it.
        settled = newest_s is not None and newest_s <= stamp_s + _EQUAL_S
        self._looked[agent] = (stamp_s, newest_s if settled else None)

    def needs_look(self, agent: str, stamp_s: float, newest_s: float | None) -> bool:
        """Whether a picture of `stamp_s` may tell something, or the last look is too old."""
        if agent not in self._looked:
            return True
        looked_s, seen_s = self._looked[agent]
        if seen_s is None or newest_s != seen_s:
            return True
        return abs(stamp_s - looked_s) >= STILL_PERIOD_S - _EQUAL_S
