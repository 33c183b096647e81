"""`planner replay` at rate 1: how late messages are sent, and how late they arrive.

Repeat with: python benchmarks/bench_replay.py [BAG] [--rate R] [--duration S]

Without a bag one of 20 s is made: 460 messages a second, including the raw pictures of two RGB-D
cameras at 10 Hz. The command runs in this process, and a node in another one subscribes to
everything; a message has arrived when that node's middleware has it. A message's time is that of
its receipt in the bag, relative to the message that was sent earliest of all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict, deque
from pathlib import Path
from typing import Any

import numpy as np
from machine import print_table
from rosbags.typesys import Stores, get_typestore

from planner.environment import ros_environment
from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.bag import Bag
from planner.replay.player.cues import Cue
from planner.replay.player.options import PlayOptions, is_type_name, recorded_qos

DOMAIN = "88"
WANTED_S, WANTED_SHARE = 0.005, 0.99
MADE_S = 20.0
PICTURE_HZ, STATE_HZ, STATES = 10, 50, 8
PIXELS = 384


def make_bag(folder: Path) -> None:
    """A bag as the recorder writes it for two agents, pictures uncompressed."""
    store = get_typestore(Stores.ROS2_JAZZY)
    stamp = store.types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
    head = store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="lens")
    writer = BagWriter(folder)

    def add(name: str, type_name: str) -> int:
        text = store.generate_msgdef(type_name, ros_version=2)[0]
        return writer.add_topic(Topic(name, type_name, text, "- {reliability: reliable}\n"))

    def picture(encoding: str, pixel: int) -> bytes:
        noise = np.random.default_rng(7).integers(0, 99, PIXELS * PIXELS * pixel, dtype=np.uint8)
        image = store.types["sensor_msgs/msg/Image"](
            header=head,
            height=PIXELS,
            width=PIXELS,
            encoding=encoding,
            is_bigendian=0,
            step=PIXELS * pixel,
            data=noise,
        )
        return bytes(store.serialize_cdr(image, "sensor_msgs/msg/Image"))

    rgb, depth = picture("rgb8", 3), picture("32FC1", 4)
    messages: list[tuple[int, int, bytes]] = []
    for agent in range(2):
        for camera, data in (("camera", rgb), ("depth_registered", depth)):
            topic = add(f"/agent_{agent}/{camera}/hand/image", "sensor_msgs/msg/Image")
            messages += [
                (round(n / PICTURE_HZ * 1e9), topic, data) for n in range(int(MADE_S * PICTURE_HZ))
            ]
    for number in range(STATES):
        topic = add(f"/state_{number}", "std_msgs/msg/String")
        for n in range(int(MADE_S * STATE_HZ)):
            words = store.types["std_msgs/msg/String"](data=f"{number} {n} " + "x" * 200)
            data = bytes(store.serialize_cdr(words, "std_msgs/msg/String"))
            messages.append((round((n / STATE_HZ + number / 997) * 1e9), topic, data))
    for at_ns, topic, data in sorted(messages, key=lambda message: message[0]):
        stamp_ns = 1_700_000_000 * 10**9 + at_ns
        writer.write(topic, stamp_ns, stamp_ns, data)
    writer.close()


def check_sum(data: bytes) -> int:
    """Checksum of a message without the middleware's padding."""
    return zlib.crc32(data.rstrip(b"\0"))


def listen(bag: Path, notes: Path) -> None:
    """Another process: records when each message arrived, until its standard input is closed."""
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    from planner.ros.qos import message_class

    arrived: dict[str, list[tuple[int, int]]] = defaultdict(list)

    # The middleware reports the time of day.
    offset_ns = time.time_ns() - time.monotonic_ns()

    def note(topic: str, data: bytes, info: dict[str, Any]) -> None:
        arrived[topic].append((info["received_timestamp"] - offset_ns, check_sum(data)))

    rclpy.init()
    node = Node("bench_listener")
    for name, info in Bag(bag).topics.items():
        if not is_type_name(info.type_name):
            continue
        offered = recorded_qos(name, info.qos)
        profile = QoSProfile(
            depth=1000,
            reliability=ReliabilityPolicy.RELIABLE
            if offered.reliable
            else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL
            if offered.latched
            else DurabilityPolicy.VOLATILE,
        )
        kind = message_class(info.type_name)
        node.create_subscription(kind, name, _noting(note, name), profile, raw=True)
    print("listening", flush=True)
    os.set_blocking(sys.stdin.fileno(), False)
    while sys.stdin.buffer.read(1) is None:
        for _ in range(200):
            rclpy.spin_once(node, timeout_sec=0.01)
    notes.write_text(json.dumps(arrived))
    rclpy.shutdown()


