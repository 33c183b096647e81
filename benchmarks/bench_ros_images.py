"""RGB-D over ROS: from the end of rendering to a subscriber in another process.

Repeat with: python benchmarks/bench_ros_images.py [--house NAME] [--seconds N]

The bridge runs in a process of its own, in real time, in the house of 8 rooms, 60 pieces of
furniture and 150 objects, with its robot looking around. This process subscribes as a node would. A
frame is complete when its colours, its depth and both camera_infos have arrived; all clocks are the
kernel's monotonic one.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rclpy
from machine import print_table
from planner_msgs.action import ExecutePrimitive
from rclpy.action import ActionClient
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image

from planner.environment import ros_environment
from planner.ros import qos
from planner.ros.primitives import goal_message
from planner.world.observation import Observation
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge import node as bridge_node
from sim_bridge.embedded.backend import EmbeddedBackend

DOMAIN = "87"
WARM_UP_S = 3.0
TOPICS = {
    "rgb": (Image, "camera/hand/image"),
    "rgb_info": (CameraInfo, "camera/hand/camera_info"),
    "depth": (Image, "depth_registered/hand/image"),
    "depth_info": (CameraInfo, "depth_registered/hand/camera_info"),
}


class TimedBackend(EmbeddedBackend):
    """Records when each rendering began and ended, by its stamp in nanoseconds."""

    notes = open(os.environ.get("BENCH_NOTES", os.devnull), "w", buffering=1)  # noqa: PTH123, SIM115

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        began = time.monotonic_ns()
        seen = super().observe(agent, cameras)
        if seen.cameras:
            stamp = round(seen.stamp_s * 1e9)
            self.notes.write(f"{stamp} {began} {time.monotonic_ns()}\n")
        return seen


def serve() -> int:
    """The bridge itself, with a backend that records times."""
    bridge_node.make_backend = lambda *_: TimedBackend()
    sys.argv = [sys.argv[0], "--ros-args", *os.environ["BENCH_PARAMETERS"].split()]
    return bridge_node.main()


class Listener(Node):
    """Records when each message of a frame arrived."""

    def __init__(self) -> None:
        super().__init__("bench")
        self.arrived: dict[int, dict[str, int]] = defaultdict(dict)
        for key, (kind, topic) in TOPICS.items():
            self.create_subscription(kind, f"/agent_0/{topic}", self._noting(key), qos.IMAGE_INPUT)
        self.action = ActionClient(self, ExecutePrimitive, "/agent_0/primitive")

    def _noting(self, key: str):
        def note(message: Image | CameraInfo) -> None:
            stamp = message.header.stamp
            self.arrived[stamp.sec * 1_000_000_000 + stamp.nanosec][key] = time.monotonic_ns()

        return note

    def look_round(self) -> None:
        views = tuple((math.remainder(i * 0.2, math.tau), 0.4) for i in range(2000))
        look = Primitive(PrimitiveName.LOOK, views_rad=views, timeout_s=3600)
        self.action.wait_for_server()
        self.action.send_goal_async(goal_message(look))


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no memory")


def busy_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(house: str, seconds: float, rate_hz: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        environment = ros_environment(os.environ) | {
            "BENCH_NOTES": str(notes),
            # Pictures of a static world would be less frequent.
            "BENCH_PARAMETERS": f"-p house:={house} -p camera_hz:={rate_hz} "
            f"-p still_camera_hz:={rate_hz}",
        }
        words = [sys.executable, __file__, "--serve"]
        bridge = subprocess.Popen(words, env=environment)
        try:
            rclpy.init()
            listener = Listener()
            listener.look_round()
            spin(listener, WARM_UP_S)
            began, busy = time.monotonic_ns(), busy_s(bridge.pid)
            spin(listener, seconds)
            ended, busy = time.monotonic_ns(), busy_s(bridge.pid) - busy
            spin(listener, 0.5)
            memory = memory_mb(bridge.pid)
        finally:
            bridge.send_signal(signal.SIGINT)
            bridge.wait(20)
        rendered = [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]
    frames = [row for row in rendered if began <= row[1] < ended]
    report(listener.arrived, frames, seconds, busy / seconds, memory)
    rclpy.try_shutdown()


def spin(node: Node, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.05)


def report(
    arrived: dict[int, dict[str, int]],
    frames: list[tuple[int, ...]],
    seconds: float,
    load: float,
    memory: float,
) -> None:
    whole = [
        (stamp, began, ended)
        for stamp, began, ended in frames
        if len(arrived[stamp]) == len(TOPICS)
    ]
    after = np.array([max(arrived[s].values()) - ended for s, _, ended in whole]) / 1e6
    drawing = np.array([ended - began for _, began, ended in whole]) / 1e6
    p50, p95, p99 = np.percentile(after, (50, 95, 99))
    rows = [
        ("from render to subscriber, p50", f"{p50:.1f} ms", ""),
        ("from render to subscriber, p95", f"{p95:.1f} ms", ""),
        ("from render to subscriber, p99", f"{p99:.1f} ms", "under 15 ms"),
        ("rendering itself, p50", f"{np.median(drawing):.1f} ms", ""),
        ("frames rendered, lost", f"{len(frames)}, {len(frames) - len(whole)}", "0 lost"),
        ("frames a second", f"{len(frames) / seconds:.1f}", ""),
        ("load of the bridge", f"{load:.0%} of one core", ""),
        ("resident memory of the bridge", f"{memory:.0f} MB", "under 400 MB"),
    ]
    print_table("RGB-D 384x384 over ROS, two processes", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--house", default="bench_8x60x150")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=10.0, help="frames a second")
    options = parser.parse_args()
    os.environ.update(ROS_DOMAIN_ID=DOMAIN, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    measure(options.house, options.seconds, options.rate)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        sys.exit(serve())
    main()
