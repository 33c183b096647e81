"""`planner replay BAG` over ROS: checks who else publishes, then publishes the bag."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import rclpy
from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock

from planner.command_line import terminated_as_interrupted
from planner.network import confine
from planner.replay.bag import Bag
from planner.replay.player.cues import (
    CLOCK,
    COMPRESSED_IMAGE,
    IMAGE,
    TF_STATIC,
    Cue,
    ReadAhead,
    passes,
    raw_topics,
    with_raw_pictures,
)
from planner.replay.player.options import (
    ClockMode,
    PlayOptions,
    RecordedQos,
    chosen_topics,
    is_type_name,
    recorded_qos,
    same_layout,
    span_of,
)
from planner.replay.player.player import (
    KEYS,
    Display,
    Keyboard,
    Player,
    Timeline,
    clock_text,
    terminal_controls,
)
from planner.replay.storage import TopicInfo
from planner.ros import conversions, qos
from planner.ros.domain_lock import DomainLock, domain_id
from planner.ros.qos import definition, message_class
from planner.world.errors import PlannerError
from planner.world.process_resources import keep_freed_memory

# Publishers of a bag's topics: recorded bytes with the recorded quality of service.

# Bags do not record the depth of a publisher's history, as DDS does not announce it. For a latched
# topic a few, as in `ros2 bag play`: late joiners request one, and get the last. For a latched
# stream and for pictures, enough to notice missing acknowledgements before messages are dropped.
_DEPTH, _DEPTH_OF_LARGE, _DEPTH_OF_LATCHED = 1000, 50, 10
_DEPTHS_BY_NAME = {TF_STATIC: 100, "/world/state": 1000}
_LARGE = {"sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/PointCloud2"}
# Waits for readers that have not acknowledged what is in the history: a late message is better than
# a lost one, but one reader must not hold up all the others.
ACKNOWLEDGE_S, ACKNOWLEDGE_UNPACED_S = 0.02, 1.0
# After this many messages, acknowledgements are checked without waiting.
_LOOK_AFTER = 10
_AT_ONCE = Duration(seconds=0)
# A slow reader is not waited for again before this time has passed.
_SLOW_READER_S = 1.0
# Longest time between two checks of acknowledgements. What was kept for longer has arrived or is
# not needed, even if the last message was never acknowledged.
_ASKED_EVERY_S = 4.0


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A topic that is published.

    Attributes:
        name: to publish under.
        type_name: such as `sensor_msgs/msg/Image`.
        kind: its class.
        qos: as in the bag.
    """

    name: str
    type_name: str
    kind: Any
    qos: RecordedQos


