"""The emulated robot's node: its topics, its camera, and its servers."""

from __future__ import annotations

import array
import signal
import threading
import time
from collections import Counter
from typing import Any

import cv2
import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseWithCovarianceStamped, Twist, TwistStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import BatteryState, CameraInfo, CompressedImage, Image, JointState
from std_msgs.msg import Header, String
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage

from planner.ros import qos
from planner.ros.conversions import (
    camera_info,
    pose_message,
    pose_record,
    time_message,
    transform_message,
)
from planner.world.geometry import Pose
from sim_bridge.embedded.sensing import Images
from sim_bridge.ros.emulator.house import INTRINSICS, MAP_CELL_M, Camera, StillScene, occupancy
from sim_bridge.ros.emulator.joint_control import CAMERA, ROOT, shipped_urdf
from sim_bridge.ros.emulator.motion_planning import GROUPS
from sim_bridge.ros.emulator.servers.node import Controllers, MoveIt, Nav2
from sim_bridge.ros.emulator.simulation import Simulation
from sim_bridge.world_state.node import WorldStateTopic

# The camera's topics: colour and registered depth of equal stamps, only for subscribers.

PERIOD_S = 0.1
_CONVERSIONS = {
    "rgb8": None,
    "bgr8": cv2.COLOR_RGB2BGR,
    "rgba8": cv2.COLOR_RGB2RGBA,
    "mono8": cv2.COLOR_RGB2GRAY,
}


