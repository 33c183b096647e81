"""Node `recorder`: records every topic into one bag, with an account of missed messages."""

from __future__ import annotations

import math
import re
import signal
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_msgs.msg import Header

from planner.recorder import bag_file
from planner.recorder.bag_writer import EXCLUDE, IMAGES, Topic
from planner.recorder.notes.node import CONTINUES, SPACE_POLL_S, BagNotes, Handler, limits, open_bag
from planner.recorder.topic_counts import SHARED_TOPICS, Gap, TopicCounts, name_in_bag, summary
from planner.recorder.view_choice import ViewChoice
from planner.ros import parameters, qos
from planner.ros import qos as offered_qos
from planner.ros.clients import WaitingNotice, wall_clock
from planner.ros.conversions import COLOUR_SUFFIX, COMPRESSED_IMAGE, DEPTH_SUFFIX, IMAGE, compressed
from planner.ros.guard import RECORDER_STATUS, GuardedExecutor, guard_of, own_statuses, status_name
from planner.ros.lifecycle import run_node
from planner.ros.parameters import ParameterCollector, declare
from planner.ros.qos import definition, message_class
from planner.ros.subscriptions import PolledGroup, PolledSubscription, ReceivedMessage
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.picture_codec import stored_pixels
from planner.world.process_resources import keep_freed_memory, return_freed_memory

DISCOVERY_PERIOD_S = 0.25
FLUSH_PERIOD_S = 0.5
# Wall seconds between rounds that write queued messages. A round ends after MAX_ROUND_S even if
# messages are left: on a busy machine pictures may take many seconds, and a new topic would be
# missed.
DRAIN_S, MAX_ROUND_S = 0.05, 0.25
# Wall seconds between rounds that serve timers and services, and how many are served in one.
SERVE_S, MAX_SERVED = 0.25, 4
DIAGNOSTICS_PERIOD_S = 1.0
# Send the counts of all topics this often: they are as long as all other diagnostics together.
TOPIC_COUNTS_EVERY = 10
# Queue depths in the middleware for a busy machine: some seconds of the fastest topics; fewer
# pictures, at a megabyte each, as the middleware keeps the memory of the longest queue for good.
QUEUE_DEPTH, PICTURE_QUEUE_DEPTH = 4000, 100
# No more is taken from the middleware while so much waits to be compressed and written.
MAX_WAITING_BYTES = 64 << 20
# So much freed memory stays in each of the process's heaps: what pictures take in one round.
KEPT_BYTES = 8 << 20
# After a stop, a full disk has so long to get space for the end of the bag.
LAST_SPACE_S = 3.0
# After a stop: publishers that stop at the same time are done once nothing arrived for this long; a
# world that never rests is cut off after MAX_LAST_DRAIN_S.
QUIET_S, MAX_LAST_DRAIN_S = 0.3, 3.0
# Internal topics of services and actions; rosbag2 leaves them out too.
_HIDDEN = re.compile(r".*/_.*")


@dataclass(slots=True)
class _Source:
    """A recorded topic, by its name in the bag, with its subscription."""

    name: str
    type_name: str
    qos_yaml: str
    counts: TopicCounts
    subscription: PolledSubscription
    is_thinned: bool
    is_compressed: bool
    # The part of a message that concerns this stack; None = nothing.
    select: Callable[[bytes], bytes | None]
    on_kept: Handler | None
    # Topic numbers by name suffix of the compressed form, and what is missing before the first.
    numbers: dict[str, int] = field(default_factory=dict)
    unnamed: list[Gap] = field(default_factory=list)
    slot: int = -1
    # Messages that the middleware queues, and whether any were taken yet.
    depth: int = QUEUE_DEPTH
    is_begun: bool = False
    # When the newest message could be taken; determines order and times in the bag.
    available_ns: int = 0


@dataclass(slots=True)
class _Waiting:
    """A message that was taken from the middleware.

    Attributes:
        available_ns: when it could be taken.
        kept: what is to be written; None = it is left out.
    """

    available_ns: int
    taken: ReceivedMessage
    source: _Source
    kept: bytes | None


