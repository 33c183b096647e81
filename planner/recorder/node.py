"""Node `recorder`: every topic into one bag, without loss where publishers are reliable."""

from __future__ import annotations

import re
import struct
import time
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.topic_endpoint_info import TopicEndpointInfo

from planner.recorder.bag_writer import BagWriter, Topic
from planner.recorder.freed_memory import keep_freed_memory
from planner.ros import parameters
from planner.ros.definitions import definition, message_class
from planner.ros.lifecycle import run_node
from planner.world.errors import PlannerError

LOOK_S = 0.5
FLUSH_S = 0.5
# So many messages of a topic wait where the machine is busy: two seconds of the fastest there are.
# Of pictures fewer, as they take half a megabyte each.
DEPTH, DEPTH_OF_PICTURES = 1000, 100
# Of the pause after a wait, and what a wait is at least.
BURST_S = 0.05
WAITED_S = 0.002
# The cameras on the body are drawn only for those who look; a bag does not make them.
EXCLUDED = r".*/body/(image|camera_info)|/rosout|/parameter_events"
# The wires of services and actions; rosbag2 leaves them out as well.
_HIDDEN = re.compile(r".*/_.*")
_IMAGE = "sensor_msgs/msg/Image"


class RecorderNode(Node):
    """Subscribes to whatever is published and writes it down as it comes."""

    def __init__(self) -> None:
        """Makes the bag.

        Raises:
            PlannerError: where the folder or a parameter cannot be used.
        """
        super().__init__("recorder")
        folder = parameters.text(self, "folder", "", "folder of the bag; must not exist yet")
        pattern = parameters.text(self, "exclude", EXCLUDED, "topics to leave out, an expression")
        image_hz = parameters.number(
            self, "image_hz", 0.0, "pictures a second to keep of each topic; 0 = all", least=0.0
        )
        self._least_gap_ns = round(1e9 / image_hz) if image_hz else 0
        if not folder:
            raise PlannerError("recorder: parameter folder: says where the bag goes")
        try:
            self._exclude = re.compile(pattern)
        except re.error as error:
            raise PlannerError(f"recorder: parameter exclude: {error}") from None
        self._bag = BagWriter(_free_folder(Path(folder)))
        self._topics: set[str] = set()
        self._skipped: set[str] = set()
        self._slots: dict[int, int] = {}
        self._full = False
        self.create_timer(LOOK_S, self._look)
        self.create_timer(FLUSH_S, self._flush)
        self._look()
        self.get_logger().info(f"recording into {self._bag.folder}")

    def _look(self) -> None:
        for name, types in self.get_topic_names_and_types():
            if name in self._topics or self._exclude.fullmatch(name) or _HIDDEN.match(name):
                continue
            publishers = self.get_publishers_info_by_topic(name)
            if publishers:
                self._begin(name, types[0], publishers)

    def _begin(self, name: str, type_name: str, publishers: list[TopicEndpointInfo]) -> None:
        try:
            kind, text = message_class(type_name), definition(type_name)
        except PlannerError as error:
            if name not in self._skipped:
                self._skipped.add(name)
                self.get_logger().warning(f"{name} is not recorded: {error}")
            return
        offered = [publisher.qos_profile for publisher in publishers]
        number = self._bag.add_topic(Topic(name, type_name, text, _qos_yaml(offered)))
        self._topics.add(name)
        self.create_subscription(
            kind,
            name,
            partial(self._on_image if type_name == _IMAGE else self._on_message, number),
            _wanted(offered, DEPTH_OF_PICTURES if type_name == _IMAGE else DEPTH),
            raw=True,
        )

    def _on_image(self, topic: int, data: bytes, info: dict[str, Any]) -> None:
        """Keeps a picture unless one with nearly the same stamp was kept; all cameras agree."""
        if self._least_gap_ns:
            # A serialised Image begins with 4 bytes of encoding, then its stamp.
            seconds, nanoseconds = struct.unpack_from("<iI", data, 4)
            stamp = seconds * 1_000_000_000 + nanoseconds
            slot = stamp // self._least_gap_ns
            if self._slots.get(topic) == slot:
                return
            self._slots[topic] = slot
        self._on_message(topic, data, info)

    def _on_message(self, topic: int, data: bytes, info: dict[str, Any]) -> None:
        if self._full:
            return
        # Of the middleware: a message may have waited here for the others of its burst.
        received, sent = info["received_timestamp"], info["source_timestamp"]
        try:
            self._bag.write(topic, received, sent, data)
        except PlannerError as error:
            self._stop_writing(error)

    def _flush(self) -> None:
        if self._full:
            return
        try:
            self._bag.flush()
        except PlannerError as error:
            self._stop_writing(error)

    def _stop_writing(self, error: PlannerError) -> None:
        # What is on disk stays readable; the robots are not stopped by a full disk.
        self._full = True
        self.get_logger().error(f"recording ended: {error}")

    def destroy_node(self) -> None:
        """Completes the bag."""
        if not self._full:
            try:
                self._bag.close()
            except PlannerError as error:
                self._stop_writing(error)
        super().destroy_node()


def _free_folder(folder: Path) -> Path:
    """The folder, or with a number where it exists: a restarted recorder starts a second bag."""
    candidate, number = folder, 1
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}_{number}")
    return candidate


def _wanted(offered: list[QoSProfile], depth: int) -> QoSProfile:
    """Reliable and latched where every publisher is, so that nothing offered is missed."""
    reliable = all(q.reliability == ReliabilityPolicy.RELIABLE for q in offered)
    latched = all(q.durability == DurabilityPolicy.TRANSIENT_LOCAL for q in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _qos_yaml(offered: list[QoSProfile]) -> str:
    """The offered profiles in the form that rosbag2 keeps."""
    never = {"sec": 9223372036, "nsec": 854775807}
    profiles: list[dict[str, Any]] = [
        {
            "history": "unknown",
            "depth": 0,
            "reliability": q.reliability.name.lower(),
            "durability": q.durability.name.lower(),
            "deadline": never,
            "lifespan": never,
            "liveliness": "automatic",
            "liveliness_lease_duration": never,
            "avoid_ros_namespace_conventions": False,
        }
        for q in offered
    ]
    return str(yaml.safe_dump(profiles, sort_keys=False))


class BurstExecutor(SingleThreadedExecutor):
    """Lets the messages of one moment come together before it takes them.

    Waiting anew for each of them costs more than writing it down.
    """

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Handles one message or timer; pauses where nothing was at hand."""
        begun = time.monotonic()
        super().spin_once(timeout_sec)
        if time.monotonic() - begun > WAITED_S:
            time.sleep(BURST_S)


def main() -> int:
    """Runs the node until it is asked to stop."""
    keep_freed_memory()
    return run_node(RecorderNode, make_executor=BurstExecutor)
