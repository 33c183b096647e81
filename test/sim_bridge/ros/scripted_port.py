"""A port whose robot does what a test says; over real DDS: test/integration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.world.geometry import Pose
from planner.world.house import House
from sim_bridge.external.readings import RobotReadings
from sim_bridge.one_robot import FrameHistory, PoseHistory
from sim_bridge.ros.grasps import Standing
from sim_bridge.ros.options import Controller, RosOptions
from sim_bridge.ros.port import Errand, FloorMap, Interface, RobotState, State, Waypoint

CELL_M = 0.05
Answer = Callable[[Errand], None]


def succeeds(errand: Errand) -> None:
    errand.state = State.SUCCEEDED


def fails(code: int, text: str = "") -> Answer:
    def answer(errand: Errand) -> None:
        errand.state, errand.code, errand.text = State.ABORTED, code, text

    return answer


def silent(errand: Errand) -> None:
    """The server never answers."""


class ScriptedPort:
    """Goals end at once, as `answers` says by interface; a drive that succeeds is there at once."""

    def __init__(self, options: RosOptions, urdf: str) -> None:
        self.options, self.urdf = options, urdf
        self.time_s = 1000.0
        self.base = Pose.planar(0.0, 0.0)
        self.joints = {
            **options.arm.carry,
            options.gripper.joint: options.gripper.joint_open,
            "head_pan_joint": 0.0,
            "head_tilt_joint": 0.0,
        }
        self.localised_s = self.odometry_s = 0.0
        self.speed_m_s = 0.0
        self.said = RobotState(servers={options.navigation.navigate: True}, battery=0.9)
        self.answers: dict[Interface, Answer] = {}
        self.sent: list[tuple[Interface, object]] = []
        self.recalls = 0
        self.limits: list[float] = []
        self.running: list[Errand] = []
        # Where the fingers end when they close, as a position of their joint.
        self.closes_at = options.gripper.joint_closed

    def now_s(self) -> float:
        return self.time_s

    def readings(self) -> RobotReadings:
        frames, names = FrameHistory(), self.options.frames
        stamp_s = self.time_s - self.odometry_s
        frames.move(names.map, names.odom, self.time_s - self.localised_s, Pose.planar(0.0, 0.0))
        bodies = PoseHistory()
        bodies.add(stamp_s, self.base)
        return RobotReadings(
            at_s=stamp_s,
            stamp_s=stamp_s,
            odometry_frame=names.odom,
            linear_m_s=self.speed_m_s,
            joints=dict(self.joints),
            bodies=bodies,
            frames=frames,
        )

    def state(self) -> RobotState:
        return self.said

    def alive(self) -> None:
        pass

    def open(self) -> str:
        return self.urdf

    def _send(self, interface: Interface, what: object, done: Callable[[], None]) -> Errand:
        self.sent.append((interface, what))
        errand = Errand(f"/{interface.name.lower()}", interface, self.time_s)
        self.answers.get(interface, succeeds)(errand)
        if errand.state is State.SUCCEEDED:
            done()
        self.running.append(errand)
        return errand

    def navigate(self, goal: Pose) -> Errand:
        return self._send(Interface.NAVIGATE, goal, lambda: setattr(self, "base", goal))

    def plan_way(self, goal: Pose) -> Errand:
        return self._send(Interface.PATH, goal, lambda: None)

    def back_up(self, distance_m: float, speed_m_s: float) -> Errand:
        return self._send(Interface.BACK_UP, distance_m, lambda: None)

    def follow(self, controller: Controller, way: Sequence[Waypoint]) -> Errand:
        return self._send(Interface.TRAJECTORY, way, lambda: self.joints.update(way[-1][0]))

    def reach(self, tool: Pose, turn_rad: float) -> Errand:
        return self._send(Interface.MOVEIT, tool, lambda: None)

    def pose_arm(self, joints: Mapping[str, float]) -> Errand:
        return self._send(Interface.MOVEIT, joints, lambda: self.joints.update(joints))

    def grip(self, position: float) -> Errand:
        gripper = self.options.gripper
        ends = self.closes_at if position == gripper.closed else gripper.joint_open
        return self._send(
            Interface.GRIPPER, position, lambda: self.joints.update({gripper.joint: ends})
        )

    def plan_grasps(self, thing: Standing) -> Errand:
        return self._send(Interface.GRASPS, thing, lambda: None)

    def limit(self, speed_m_s: float, hand_m_s: float) -> None:
        self.limits.append(speed_m_s)

    def recall(self) -> None:
        self.recalls += 1
        for errand in self.running:
            if errand.runs:
                errand.recalled, errand.state = True, State.CANCELED

    def leave(self) -> None:
        pass

    def close(self) -> None:
        self.recall()

    def tell(self, **news: object) -> None:
        self.said = replace(self.said, **news)  # type: ignore[arg-type]


def map_of(house: House, *, walls: bool = True) -> FloorMap:
    """A floor map with the walls of a house, its lower corner at (-1, -1)."""
    corners = [corner for room in house.rooms for corner in room.polygon_m]
    most = [max(corner[axis] for corner in corners) for axis in (0, 1)]
    columns, rows = (math.ceil((edge + 2.0) / CELL_M) for edge in most)
    cells = np.zeros((rows, columns), np.int8)
    for room in house.rooms if walls else ():
        polygon = room.polygon_m
        for (x0, y0), (x1, y1) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
            for share in np.linspace(0.0, 1.0, 400):
                x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
                cells[int((y + 1.0) / CELL_M), int((x + 1.0) / CELL_M)] = 100
    return FloorMap(cells, CELL_M, Pose.planar(-1.0, -1.0))
