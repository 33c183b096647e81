"""Subscribes to spot_ros2's topics of standard types, in a thread and a ROS context of its own."""

from __future__ import annotations

import atexit
import contextlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import rclpy
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.exceptions import NotInitializedException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from planner.ros import images, qos
from planner.ros.conversions import point_m, pose_record
from planner.ros.message_bounds import bounds_of
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.wire import intrinsics_of
from sim_bridge.control import Outcome
from sim_bridge.external.backend import ExternalBackend
from sim_bridge.external.options import ExternalOptions, default_external
from sim_bridge.external.readings import Exposure, RobotReadings

# Raised by a context that was shut down meanwhile.
RCL_ERRORS = (
    rclpy_implementation.RCLError,
    rclpy_implementation.InvalidHandle,
    NotInitializedException,
)
BODY, ODOMETRY_FRAMES = "body", ("odom", "vision")
# spot_ros2 offers its static frames reliable and transient local.
_STATIC = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
_MOVING = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
# Timeout for the discovery of a service after another one of the same robot.
FIND_S = 2.0


def make_backend(options: ExternalOptions | None = None) -> ExternalBackend:
    """The backend with a listener of its own."""
    options = options or default_external()
    return ExternalBackend(Ros2Listener(options), options)


class Ros2Listener:
    """Keeps the newest message of each topic; see `sim_bridge.external.readings.RobotListener`."""

    def __init__(self, options: ExternalOptions) -> None:
        self._options, self._lock, self._readings = options, threading.Lock(), RobotReadings()
        self._depths: dict[str, Image] = {}
        self._camera_infos: dict[str, CameraInfo] = {}
        self._begin()
        # A thread that still spins when the interpreter ends would crash the process.
        atexit.register(self.close)

    def _begin(self, *, listens: bool = True) -> None:
        self._context = Context()
        rclpy.init(context=self._context)
        # The driver's names are not ours: a namespace of the bridge must not change them.
        self._node = rclpy.create_node(
            "bridge_external", context=self._context, use_global_arguments=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        if listens:
            self._subscribe()
        self._thread = threading.Thread(target=self._spin, name="external-ear", daemon=True)
        self._thread.start()

    def _subscribe(self) -> None:
        name = f"/{self._options.namespace}"
        listen = self._node.create_subscription
        listen(Odometry, f"{name}/odometry", self._on_odometry, qos.STATE_INPUT)
        listen(JointState, f"{name}/joint_states", self._on_joints, qos.STATE_INPUT)
        listen(TFMessage, "/tf", self._on_frames, _MOVING)
        listen(TFMessage, "/tf_static", self._on_frames, _STATIC)
        for camera in self._options.cameras:
            color, depth = f"{name}/camera/{camera}", f"{name}/depth_registered/{camera}"
            on = self._of_camera
            listen(Image, f"{color}/image", on(camera, self._on_color), qos.IMAGE_INPUT)
            listen(
                CameraInfo,
                f"{color}/camera_info",
                on(camera, self._on_camera_info),
                qos.IMAGE_INPUT,
            )
            listen(Image, f"{depth}/image", on(camera, self._on_depth), qos.IMAGE_INPUT)

    @staticmethod
    def _of_camera(camera: str, take: Callable[[str, Any], None]) -> Callable[[Any], None]:
        return lambda message: take(camera, message)

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    # Receiving

    def now_s(self) -> float:
        """A steady clock."""
        return time.monotonic()

    def readings(self) -> RobotReadings:
        """The newest messages; never waits."""
        with self._lock:
            return self._readings

    def _update(self, **news: Any) -> None:
        with self._lock:
            self._readings = replace(self._readings, **news)

    def _refuses(self, message: Any, what: str) -> bool:
        """Whether a message is out of bounds; it is then reported and not used."""
        problem = bounds_of(type(message)).problem(message, 0.0)
        if problem:
            self._update(wrong=f"{what} of {self._options.namespace} is not used: {problem}")
        return bool(problem)

    def _on_odometry(self, message: Odometry) -> None:
        if self._refuses(message, "odometry"):
            return
        name = self._options.namespace
        frame, child = message.header.frame_id, message.child_frame_id
        known = [f"{name}/{odom}" for odom in ODOMETRY_FRAMES]
        if frame not in known or child != f"{name}/{BODY}":
            text = (
                f"/{name}/odometry tells of {child!r} in {frame!r}, not of {name}/{BODY!s} in "
                f"{' or '.join(known)}; it is not used"
            )
            self._update(wrong=text)
            return
        twist = message.twist.twist
        self._update(
            at_s=self.now_s(),
            body=pose_record(message.pose.pose),
            linear_m_s=float(twist.linear.x),
            angular_rad_s=float(twist.angular.z),
        )

    def _on_joints(self, message: JointState) -> None:
        if self._refuses(message, "joint_states"):
            return
        self._update(joints=dict(zip(message.name, map(float, message.position), strict=False)))

    def _on_frames(self, message: TFMessage) -> None:
        if self._refuses(message, "tf"):
            return
        frames = dict(self.readings().frames)
        for link in message.transforms:
            turned = link.transform.rotation
            pose = Pose(
                point_m(link.transform.translation), (turned.x, turned.y, turned.z, turned.w)
            )
            frames[link.child_frame_id] = (link.header.frame_id, pose)
        self._update(frames=frames)

    def _on_depth(self, camera: str, message: Image) -> None:
        self._depths[camera] = message

    def _on_camera_info(self, camera: str, message: CameraInfo) -> None:
        self._camera_infos[camera] = message

    def _on_color(self, camera: str, message: Image) -> None:
        depth, intrinsics = self._depths.get(camera), self._camera_infos.get(camera)
        if depth is None or intrinsics is None:
            return
        try:
            if message.header.frame_id != depth.header.frame_id:
                raise PlannerError(
                    f"the depth of {camera} is in {depth.header.frame_id!r} and its colour in "
                    f"{message.header.frame_id!r}; publish the registered depth"
                )
            seen = Exposure(
                rgb=images.rgb_array(message),
                depth_m=images.depth_array(depth),
                intrinsics=intrinsics_of(intrinsics),
                frame=message.header.frame_id,
            )
        except PlannerError as error:
            self._update(wrong=str(error))
            return
        self._update(pictures={**self.readings().pictures, camera: seen})

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

    def close(self) -> None:
        """Stops receiving; safe to call twice."""
        atexit.unregister(self.close)
        if self._context.ok():
            rclpy.shutdown(context=self._context)
            self._thread.join(5.0)
            self._node.destroy_node()
