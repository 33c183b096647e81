"""The emulated robot as its own process, driven by clients that know only its interfaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from geometry_msgs.msg import PoseStamped, Twist
from lifecycle_msgs.srv import GetState
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import Constraints, OrientationConstraint, PositionConstraint
from moveit_msgs.srv import GetPositionIK
from nav2_msgs.action import ComputePathToPose, NavigateThroughPoses, NavigateToPose
from nav_msgs.msg import OccupancyGrid, Odometry
from planner_msgs.msg import WorldState
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState, CameraInfo, CompressedImage, Image, JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import String
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planner.environment import ros_environment
from sim_bridge.opening import default_house, open_world

BY_CHEST = (5.15, 0.77, 0.0)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Type hashes, as of the upstream packages that test_shims.py names.
HASHES = {
    NavigateToPose: "a56dba8a3234a1215e610180dc703ae25bbf406dded8b54887891c9732857eab",
    NavigateThroughPoses: "79fd41c3d79022e194035040f5adee498dfe56e797ede67e5ca31591d9f52eef",
    ComputePathToPose: "b11d50c914791956069419b8f4ad441e3c66fcfbd9461f8e87110b77dc6febe9",
    FollowJointTrajectory: "ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0",
    GripperCommand: "e17c0e644eccf14bea84a0a93e0977182872c2eb7873ca6694900059b46dbc84",
    ParallelGripperCommand: "adfd3c1ebe8abc38ebcc0e454b6423d291d4010dd5697d14eca5b9be4726ae18",
    MoveGroup: "8c41d70908a2d26b564ddac31e9710f697a753bbd2a4d229542f76271daefc0b",
    GetPositionIK: "054ed6f6f71a09b01b5246c5d80beb4dacc6f444f58df039849c76292933e9e3",
}


class Client(Node):
    """Sends goals and hears topics."""

    def __init__(self) -> None:
        super().__init__("outsider")
        self._senders: dict[str, ActionClient] = {}

    def until(self, check: Callable[[], Any], limit_s: float = 60.0) -> Any:
        ends_s = time.monotonic() + limit_s
        while time.monotonic() < ends_s:
            found = check()
            if found:
                return found
            rclpy.spin_once(self, timeout_sec=0.05)
        raise AssertionError("it did not happen")

    def hear(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> list[Any]:
        """The messages of a topic from now on."""
        heard: list[Any] = []
        self.create_subscription(kind, topic, heard.append, qos)
        return heard

    def send(self, action: Any, name: str, goal: Any, feedback: Any = None) -> Any:
        """An accepted goal."""
        client = self._senders.setdefault(name, ActionClient(self, action, name))
        self.until(client.server_is_ready)
        sent = client.send_goal_async(goal, feedback_callback=feedback)
        self.until(sent.done)
        return sent.result()

    def ended(self, goal: Any) -> Any:
        """A goal's status and result."""
        asked = goal.get_result_async()
        self.until(asked.done)
        return asked.result()

    def do(self, action: Any, name: str, goal: Any) -> Any:
        return self.ended(self.send(action, name, goal))

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.create_client(kind, name)
        self.until(client.service_is_ready)
        answer = client.call_async(request)
        self.until(answer.done)
        return answer.result()


@pytest.fixture
def client() -> Iterator[Client]:
    rclpy.init()
    made = Client()
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., None]]:
    processes: list[subprocess.Popen[bytes]] = []

    def begin(*options: str) -> None:
        opened = open_world(default_house(), "", 0, 1)
        agents = tuple(a.model_copy(update={"start": BY_CHEST}) for a in opened.episode.agents)
        episode = opened.episode.model_copy(update={"agents": agents, "episode_id": "by_chest"})
        path = tmp_path / "episode.json"
        path.write_text(episode.model_dump_json())
        words = [sys.executable, "-m", "planner.cli", "robot-emulator", "--episode", str(path)]
        processes.append(
            subprocess.Popen([*words, *options], env=dict(ros_environment(os.environ)))
        )

    yield begin
    for process in processes:
        process.terminate()
        process.wait(30)


def pose(x: float, y: float, z: float = 0.0, frame: str = "map") -> PoseStamped:
    made = PoseStamped()
    made.header.frame_id = frame
    made.pose.position.x, made.pose.position.y, made.pose.position.z = x, y, z
    made.pose.orientation.w = 1.0
    return made


