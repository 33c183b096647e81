"""Known positions of persons, and whether an agent is near one (rules 9 and 12)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from planner.world.geometry import Vec3
from planner.world.vocabulary import EntityKind
from sim_bridge.backend import Backend
from sim_bridge.safety.options import SafetyOptions

FRAME = "map"


class People:
    """Positions of persons: known in simulators, reported by a tracker with a real robot.

    Once a tracker has reported, silence or an invalid report means that positions are unknown,
    which counts as a person near every agent until the next valid report.
    """

    def __init__(
        self,
        backend: Backend,
        options: SafetyOptions,
        known: Callable[[], Sequence[Vec3]] | None = None,
    ) -> None:
        """Gets positions in `map` from `known`; None = from the ground truth, if any."""
        self._backend, self._rule = backend, options.people
        self._known = known or self._true
        self.forget()

    def forget(self) -> None:
        """Resets for another episode: nothing was reported."""
        self._seen_s = -math.inf
        self._reported: tuple[Vec3, ...] = ()
        self._why = ""

    def report(self, positions_m: Sequence[Vec3], *, frame: str = FRAME, age_s: float = 0.0) -> str:
        """A report of all visible persons; valid for `seen_for_s`.

        Args:
            positions_m: metres, in `frame`; empty = nobody is there.
            frame: must be `map`.
            age_s: how long ago they were seen.

        Returns:
            Why the report is invalid and what to do; empty if it is valid.
        """
        why = self._fault(positions_m, frame, age_s)
        if why:
            return self.unusable(why)
        self._why, self._reported = "", tuple(positions_m)
        self._seen_s = self._backend.now_s()
        return ""

    def unusable(self, why: str) -> str:
        """An invalid report: until the next valid one persons may be anywhere."""
        self._why, self._reported = why, ()
        self._seen_s = self._backend.now_s()
        return why

    def _fault(self, positions_m: Sequence[Vec3], frame: str, age_s: float) -> str:
        if frame != FRAME:
            return f"people are reported in the frame {frame!r}; report them in {FRAME!r}"
        if not all(math.isfinite(value) for point in positions_m for value in point):
            return "a person is reported at a place that is not a number; report finite metres"
        most_s = self._rule.seen_for_s
        if not abs(age_s) <= most_s:
            way = "old" if age_s > 0 else "ahead of time"
            return (
                f"people are reported {abs(age_s):.1f} s {way}, more than {most_s:g} s "
                "(people.seen_for_s); set the tracker's clock or make it faster"
            )
        return ""

    @property
    def unknown(self) -> str:
        """Why positions are unknown although a tracker reported; empty if known."""
        if math.isinf(self._seen_s):
            return ""
        silent_s = self._backend.now_s() - self._seen_s
        if silent_s > self._rule.seen_for_s:
            return f"nobody has reported people for {silent_s:.1f} s; start the tracker again"
        return self._why

    def near(self, agent: str) -> bool:
        """Whether a person is, or may be, near an agent."""
        if not self._rule.where.holds(simulated=self._backend.simulated):
            return False
        if self.unknown:
            return True
        x, y, _ = self._backend.observe(agent, ()).base.position_m
        return any(
            math.hypot(p[0] - x, p[1] - y) <= self._rule.near_m
            for p in (*self._known(), *self._reported)
        )

    def true_positions(self) -> Sequence[Vec3]:
        """True positions of persons in `map`; empty without ground truth."""
        return self._true()

    def _true(self) -> Sequence[Vec3]:
        state = self._backend.world_state()
        if state is None:
            return ()
        agents = (e for e in state.entities.values() if e.kind is EntityKind.AGENT)
        return [e.pose.position_m for e in agents if e.class_name == "human"]