class RecorderNode(Node):
    """Subscribes to every published topic and writes the received messages in rounds."""

    def __init__(self) -> None:
        """Creates the bag.

        Raises:
            PlannerError: if the folder or a parameter cannot be used.
        """
        super().__init__("recorder")
        folder = parameters.text(self, "folder", "", "folder of the bag; must not exist yet")
        pattern = declare(self, EXCLUDE)
        self._images = declare(self, IMAGES)
        image_hz = parameters.number(
            self,
            "image_hz",
            0.0,
            "pictures per second to keep of each topic; 0 = all",
            min_value=0.0,
        )
        changed = parameters.flag(
            self,
            "changed_views",
            False,
            "of these pictures, keep those of which the view has changed since the last kept one",
        )
        self._least_gap_ns = round(1e9 / image_hz) if image_hz else 0
        limit_mb = parameters.number(
            self,
            "picture_mb_per_minute",
            0.0,
            "then only so many MB of pictures are kept in a wall minute; 0 = any",
            min_value=0.0,
        )
        self._views = ViewChoice(self._least_gap_ns or 1, limit_mb * 1e6) if changed else None
        if not folder:
            raise PlannerError("recorder: parameter folder: expected the folder of the bag")
        try:
            self._exclude = re.compile(pattern)
        except re.error as error:
            raise PlannerError(f"recorder: parameter exclude: {error}") from None
        try:
            self._bag = open_bag(self, Path(folder), limits(self))
        except BaseException:
            super().destroy_node()
            raise
        self._start = bag_file.start_record(
            time.time_ns(),
            {
                "images": self._images,
                "image_hz": f"{image_hz:g}",
                "changed_views": str(changed).lower(),
                "exclude": pattern,
            },
        )
        self._begun_s = time.monotonic()
        self._group = PolledGroup()
        self._sources: dict[str, _Source] = {}
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._notes = BagNotes(self, self._add_record, self._attach)
        self._skipped: set[str] = set()
        # Why nothing can be written now, and why it could not before.
        self._blocked = self._failure = ""
        self._longest_wait_s = 0.0
        self._diagnosed = 0
        self._survey = ParameterCollector(self)
        self._surveyed = 0
        self._bag.add_record(bag_file.START, self._start, repeated=True)
        self._diagnostics = self.create_publisher(
            DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS
        )
        # Steady clock: the bag must be written while simulated time is paused.
        wall = wall_clock()
        self.create_timer(DISCOVERY_PERIOD_S, self._discover_topics, clock=wall)
        self.create_timer(FLUSH_PERIOD_S, self._flush, clock=wall)
        self.create_timer(DIAGNOSTICS_PERIOD_S, self._publish_diagnostics, clock=wall)
        self._discover_topics()
        self._notice = WaitingNotice(self, self._missing)
        self.get_logger().info(f"recording into {self._bag.folder}")

    def _missing(self) -> list[str]:
        if self._sources.keys() - SHARED_TOPICS:
            return []
        return [f"a topic in the namespace {self.get_namespace()}"]

    # Topics

    def _discover_topics(self) -> None:
        self._survey.look()
        if self._survey.settled:
            # Now and at the end: the bag of a killed recorder has them too.
            self._keep_parameters()
        offered = dict(self.get_topic_names_and_types())
        for name, types in offered.items():
            kept_as = name_in_bag(name, self.get_namespace())
            if kept_as is None or name in self._sources or _HIDDEN.match(name):
                continue
            if self._exclude.fullmatch(kept_as):
                continue
            if types[0] in (IMAGE, COMPRESSED_IMAGE) and not self._should_record(
                name, types[0], offered
            ):
                continue
            publishers = self.get_publishers_info_by_topic(name)
            if publishers:
                self._subscribe(name, kept_as, types[0], publishers)

    def _should_record(self, name: str, type_name: str, offered: Mapping[str, object]) -> bool:
        """One form is enough of a picture that its driver publishes raw and compressed."""
        if self._images == "none":
            return False
        if type_name == IMAGE and self._images == "compressed":
            others = (name + COLOUR_SUFFIX, name + DEPTH_SUFFIX)
            return not any(self.count_publishers(other) for other in others if other in offered)
        return True

    def _subscribe(
        self, name: str, kept_as: str, type_name: str, publishers: list[TopicEndpointInfo]
    ) -> None:
        try:
            kind = message_class(type_name)
            definition(type_name)
        except PlannerError as error:
            if name not in self._skipped:
                self._skipped.add(name)
                self.get_logger().warning(f"{name} is not recorded: {error}")
            return
        offered: list[QoSProfile] = [publisher.qos_profile for publisher in publishers]
        is_picture = type_name in (IMAGE, COMPRESSED_IMAGE)
        depth = PICTURE_QUEUE_DEPTH if is_picture else QUEUE_DEPTH
        counts = TopicCounts(
            kept_as, latched=_keeps_history(kept_as) and offered_qos.is_latched(offered)
        )

        def count_lost(count: int) -> None:
            counts.reported_lost += count

        self._sources[name] = _Source(
            kept_as,
            type_name,
            offered_qos.as_yaml(offered),
            counts,
            PolledSubscription(
                self, kind, name, offered_qos.matching(offered, depth), self._group, count_lost
            ),
            is_thinned=is_picture and (self._least_gap_ns > 0 or self._views is not None),
            is_compressed=type_name == IMAGE and self._images == "compressed",
            select=self._selection(name),
            on_kept=self._notes.handler_of(kept_as, type_name),
            depth=depth,
        )

    def _selection(self, name: str) -> Callable[[bytes], bytes | None]:
        namespace = self.get_namespace()
        if name == topics.DIAGNOSTICS and namespace != "/":
            return partial(own_statuses, namespace=namespace)
        return lambda data: data

    # Messages

    def drain(self, limit_s: float = math.inf) -> int:
        """Writes queued messages in the order of receipt; returns how many.

        Args:
            limit_s: the rest is left for the next call after this many wall seconds.
        """
        begun_s = time.monotonic()
        if self._waiting_bytes < MAX_WAITING_BYTES:
            self._take_all()
        count = 0
        while self._waiting and (not count or time.monotonic() - begun_s < limit_s):
            found = self._waiting.popleft()
            self._waiting_bytes -= len(found.taken.data)
            counts = found.source.counts
            count, written = count + 1, counts.written
            try:
                self._write(found)
            except Exception as error:
                # Such as a picture that is none; the other messages are not its fault.
                counts.left_out += int(counts.written == written)
                guard_of(self).contain(error, f"recording {found.source.name}")
        return count

    def _take_all(self) -> None:
        """Takes all queued messages from the middleware."""
        waiting: list[_Waiting] = []
        for source in self._sources.values():
            begin = len(waiting)
            # Bounded, so that one busy publisher cannot starve the others.
            for _ in range(QUEUE_DEPTH):
                taken = source.subscription.take()
                if taken is None:
                    break
                # A retransmitted message arrived late and held back those after it.
                source.available_ns = max(source.available_ns, taken.received_ns)
                kept = self._selected(source, taken.data)
                if kept is None:
                    # It is only counted: most pictures of a demo need not wait.
                    taken = replace(taken, data=b"")
                waiting.append(_Waiting(source.available_ns, taken, source, kept))
                self._waiting_bytes += len(taken.data)
            if not source.is_begun and len(waiting) > begin:
                source.is_begun = True
                if len(waiting) - begin >= source.depth:
                    self._count_overflow(source, waiting[begin].taken)
        if not waiting:
            return
        waiting.sort(key=lambda found: found.available_ns)
        waited_s = (time.time_ns() - waiting[0].available_ns) * 1e-9
        self._longest_wait_s = max(self._longest_wait_s, waited_s)
        self._waiting.extend(waiting)

    def _count_overflow(self, source: _Source, first: ReceivedMessage) -> None:
        gap = source.counts.begin_full(first.number, first.received_ns)
        if gap is not None:
            self._add_gap(source, gap)

    def _add_gap(self, source: _Source, gap: Gap) -> None:
        """Says what is missing of a topic, under its name in the bag."""
        if source.is_compressed and not source.numbers:
            source.unnamed.append(gap)
            return
        suffix = next(iter(source.numbers), "")
        self._bag.add_record(bag_file.GAP, replace(gap, topic=source.name + suffix).as_record())

    def _selected(self, source: _Source, data: bytes) -> bytes | None:
        """What is to be written of a message; None = it is left out, also one that is malformed."""
        try:
            kept = source.select(data)
            left_out = kept is None or (source.is_thinned and not self._is_due(source, kept))
        except Exception as error:
            guard_of(self).contain(error, f"recording {source.name}")
            return None
        return None if left_out else kept

    def _write(self, found: _Waiting) -> None:
        source, taken, counts = found.source, found.taken, found.source.counts
        gap = counts.take(taken.publisher, taken.number, found.available_ns)
        if gap is not None:
            self._add_gap(source, gap)
        if found.kept is None:
            counts.left_out += 1
            return
        suffix, data = "", found.kept
        if source.is_compressed:
            try:
                suffix, data = compressed(found.kept)
            except PlannerError as error:
                self.get_logger().warning(f"{source.name} is recorded raw: {error}", once=True)
        number = self._number(source, suffix)
        published_ns, sequence = taken.published_ns, counts.sequence
        if not self._bag.write(number, found.available_ns, published_ns, data, sequence):
            counts.lose(found.available_ns, self._failure)
            return
        counts.written += 1
        # Instance ids have no packed form, and the bag packs them to next to nothing.
        if self._views is not None and source.is_thinned and (suffix or not source.is_compressed):
            self._views.spend(len(data))
        if source.on_kept is not None:
            source.on_kept(taken.data, taken.received_ns)

    def _number(self, source: _Source, suffix: str) -> int:
        """The topic's number in the bag; a picture's form is known from its first message on."""
        if suffix not in source.numbers:
            type_name = COMPRESSED_IMAGE if suffix else source.type_name
            topic = Topic(source.name + suffix, type_name, definition(type_name), source.qos_yaml)
            source.numbers[suffix] = self._bag.add_topic(topic)
            for gap in source.unnamed:
                self._add_gap(source, gap)
            source.unnamed.clear()
        return source.numbers[suffix]

    def _is_due(self, source: _Source, picture: bytes) -> bool:
        """Whether no picture with nearly the same stamp was kept; the same for all cameras."""
        # Both picture messages start with 4 bytes of encapsulation header, then their stamp.
        seconds, nanoseconds = struct.unpack_from("<iI", picture, 4)
        stamp_ns = seconds * 1_000_000_000 + nanoseconds
        if self._views is not None:
            read = partial(_pixels_of, picture, source.type_name)
            return self._views.keeps(source.name, stamp_ns, read)
        slot = stamp_ns // self._least_gap_ns
        if source.slot == slot:
            return False
        source.slot = slot
        return True

    # Metadata

    def _keep_parameters(self) -> None:
        if self._surveyed == len(self._survey.found):
            return
        self._surveyed = len(self._survey.found)
        text = bag_file.parameters_text(self._survey.found)
        self._attach(bag_file.PARAMETERS, bag_file.YAML, text)

    def _attach(self, name: str, media_type: str, data: bytes) -> None:
        self._bag.attach(name, media_type, data, time.time_ns())

    def _add_record(self, name: str, values: Mapping[str, str]) -> None:
        self._bag.add_record(name, values)

    def _publish_diagnostics(self) -> None:
        accounts = self._all_counts()
        missed = sum(counts.missed for counts in accounts)
        unwritten = sum(counts.unwritten for counts in accounts)
        level, text = DiagnosticStatus.OK, "recording"
        if missed or unwritten:
            lost = f", {unwritten} were not written: {self._failure}" if unwritten else ""
            level, text = DiagnosticStatus.WARN, f"{missed} messages never arrived{lost}"
        if self._blocked:
            level, text = DiagnosticStatus.ERROR, f"{self._blocked}; {CONTINUES}"
        size_mb, minutes = self._bag.size_bytes / 1e6, (time.monotonic() - self._begun_s) / 60
        values = {
            "folder": str(self._bag.folder),
            "received": str(sum(counts.received for counts in accounts)),
            "written": str(self._bag.count),
            "left_out": str(sum(counts.left_out for counts in accounts)),
            "unwritten": str(unwritten),
            "missed": str(missed),
            "reported_lost": str(sum(counts.reported_lost for counts in accounts)),
            "longest_wait_s": f"{self._longest_wait_s:.3f}",
            "size_mb": f"{size_mb:.2f}",
            "mb_per_minute": f"{size_mb / minutes:.2f}" if minutes else "0",
        }
        statuses = [_status(level, status_name(self, RECORDER_STATUS), text, values)]
        if self._diagnosed % TOPIC_COUNTS_EVERY == 0:
            counts = {
                counts.name: " ".join(f"{k}={v}" for k, v in counts.as_record().items())
                for counts in accounts
            }
            statuses.append(_status(level, status_name(self, "recorder: topics"), text, counts))
        # The middleware's pools grow with a queue, for good, and settle above its pictures.
        return_freed_memory()
        self._diagnosed += 1
        self._longest_wait_s = 0.0
        header = Header(stamp=self.get_clock().now().to_msg())
        self._diagnostics.publish(DiagnosticArray(header=header, status=statuses))

    def _all_counts(self) -> list[TopicCounts]:
        return [source.counts for source in self._sources.values()]

    # Disk and shutdown

    def _flush(self) -> None:
        """Writes to the disk; while that is full, messages wait, and the robots go on."""
        try:
            self._bag.flush()
        except PlannerError as error:
            if not self._blocked:
                self.get_logger().error(f"{error}; {CONTINUES}")
            self._blocked = self._failure = str(error)
            return
        lost = [
            (source, gap)
            for source in self._sources.values()
            if (gap := source.counts.take_lost()) is not None
        ]
        for source, gap in lost:
            self._add_gap(source, gap)
        if self._blocked:
            count = sum(gap.missing for _, gap in lost)
            self.get_logger().warning(f"recording continues; {count} messages were not written")
        self._blocked = ""

    def destroy_node(self) -> None:
        """Writes what was published before the stop, completes the bag and prints its summary."""
        self._drain_final()
        self._flush()
        self._keep_parameters()
        for source in self._sources.values():
            # No picture was kept, so the bag has the topic under no name.
            for gap in source.unnamed:
                self._add_record(bag_file.GAP, gap.as_record())
        accounts = {source.name: source.counts for source in self._sources.values()}
        if not self._exclude.fullmatch(f"/{topics.EVALUATION_RESULT}"):
            self._notes.count_missing_verdicts(accounts)
        lost = any(counts.unwritten for counts in accounts.values())
        failure = self._failure if lost else ""
        record = bag_file.recording_record(self._start, time.time_ns(), accounts, failure)
        self._add_record(bag_file.RECORDING, record)
        failure = self._close() or failure
        unsaved = self._bag.unsaved
        text = f"{self._bag.folder}: {summary([*accounts.values()], failure, unsaved)}"
        missed = any(counts.missed for counts in accounts.values())
        # ROS is shut down: /rosout would reach nobody.
        print(f"warning: {text}" if missed or failure else f"bag {text}", flush=True)
        super().destroy_node()

    def _close(self) -> str:
        """Completes the bag; why that failed, "" = it did not."""
        ends_s = time.monotonic() + LAST_SPACE_S
        while True:
            try:
                self._bag.close()
            except PlannerError as error:
                if time.monotonic() > ends_s:
                    self._bag.abandon()
                    return str(error)
                time.sleep(SPACE_POLL_S)
            else:
                return ""

    def _drain_final(self) -> None:
        # Take the last messages even if writing earlier ones takes all the time.
        self._take_all()
        begun_s = heard_s = time.monotonic()
        while (now_s := time.monotonic()) - heard_s < QUIET_S:
            if now_s - begun_s > MAX_LAST_DRAIN_S:
                return
            if self.drain():
                heard_s = time.monotonic()
            time.sleep(DRAIN_S / 5)


