"""Node `recorder`: every topic into one bag, without loss where publishers are reliable."""

from __future__ import annotations

import re
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
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
from planner.ros.polled_subscription import PolledGroup, PolledSubscription, Taken
from planner.world.errors import PlannerError

LOOK_S = 0.5
FLUSH_S = 0.5
# Between two rounds in which all that waits is written.
DRAIN_S = 0.05
# So many messages of a topic wait in the middleware where the machine is busy: some seconds of the
# fastest there are. Of pictures fewer, as they take half a megabyte each.
QUEUE_DEPTH, PICTURE_QUEUE_DEPTH = 4000, 100
# After a stop: publishers that stop at the same time have had their last word once nothing came
# for this long, and a world that never rests is cut off.
QUIET_S, MAX_LAST_DRAIN_S = 0.3, 3.0
# The cameras on the body are drawn only for those who look; a bag does not make them.
EXCLUDED = r".*/body/(image|camera_info)|/rosout|/parameter_events"
# The wires of services and actions; rosbag2 leaves them out as well.
_HIDDEN = re.compile(r".*/_.*")
_IMAGE = "sensor_msgs/msg/Image"


@dataclass(frozen=True, slots=True)
class _Source:
    """A topic that is recorded: its number in the bag and where its messages wait."""

    number: int
    is_picture: bool
    subscription: PolledSubscription


class RecorderNode(Node):
    """Subscribes to whatever is published and writes down, round by round, all that came."""

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
        self._group = PolledGroup()
        self._sources: dict[str, _Source] = {}
        self._skipped: set[str] = set()
        self._slots: dict[int, int] = {}
        self._full = False
        self.create_timer(LOOK_S, self._look)
        self.create_timer(DRAIN_S, self._drain)
        self.create_timer(FLUSH_S, self._flush)
        self._look()
        self.get_logger().info(f"recording into {self._bag.folder}")

    def _look(self) -> None:
        for name, types in self.get_topic_names_and_types():
            if name in self._sources or self._exclude.fullmatch(name) or _HIDDEN.match(name):
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
        is_picture = type_name == _IMAGE
        profile = _wanted(offered, PICTURE_QUEUE_DEPTH if is_picture else QUEUE_DEPTH)
        subscription = PolledSubscription(
            self, kind, name, profile, self._group, on_lost=lambda _count: None
        )
        self._sources[name] = _Source(number, is_picture, subscription)

    def _drain(self) -> int:
        """Writes the messages that wait; returns how many."""
        count = 0
        for source in self._sources.values():
            # Bounded: a publisher that never rests must not keep the others waiting.
            for _ in range(QUEUE_DEPTH):
                taken = source.subscription.take()
                if taken is None:
                    break
                count += 1
                self._take(source, taken)
        return count

    def _take(self, source: _Source, taken: Taken) -> None:
        if self._full or (source.is_picture and not self._is_due(source.number, taken.data)):
            return
        try:
            self._bag.write(source.number, taken.received_ns, taken.published_ns, taken.data)
        except PlannerError as error:
            self._stop_writing(error)

    def _is_due(self, topic: int, picture: bytes) -> bool:
        """Whether no picture with nearly the same stamp was kept; all cameras agree."""
        if not self._least_gap_ns:
            return True
        # A serialised Image begins with 4 bytes of encoding, then its stamp.
        seconds, nanoseconds = struct.unpack_from("<iI", picture, 4)
        slot = (seconds * 1_000_000_000 + nanoseconds) // self._least_gap_ns
        if self._slots.get(topic) == slot:
            return False
        self._slots[topic] = slot
        return True

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
        """Writes what was published before the stop and completes the bag."""
        self._drain_to_the_end()
        if not self._full:
            try:
                self._bag.close()
            except PlannerError as error:
                self._stop_writing(error)
        super().destroy_node()

    def _drain_to_the_end(self) -> None:
        begun_s = heard_s = time.monotonic()
        while (now_s := time.monotonic()) - heard_s < QUIET_S:
            if now_s - begun_s > MAX_LAST_DRAIN_S:
                return
            if self._drain():
                heard_s = time.monotonic()
            time.sleep(DRAIN_S / 5)


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


def main() -> int:
    """Runs the node until it is asked to stop."""
    keep_freed_memory()
    return run_node(RecorderNode)
