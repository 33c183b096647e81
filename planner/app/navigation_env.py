"""Point-goal navigation on the embedded simulator, a gymnasium environment, and its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.app.policy_env import PolicyEnv, PolicyObservation, played
from planner.skills.policy.navigation_space import (
    ACT_S,
    ACTIONS,
    ARRIVED_M,
    CAMERA,
    NAVIGATION,
    ActChoice,
    DepthMap,
    Goal,
    drive_of,
    features_of,
)
from planner.skills.policy.policy_file import Floats
from planner.world.floor_grid import DistanceField, FloorGrid
from planner.world.geometry import wrap_angle_rad
from planner.world.house import House
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.depth_world import free_point
from sim_bridge.embedded.primitive_routines import slid

MAX_ACTS = 250
NEAREST_GOAL_M = 1.0
# Rewards of the kinds that the paper names: progress, success, collision, slack.
SUCCESS_REWARD, COLLISION_PENALTY, SLACK_PENALTY = 2.5, 0.03, 0.01
# The guide keeps this much farther from walls than it has to, where there is room.
GUIDE_CLEARANCE_M = 0.06
_AHEAD_CELLS = 7
# Points of a way nearer than this have been passed.
_PASSED_M = 0.1
_TURN_RAD = 0.5


class NavigationEnv(PolicyEnv):
    """A body drives to a point of its house by what its depth camera showed.

    An observation has the map that the depth pictures (64 x 64) gave so far, around the body, and
    numbers of goal and last act (`planner.skills.policy.navigation_space`). An action is the number
    of a pair of velocities. The reward is the progress along the shortest way in metres, a bonus
    within 0.3 m, and small penalties of acts and collisions.
    """

    def __init__(
        self,
        houses: Sequence[House],
        kind: AgentKind = AgentKind.ROBOT,
        episodes_of_house: int = 20,
        farthest_m: float = math.inf,
    ) -> None:
        """As `PolicyEnv`; goals farther than `farthest_m` along the way are not drawn."""
        super().__init__(houses, NAVIGATION, CAMERA, kind, episodes_of_house)
        self._guides: dict[str, FloorGrid] = {}
        self._farthest_m = farthest_m

    def _begin(self) -> None:
        self._draw_task()
        self._acts, self._walked_m = 0, 0.0
        self._last: int | None = None
        self._hindered = False
        self._map, self._choice = DepthMap(self._world.base), ActChoice()

    def chosen(self, rated: Floats) -> int:
        """The act for a policy's scores, as `ActChoice` has it."""
        return self._choice.of(rated, self.base)

    def step(
        self, action: np.int64 | int
    ) -> tuple[PolicyObservation, float, bool, bool, dict[str, Any]]:
        """Drives for one act."""
        world, before_m, at = self._world, self._left_m(), self._world.base.position_m
        free = world.drive(drive_of(int(action), world.limits))
        self._walked_m += math.dist(at, world.base.position_m)
        self._acts += 1
        self._last, self._hindered = int(action), not free
        arrived = self._goal_now().distance_m <= ARRIVED_M
        reward = before_m - self._left_m() - SLACK_PENALTY - COLLISION_PENALTY * (not free)
        if arrived:
            reward += SUCCESS_REWARD
        truncated = not arrived and self._acts >= MAX_ACTS
        return self._observation(), float(reward), arrived, truncated, self._info()

    def guided(self) -> int:
        """What the guide does here.

        It follows the way that is drawn in the map, and where that has none the shortest one; it
        knows the house's floor, so that it bumps into nothing.
        """
        world = self._world
        x, y, _ = world.base.position_m
        points = self._points_ahead(x, y)
        towards = points[0]
        for point in points[1:]:
            way = (point[0] - x, point[1] - y)
            if not slid(world.grid, (x, y), math.atan2(way[1], way[0]), math.hypot(*way)).is_free:
                break
            towards = point
        heading = math.atan2(towards[1] - y, towards[0] - x)
        return _act_for(wrap_angle_rad(heading - world.base.yaw_rad), world.limits.turn_rad_s)

    def _points_ahead(self, x: float, y: float) -> list[tuple[float, float]]:
        """Points of the way to follow, as far as the guide looks ahead."""
        drawn = [(float(px), float(py)) for px, py in self._map.way_m]
        ahead = [point for point in drawn[:_AHEAD_CELLS] if math.dist(point, (x, y)) > _PASSED_M]
        if ahead:
            return ahead
        grid = self._guide_grid
        cell = grid.cell(x, y)
        if cell is None or not grid.free.flat[cell]:
            cell = grid.nearest_free(x, y)
        path = self._guide.path(cell) if cell is not None else []
        points = [grid.point(c) for c in path[1 : _AHEAD_CELLS + 1]]
        if len(path) <= _AHEAD_CELLS:
            points.append(self._goal_m)
        return points

    def _draw_task(self) -> None:
        grid, rng = self._world.grid, self.np_random
        while True:
            gx, gy, goal = free_point(grid, rng)
            x, y, start = free_point(grid, rng)
            field = grid.field(goal)
            if NEAREST_GOAL_M <= field.at(start) <= self._farthest_m:
                break
        self._goal_m, self._field = (gx, gy), field
        self._shortest_m = field.at(start)
        self._guide_grid, self._guide = self._guide_of(goal, start)
        self._world.place(x, y, float(rng.uniform(-math.pi, math.pi)))

    def _guide_of(self, goal: int, start: int) -> tuple[FloorGrid, DistanceField]:
        """The grid and field that the guide follows: away from walls, unless no way is left."""
        grid = self._guide_grid_of(self._house)
        gx, gy = self._world.grid.point(goal)
        near = grid.nearest_free(gx, gy, 0.3)
        if near is not None:
            field = grid.field(near)
            sx, sy = self._world.grid.point(start)
            begin = grid.nearest_free(sx, sy, 0.3)
            if begin is not None and math.isfinite(field.at(begin)):
                return grid, field
        return self._world.grid, self._field

    def _guide_grid_of(self, house: House) -> FloorGrid:
        if house.name not in self._guides:
            self._guides[house.name] = FloorGrid.of(house, 0.28 + GUIDE_CLEARANCE_M)
        return self._guides[house.name]

    def _left_m(self) -> float:
        """Metres left along the shortest way."""
        grid = self._world.grid
        x, y, _ = self._world.base.position_m
        cell = grid.cell(x, y)
        if cell is None or not grid.free.flat[cell]:
            cell = grid.nearest_free(x, y)
        left = self._field.at(cell) if cell is not None else math.inf
        return left if math.isfinite(left) else self._shortest_m

    def _goal_now(self) -> Goal:
        return Goal.of(self._world.base, self._goal_m)

    def _observation(self) -> PolicyObservation:
        world = self._world
        base = world.base
        self._map.add(world.depth(), world.intrinsics, world.optical, base)
        features = features_of(self._goal_now(), self._last, hindered=self._hindered)
        return {"map": self._map.around(base, self._goal_m), "features": features}

    def _info(self) -> dict[str, Any]:
        return {
            "distance_m": self._goal_now().distance_m,
            "shortest_m": self._shortest_m,
            "walked_m": self._walked_m,
            "house": self._house.name,
        }


def _act_for(angle_rad: float, turn_rad_s: float) -> int:
    """The number of the act that suits a change of heading best."""
    if abs(angle_rad) > _TURN_RAD:
        return ACTIONS.index((0.0, math.copysign(1.0, angle_rad)))
    wanted = angle_rad / (turn_rad_s * ACT_S)
    forward = [number for number, (speed, _) in enumerate(ACTIONS) if speed > 0]
    return min(forward, key=lambda number: abs(ACTIONS[number][1] - wanted))


# Scores of a navigation policy in houses: how often it arrives, and by which way.

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
