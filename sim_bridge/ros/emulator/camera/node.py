"""The camera's topics: colour and registered depth of equal stamps, only for subscribers."""

from __future__ import annotations

import array
import threading
import time
from typing import Any

import cv2
import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_msgs.msg import Header

from planner.ros import qos
from sim_bridge.embedded.views import Images
from sim_bridge.ros.emulator.kinematics import CAMERA
from sim_bridge.ros.emulator.pictures import INTRINSICS, Camera, StillScene
from sim_bridge.ros.emulator.simulation import Simulation

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
            self._rgb,
            self._jpeg,
            self._rgb_info,
            self._depth,
            self._png,
            self._depth_info,
        )
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
        info = _camera_info(head)
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


def _camera_info(head: Header) -> CameraInfo:
    """No distortion: the pictures have none."""
    fx, fy, cx, cy = INTRINSICS.fx_px, INTRINSICS.fy_px, INTRINSICS.cx_px, INTRINSICS.cy_px
    return CameraInfo(
        header=head,
        width=INTRINSICS.width_px,
        height=INTRINSICS.height_px,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )
