"""Scores of a navigation policy in houses: how often it arrives, and by which way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.app.navigation_env import NavigationEnv
from planner.app.policy_scores import played
from planner.skills.navigation.space import NAVIGATION
from planner.skills.policy.space import Floats
from planner.world.house import House

SUCCESS_M = 0.5


@dataclass(frozen=True, slots=True)
class NavigationScore:
    """One walk.

    Attributes:
        house: where.
        arrived: within 0.5 m of the goal at the end.
        shortest_m: of the shortest way.
        walked_m: by the policy.
        acts: of the policy.
    """

    house: str
    arrived: bool
    shortest_m: float
    walked_m: float
    acts: int


def score_policy(
    weights: dict[str, Floats] | None, houses: Sequence[House], walks: int, seed: int
) -> list[NavigationScore]:
    """Walks of a policy, as many in each house; None = of the guide that knows the houses.

    A walk ends where the body takes itself to be within 0.3 m of its goal.
    """
    environment = NavigationEnv(houses)
    return [
        NavigationScore(
            one.info["house"],
            one.info["distance_m"] <= SUCCESS_M,
            one.info["shortest_m"],
            one.info["walked_m"],
            len(one.acts),
        )
        for one in played(environment, NAVIGATION, weights, len(houses), walks, seed)
    ]


def score_table(walks: Sequence[NavigationScore]) -> str:
    """A line for each house, and one for all."""
    lines = []
    for name in (*dict.fromkeys(walk.house for walk in walks), "all"):
        of_it = [walk for walk in walks if name in (walk.house, "all")]
        there = [walk for walk in of_it if walk.arrived]
        ratio = np.mean([w.walked_m / w.shortest_m for w in there]) if there else float("nan")
        share = len(there) / len(of_it)
        lines.append(
            f"{name}: {len(there)} of {len(of_it)} arrived ({share:.2f}), "
            f"{ratio:.2f} of the shortest way where they did"
        )
    return "\n".join(lines)
