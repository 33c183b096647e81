"""Episodes that a policy plays in houses, to score it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.app.policy_env import PolicyEnv
from planner.skills.policy.network import scores
from planner.skills.policy.space import Floats, PolicySpace


@dataclass(frozen=True, slots=True)
class Played:
    """One episode.

    Attributes:
        done: whether the environment says that the task is done.
        acts: the numbers of the acts.
        info: the environment's, at the end.
    """

    done: bool
    acts: tuple[int, ...]
    info: dict[str, Any]


def played(
    environment: PolicyEnv,
    space: PolicySpace,
    weights: dict[str, Floats] | None,
    houses: int,
    episodes: int,
    seed: int,
) -> Iterator[Played]:
    """As many episodes in each of the first houses; weights None = of the guide.

    Of a policy's scores the environment chooses the act.
    """
    environment.reset(seed=seed)
    for number in range(houses):
        for _ in range(episodes):
            seen, info = environment.reset(options={"house": number})
            acts: list[int] = []
            done, truncated = False, False
            while not done and not truncated:
                if weights is None:
                    act = environment.guided()
                else:
                    features = seen["features"][None]
                    layers = space.layers_of(seen["map"][None], features)  # type: ignore[arg-type]
                    act = environment.chosen(scores(weights, layers, features)[0])  # type: ignore[arg-type]
                seen, _, done, truncated, info = environment.step(act)  # type: ignore[arg-type]
                acts.append(act)
            yield Played(done, tuple(acts), info)
