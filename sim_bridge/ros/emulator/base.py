"""The differential base, its odometry, and the localiser that corrects it."""

from __future__ import annotations

import math

import numpy as np

from planner.world.geometry import Pose, wrap_angle_rad
from sim_bridge.embedded.house_ground import HouseGround

RADIUS_M = 0.28
# A little less than what paths keep off, or a base beside its path would be stuck.
_SOLID_M = 0.2
SPEED_M_S, TURN_RAD_S = 0.5, 1.2
ACCELERATION_M_S2, BRAKING_M_S2 = 1.0, 2.5
TURN_ACCELERATION_RAD_S2, TURN_BRAKING_RAD_S2 = 3.0, 6.0
# Without a command for this long a base controller stops.
COMMAND_TIMEOUT_S = 0.5
# As amcl's parameters update_min_d and update_min_a.
UPDATE_M, UPDATE_RAD = 0.25, 0.2
# Share by which wheels count too much or too little: one factor each for way and turn.
_SLIP = 0.01


class Base:
    """Where the robot is, where its wheels say, and where its localiser says.

    Attributes:
        pose: `base_footprint` in the map, the truth.
        odom: the same in `odom`, as the wheels count.
        map_to_odom: `odom` in `map`, the localiser's answer.
        localised_s: when that was last updated.
    """

    def __init__(self, ground: HouseGround, start: Pose, seed: int) -> None:
        self._grid = ground.grid(_SOLID_M)
        self.pose, self.odom = start, Pose((0.0, 0.0, 0.0))
        rng = np.random.default_rng([seed, 7])
        self._slip = 1.0 + rng.uniform(-_SLIP, _SLIP, 2)
        self.speed_m_s = self.turn_rad_s = 0.0
        self._command = (0.0, 0.0)
        self._command_s = -math.inf
        self.localise(start, 0.0)

    @property
    def estimate(self) -> Pose:
        """`base_footprint` in the map as /tf says."""
        return self.map_to_odom.compose(self.odom)

    def localise(self, pose: Pose, now_s: float) -> None:
        """Takes a pose for that of the base; one that is not finite is none."""
        if not all(map(math.isfinite, (*pose.position_m, pose.yaw_rad))):
            return
        self.map_to_odom = pose.compose(self.odom.inverse())
        self.localised_s, self._localised_at = now_s, self.odom

    def command(self, speed_m_s: float, turn_rad_s: float, now_s: float) -> None:
        """Takes a velocity, whoever sent it; one that is not finite is none."""
        if math.isfinite(speed_m_s) and math.isfinite(turn_rad_s):
            self._command = (
                min(max(speed_m_s, -SPEED_M_S), SPEED_M_S),
                min(max(turn_rad_s, -TURN_RAD_S), TURN_RAD_S),
            )
            self._command_s = now_s

    def step(self, now_s: float, dt_s: float) -> bool:
        """Moves for `dt_s`, up to walls and furniture; whether it moved."""
        stale = now_s - self._command_s > COMMAND_TIMEOUT_S
        speed, turn = (0.0, 0.0) if stale else self._command
        rates = (ACCELERATION_M_S2, BRAKING_M_S2), (TURN_ACCELERATION_RAD_S2, TURN_BRAKING_RAD_S2)
        self.speed_m_s = _towards(self.speed_m_s, speed, rates[0], dt_s)
        self.turn_rad_s = _towards(self.turn_rad_s, turn, rates[1], dt_s)
        if self.speed_m_s == 0.0 and self.turn_rad_s == 0.0:
            return False
        there = _moved(self.pose, self.speed_m_s * dt_s, self.turn_rad_s * dt_s)
        x, y, _ = there.position_m
        if not self._grid.is_free(x, y) and self._grid.is_free(*self.pose.position_m[:2]):
            self.speed_m_s = 0.0
            there = _moved(self.pose, 0.0, self.turn_rad_s * dt_s)
        way, turned = self._slip * (self.speed_m_s * dt_s, self.turn_rad_s * dt_s)
        self.pose, self.odom = there, _moved(self.odom, float(way), float(turned))
        since = self._localised_at.inverse().compose(self.odom)
        if math.hypot(*since.position_m) >= UPDATE_M or abs(since.yaw_rad) >= UPDATE_RAD:
            self.localise(self.pose, now_s)
        return True


def _towards(value: float, goal: float, rates: tuple[float, float], dt_s: float) -> float:
    most = rates[abs(goal) < abs(value) or goal * value < 0] * dt_s
    return value + min(max(goal - value, -most), most)


def _moved(pose: Pose, way_m: float, turn_rad: float) -> Pose:
    x, y, _ = pose.position_m
    yaw = pose.yaw_rad + turn_rad / 2
    return Pose.planar(
        x + way_m * math.cos(yaw), y + way_m * math.sin(yaw), wrap_angle_rad(yaw + turn_rad / 2)
    )
