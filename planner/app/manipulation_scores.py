"""Scores of a policy of handling in houses: how often it grasps close to its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.app.manipulation_env import ManipulationEnv
from planner.app.policy_scores import played
from planner.skills.manipulation.space import GRASP, MANIPULATION
from planner.skills.policy.space import Floats
from planner.world.house import House


@dataclass(frozen=True, slots=True)
class ManipulationScore:
    """One try.

    Attributes:
        house: where.
        grasped: close enough to the target.
        failed_grasps: grasps that were not.
        acts: of the policy.
    """

    house: str
    grasped: bool
    failed_grasps: int
    acts: int


def score_handling(
    weights: dict[str, Floats] | None, houses: Sequence[House], tries: int, seed: int
) -> list[ManipulationScore]:
    """Tries of a policy, as many in each house; None = of the guide that knows the floor."""
    environment = ManipulationEnv(houses)
    return [
        ManipulationScore(
            one.info["house"],
            one.done,
            one.acts.count(GRASP) - one.done,
            len(one.acts),
        )
        for one in played(environment, MANIPULATION, weights, len(houses), tries, seed)
    ]


def handling_table(tries: Sequence[ManipulationScore]) -> str:
    """A line for each house, and one for all."""
    lines = []
    for name in (*dict.fromkeys(one.house for one in tries), "all"):
        of_it = [one for one in tries if name in (one.house, "all")]
        right = [one for one in of_it if one.grasped]
        acts = float(np.mean([one.acts for one in right])) if right else float("nan")
        failed_grasps = sum(one.failed_grasps for one in of_it)
        lines.append(
            f"{name}: {len(right)} of {len(of_it)} grasped ({len(right) / len(of_it):.2f}), "
            f"after {acts:.1f} acts, {failed_grasps} failed grasps"
        )
    return "\n".join(lines)