def motion(at: PoseStamped) -> MoveGroup.Goal:
    """The grasping frame there, with the orientation of the frame."""
    goal = MoveGroup.Goal()
    goal.request.group_name = "arm_torso"
    goal.request.allowed_planning_time = 5.0
    place = PositionConstraint(header=at.header, link_name="gripper_grasping_frame", weight=1.0)
    place.constraint_region.primitives = [SolidPrimitive(type=2, dimensions=[0.01])]
    place.constraint_region.primitive_poses = [at.pose]
    turn = OrientationConstraint(header=at.header, link_name="gripper_grasping_frame", weight=1.0)
    turn.orientation = at.pose.orientation
    turn.absolute_x_axis_tolerance = turn.absolute_y_axis_tolerance = 0.05
    turn.absolute_z_axis_tolerance = 0.05
    place.constraint_region.primitives[0].type = SolidPrimitive.SPHERE
    goal.request.goal_constraints = [
        Constraints(position_constraints=[place], orientation_constraints=[turn])
    ]
    return goal


@pytest.mark.parametrize("interface", HASHES, ids=lambda each: each.__name__)
def test_the_wire_format_is_that_of_upstream(interface: Any) -> None:
    kind = "srv" if interface is GetPositionIK else "action"
    package = interface.__module__.partition(".")[0]
    share = Path(sys.prefix) / "share" / package / kind / f"{interface.__name__}.json"
    assert json.loads(share.read_text())["type_hashes"][0]["hash_string"] == (
        f"RIHS01_{HASHES[interface]}"
    )


def test_it_grasps_what_its_clients_see(client: Client, start: Callable[..., None]) -> None:
    start("--truth")
    truth = client.hear(WorldState, "/world/state", LATCHED)
    client.until(lambda: truth)

    # Head and camera.
    trajectory = JointTrajectory(joint_names=["head_pan_joint", "head_tilt_joint"])
    point = JointTrajectoryPoint(positions=[0.0, 0.4])
    point.time_from_start.sec = 1
    trajectory.points = [point]
    told: list[Any] = []
    goal = client.send(
        FollowJointTrajectory,
        "/head_controller/follow_joint_trajectory",
        FollowJointTrajectory.Goal(trajectory=trajectory),
        told.append,
    )
    ended = client.ended(goal)
    assert (ended.status, ended.result.error_code) == (GoalStatus.STATUS_SUCCEEDED, 0)
    assert told
    assert told[0].feedback.joint_names == ["head_pan_joint", "head_tilt_joint"]
    pictures = client.hear(Image, "/head_camera/rgb/image_raw")
    depths = client.hear(Image, "/head_camera/depth_registered/image_raw")
    infos = client.hear(CameraInfo, "/head_camera/rgb/camera_info")
    jpegs = client.hear(CompressedImage, "/head_camera/rgb/image_raw/compressed")
    client.until(lambda: pictures and depths and infos and jpegs)
    client.until(lambda: {p.header.stamp.nanosec for p in pictures} & {
        d.header.stamp.nanosec for d in depths
    })  # fmt: skip
    assert (pictures[0].encoding, pictures[0].width, pictures[0].height) == ("rgb8", 640, 480)
    assert pictures[0].header.frame_id == "head_camera_rgb_optical_frame"
    depth = np.frombuffer(bytes(depths[-1].data), np.uint16).reshape(480, 640)
    assert depths[-1].encoding == "16UC1"
    assert 300 < np.median(depth[depth > 0]) < 3000
    assert infos[0].k[0] == pytest.approx(320 / np.tan(0.6))

    # Arm and gripper; the candle is on the chest, 0.129 m high.
    for back in (0.15, 0.0):
        moved = client.do(MoveGroup, "/move_action", motion(pose(5.8257 - back, 0.7747, 0.905)))
        assert moved.result.error_code.val == 1, moved.result.error_code.message
        assert moved.result.executed_trajectory.joint_trajectory.points
    closed = client.do(GripperCommand, "/gripper_controller/gripper_cmd", GripperCommand.Goal())
    assert (closed.result.stalled, closed.result.reached_goal) == (True, False)
    assert closed.status == GoalStatus.STATUS_ABORTED
    assert closed.result.position == pytest.approx(0.066, abs=0.005)
    client.until(lambda: any("candle_0" in list(e.hands) for m in truth for e in m.entities))

    # A newer goal, a cancel, a goal that is wrong.
    first = client.send(MoveGroup, "/move_action", motion(pose(5.6, 0.95, 1.1)))
    second = client.send(MoveGroup, "/move_action", motion(pose(5.6, 0.6, 1.1)))
    assert client.ended(first).result.error_code.val == -7
    client.until(lambda: second.status == GoalStatus.STATUS_EXECUTING)
    client.until(second.cancel_goal_async().done)
    ended = client.ended(second)
    assert (ended.status, ended.result.error_code.val) == (GoalStatus.STATUS_CANCELED, -7)
    wrong = motion(pose(5.6, 0.6, 1.1, frame="moon"))
    assert client.do(MoveGroup, "/move_action", wrong).result.error_code.val == -21


