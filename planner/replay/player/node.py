"""`planner replay BAG` over ROS: checks who else publishes, then publishes the bag."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from fnmatch import fnmatchcase
from types import FrameType

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from planner.network import confine
from planner.replay.bag import Bag, TopicInfo
from planner.replay.player.controls import KEYS, Keyboard, terminal_controls
from planner.replay.player.cues import Cue, passes
from planner.replay.player.display import Display, clock_text
from planner.replay.player.layouts import is_type_name, same_layout
from planner.replay.player.options import ClockMode, PlayOptions, chosen_topics, span_of
from planner.replay.player.player import Player
from planner.replay.player.publishers.node import (
    ACKNOWLEDGE_S,
    ACKNOWLEDGE_UNPACED_S,
    BagPublishers,
    Outgoing,
)
from planner.replay.player.raw_pictures import (
    COMPRESSED_IMAGE,
    IMAGE,
    raw_topics,
    with_raw_pictures,
)
from planner.replay.player.read_ahead import ReadAhead
from planner.replay.player.recorded_qos import recorded_qos
from planner.replay.player.timeline import Timeline
from planner.ros import compressed_pictures
from planner.ros.definitions import definition, message_class
from planner.ros.domain_lock import DomainLock, domain_id
from planner.world.errors import PlannerError
from planner.world.freed_memory import keep_freed_memory

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
        raw = with_raw_pictures(iter(packed), publishers.wants_raw, compressed_pictures.raw)
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
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        node = Node(NAME, start_parameter_services=False, enable_rosout=False)
        try:
            yield node
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


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
