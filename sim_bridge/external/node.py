"""Subscribes to spot_ros2's topics of standard types, in a thread and a ROS context of its own."""

from __future__ import annotations

import atexit
import contextlib
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import rclpy
from geometry_msgs.msg import Quaternion, TransformStamped
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.exceptions import NotInitializedException
from rclpy.executors import ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from planner.ros import qos
from planner.ros.conversions import point_m
from planner.ros.guard import GuardedExecutor
from planner.ros.robot_camera import CameraSource, RobotCamera
from planner.ros.subscriptions import bounds_of
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.memory_wire import stamp_seconds
from planner.world.observation import CameraNews
from sim_bridge.external.backend import ExternalBackend
from sim_bridge.external.readings import ExternalOptions, RobotReadings, default_external
from sim_bridge.one_robot import ClockShift, Outcome, PoseHistory

# Raised by a context that was shut down meanwhile.
RCL_ERRORS = (
    rclpy_implementation.RCLError,
    rclpy_implementation.InvalidHandle,
    NotInitializedException,
)
ODOMETRY_FRAMES = ("odom", "vision")
# spot_ros2 offers its static frames reliable and transient local.
_STATIC = QoSProfile(
    depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
# Each message counts for the poses in between.
_ODOMETRY = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
_MOVING = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
# Timeout for the discovery of a service after another one of the same robot.
FIND_S = 2.0


def make_backend(options: ExternalOptions | None = None) -> ExternalBackend:
    """The backend with a listener of its own."""
    options = options or default_external()
    return ExternalBackend(Ros2Listener(options), options)


@dataclass(frozen=True, slots=True)
class RobotTopics:
    """Where a robot of others is heard.

    Attributes:
        odometry: of the body, in one of `odometry_frames`.
        body: the frame of which the odometry tells.
        joints: of its joint states; several publishers may each tell of some joints.
        cameras: by name.
    """

    odometry: str
    odometry_frames: tuple[str, ...]
    body: str
    joints: str
    cameras: Mapping[str, CameraSource]


def topics_of(options: ExternalOptions) -> RobotTopics:
    """The topics of spot_ros2."""
    name, packed = f"/{options.namespace}", options.transport == "compressed"
    return RobotTopics(
        odometry=f"{name}/odometry",
        odometry_frames=tuple(f"{options.namespace}/{odom}" for odom in ODOMETRY_FRAMES),
        body=options.frames.body,
        joints=f"{name}/joint_states",
        cameras={
            camera: CameraSource(
                colour=f"{name}/camera/{camera}/image",
                info=f"{name}/camera/{camera}/camera_info",
                depth=f"{name}/depth_registered/{camera}/image",
                colour_transport="compressed" if packed else "raw",
                depth_transport="compressedDepth" if packed else "raw",
                max_age_s=options.picture_age_s,
            )
            for camera in options.cameras
        },
    )


class RobotEar:
    """Hears a robot of others, in a thread and a ROS context of its own."""

    def __init__(self, topics: RobotTopics, name: str) -> None:
        """Subscribes to its topics, as a node of this name."""
        self._topics, self._lock, self._readings = topics, threading.Lock(), RobotReadings()
        self._name = name
        self._clock = ClockShift()
        self._day_s = time.time() - time.monotonic()
        self._begin()
        # A thread that still spins when the interpreter ends would crash the process.
        atexit.register(self.close)

    def _begin(self, *, listens: bool = True) -> None:
        self._context = Context()
        rclpy.init(context=self._context)
        # The driver's names are not ours: a namespace of the bridge must not change them.
        self._node = rclpy.create_node(
            self._name, context=self._context, use_global_arguments=False
        )
        self._executor = GuardedExecutor(context=self._context)
        self._executor.add_node(self._node)
        if listens:
            self._subscribe()
        self._thread = threading.Thread(target=self._spin, name="external-ear", daemon=True)
        self._thread.start()

    def _subscribe(self) -> None:
        topics, listen = self._topics, self._node.create_subscription
        listen(Odometry, topics.odometry, self._on_odometry, _ODOMETRY)
        listen(JointState, topics.joints, self._on_joints, qos.STATE_INPUT)
        listen(TFMessage, "/tf", self._on_frames, _MOVING)
        listen(TFMessage, "/tf_static", self._on_static_frames, _STATIC)
        for name, source in topics.cameras.items():
            RobotCamera(self._node, source, self.now_s, self._age_s, partial(self._on_news, name))

    def _spin(self) -> None:
        try:
            with contextlib.suppress(ExternalShutdownException):
                self._executor.spin()
        except RCL_ERRORS:
            # The signal handler shuts every context down, also between two waits.
            if self._context.ok():
                raise

    # Receiving

    def now_s(self) -> float:
        """The time of day when it began, and a steady clock from then on."""
        return self._day_s + time.monotonic()

    def readings(self) -> RobotReadings:
        """The newest messages; never waits."""
        with self._lock:
            return self._readings

    def _age_s(self, stamp_s: float, at_s: float) -> float:
        return at_s - stamp_s - self._clock.shift_s

    def _update(self, **news: Any) -> None:
        with self._lock:
            self._readings = replace(self._readings, **news)

    def _refuses(self, message: Any, topic: str) -> bool:
        """Whether a message is out of bounds; it is then reported and not used."""
        problem = bounds_of(type(message)).problem(message, 0.0)
        if problem:
            self._update(wrong=f"a message on {topic} is not used: {problem}")
        return bool(problem)

    def _on_odometry(self, message: Odometry) -> None:
        topics = self._topics
        if self._refuses(message, topics.odometry):
            return
        frame, child = message.header.frame_id, message.child_frame_id
        if frame not in topics.odometry_frames or child != topics.body:
            known = " or ".join(topics.odometry_frames)
            text = (
                f"{topics.odometry} tells of {child!r} in {frame!r}, not of {topics.body!r} in "
                f"{known}; it is not used"
            )
            self._update(wrong=text)
            return
        stamp_s, at_s, readings = stamp_seconds(message.header.stamp), self.now_s(), self._readings
        if stamp_s <= 0:
            self._update(wrong=f"{topics.odometry} has no stamps; it is not used")
            return
        place = message.pose.pose
        try:
            body = unit_pose(point_m(place.position), place.orientation)
        except PlannerError as error:
            self._update(wrong=f"{topics.odometry} is not used: {error}")
            return
        self._clock.hear(stamp_s, at_s)
        # Poses in one frame say nothing of those in another.
        same = readings.odometry_frame in ("", frame)
        bodies = readings.bodies if same else PoseHistory()
        bodies.add(stamp_s, body)
        twist = message.twist.twist
        self._update(
            at_s=at_s,
            stamp_s=stamp_s,
            shift_s=self._clock.shift_s,
            odometry_frame=frame,
            bodies=bodies,
            linear_m_s=float(twist.linear.x),
            angular_rad_s=float(twist.angular.z),
        )

    def _on_joints(self, message: JointState) -> None:
        if self._refuses(message, self._topics.joints):
            return
        told = dict(zip(message.name, map(float, message.position), strict=False))
        self._update(joints={**self.readings().joints, **told})

    def _on_frames(self, message: TFMessage) -> None:
        if self._refuses(message, "/tf"):
            return
        frames = self.readings().frames
        for link in message.transforms:
            pose = self._pose_of(link, "/tf")
            if pose is not None:
                stamp_s = stamp_seconds(link.header.stamp)
                frames.move(link.header.frame_id, link.child_frame_id, stamp_s, pose)

    def _on_static_frames(self, message: TFMessage) -> None:
        if self._refuses(message, "/tf_static"):
            return
        for link in message.transforms:
            pose = self._pose_of(link, "/tf_static")
            if pose is not None:
                self.readings().frames.fix(link.header.frame_id, link.child_frame_id, pose)

    def _pose_of(self, link: TransformStamped, topic: str) -> Pose | None:
        """The pose of a link; None for one that is none, which is reported."""
        moved = link.transform
        try:
            return unit_pose(point_m(moved.translation), moved.rotation)
        except PlannerError as error:
            self._update(wrong=f"{link.child_frame_id} on {topic} is not used: {error}")
            return None

    def _on_news(self, camera: str, news: CameraNews) -> None:
        self._update(cameras={**self.readings().cameras, camera: news})

    def close(self) -> None:
        """Stops receiving; safe to call twice."""
        atexit.unregister(self.close)
        if self._context.ok():
            # The other way round, the thread may find itself waiting for a context that is gone.
            self._executor.shutdown(timeout_sec=5.0)
            self._thread.join(5.0)
            rclpy.shutdown(context=self._context)
            self._node.destroy_node()


def unit_pose(position_m: Vec3, turn: Quaternion) -> Pose:
    """A pose whose quaternion, rounded by its sender, has length 1.

    Raises:
        PlannerError: if its length is far from 1: it is no rotation.
    """
    x, y, z, w = turn.x, turn.y, turn.z, turn.w
    length = math.hypot(x, y, z, w)
    if not 0.9 < length < 1.1:
        raise PlannerError(f"its rotation ({x:g}, {y:g}, {z:g}, {w:g}) is not of length 1")
    return Pose(position_m, (x / length, y / length, z / length, w / length))


class Ros2Listener(RobotEar):
    """Hears spot_ros2 and calls its services; see `sim_bridge.external.readings.RobotListener`."""

    def __init__(self, options: ExternalOptions) -> None:
        """Subscribes to spot_ros2's topics."""
        super().__init__(topics_of(options), "bridge_external")
        self._options = options

    # Calling

    def trigger(self, name: str, within_s: float) -> Outcome:
        """Calls a Trigger service of the robot and waits for its answer.

        Ctrl-C shuts down every context of the process at any moment, but the robot still has to be
        brought to rest: an interrupted call is repeated in a context of its own.
        """
        topic, ends_s = f"/{self._options.namespace}/{name}", self.now_s() + within_s
        for _ in range(2):
            if not self._context.ok():
                self._begin(listens=False)
            try:
                outcome = self._ask(topic, ends_s, within_s)
            except RCL_ERRORS as error:
                outcome = Outcome(False, f"{topic}: {error}")
            if outcome.success or self._context.ok():
                break
        return outcome

    def _ask(self, topic: str, ends_s: float, within_s: float) -> Outcome:
        client: Any = self._node.create_client(Trigger, topic)
        try:
            if not self._found(client, ends_s):
                return Outcome(False, f"spot_ros2 has no service {topic}; is it running?")
            answered = threading.Event()
            future = client.call_async(Trigger.Request())
            future.add_done_callback(lambda _: answered.set())
            ends_s = max(ends_s, self.now_s() + FIND_S)
            while not answered.wait(0.1) and self._context.ok() and self.now_s() < ends_s:
                pass
            if not future.done() or future.result() is None:
                return Outcome(False, f"{topic} did not answer within {within_s:.0f} s")
            answer = future.result()
            return Outcome(bool(answer.success), str(answer.message) or topic)
        finally:
            with contextlib.suppress(*RCL_ERRORS):
                self._node.destroy_client(client)

    def _found(self, client: Any, ends_s: float) -> bool:
        """Waits for a service, for a limited time after another one of the robot was discovered.

        After Ctrl-C the robot's services have to be discovered again, which takes long on a busy
        machine.
        """
        name, others_s = f"/{self._options.namespace}/", math.inf
        while not client.wait_for_service(0.1):
            now_s = self.now_s()
            if now_s >= ends_s or now_s >= others_s + FIND_S:
                return False
            if math.isinf(others_s) and any(
                topic.startswith(name) for topic, _ in self._node.get_service_names_and_types()
            ):
                others_s = now_s
        return True