class BagPublishers:
    """Publishes a bag's messages; a `CueSink` of the player.

    Attributes:
        lost: messages that the middleware refused.
        slow: names of topics whose readers did not keep up.
        damaged: requested raw pictures that cannot be decompressed.
    """

    def __init__(
        self,
        node: Node,
        topics: Mapping[str, Outgoing],
        pictures: Mapping[str, Outgoing],
        *,
        make_clock: bool,
        acknowledge_s: float = ACKNOWLEDGE_S,
    ) -> None:
        """Advertises all topics.

        Args:
            node: publishes them.
            topics: by their names in the bag.
            pictures: topics of raw pictures by the names of their compressed topics.
            make_clock: whether `tick` publishes `/clock`.
            acknowledge_s: how long a slow reader is waited for.
        """
        self._writers = {
            topic: _Writer(node, outgoing, acknowledge_s) for topic, outgoing in topics.items()
        }
        self._raw = {
            topic: _Writer(node, outgoing, acknowledge_s) for topic, outgoing in pictures.items()
        }
        self._clock: Publisher[Clock] | None = None
        if make_clock:
            self._clock = node.create_publisher(Clock, CLOCK, qos.CLOCK)
        self.damaged = 0
        self._clock_message: bytes | None = None

    def send(self, cue: Cue) -> None:
        """Publishes a message of the bag."""
        writer = self._writers.get(cue.topic)
        if writer is not None:
            writer.send(cue.data)
        if cue.topic == CLOCK:
            self._clock_message = cue.data
        elif self.wants_raw(cue.topic):
            self._send_raw(cue)

    def wants_raw(self, topic: str) -> bool:
        """Whether the raw form of a compressed topic has subscribers."""
        writer = self._raw.get(topic)
        return writer is not None and writer.publisher.get_subscription_count() > 0

    def _send_raw(self, cue: Cue) -> None:
        try:
            # A new subscriber may appear before the pictures decompressed ahead for it.
            data = cue.raw or conversions.raw(cue.data)
        except PlannerError:
            self.damaged += 1
            return
        self._raw[cue.topic].send(data)

    def tick(self, stamp_ns: int) -> None:
        """Publishes a generated clock."""
        if self._clock is None:
            return
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        self._clock_message = serialize_message(Clock(clock=Time(sec=seconds, nanosec=nanoseconds)))
        self._publish_clock(self._clock, self._clock_message)

    def repeat_clock(self) -> None:
        """Publishes the last clock again, the bag's or a generated one."""
        if self._clock_message is None:
            return
        if self._clock is not None:
            self._publish_clock(self._clock, self._clock_message)
        elif CLOCK in self._writers:
            self._writers[CLOCK].send(self._clock_message)

    @property
    def _all(self) -> list[_Writer]:
        return [*self._writers.values(), *self._raw.values()]

    @property
    def subscribers(self) -> int:
        """Number of subscriptions to all topics."""
        return sum(writer.publisher.get_subscription_count() for writer in self._all)

    @property
    def names(self) -> list[str]:
        """Names of the published topics."""
        names = [writer.name for writer in self._all]
        return [*names, CLOCK] if self._clock else names

    @property
    def lost(self) -> int:
        """Messages that the middleware refused."""
        return sum(writer.lost for writer in self._all)

    @property
    def slow(self) -> list[str]:
        """Topics with a reader that did not keep up."""
        return [writer.name for writer in self._all if writer.is_slow]

    def finish(self, timeout_s: float) -> list[str]:
        """Waits until readers have acknowledged everything; returns topics where some have not."""
        deadline_s = time.monotonic() + timeout_s
        return list(self._unacknowledged(deadline_s))

    def _unacknowledged(self, deadline_s: float) -> Iterator[str]:
        for writer in self._all:
            left_s = max(deadline_s - time.monotonic(), 0.0)
            if not writer.publisher.wait_for_all_acked(Duration(seconds=left_s)):
                yield writer.name

    def _publish_clock(self, publisher: Publisher[Clock], data: bytes) -> None:
        # Refused only by a middleware that shuts down; the next one has the time anyway.
        try:
            publisher.publish(data)
        except rclpy_implementation.RCLError:
            return


class _Writer:
    """One topic."""

    def __init__(self, node: Node, outgoing: Outgoing, acknowledge_s: float) -> None:
        profile = _profile(outgoing)
        self.name = outgoing.name
        self.publisher: Publisher[Any] = node.create_publisher(
            outgoing.kind, outgoing.name, profile
        )
        self.lost = 0
        self.is_slow = False
        self._reliable = outgoing.qos.reliable
        self._kept = profile.depth
        self._acknowledge = Duration(seconds=acknowledge_s)
        # Number of messages sent since everything was last known to have arrived.
        self._open = 0
        self._impatient_until_s = 0.0
        self._sent_s: deque[float] = deque(maxlen=profile.depth)

    def send(self, data: bytes) -> None:
        if self._reliable and self._open >= min(self._kept, _LOOK_AFTER):
            self._count_subscribers()
        try:
            self.publisher.publish(data)
        except rclpy_implementation.RCLError:
            # A reliable writer refuses if its readers do not keep up.
            self.lost += 1
        self._open += 1
        self._sent_s.append(time.monotonic())

    def _count_subscribers(self) -> None:
        """Checks acknowledgements; waits if the next message would drop an unacknowledged one."""
        if self.publisher.wait_for_all_acked(_AT_ONCE):
            self._open = 0
        elif self._open >= self._kept and time.monotonic() >= self._impatient_until_s:
            self._open = 0
            if time.monotonic() - self._sent_s[0] >= _ASKED_EVERY_S:
                return
            if not self.publisher.wait_for_all_acked(self._acknowledge):
                self.is_slow = True
                self._impatient_until_s = time.monotonic() + _SLOW_READER_S