def test_nav2_may_die_and_comes_back(client: Client, start: Callable[..., None]) -> None:
    start("--parallel-gripper", "--image-encoding", "mono8", "--depth-encoding", "32FC1")
    state = client.call(GetState, "/bt_navigator/get_state", GetState.Request())
    assert state.current_state.label == "active"
    ask = ComputePathToPose.Goal(goal=pose(3.0, 11.0))
    path = client.do(ComputePathToPose, "/compute_path_to_pose", ask).result.path
    assert path.poses[0].pose.position.x == pytest.approx(BY_CHEST[0], abs=0.05)
    assert path.poses[-1].pose.position.y == pytest.approx(11.0)
    wall = ComputePathToPose.Goal(goal=pose(0.0, 8.0))
    refused = client.do(ComputePathToPose, "/compute_path_to_pose", wall)
    assert refused.result.error_code == ComputePathToPose.Result.GOAL_OCCUPIED
    assert refused.status == GoalStatus.STATUS_ABORTED

    told, sent = [], client.hear(Twist, "/cmd_vel")
    odometry = client.hear(Odometry, "/odom")
    going = client.send(
        NavigateToPose, "/navigate_to_pose", NavigateToPose.Goal(pose=pose(3.0, 11.0)), told.append
    )
    client.until(lambda: odometry and odometry[-1].twist.twist.linear.x > 0.2)
    client.until(lambda: told and told[-1].feedback.distance_remaining > 5.0)
    assert sent
    # The other navigator is not free; the same one takes the newer goal.
    through = NavigateThroughPoses.Goal()
    through.poses.goals = [pose(3.0, 11.0)]
    assert not client.send(NavigateThroughPoses, "/navigate_through_poses", through).accepted
    newer = client.send(
        NavigateToPose, "/navigate_to_pose", NavigateToPose.Goal(pose=pose(3.1, 9.2))
    )
    assert client.ended(going).status == GoalStatus.STATUS_ABORTED

    client.call(SetBool, "/emulator/nav2", SetBool.Request(data=False))
    lost = newer.get_result_async()
    client.until(lambda: odometry[-1].twist.twist.linear.x == 0.0)
    client.until(
        lambda: not ActionClient(client, NavigateToPose, "/navigate_to_pose").server_is_ready()
    )
    assert not lost.done()
    client.call(SetBool, "/emulator/nav2", SetBool.Request(data=True))
    again = client.send(
        NavigateToPose, "/navigate_to_pose", NavigateToPose.Goal(pose=pose(3.0, 11.0))
    )
    assert again.accepted
    client.until(again.cancel_goal_async().done)
    assert client.ended(again).status == GoalStatus.STATUS_CANCELED

    goal = ParallelGripperCommand.Goal()
    goal.command.name, goal.command.position = ["gripper_left_finger_joint"], [0.02]
    moved = client.do(ParallelGripperCommand, "/gripper_controller/gripper_cmd", goal)
    assert moved.result.reached_goal
    assert moved.result.state.position[0] == pytest.approx(0.02)


def test_it_tells_its_state_as_robots_do(client: Client, start: Callable[..., None]) -> None:
    start("--image-encoding", "mono8", "--depth-encoding", "32FC1")
    joints = client.hear(JointState, "/joint_states")
    battery = client.hear(BatteryState, "/battery_state")
    described = client.hear(String, "/robot_description", LATCHED)
    maps = client.hear(OccupancyGrid, "/map", LATCHED)
    fixed = client.hear(TFMessage, "/tf_static", LATCHED)
    moving = client.hear(TFMessage, "/tf")
    pictures = client.hear(Image, "/head_camera/rgb/image_raw")
    depths = client.hear(Image, "/head_camera/depth_registered/image_raw")
    needed = (joints, battery, described, maps, fixed, pictures, depths)
    client.until(lambda: all(needed) and len(moving) > 20)
    assert len(joints[-1].name) == len(joints[-1].position) == 12
    assert 0.9 < battery[-1].percentage <= 1.0
    assert "<robot" in described[0].data
    assert maps[0].info.resolution == pytest.approx(0.05)
    assert {0, 100} <= set(maps[0].data) <= {-1, 0, 100}
    parents = {t.child_frame_id: t.header.frame_id for m in (*fixed, *moving) for t in m.transforms}
    frame, chain = "head_camera_rgb_optical_frame", []
    while frame in parents:
        frame = parents[frame]
        chain.append(frame)
    assert chain[-3:] == ["base_footprint", "odom", "map"]
    assert (pictures[0].encoding, pictures[0].step) == ("mono8", 640)
    metres = np.frombuffer(bytes(depths[0].data), np.float32)
    assert depths[0].encoding == "32FC1"
    assert np.isnan(metres).any() or (metres > 0.3).all()
    assert 0.3 < np.nanmedian(metres) < 8.0