def _pixels_of(picture: bytes, type_name: str) -> NDArray[Any]:
    """The pixels of a serialised picture as they are stored."""
    return stored_pixels(deserialize_message(picture, message_class(type_name)))


def _keeps_history(name: str) -> bool:
    """Whether the publisher keeps its history for late joiners."""
    return name == f"/{topics.WORLD_STATE}"


def _status(level: bytes, name: str, text: str, values: Mapping[str, str]) -> DiagnosticStatus:
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=text, hardware_id="", values=pairs)


class RoundsExecutor(GuardedExecutor):
    """Drains the recorder in short rounds, and serves timers and services in longer ones.

    Waiting on sixty subscriptions takes as long as writing the messages of one round.
    """

    def __init__(self) -> None:
        super().__init__()
        self._served_s = 0.0

    def spin_once(self, timeout_sec: float | None = None) -> None:  # noqa: ARG002
        """One round; `timeout_sec` is ignored."""
        now_s = time.monotonic()
        if now_s - self._served_s >= SERVE_S:
            self._served_s = now_s
            # One wait finds everything that is ready; each call serves one of them.
            for _ in range(MAX_SERVED):
                self._spin_once_impl(0.0)
        for node in self.get_nodes():
            if isinstance(node, RecorderNode):
                node.drain(MAX_ROUND_S)
        time.sleep(DRAIN_S)


def main() -> int:
    """Runs the node until it is asked to stop."""
    nodes: list[RecorderNode] = []

    def make() -> RecorderNode:
        # Here, as a node's process begins by settling for less.
        keep_freed_memory(KEPT_BYTES)
        nodes.append(RecorderNode())
        return nodes[0]

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        # An exception amid a message would leave half of it in the bag and drop the queue: once
        # there is a bag, only ROS shuts down.
        if not nodes:
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    return run_node(make, make_executor=RoundsExecutor)
