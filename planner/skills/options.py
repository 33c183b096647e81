"""Options of the skills: gates, retries, times (docs/skills.md lists them)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SkillOptions:
    """Parameters of the skills.

    Attributes:
        grounding_gate_m: maximum distance of an object's surface from the remembered position
            (1 m in EPM-2.6).
        adjust_m: how far an agent at a piece of furniture may walk to bring a part of it within
            reach or into view; 0 = not at all (PARTNR-D44).
        pick_retries, place_retries: further attempts after a failed grasp or release.
        wait_s: duration of `Wait[]`.
        open_on_explore: whether exploring opens what is closed.
        lenient_open: whether opening what cannot be opened succeeds (PARTNR-D47).
        rearrange_opens: whether Rearrange opens closed furniture if needed.
        explore_rounds, explore_steps: of ExploreByView: rounds, and steps at the end of each.
        timeouts_s: by skill, overriding those of the records; on the world's clock.
    """

    grounding_gate_m: float = 1.0
    adjust_m: float = 2.0
    pick_retries: int = 2
    place_retries: int = 2
    wait_s: float = 5.0
    open_on_explore: bool = False
    lenient_open: bool = False
    rearrange_opens: bool = True
    explore_rounds: int = 3
    explore_steps: int = 2
    timeouts_s: Mapping[str, float] = field(default_factory=dict)
