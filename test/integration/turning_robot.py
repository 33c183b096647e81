"""A stand-in for a robot that spot_ros2 drives: it turns, and its pictures come late.

It publishes what spot_ros2's documentation lists, under the name `spot`: odometry at 30 Hz, joint
states, /tf, /tf_static, and hand pictures at 10 Hz with the stamp at which they were taken. The
first pixels of a picture say at which millisecond that was, so that a test needs no stamp.

usage: turning_robot.py RATE_RAD_S LAG_S ENCODING CLOCK_AHEAD_S

A line on standard input stops the camera: `stop`, or lets it go on: `go`.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

WIDTH, HEIGHT = 64, 48
CAMERA = "spot/hand_color_image_sensor"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CHANNELS = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}


def stamp(at_s: float) -> Time:
    return Time(sec=int(at_s), nanosec=int(at_s % 1 * 1e9))


def link(at_s: float, parent: str, child: str, at_m: Any, turn: Any) -> TransformStamped:
    made = TransformStamped(child_frame_id=child)
    made.header.stamp, made.header.frame_id = stamp(at_s), parent
    place, rotation = made.transform.translation, made.transform.rotation
    place.x, place.y, place.z = at_m
    rotation.x, rotation.y, rotation.z, rotation.w = turn
    return made


class TurningRobot(Node):
    def __init__(self, rate_rad_s: float, lag_s: float, encoding: str, ahead_s: float) -> None:
        super().__init__("turning_robot")
        self._rate_rad_s, self._lag_s, self._encoding = rate_rad_s, lag_s, encoding
        self._ahead_s, self._begun_s = ahead_s, time.time() + ahead_s
        self.films = True
        self._taken: deque[float] = deque()
        self._odometry = self.create_publisher(Odometry, "/spot/odometry", 10)
        self._joints = self.create_publisher(JointState, "/spot/joint_states", 10)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self._fixed = self.create_publisher(TFMessage, "/tf_static", LATCHED)
        self._colour = self.create_publisher(Image, "/spot/camera/hand/image", 10)
        self._info = self.create_publisher(CameraInfo, "/spot/camera/hand/camera_info", 10)
        self._depth = self.create_publisher(Image, "/spot/depth_registered/hand/image", 10)
        upright, forward = (0.0, 0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5)
        hand = link(self.now_s, "spot/body", "spot/hand", (0.5, 0.0, 0.2), upright)
        optical = link(self.now_s, "spot/hand", CAMERA, (0.0, 0.0, 0.0), forward)
        self._fixed.publish(TFMessage(transforms=[hand, optical]))
        self.create_timer(1 / 30, self._move)
        self.create_timer(1 / 10, self._film)

    @property
    def now_s(self) -> float:
        """Its own clock, which may be ahead."""
        return time.time() + self._ahead_s

    def _move(self) -> None:
        at_s = self.now_s
        yaw = self._rate_rad_s * (at_s - self._begun_s)
        turn = (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))
        told = Odometry(child_frame_id="spot/body")
        told.header.stamp, told.header.frame_id = stamp(at_s), "spot/odom"
        told.pose.pose.position.z = 0.5
        told.pose.pose.orientation.z, told.pose.pose.orientation.w = turn[2:]
        self._odometry.publish(told)
        body = link(at_s, "spot/odom", "spot/body", (0.0, 0.0, 0.5), turn)
        self._tf.publish(TFMessage(transforms=[body]))
        self._joints.publish(JointState(header=told.header, name=["arm_f1x"], position=[-0.5]))
        while self._taken and self.now_s - self._taken[0] >= self._lag_s:
            self._send(self._taken.popleft())

    def _film(self) -> None:
        if self.films:
            self._taken.append(self.now_s)

    def _send(self, taken_s: float) -> None:
        # The odometry at the picture's time is `rate * elapsed`; the picture says the elapsed time.
        elapsed_ms = round((taken_s - self._begun_s) * 1000)
        pixels = np.zeros((HEIGHT, WIDTH, CHANNELS[self._encoding]), np.uint8)
        for bit in range(32):
            pixels[:, bit, :3] = 255 * (elapsed_ms >> bit & 1)
        depth = np.full((HEIGHT, WIDTH), 2000, np.uint16)
        head = Header(stamp=stamp(taken_s), frame_id=CAMERA)
        matrix = [60.0, 0.0, 32.0, 0.0, 60.0, 24.0, 0.0, 0.0, 1.0]
        self._info.publish(CameraInfo(header=head, width=WIDTH, height=HEIGHT, k=matrix))
        self._depth.publish(picture(head, "16UC1", depth))
        self._colour.publish(picture(head, self._encoding, pixels))

    def obey(self) -> None:
        for line in sys.stdin:
            self.films = line.strip() == "go"


def picture(head: Header, encoding: str, pixels: Any) -> Image:
    return Image(
        header=head,
        height=HEIGHT,
        width=WIDTH,
        encoding=encoding,
        step=pixels.strides[0],
        data=pixels.tobytes(),
    )


if __name__ == "__main__":
    rclpy.init()
    robot = TurningRobot(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
    threading.Thread(target=robot.obey, daemon=True).start()
    rclpy.spin(robot)