def _profile(outgoing: Outgoing) -> QoSProfile:
    recorded = outgoing.qos
    if recorded.latched:
        depth = _DEPTHS_BY_NAME.get(outgoing.name, _DEPTH_OF_LATCHED)
    else:
        depth = _DEPTH_OF_LARGE if outgoing.type_name in _LARGE else _DEPTH
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=(
            ReliabilityPolicy.RELIABLE if recorded.reliable else ReliabilityPolicy.BEST_EFFORT
        ),
        durability=(
            DurabilityPolicy.TRANSIENT_LOCAL if recorded.latched else DurabilityPolicy.VOLATILE
        ),
    )


NAME = "replay"
# Published by every node, or meant for several publishers.
_SHARED = {"/rosout", "/parameter_events", "/diagnostics"}
# Wall seconds in which DDS discovers peers, on a busy machine too.
_DISCOVERY_S, _SETTLED_S, _BRIDGE_S, _NAMES_S = 0.5, 0.3, 5.0, 2.0
_UNKNOWN = "_NODE_NAME_UNKNOWN_"
_ACKNOWLEDGE_S = 5.0
_READ_AHEAD_S = 1.0
_UNPACKED_CUES = 300
# The reading thread must not keep the publishing one waiting for the interpreter.
_SWITCH_S = 5e-4
_IMAGES = {IMAGE, COMPRESSED_IMAGE}


def play(bag: Bag, options: PlayOptions) -> int:
    """Publishes a bag; returns 0 at its end, or if the user ended it.

    Raises:
        PlannerError: if the bag, an argument or the domain does not allow it.
        KeyboardInterrupt: after Ctrl-C or SIGTERM.
    """
    span = span_of(bag, options)
    timeline = Timeline(time.monotonic_ns, options.rate, paused=options.paused)
    display = Display(sys.stdout, span, timeline, loop=options.loop)
    chosen, clock = chosen_topics(bag.topics, options)
    if chosen.withheld:
        names = ", ".join(chosen.withheld)
        display.print_line(f"left out, as it makes robots and nodes act (--all sends it): {names}")
    for topic in chosen.invalid_names:
        display.print_line(f"{topic} is left out: ROS allows no such name")
    with _node() as node, terminal_controls() as controls:
        if options.paused and not isinstance(controls, Keyboard):
            raise PlannerError("--pause: there is no terminal to continue from")
        topics = dict(_outgoing(bag.topics, chosen.names, display))
        pictures = dict(_outgoing(raw_topics(bag.topics), chosen.pictures, display))
        if not topics and not pictures:
            raise PlannerError(f"{bag.folder}: nothing of it can be published")
        acknowledge_s = ACKNOWLEDGE_UNPACED_S if options.rate is None else ACKNOWLEDGE_S
        publishers = BagPublishers(
            node, topics, pictures, make_clock=clock is ClockMode.MADE, acknowledge_s=acknowledge_s
        )
        _wait_for_subscribers(node, publishers, options)
        latched = {t: outgoing.qos.latched for t, outgoing in (pictures | topics).items()}
        with _read_ahead(passes(bag, latched, span, loop=options.loop), publishers) as cues:
            cues.wait_until_full(_READ_AHEAD_S)
            player = Player(
                cues,
                timeline,
                publishers,
                controls,
                clock_is_made=clock is ClockMode.MADE,
                pictures=_pictures(pictures | topics),
                on_progress=display.show,
                print_line=display.print_line,
            )
            display.print_line(_opening(bag, topics, clock, options))
            if pictures:
                display.print_line(
                    f"{len(pictures)} topics of compressed pictures are offered raw, too"
                )
            if isinstance(controls, Keyboard):
                display.print_line(KEYS)
            _run(player, publishers, display)
    return 0


