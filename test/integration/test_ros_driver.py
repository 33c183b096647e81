"""The port of the backend `ros` before a driver with two modes and a gripper of two joints."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import rclpy
from control_msgs.action import FollowJointTrajectory
from moveit_msgs.msg import CollisionObject, Grasp, MoveItErrorCodes
from moveit_msgs.srv import GraspPlanning
from nav2_msgs.action import NavigateToPose
from rclpy.action.server import ActionServer, GoalResponse
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from planner.world.geometry import Pose
from sim_bridge.ros.grasps import Standing
from sim_bridge.ros.node import RosPort
from sim_bridge.ros.options import (
    ArmMethod,
    Controller,
    GripperKind,
    Modes,
    RosOptions,
    default_ros,
)
from sim_bridge.ros.port import Errand, State

ARM = "/driver/follow_joint_trajectory"
DRIVE, MOVE = "/switch_to_drive", "/switch_to_move"
GRASPS = "/plan_grasps"


def options() -> RosOptions:
    usual = default_ros()
    gripper = usual.gripper.model_copy(
        update={"kind": GripperKind.TRAJECTORY, "action": ARM, "others": ("right_finger",)}
    )
    changed = {"gripper": gripper, "modes": Modes(drive=DRIVE, move=MOVE)}
    arm = usual.arm.model_copy(
        update={
            "method": ArmMethod.TRAJECTORY,
            "controllers": (Controller(action=ARM, joints=("lift",)),),
            "carry": {"lift": 0.0},
            "ready": {"lift": 0.3},
        }
    )
    changed["grasping"] = usual.grasping.model_copy(update={"service": GRASPS})
    return usual.model_copy(update={**changed, "arm": arm, "head": None, "battery": None})


class Driver(Node):
    """Takes goals of joints only in one mode and drives only in the other, as Stretch's driver."""

    def __init__(self, context: Context) -> None:
        super().__init__("driver", context=context)
        self.mode = self.refuses = ""
        self.asked: list[str] = []
        self.moved: list[FollowJointTrajectory.Goal] = []
        for name in (DRIVE, MOVE):
            self.create_service(Trigger, name, self._switch(name))
        self.targets: list[CollisionObject] = []
        self.planned: list[Grasp] = []
        self.create_service(GraspPlanning, GRASPS, self._plan_grasps)
        self._servers = [
            self._serve(FollowJointTrajectory, ARM, MOVE, self.moved.append),
            self._serve(NavigateToPose, "/navigate_to_pose", DRIVE, lambda goal: None),
        ]

    def _switch(self, name: str) -> Callable[[Any, Any], Any]:
        def answer(_request: Any, response: Any) -> Any:
            self.asked.append(name)
            response.success = self.refuses != name
            response.message = "" if response.success else "run-stop is pressed"
            if response.success:
                self.mode = name
            return response

        return answer

    def _plan_grasps(self, request: Any, response: Any) -> Any:
        self.targets.append(request.target)
        response.grasps = self.planned
        good = MoveItErrorCodes.SUCCESS if self.planned else MoveItErrorCodes.PLANNING_FAILED
        response.error_code.val = good
        return response

    def _serve(self, kind: Any, name: str, mode: str, note: Callable[[Any], None]) -> Any:
        def run(handle: Any) -> Any:
            note(handle.request)
            handle.succeed()
            return kind.Result()

        def judge(_goal: Any) -> GoalResponse:
            return GoalResponse.ACCEPT if self.mode == mode else GoalResponse.REJECT

        return ActionServer(self, kind, name, run, goal_callback=judge)


@pytest.fixture
def driver() -> Iterator[Driver]:
    context = Context()
    rclpy.init(context=context)
    node, executor = Driver(context), MultiThreadedExecutor(2, context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield node
    rclpy.shutdown(context=context)
    thread.join(10.0)


@pytest.fixture
def port(driver: Driver) -> Iterator[RosPort]:
    made = RosPort(options())
    until(lambda: {ARM, "/navigate_to_pose"} <= {n for n, s in made.state().servers.items() if s})
    yield made
    made.leave()


def until(check: Callable[[], bool], limit_s: float = 60.0) -> None:
    ends_s = time.monotonic() + limit_s
    while not check():
        assert time.monotonic() < ends_s, "it did not happen"
        time.sleep(0.02)


def ended(errand: Errand) -> State:
    until(lambda: not errand.runs)
    return errand.state


def test_the_driver_is_asked_for_a_mode_before_each_kind_of_goal(
    driver: Driver, port: RosPort
) -> None:
    lift = options().arm.controllers[0]
    assert ended(port.follow(lift, [({"lift": 0.3}, 1.0)])) is State.SUCCEEDED
    assert ended(port.grip(0.02)) is State.SUCCEEDED
    assert driver.asked == [MOVE]
    assert ended(port.navigate(Pose.planar(1.0, 0.0))) is State.SUCCEEDED
    assert driver.asked == [MOVE, DRIVE]
    # Somebody else changed it: that goal is refused, and the next one asks again.
    driver.mode = MOVE
    assert ended(port.navigate(Pose.planar(1.0, 0.0))) is State.REJECTED
    assert ended(port.navigate(Pose.planar(1.0, 0.0))) is State.SUCCEEDED
    assert driver.asked == [MOVE, DRIVE, DRIVE]


def test_a_mode_that_the_driver_refuses_is_said(driver: Driver, port: RosPort) -> None:
    driver.refuses = MOVE
    errand = port.grip(0.0)
    assert ended(errand) is State.REJECTED
    assert errand.text == f"{MOVE}: run-stop is pressed"
    assert driver.moved == []


def test_both_fingers_are_named_in_one_goal(driver: Driver, port: RosPort) -> None:
    assert ended(port.grip(0.02)) is State.SUCCEEDED
    (goal,) = driver.moved
    assert goal.trajectory.joint_names == [options().gripper.joint, "right_finger"]
    assert list(goal.trajectory.points[0].positions) == [0.02, 0.02]


def test_grasps_of_another_planner_come_in_the_base(driver: Driver, port: RosPort) -> None:
    thing = Standing((0.7, 0.1, 0.8), (0.2, 0.08, 0.1), 0.4, 0.75, np.zeros((3, 2)))
    none = port.plan_grasps(thing)
    assert ended(none) is State.ABORTED
    assert none.code == MoveItErrorCodes.PLANNING_FAILED
    # It is asked for what the picture showed, in the frame of the base.
    (target,) = driver.targets
    assert target.header.frame_id == options().frames.base
    assert list(target.primitives[0].dimensions) == pytest.approx([0.2, 0.08, 0.1])
    place = target.primitive_poses[0].position
    assert (place.x, place.y, place.z) == pytest.approx((0.7, 0.1, 0.8))
    known, unknown = Grasp(id="best"), Grasp(id="elsewhere")
    known.grasp_pose.header.frame_id = options().frames.base
    known.grasp_pose.pose.position.z, known.grasp_pose.pose.orientation.w = 0.83, 1.0
    unknown.grasp_pose.header.frame_id = "no_such_frame"
    driver.planned = [known, unknown]
    found = port.plan_grasps(thing)
    assert ended(found) is State.SUCCEEDED
    (grasp,) = found.grasps
    assert grasp.kind == "service"
    assert grasp.tool.position_m[2] == pytest.approx(0.83)
    assert grasp.above_m == pytest.approx(0.08)