class CameraTopics:
    """Draws and publishes in a thread of its own."""

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation, self._node = simulation, node
        self._encoding = simulation.settings.image_encoding
        self._depth_encoding = simulation.settings.depth_encoding

        def topic(kind: Any, name: str) -> Any:
            return node.create_publisher(kind, f"head_camera/{name}", qos.IMAGE)

        self._rgb = topic(Image, "rgb/image_raw")
        self._jpeg = topic(CompressedImage, "rgb/image_raw/compressed")
        self._rgb_info = topic(CameraInfo, "rgb/camera_info")
        self._depth = topic(Image, "depth_registered/image_raw")
        self._png = topic(CompressedImage, "depth_registered/image_raw/compressedDepth")
        self._depth_info = topic(CameraInfo, "depth_registered/camera_info")
        self._all = (
            self._rgb, self._jpeg, self._rgb_info, self._depth, self._png, self._depth_info,
        )  # fmt: skip
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="camera")
        self._thread.start()

    def close(self) -> None:
        """Stops after the present picture."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        simulation = self._simulation
        scene = StillScene(simulation.house, simulation.robot)
        camera = Camera(scene, simulation.house.agent.instance_id)
        while not self._ended.is_set():
            began_s = time.monotonic()
            if any(publisher.get_subscription_count() for publisher in self._all):
                with simulation.lock:
                    stamp = self._node.get_clock().now().to_msg()
                    optical = scene.take(simulation.base.pose, simulation.q)
                self._publish(stamp, camera.draw(optical))
            self._ended.wait(max(0.0, PERIOD_S - (time.monotonic() - began_s)))
        camera.close()

    def _publish(self, stamp: Time, images: Images) -> None:
        head = Header(stamp=stamp, frame_id=CAMERA)
        if self._rgb.get_subscription_count():
            code = _CONVERSIONS[self._encoding]
            pixels = images.rgb if code is None else cv2.cvtColor(images.rgb, code)
            self._rgb.publish(_image(head, self._encoding, pixels))
        if self._jpeg.get_subscription_count():
            jpeg = cv2.imencode(".jpg", cv2.cvtColor(images.rgb, cv2.COLOR_RGB2BGR))[1]
            text = f"{self._encoding}; jpeg compressed bgr8"
            self._jpeg.publish(CompressedImage(header=head, format=text, data=_bytes(jpeg)))
        millimetres = np.rint(images.depth_m * 1000.0).astype(np.uint16)
        if self._depth.get_subscription_count():
            metres = np.where(images.depth_m > 0, images.depth_m, np.float32(np.nan))
            pixels = millimetres if self._depth_encoding == "16UC1" else metres
            self._depth.publish(_image(head, self._depth_encoding, pixels))
        if self._png.get_subscription_count() and self._depth_encoding == "16UC1":
            png = cv2.imencode(".png", millimetres)[1].tobytes()
            # compressed_depth_image_transport's header: its format, and two numbers for floats.
            data = array.array("B", bytes(12) + png)
            text = "16UC1; compressedDepth png"
            self._png.publish(CompressedImage(header=head, format=text, data=data))
        info = camera_info(head, INTRINSICS)
        self._rgb_info.publish(info)
        self._depth_info.publish(info)


def _image(head: Header, encoding: str, pixels: Any) -> Image:
    rows = np.ascontiguousarray(pixels)
    message = Image(header=head, height=rows.shape[0], width=rows.shape[1], encoding=encoding)
    message.step = rows.strides[0]
    message.data = _bytes(rows)
    return message


def _bytes(pixels: Any) -> array.array[int]:
    data: array.array[int] = array.array("B")
    data.frombytes(memoryview(pixels).cast("B"))
    return data


STEP_S = 0.02
# amcl post-dates its transform by this parameter, transform_tolerance.
LOCALISER_AHEAD_S = 1.0
_VARIANCE = 0.0025


class RobotNode(Node):
    """Steps the simulation in real time and publishes what a robot does."""

    def __init__(self, simulation: Simulation) -> None:
        settings = simulation.settings
        super().__init__("robot_emulator", namespace=settings.namespace)
        self._simulation, self._stamped = simulation, settings.stamped_cmd_vel
        self._tf = self.create_publisher(TFMessage, "tf", qos.TF)
        self._static = self.create_publisher(TFMessage, "tf_static", qos.TF_STATIC)
        self._joints = self.create_publisher(JointState, "joint_states", qos.STATE)
        self._odom = self.create_publisher(Odometry, "odom", qos.STATE)
        self._battery = self.create_publisher(BatteryState, "battery_state", qos.STATE)
        self._amcl = self.create_publisher(PoseWithCovarianceStamped, "amcl_pose", qos.LATCHED)
        twist = TwistStamped if self._stamped else Twist
        # Nav2's controller and everybody else write here; the base obeys whoever wrote last.
        self._cmd_vel = self.create_publisher(twist, "cmd_vel", 10)
        self.create_subscription(twist, "cmd_vel", self._drive, 10)
        self.create_subscription(PoseWithCovarianceStamped, "initialpose", self._localise, 10)
        self._latched = [
            self._latch(String, "robot_description", String(data=shipped_urdf())),
            self._latch(String, "robot_description_semantic", String(data=srdf())),
            self._latch(OccupancyGrid, "map", self._map()),
        ]
        self._controllers = Controllers(self, simulation)
        self._nav2: Nav2 | None = Nav2(self, simulation)
        self._moveit: MoveIt | None = MoveIt(self, simulation)
        self.create_service(SetBool, "emulator/nav2", self._set_nav2)
        self.create_service(SetBool, "emulator/moveit", self._set_moveit)
        self._truth: WorldStateTopic | None = None
        if settings.truth:
            # Only its `world_state` is asked for.
            source: Any = simulation
            self._truth = WorldStateTopic(self, source, Counter())
            self._truth.begin()
        fixed = sorted(simulation.robot.fixed)
        self._static.publish(TFMessage(transforms=[self._link(name, 0.0) for name in fixed]))
        self._localised_s, self._was = -1.0, simulation.q.copy()
        self._due: dict[str, float] = {}
        self._camera = CameraTopics(self, simulation)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="simulation")
        self._thread.start()

    def close(self) -> None:
        """Stops its threads."""
        self._ended.set()
        self._thread.join()
        self._camera.close()
        if self._moveit is not None:
            self._moveit.die()

    # Time

    def _run(self) -> None:
        last_s = time.monotonic()
        while not self._ended.is_set():
            now_s = time.monotonic()
            # A machine that was stopped for long does not make the robot leap.
            dt_s, last_s = min(now_s - last_s, 0.2), now_s
            stamp_s = self._now_s()
            sent = self._simulation.step(dt_s, stamp_s)
            if sent is not None:
                self._send_velocity(*sent)
            self._publish(stamp_s)
            self._ended.wait(max(0.0, STEP_S - (time.monotonic() - now_s)))

    def _is_due(self, name: str, period_s: float, now_s: float) -> bool:
        if now_s < self._due.get(name, 0.0):
            return False
        self._due[name] = max(now_s, self._due.get(name, now_s) + period_s)
        return True

    def _publish(self, stamp_s: float) -> None:
        simulation = self._simulation
        with simulation.lock:
            robot, base = simulation.robot, simulation.base
            moving = [name for name in robot.parent if name not in robot.fixed]
            frames = [self._link(name, stamp_s) for name in moving]
            frames.append(transform_message(stamp_s, "odom", ROOT, base.odom))
            if self._is_due("localiser", 0.1, stamp_s):
                ahead_s = stamp_s + LOCALISER_AHEAD_S
                frames.append(transform_message(ahead_s, "map", "odom", base.map_to_odom))
            q, odom, speeds = simulation.q.copy(), base.odom, (base.speed_m_s, base.turn_rad_s)
            localised_s, estimate = base.localised_s, base.estimate
        self._tf.publish(TFMessage(transforms=frames))
        state = JointState(name=list(robot.joints), position=q.tolist())
        state.header.stamp = time_message(stamp_s)
        state.velocity = ((q - self._was) / STEP_S).tolist()
        state.effort = [0.0] * len(q)
        self._was = q
        self._joints.publish(state)
        if self._is_due("odom", 1 / 30, stamp_s):
            self._publish_odometry(stamp_s, odom, speeds)
        if localised_s != self._localised_s:
            self._localised_s = localised_s
            self._publish_localised(stamp_s, estimate)
        if self._is_due("battery", 1.0, stamp_s):
            charge = float(simulation.charge)
            battery = BatteryState(percentage=charge, voltage=22.0 + 3.4 * charge, present=True)
            battery.header.stamp = time_message(stamp_s)
            battery.power_supply_status = BatteryState.POWER_SUPPLY_STATUS_DISCHARGING
            self._battery.publish(battery)
        if self._is_due("feedback", 0.1, stamp_s):
            self._controllers.tell()
            if self._nav2 is not None:
                self._nav2.tell()
        if self._truth is not None:
            self._truth.publish()
            self._truth.keep_readable(time.monotonic())

    def _publish_odometry(self, stamp_s: float, odom: Pose, speeds: tuple[float, float]) -> None:
        message = Odometry(child_frame_id=ROOT)
        message.header.stamp, message.header.frame_id = time_message(stamp_s), "odom"
        message.pose.pose = pose_message(odom)
        message.twist.twist.linear.x, message.twist.twist.angular.z = map(float, speeds)
        self._odom.publish(message)

    def _publish_localised(self, stamp_s: float, estimate: Pose) -> None:
        message = PoseWithCovarianceStamped()
        message.header.stamp, message.header.frame_id = time_message(stamp_s), "map"
        message.pose.pose = pose_message(estimate)
        for place in (0, 7, 35):
            message.pose.covariance[place] = _VARIANCE
        self._amcl.publish(message)

    # Inputs

    def _drive(self, message: Any) -> None:
        twist = message.twist if self._stamped else message
        self._simulation.drive(twist.linear.x, twist.angular.z)

    def _send_velocity(self, speed_m_s: float, turn_rad_s: float) -> None:
        message = TwistStamped() if self._stamped else Twist()
        twist = message.twist if self._stamped else message
        twist.linear.x, twist.angular.z = float(speed_m_s), float(turn_rad_s)
        if self._stamped:
            message.header.stamp, message.header.frame_id = time_message(self._now_s()), ROOT
        self._cmd_vel.publish(message)

    def _localise(self, message: PoseWithCovarianceStamped) -> None:
        with self._simulation.lock:
            pose = pose_record(message.pose.pose).on_ground()
            self._simulation.base.localise(pose, self._simulation.now_s)

    def _set_nav2(self, request: Any, response: Any) -> Any:
        if self._nav2 is not None and not request.data:
            self._nav2.die()
            self._nav2 = None
        elif self._nav2 is None and request.data:
            self._nav2 = Nav2(self, self._simulation)
        response.success = True
        return response

    def _set_moveit(self, request: Any, response: Any) -> Any:
        if self._moveit is not None and not request.data:
            self._moveit.die()
            self._moveit = None
        elif self._moveit is None and request.data:
            self._moveit = MoveIt(self, self._simulation)
        response.success = True
        return response

    # Details

    def _link(self, name: str, stamp_s: float) -> Any:
        parent, pose = (
            self._simulation.robot.parent[name],
            self._simulation.kinematics.on_parent(name),
        )
        return transform_message(stamp_s, parent, name, pose)

    def _latch(self, kind: Any, name: str, message: Any) -> Any:
        publisher = self.create_publisher(kind, name, qos.LATCHED)
        publisher.publish(message)
        return publisher

    def _map(self) -> OccupancyGrid:
        cells, (x, y) = occupancy(self._simulation.house.world.house)
        message = OccupancyGrid(data=cells.ravel().tolist())
        message.header.frame_id, message.header.stamp = "map", time_message(self._now_s())
        message.info.resolution = MAP_CELL_M
        message.info.height, message.info.width = cells.shape
        message.info.origin = pose_message(Pose((x, y, 0.0)))
        return message

    def _now_s(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)


def srdf() -> str:
    """The groups, as MoveIt's semantic description names them."""
    groups = [
        "".join([f'<group name="{name}">', *(f'<joint name="{j}"/>' for j in joints), "</group>"])
        for name, joints in GROUPS.items()
    ]
    return f'<?xml version="1.0"?>\n<robot name="emulated">{"".join(groups)}</robot>\n'


def serve(simulation: Simulation, seconds: float) -> None:
    """Serves until it is interrupted, or for a time; 0: for ever."""
    # The threads end before the context does: rclpy's own handlers would end that first.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    node = RobotNode(simulation)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    print(f"A robot in {simulation.house.world.house.name}: {node.get_namespace()}", flush=True)
    ends_s = time.monotonic() + seconds if seconds > 0 else float("inf")
    try:
        while time.monotonic() < ends_s:
            executor.spin_once(timeout_sec=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        node.close()
        rclpy.try_shutdown()
