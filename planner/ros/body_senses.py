"""What one body senses, from the topics of its bridge: for policies that act on pictures."""

from __future__ import annotations

from collections.abc import Sequence

from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState

from planner.ros import qos
from planner.ros.camera_input import COLOUR, DEPTH, CameraInput, Exposure, camera_frame
from planner.ros.checked_subscription import listen
from planner.ros.conversions import pose_record
from planner.ros.frame_tree import FrameTree
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.memory_wire import stamp_seconds
from planner.world.observation import CameraFrame, Grip, Observation
from planner.world.wire import grip_record


class BodySenses:
    """The newest message of each topic; subscribes only when somebody asks."""

    def __init__(self, node: Node, agent: str, cameras: Sequence[str]) -> None:
        """`cameras` are those of the agent's body."""
        self._node, self._agent, self._known = node, agent, tuple(cameras)
        self._odometry: Odometry | None = None
        self._joints: dict[str, float] = {}
        self._grip = Grip()
        self._tree: FrameTree | None = None
        self._inputs: dict[str, CameraInput] = {}
        self._exposures: dict[str, Exposure] = {}

    def observe(self, cameras: Sequence[str]) -> Observation | None:
        """What the topics say; None until they have, and after the world was reset.

        With cameras it is of the time of the first one's picture.

        Raises:
            PlannerError: for a camera that the body lacks, or a picture that cannot be read.
        """
        for camera in cameras:
            if camera not in self._known:
                known = ", ".join(self._known) or "none"
                raise PlannerError(f"{self._agent} has no camera {camera!r}; it has {known}")
        tree = self._listen(cameras)
        odometry = self._odometry
        if odometry is None or any(camera not in self._exposures for camera in cameras):
            return None
        stamp_s = stamp_seconds(odometry.header.stamp)
        if cameras:
            stamp_s = self._exposures[cameras[0]].stamp_s
        base = tree.pose(f"{self._agent}/base_link", stamp_s)
        hand = tree.pose(f"{self._agent}/hand", stamp_s)
        frames = self._frames(tree, cameras)
        if base is None or hand is None or frames is None:
            return None
        twist = odometry.twist.twist
        return Observation(
            stamp_s=stamp_s,
            agent=self._agent,
            base=base,
            odometry=pose_record(odometry.pose.pose),
            linear_m_s=float(twist.linear.x),
            angular_rad_s=float(twist.angular.z),
            hand=base.inverse().compose(hand),
            joints=dict(self._joints),
            gripper_opening=self._grip.opening,
            holding=self._grip.holding,
            cameras=frames,
            optical=self._optical(tree, base, stamp_s),
        )

    def forget(self) -> None:
        """Drops everything that was heard: the world was reset."""
        self._odometry = None
        self._exposures.clear()
        if self._tree is not None:
            self._tree.forget()

    def destroy(self) -> None:
        """Removes the cameras' subscriptions."""
        for each in self._inputs.values():
            each.destroy()
        self._inputs.clear()

    def _listen(self, cameras: Sequence[str]) -> FrameTree:
        """Subscribes to what is not subscribed to yet."""
        node, tree = self._node, self._tree
        if tree is None:
            tree = self._tree = FrameTree(node, lambda: None)

            def topic(name: str) -> str:
                return topics.of_agent(self._agent, name)

            listen(node, Odometry, topic(topics.ODOMETRY), self._on_odometry, qos.STATE_INPUT)
            listen(node, JointState, topic(topics.JOINT_STATES), self._on_joints, qos.STATE_INPUT)
            listen(node, JointState, topic(topics.GRIPPER_STATE), self._on_gripper, qos.LATCHED)
        for camera in cameras:
            if camera not in self._inputs:
                self._inputs[camera] = CameraInput(
                    node,
                    self._agent,
                    camera,
                    (DEPTH, COLOUR),
                    lambda _stamp_s: True,
                    lambda exposure, camera=camera: self._expose(camera, exposure),  # type: ignore[misc]
                )
        return tree

    def _expose(self, camera: str, exposure: Exposure) -> None:
        self._exposures[camera] = exposure

    def _frames(self, tree: FrameTree, cameras: Sequence[str]) -> dict[str, CameraFrame] | None:
        frames: dict[str, CameraFrame] = {}
        for camera in cameras:
            exposure = self._exposures[camera]
            pose = tree.pose(exposure.frame_id, exposure.stamp_s)
            if pose is None:
                return None
            frames[camera] = camera_frame(exposure, pose)
        return frames

    def _optical(self, tree: FrameTree, base: Pose, stamp_s: float) -> dict[str, Pose]:
        found: dict[str, Pose] = {}
        for camera in self._known:
            pose = tree.pose(f"{self._agent}/{camera}_optical_frame", stamp_s)
            if pose is not None:
                found[camera] = base.inverse().compose(pose)
        return found

    def _on_odometry(self, message: Odometry) -> None:
        self._odometry = message

    def _on_joints(self, message: JointState) -> None:
        self._joints = dict(zip(message.name, map(float, message.position), strict=False))

    def _on_gripper(self, message: JointState) -> None:
        self._grip = grip_record(message) or self._grip