def _noting(note: Any, topic: str) -> Any:
    # rclpy counts the arguments of a callback, and a partial hides them.
    def hear(data: bytes, info: dict[str, Any]) -> None:
        note(topic, data, info)

    return hear


def play(bag: Path, rate: float, duration_s: float | None) -> tuple[list[Any], float]:
    """Plays in this process; returns (topic, stamp, checksum, sent at) of messages, and load."""
    from planner.replay.player import node
    from planner.replay.player.node import BagPublishers

    sent: list[tuple[str, int, int, int]] = []

    class Noting(BagPublishers):
        def send(self, cue: Cue) -> None:
            at_ns = time.monotonic_ns()
            super().send(cue)
            sent.append((cue.topic, cue.stamp_ns, check_sum(cue.data), at_ns))

    node.BagPublishers = Noting  # type: ignore[misc]
    busy_s, began_s = time.process_time(), time.monotonic()
    node.play(Bag(bag), PlayOptions(rate=rate, duration_s=duration_s, subscribers_s=10.0))
    return sent, (time.process_time() - busy_s) / (time.monotonic() - began_s)


def measure(bag: Path, rate: float, duration_s: float | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes.json"
        if not bag.name:
            bag = Path(folder) / "bag"
            make_bag(bag)
        listener = subprocess.Popen(
            [sys.executable, __file__, str(bag), "--listen", str(notes)],
            env=ros_environment(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert listener.stdout
        assert listener.stdin
        listener.stdout.readline()
        try:
            sent, load = play(bag, rate, duration_s)
        finally:
            time.sleep(0.5)
            listener.stdin.close()
            listener.wait(30)
        arrived = json.loads(notes.read_text())
    report(sent, arrived, rate, load)


def report(
    sent: list[tuple[str, int, int, int]],
    arrived: dict[str, list[tuple[int, int]]],
    rate: float,
    load: float,
) -> None:
    heard: dict[tuple[str, int], deque[int]] = defaultdict(deque)
    for topic, found in arrived.items():
        for at_ns, check in found:
            heard[topic, check].append(at_ns)
    first_ns = sent[0][1]
    due_ns = [round((stamp_ns - first_ns) / rate) for _, stamp_ns, _, _ in sent]
    begin_ns = min(at_ns - due for (_, _, _, at_ns), due in zip(sent, due_ns, strict=True))
    late = np.array([at - due - begin_ns for (_, _, _, at), due in zip(sent, due_ns, strict=True)])
    came, lost = [], 0
    for (topic, _, check, _), due in zip(sent, due_ns, strict=True):
        times = heard[topic, check]
        if times:
            came.append(times.popleft() - due - begin_ns)
        else:
            lost += 1
    seconds = (sent[-1][3] - sent[0][3]) / 1e9
    rows = [
        ("messages, a second", f"{len(sent)}, {len(sent) / seconds:.0f}", ""),
        *_rows("sent", late / 1e6),
        *_rows("arrived in another process", np.array(came) / 1e6),
        ("not heard", f"{lost}", "0"),
        ("load of the player", f"{load:.0%} of one core", ""),
    ]
    print_table(f"planner replay at rate {rate:g}, two processes", rows)


def _rows(what: str, late_ms: Any) -> list[tuple[str, str, str]]:
    p50, p99, most = np.percentile(late_ms, (50, 99, 100))
    share = float(np.mean(late_ms <= WANTED_S * 1e3))
    return [
        (f"{what} within {WANTED_S * 1e3:g} ms of its time", f"{share:.2%}", f"{WANTED_SHARE:.0%}"),
        (f"{what} late, p50, p99, max", f"{p50:.2f}, {p99:.2f}, {most:.2f} ms", ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bag", nargs="?", type=Path, default=Path())
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--duration", type=float)
    parser.add_argument("--listen", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.update(ROS_DOMAIN_ID=DOMAIN, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    if options.listen:
        listen(options.bag, options.listen)
        return
    measure(options.bag, options.rate, options.duration)


if __name__ == "__main__":
    main()
