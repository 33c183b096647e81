"""The emulated robot in a shipped house, stepped by hand: no ROS and no clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.world.geometry import Pose, Vec3
from sim_bridge.opening import default_house, open_world
from sim_bridge.ros.emulator.house import RobotHouse
from sim_bridge.ros.emulator.joint_control import GRASP, Ended, RobotModel, shipped_urdf
from sim_bridge.ros.emulator.motion_planning import LinkGoal, Motion, MotionRequest, MoveGroup
from sim_bridge.ros.emulator.simulation import Settings, Simulation

# In front of the chest of drawers, which faces it; on the chest is a candle.
BY_CHEST = (5.15, 0.77, 0.0)


class Stage:
    """A simulation with what tests do to it."""

    def __init__(self, start: Vec3, fail_grasps: float = 0.0, **settings: bool) -> None:
        opened = open_world(default_house(), "", 0, 1)
        agents = tuple(a.model_copy(update={"start": start}) for a in opened.episode.agents)
        episode = opened.episode.model_copy(update={"agents": agents})
        house = RobotHouse(opened.house, episode, 0, fail_grasps)
        robot = RobotModel(shipped_urdf())
        self.sim = Simulation(house, robot, Settings(**settings))
        self.group = MoveGroup(self.sim, 0)
        self.sent: list[tuple[float, float]] = []

    def pass_time(self, seconds: float) -> None:
        """Steps; the navigation's velocities reach the base, as over /cmd_vel."""
        for _ in range(round(seconds / 0.02)):
            told = self.sim.step(0.02, self.sim.now_s)
            if told is not None:
                self.sent.append(told)
                self.sim.drive(*told)

    def until(self, begin: Callable[[Callable[[Ended], None]], None], limit_s: float = 60) -> Ended:
        """Begins something and waits for its end."""
        ends: list[Ended] = []
        begin(ends.append)
        while not ends and limit_s > 0:
            self.pass_time(0.02)
            limit_s -= 0.02
        assert ends, "it did not end"
        return ends[0]

    def move_grip(self, in_map: Pose, group: str = "arm_torso") -> Motion:
        """Moves the grasping frame there, as a goal of MoveGroup."""
        target = self.sim.base.estimate.inverse().compose(in_map)
        goal = LinkGoal(
            GRASP,
            region=target,
            radius_m=0.005,
            rotation=target.rotation(),
            tolerance_rad=(0.05, 0.05, 0.05),
        )
        ends: list[Motion] = []
        request = MotionRequest(group, link=goal)
        self.group.begin(request, None, plan_only=False, done=ends.append)
        for _ in range(2000):
            if ends:
                break
            self.group.wait(5.0)
            self.pass_time(0.02)
        assert ends, "it did not end"
        return ends[0]

    def grip(self, gap_m: float) -> Ended:
        """Moves the fingers to a width between them."""
        return self.until(lambda done: self.sim.grip(gap_m, 0.0, 0.0, done))

    @property
    def grip_pose(self) -> Pose:
        """The grasping frame in the map, in truth."""
        return self.sim.house.world.grip


DOWN = Pose.from_matrix(np.zeros(3), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