@contextmanager
def _read_ahead(cues: Iterator[Cue], publishers: BagPublishers) -> Iterator[ReadAhead]:
    """Reads far ahead; decompresses pictures shortly ahead, when their subscribers are known."""
    with closing(ReadAhead(cues)) as packed:
        raw = with_raw_pictures(iter(packed), publishers.wants_raw, conversions.raw)
        ahead = ReadAhead(raw, max_cues=_UNPACKED_CUES)
        try:
            yield ahead
        finally:
            # First, as the other one waits for it.
            packed.close()
            ahead.close()


def _run(player: Player, publishers: BagPublishers, display: Display) -> None:
    began_s = time.monotonic()
    acknowledge_s = _ACKNOWLEDGE_S
    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        player.run()
    except KeyboardInterrupt:
        acknowledge_s = 0.0
        raise
    finally:
        sys.setswitchinterval(switch_s)
        display.clear()
        elapsed_s = time.monotonic() - began_s
        waiting = publishers.finish(acknowledge_s) if acknowledge_s else []
        for line in _closing(player, publishers, elapsed_s, waiting):
            display.print_line(line)


def _opening(
    bag: Bag, topics: Mapping[str, Outgoing], clock: ClockMode, options: PlayOptions
) -> str:
    clock_words = {
        ClockMode.NONE: "no /clock",
        ClockMode.BAG: "the bag's own /clock",
        ClockMode.MADE: "/clock from the time of receipt",
    }[clock]
    rate = "without waiting" if options.rate is None else f"at rate {options.rate:g}"
    open_ = " (still being written)" if bag.is_open else " (cut short)" if bag.cut_short else ""
    return (
        f"{bag.folder}{open_}: {clock_text(bag.end_ns - bag.start_ns)} min, "
        f"{len(topics)} of {len(bag.topics)} topics, {rate}, {clock_words}"
    )


def _closing(
    player: Player, publishers: BagPublishers, elapsed_s: float, waiting: list[str]
) -> Iterator[str]:
    late = player.lateness
    line = f"sent {player.messages} messages in {elapsed_s:.1f} s"
    if late.count:
        line += (
            f"; 99 % within {late.quantile_s(0.99) * 1e3:.1f} ms of their time, "
            f"the last by {late.max_s * 1e3:.1f} ms"
        )
    yield line
    if player.stalls:
        yield f"fell behind {player.stalls} times: the machine is too slow or too busy for that"
    if publishers.damaged:
        yield f"{publishers.damaged} compressed pictures are damaged and were not unpacked"
    if publishers.lost:
        yield f"{publishers.lost} messages were refused by the middleware"
    slow = sorted({*publishers.slow, *waiting})
    if slow:
        yield f"readers did not keep up, and may have missed messages, of {', '.join(slow)}"


@contextmanager
def _node() -> Iterator[Node]:
    """A node that only publishes; Ctrl-C stays an exception."""
    # As the bridge: Fast DDS's default shared memory is too small for two pictures.
    confine(os.environ, large_messages=True)
    keep_freed_memory()
    try:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:
        raise PlannerError(f"ROS cannot start: {error}") from None
    try:
        with terminated_as_interrupted():
            node = Node(NAME, start_parameter_services=False, enable_rosout=False)
            try:
                yield node
            finally:
                node.destroy_node()
    finally:
        rclpy.try_shutdown()


