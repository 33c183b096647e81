"""Where persons are, as far as anybody knows, and whether an agent is beside one (9, 12)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from planner.world.geometry import Vec3
from planner.world.vocabulary import EntityKind
from sim_bridge.backend import Backend
from sim_bridge.safety.options import SafetyOptions

# So long a person counts as being where somebody last saw one.
SEEN_FOR_S = 2.0


class People:
    """Simulators know where persons are; before a real robot somebody has to report them."""

    def __init__(
        self,
        backend: Backend,
        options: SafetyOptions,
        known: Callable[[], Sequence[Vec3]] | None = None,
    ) -> None:
        """Asks `known` where persons are, in `map`; None asks the ground truth, if any."""
        self._backend, self._rule = backend, options.people
        self._known = known or self._true
        self._reported: tuple[float, tuple[Vec3, ...]] = (-math.inf, ())

    def report(self, positions_m: Sequence[Vec3]) -> None:
        """Somebody sees persons at these points of the map; it holds for `SEEN_FOR_S`."""
        self._reported = (self._backend.now_s(), tuple(positions_m))

    def near(self, agent: str) -> bool:
        """Whether a person is within the distance at which an agent takes care."""
        if not self._rule.where.holds(simulated=self._backend.simulated):
            return False
        seen_s, reported = self._reported
        fresh = reported if self._backend.now_s() - seen_s <= SEEN_FOR_S else ()
        x, y, _ = self._backend.observe(agent, ()).base.position_m
        return any(
            math.hypot(p[0] - x, p[1] - y) <= self._rule.near_m for p in (*self._known(), *fresh)
        )

    def _true(self) -> Sequence[Vec3]:
        state = self._backend.world_state()
        if state is None:
            return ()
        agents = (e for e in state.entities.values() if e.kind is EntityKind.AGENT)
        return [e.pose.position_m for e in agents if e.class_name == "human"]
