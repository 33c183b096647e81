"""What environments of policies share: houses by turns, observations, episodes for scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from planner.skills.policy.policy_file import CELLS, Bytes, Floats, PolicySpace, scores
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.depth_world import DepthWorld

PolicyObservation = dict[str, Bytes | Floats]


class PolicyEnv(gymnasium.Env[PolicyObservation, np.int64]):
    """One body in one of several houses, which is driven by what its depth camera shows.

    An observation has `map`, (CELLS, CELLS) bytes, and `features` of a `PolicySpace`; an action is
    the number of an act.
    """

    metadata = {"render_modes": ["depth"]}  # noqa: RUF012 - as gymnasium has it

    def __init__(
        self,
        houses: Sequence[House],
        space: PolicySpace,
        camera: str,
        kind: AgentKind,
        episodes_of_house: int,
    ) -> None:
        """Draws from `houses`.

        Args:
            houses: at least one.
            space: of the policy.
            camera: of the body; its pictures have CELLS pixels a side.
            kind: of the body.
            episodes_of_house: before the next house is drawn.

        Raises:
            ValueError: without houses.
        """
        if not houses:
            raise ValueError("houses: expected at least one, got none")
        self._houses, self._kind, self._camera = tuple(houses), kind, camera
        self._worlds: dict[str, DepthWorld] = {}
        self._episodes_of_house, self._left_in_house = episodes_of_house, 0
        self._house = self._houses[0]
        self.observation_space = spaces.Dict(  # type: ignore[assignment]
            {
                "map": spaces.Box(0, space.max_code, (CELLS, CELLS), np.uint8),
                "features": spaces.Box(-1.0, 1.0, (space.features,), np.float32),
            }
        )
        self.action_space = spaces.Discrete(space.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[PolicyObservation, dict[str, Any]]:
        """A new task; `options` may name a `house` by its number."""
        super().reset(seed=seed, options=options)
        named = (options or {}).get("house")
        if named is not None:
            self._house, self._left_in_house = self._houses[named], self._episodes_of_house
        elif self._left_in_house <= 0:
            self._house = self._houses[int(self.np_random.integers(len(self._houses)))]
            self._left_in_house = self._episodes_of_house
        self._left_in_house -= 1
        self._world = self._world_of(self._house)
        self._begin()
        return self._observation(), self._info()

    @abstractmethod
    def guided(self) -> int:
        """What the guide of this environment does here."""

    def chosen(self, rated: Floats) -> int:
        """The act for a policy's (actions,) scores: the best one."""
        return int(np.argmax(rated))

    @property
    def base(self) -> Pose:
        """Where the body is in `map`."""
        return self._world.base

    def render(self) -> Any:
        """The depth picture, (CELLS, CELLS) metres."""
        return self._world.depth()

    @abstractmethod
    def _begin(self) -> None:
        """Draws a task in the house."""

    @abstractmethod
    def _observation(self) -> PolicyObservation: ...

    @abstractmethod
    def _info(self) -> dict[str, Any]: ...

    def _world_of(self, house: House) -> DepthWorld:
        world = self._worlds.get(house.name)
        if world is None:
            world = self._worlds[house.name] = DepthWorld(house, self._kind, self._camera, CELLS)
        return world


# Episodes that a policy plays in houses, to score it.


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
