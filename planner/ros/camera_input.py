"""What bodies sense: pictures by exposure, poses of frames, and the newest picture of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image, JointState
from tf2_msgs.msg import TFMessage

from planner.models.chat import Picture
from planner.ros import conversions as images
from planner.ros import qos
from planner.ros.conversions import pose_record
from planner.ros.subscriptions import drop_bytes, listen, reader
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.memory_wire import FrameLinks, is_ours, stamp_seconds
from planner.world.observation import CameraFrame, Grip, Observation, RgbImage
from planner.world.wire import first_stamp_of, grip_record, intrinsics_of, stamp_of

DEPTH, INSTANCES, COLOUR = "depth", "instances", "colour"
# Incomplete exposures that are kept; older ones are dropped.
_WAITING = 4


@dataclass(slots=True)
class Exposure:
    """The pictures of one instant and their camera info."""

    stamp_s: float
    frame_id: str
    camera_info: CameraInfo
    images: dict[str, Image] = field(default_factory=dict)


class CameraInput:
    """Groups pictures by stamp; those not due are not deserialised.

    `losses` counts unused pictures by reason.
    """

    def __init__(
        self,
        node: Node,
        agent: str,
        camera: str,
        kinds: Sequence[str],
        is_due: Callable[[float], bool],
        on_exposure: Callable[[Exposure], None],
    ) -> None:
        """Subscribes to the topics of `kinds`.

        Args:
            node: subscribes.
            agent: its namespace.
            camera: as in the topics' names.
            kinds: pictures of a complete exposure.
            is_due: whether the exposure at a stamp is needed.
            on_exposure: gets each complete one.
        """
        self._kinds = tuple(kinds)
        self._is_due = is_due
        self._on_exposure = on_exposure
        self.losses: Counter[str] = Counter()
        self._camera_info: CameraInfo | None = None
        self._waiting: dict[float, dict[str, bytes]] = {}
        names = {
            DEPTH: topics.of_agent(agent, topics.depth_image(camera)),
            INSTANCES: topics.of_agent(agent, topics.instances_image(camera)),
            COLOUR: topics.of_agent(agent, topics.colour_image(camera)),
        }
        self._node, self._names = node, names
        info = topics.of_agent(agent, topics.depth_info(camera))
        self._info: Any = listen(node, CameraInfo, info, self._on_info, qos.IMAGE_INPUT)
        self._readers = {kind: reader(node, Image, names[kind]) for kind in self._kinds}
        self._subscriptions: list[Any] = [
            node.create_subscription(
                Image, names[kind], self._taker(kind), qos.IMAGE_INPUT, raw=True
            )
            for kind in self._kinds
        ]

    def destroy(self) -> None:
        """Removes the subscriptions."""
        for subscription in (self._info, *self._subscriptions):
            if subscription is not None:
                self._node.destroy_subscription(subscription)
        self._info = None
        self._subscriptions.clear()

    def _on_info(self, message: CameraInfo) -> None:
        # Intrinsics do not change: the first message is enough.
        self._camera_info = message
        if self._info is not None:
            self._node.destroy_subscription(self._info)
            self._info = None

    def _taker(self, kind: str) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            self._take(kind, data)

        return take

    def _take(self, kind: str, data: bytes) -> None:
        try:
            stamp_s = stamp_of(data)
        except ValueError as error:
            drop_bytes(self._node, self._names[kind], str(error))
            return
        if self._camera_info is None:
            self.losses["pictures without camera_info"] += 1
            return
        if not self._is_due(stamp_s):
            return
        taken = self._waiting.setdefault(stamp_s, {})
        taken[kind] = data
        if len(taken) == len(self._kinds):
            # All incomplete exposures are older: drop them.
            self._waiting.clear()
            images = {kind: self._readers[kind](each) for kind, each in taken.items()}
            if None in images.values():
                self.losses["pictures out of bounds"] += 1
                return
            frame_id = images[kind].header.frame_id
            self._on_exposure(Exposure(stamp_s, frame_id, self._camera_info, images))
        elif len(self._waiting) > _WAITING:
            self._waiting.pop(next(iter(self._waiting)))
            self.losses["pictures without the others of their stamp"] += 1


def camera_frame(exposure: Exposure, optical: Pose) -> CameraFrame:
    """The pictures of an exposure as arrays; `optical` is the camera's pose in `map`.

    Raises:
        PlannerError: for an encoding that cannot be read, or pictures of different sizes.
    """
    depth_m = images.depth_array(exposure.images[DEPTH])
    instances = None
    if INSTANCES in exposure.images:
        instances = images.instance_array(exposure.images[INSTANCES])
        if depth_m.shape != instances.shape:
            raise PlannerError(f"depth is {depth_m.shape} and instances {instances.shape}")
    if COLOUR in exposure.images:
        rgb = images.rgb_array(exposure.images[COLOUR])
        if depth_m.shape != rgb.shape[:2]:
            raise PlannerError(f"depth is {depth_m.shape} and colours {rgb.shape}")
    else:
        # The privileged updater does not use colours: a black picture takes their place.
        rgb = np.broadcast_to(np.zeros(1, np.uint8), (*depth_m.shape, 3))
    return CameraFrame(
        rgb=rgb,
        depth_m=depth_m,
        instances=instances,
        intrinsics=intrinsics_of(exposure.camera_info),
        pose=optical,
    )


# Poses of frames in `map` at the time of a picture, from /tf.


class FrameTree(FrameLinks):
    """Subscribes to /tf and /tf_static."""

    def __init__(self, node: Node, on_change: Callable[[], None]) -> None:
        """Subscribes to both topics; `on_change` is called after each message on /tf."""
        read = reader(node, TFMessage, topics.TF)

        def links(data: bytes) -> Iterable[Any]:
            message = read(data)
            return [] if message is None else list(message.transforms)

        super().__init__(links)
        self._on_change, self._node = on_change, node
        node.create_subscription(TFMessage, topics.TF, self._on_links, qos.TF, raw=True)
        listen(node, TFMessage, topics.TF_STATIC, self._on_static_links, qos.TF_STATIC)

    def _on_links(self, data: bytes) -> None:
        try:
            stamp_s = first_stamp_of(data)
            is_used = stamp_s is not None and is_ours(data)
        except ValueError as error:
            drop_bytes(self._node, topics.TF, str(error))
            return
        if stamp_s is not None and is_used:
            self.add(stamp_s, data)
            self._on_change()

    def _on_static_links(self, message: TFMessage) -> None:
        self.add_static(message.transforms)


# What one body senses, from the topics of its bridge: for policies that act on pictures.


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


# The newest colour picture of each agent's hand camera, decoded only when somebody asks for it.

_CAMERA = "hand"


class NewestPictures:
    """Subscribes for the agents that it is told of; keeps one message of each, as it came."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._messages: dict[str, bytes] = {}
        self._read = reader(node, Image, topics.colour_image(_CAMERA))
        self._subscriptions: dict[str, Any] = {}

    def add(self, agent: str) -> None:
        """Subscribes to an agent's camera; the second time has no effect."""
        if agent in self._subscriptions:
            return

        def take(message: bytes) -> None:
            self._messages[agent] = message

        topic = topics.of_agent(agent, topics.colour_image(_CAMERA))
        self._subscriptions[agent] = self._node.create_subscription(
            Image, topic, take, qos.IMAGE_INPUT, raw=True
        )

    def has(self, agent: str) -> bool:
        """Whether an agent's picture has come."""
        return agent in self._messages

    def picture(self, agent: str) -> Picture | None:
        """The newest one; None if none has come yet. May be called from any thread.

        Raises:
            PlannerError: for an encoding that cannot be read.
        """
        image = self.image(agent)
        return None if image is None else Picture.of(image)

    def image(self, agent: str) -> RgbImage | None:
        """The same as pixels, (h, w, 3).

        Raises:
            PlannerError: for an encoding that cannot be read.
        """
        message = self._messages.get(agent)
        if message is None:
            return None
        picture = self._read(message)
        return None if picture is None else images.rgb_array(picture)