def _outgoing(
    topics: Mapping[str, TopicInfo], names: Mapping[str, str], display: Display
) -> Iterator[tuple[str, Outgoing]]:
    """The topics that can be published; prints a line for each other one with the reason."""
    for topic, name in names.items():
        info = topics[topic]
        try:
            kind = _installed_class(info)
        except PlannerError as error:
            display.print_line(f"{info.name} is left out: {error}")
            continue
        qos = recorded_qos(topic, info.qos)
        yield topic, Outgoing(name, info.type_name, kind, qos)


def _installed_class(info: TopicInfo) -> type:
    """The class of a topic's messages.

    Raises:
        PlannerError: if it is not installed, or differs from the bag's.
    """
    # Checked before anything is imported: the name is untrusted.
    if not is_type_name(info.type_name):
        raise PlannerError(f"{info.type_name!r} is not a message type of ROS 2")
    installed = definition(info.type_name)
    if info.definition and not same_layout(info.type_name, info.definition, installed):
        raise PlannerError(f"{info.type_name} in the bag is not the one that is installed")
    kind: type = message_class(info.type_name)
    return kind


def _wait_for_subscribers(node: Node, publishers: BagPublishers, options: PlayOptions) -> None:
    """Waits for discovery and for subscribers.

    Raises:
        PlannerError: if another node publishes the same topics.
    """
    began_s = time.monotonic()
    bridge_s = _BRIDGE_S if _has_bridge() and not options.force else 0.0
    subscribers, changed_s = 0, began_s
    while True:
        now_s = time.monotonic()
        if (count := publishers.subscribers) != subscribers:
            subscribers, changed_s = count, now_s
        found = subscribers > 0 and now_s - changed_s >= _SETTLED_S
        bridge_met = now_s - began_s >= bridge_s or _other_publishers(node, publishers)
        if (
            bridge_met
            and now_s - began_s >= _DISCOVERY_S
            and (found or now_s - began_s >= options.subscribers_s)
        ):
            break
        time.sleep(0.05)
    if not options.force:
        _check_no_other_publishers(node, publishers, until_s=now_s + _NAMES_S)


def _check_no_other_publishers(node: Node, publishers: BagPublishers, *, until_s: float) -> None:
    """Checks that no other node publishes the same topics.

    Raises:
        PlannerError: if one does.
    """
    others = _other_publishers(node, publishers)
    # Topics of nodes are discovered before their names.
    while any(_UNKNOWN in nodes for nodes in others.values()) and time.monotonic() < until_s:
        time.sleep(0.05)
        others = _other_publishers(node, publishers)
    if not others:
        return
    shown = [f"{name} (by {', '.join(nodes)})" for name, nodes in sorted(others.items())]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    raise PlannerError(
        f"others publish {', '.join(shown[:3])}{more} in ROS domain {domain_id(os.environ)}: end "
        "them, take another ROS_DOMAIN_ID, leave these topics out (--exclude, --clock none), or "
        "mix both (--force)"
    )


def _other_publishers(node: Node, publishers: BagPublishers) -> dict[str, list[str]]:
    """Nodes that publish the same topics, by topic."""
    found = {}
    for name in publishers.names:
        if name in _SHARED or node.count_publishers(name) < 2:
            continue
        nodes = Counter(info.node_name for info in node.get_publishers_info_by_topic(name))
        nodes -= Counter({NAME: 1})
        if nodes:
            found[name] = sorted(nodes)
    return found


def _has_bridge() -> bool:
    """Whether a bridge runs in this domain on this machine."""
    try:
        DomainLock(domain_id(os.environ)).close()
    except PlannerError:
        return True
    return False


def _pictures(topics: Mapping[str, Outgoing]) -> frozenset[str]:
    """Topics of colour pictures; depth and instances if there are no others."""
    images = {topic for topic, outgoing in topics.items() if outgoing.type_name in _IMAGES}
    measured = {t for t in images if fnmatchcase(t, "*depth*") or fnmatchcase(t, "*instances*")}
    return frozenset(images - measured or images)
