"""Reaching for points on furniture, as a gymnasium environment, and its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.app.policy_env import PolicyEnv, PolicyObservation, played
from planner.skills.policy.handling import (
    ACT_S,
    CAMERA,
    GRASP,
    MANIPULATION,
    MOVES,
    Aim,
    GraspChoice,
    drive_of,
    features_of,
    picture_of,
)
from planner.skills.policy.policy_file import Floats
from planner.world.floor_grid import DistanceField
from planner.world.geometry import Vec3, wrap_angle_rad
from planner.world.house import Furniture, House
from planner.world.vocabulary import AgentKind

MAX_ACTS = 60
# Rewards of the kinds that the paper names: towards the target, success, slack; and mistakes.
SUCCESS_REWARD, SLACK_PENALTY, MISTAKE_PENALTY = 2.5, 0.01, 0.05
# A body begins at most this much farther away than it reaches.
_FARTHER_M = 0.8
# Share of the reach within which the guide takes aim, and what it is content with.
_NEAR = 0.9
_HEADING_RAD, _AIMED_RAD, _COARSE_RAD = 0.3, 0.1, 0.35
_AHEAD_CELLS = 4
_DRAWS = 2000


class ManipulationEnv(PolicyEnv):
    """A body comes within reach of a point on furniture, points its hand at it and grasps.

    An observation has the depth picture of the hand's camera (64 x 64) in which the target is
    marked, and numbers of target, hand and last act (`planner.skills.policy.handling`). An
    action is the number of some velocities, or the grasp, which ends the episode where the target
    is close enough. The reward is the progress in metres and radians, a bonus for the grasp, and
    small penalties of acts, collisions and failed grasps.
    """

    def __init__(
        self,
        houses: Sequence[House],
        kind: AgentKind = AgentKind.ROBOT,
        episodes_of_house: int = 40,
    ) -> None:
        super().__init__(houses, MANIPULATION, CAMERA, kind, episodes_of_house)

    def _begin(self) -> None:
        self._draw_task()
        self._acts = 0
        self._last: int | None = None
        self._hindered, self._choice = False, GraspChoice()
        self._holds = bool(self.np_random.random() < 0.5)

    def chosen(self, rated: Floats) -> int:
        """The act for a policy's scores, as `GraspChoice` has it."""
        return self._choice.of(rated, self._aim())

    def step(
        self, action: np.int64 | int
    ) -> tuple[PolicyObservation, float, bool, bool, dict[str, Any]]:
        """Drives for one act, or grasps."""
        act, before, reward = int(action), self._left(), -SLACK_PENALTY
        self._hindered, done = False, False
        if act == GRASP:
            done = self._aim().is_close(self._world.reach_m)
            reward += SUCCESS_REWARD if done else -MISTAKE_PENALTY
        else:
            self._hindered = not self._world.drive(drive_of(act, self._world.limits))
            reward += before - self._left() - MISTAKE_PENALTY * self._hindered
        self._acts += 1
        self._last = act
        truncated = not done and self._acts >= MAX_ACTS
        return self._observation(), float(reward), done, truncated, self._info()

    def guided(self) -> int:
        """What the guide does here: it knows the floor, and where the body can stand."""
        world, aim = self._world, self._aim()
        if aim.gap_m > _NEAR * world.reach_m:
            return self._approach()
        camera = world.optical.position_m
        way_m = math.dist(camera[:2], self._target_m[:2])
        tilt = math.atan2(camera[2] - self._target_m[2], max(way_m, 1e-3))
        pan_off = wrap_angle_rad(aim.bearing_rad - aim.pan_rad)
        if abs(pan_off) > _AIMED_RAD:
            return MOVES.index((0.0, 0.0, math.copysign(_speed(pan_off), pan_off), 0.0))
        tilt_off = tilt - aim.tilt_rad
        if abs(tilt_off) > _AIMED_RAD and aim.tilt_rad < math.pi / 2 - 0.05:
            return MOVES.index((0.0, 0.0, 0.0, math.copysign(_speed(tilt_off), tilt_off)))
        return GRASP

    def _approach(self) -> int:
        """Along the shortest way to where the target is within reach."""
        world, grid = self._world, self._world.grid
        x, y, _ = world.base.position_m
        cell = grid.cell(x, y)
        if cell is None or not grid.free.flat[cell]:
            cell = grid.nearest_free(x, y)
        path = self._field.path(cell) if cell is not None else []
        towards = grid.point(path[min(_AHEAD_CELLS, len(path) - 1)]) if path else self._target_m
        heading = math.atan2(towards[1] - y, towards[0] - x)
        off = wrap_angle_rad(heading - world.base.yaw_rad)
        if abs(off) > _HEADING_RAD:
            return MOVES.index((0.0, math.copysign(0.8, off), 0.0, 0.0))
        return MOVES.index((0.6, 0.0, 0.0, 0.0))

    def _draw_task(self) -> None:
        world, rng = self._world, self.np_random
        low, high = world.reach_height_m
        pieces = [piece for piece in self._house.furniture if piece.surfaces]
        for _ in range(_DRAWS):
            piece = pieces[int(rng.integers(len(pieces)))]
            target = _point_on(piece, rng)
            if not low <= target[2] <= high:
                continue
            stand = world.grid.nearest_free(target[0], target[1], _NEAR * world.reach_m - 0.1)
            if stand is None:
                continue
            field = world.grid.field(stand)
            start = self._start_near(target, field)
            if start is not None:
                break
        else:
            raise ValueError(f"{self._house.name}: no furniture that a body can reach")
        self._target_m, self._field = target, field
        bearing = math.atan2(target[1] - start[1], target[0] - start[0])
        world.place(*start, wrap_angle_rad(bearing + float(rng.uniform(-1.2, 1.2))))
        # As far off as other skills may leave the hand.
        world.point_hand(float(rng.uniform(-0.8, 0.8)), float(rng.uniform(0.0, 0.9)))

    def _start_near(self, target: Vec3, field: DistanceField) -> tuple[float, float] | None:
        world, rng = self._world, self.np_random
        far_m = world.reach_m + _FARTHER_M
        near = world.grid.free_within(target[0], target[1], far_m)
        for cell in rng.permutation(near)[:20]:
            if field.at(int(cell)) <= far_m:
                return world.grid.point(int(cell))
        return None

    def _aim(self) -> Aim:
        return Aim.of(self._world.base, self._world.optical, self._target_m)

    def _left(self) -> float:
        """Metres until the target is within reach, and half the radians until it is aimed at."""
        aim = self._aim()
        return max(0.0, aim.gap_m - _NEAR * self._world.reach_m) + 0.5 * aim.off_rad

    def _observation(self) -> PolicyObservation:
        aim = self._aim()
        return {
            "map": picture_of(self._world.depth(), self._world.intrinsics, aim),
            "features": features_of(aim, self._last, hindered=self._hindered, holds=self._holds),
        }

    def _info(self) -> dict[str, Any]:
        aim = self._aim()
        return {
            "house": self._house.name,
            "gap_m": aim.gap_m,
            "off_rad": aim.off_rad,
            "is_close": aim.is_close(self._world.reach_m),
            "seconds": self._acts * ACT_S,
        }


def _speed(off_rad: float) -> float:
    return 0.8 if abs(off_rad) > _COARSE_RAD else 0.3


def _point_on(piece: Furniture, rng: np.random.Generator) -> Vec3:
    """A random point on one of its surfaces, in `map`."""
    surface = piece.surfaces[int(rng.integers(len(piece.surfaces)))]
    x, y, z = surface.center
    dx, dy = (float(rng.uniform(-0.45, 0.45)) * side for side in surface.size)
    return piece.pose.apply((x + dx, y + dy, z + 0.05))


# Scores of a policy of handling in houses: how often it grasps close to its target.


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
            one.info["house"], one.done, one.acts.count(GRASP) - one.done, len(one.acts)
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
