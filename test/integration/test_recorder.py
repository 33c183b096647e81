"""The recorder against real publishers: every topic, custom types, kill -9, no loss."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from planner_msgs.msg import NamedState
from rclpy.node import Node
from std_msgs.msg import String

from planner.bad_day.small_disk import SmallDisk
from planner.replay.bag import Bag, read_bag
from planner.replay.recovery import recover
from planner.ros import qos
from planner.world.errors import FileError, PlannerError

RECORDER = Path(__file__).resolve().parents[2] / "nodes" / "recorder"
COUNT = 300


@pytest.fixture
def talker() -> Iterator[Node]:
    rclpy.init()
    node = Node("talker")
    yield node
    node.destroy_node()
    rclpy.shutdown()


def start(bag: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(RECORDER), "--ros-args", "-p", f"folder:={bag}"])


def spread(node: Node) -> None:
    """Publishes numbered words once the recorder listens, and one latched state before."""
    latched = node.create_publisher(NamedState, "latched", qos.LATCHED)
    latched.publish(NamedState(name="open", value=True))
    words = node.create_publisher(String, "words", qos.EVENTS)
    deadline = time.monotonic() + 60
    while words.get_subscription_count() == 0:
        assert time.monotonic() < deadline, "the recorder never subscribed"
        rclpy.spin_once(node, timeout_sec=0.1)
    for i in range(COUNT):
        words.publish(String(data=str(i)))
        rclpy.spin_once(node, timeout_sec=0.002)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_everything_is_in_the_bag(tmp_path: Path, talker: Node, end: signal.Signals) -> None:
    recorder = start(tmp_path / "bag")
    try:
        spread(talker)
        # Reading a bag in use changes nothing for its recorder.
        used = Bag(tmp_path / "bag")
        during = [m.content.data for m in used.messages(("/words",))]
        with pytest.raises(FileError, match="is still being written"):
            recover(tmp_path / "bag")
    finally:
        os.kill(recorder.pid, end)
        recorder.wait(30)
    assert used.is_open
    assert during == [str(i) for i in range(COUNT)]
    ended = Bag(tmp_path / "bag")
    assert (ended.is_open, ended.cut_short) == (False, end is not signal.SIGINT)
    messages = list(read_bag(tmp_path / "bag"))
    words = [m.content.data for m in messages if m.topic == "/words"]
    assert words == [str(i) for i in range(COUNT)]
    (state,) = [m.content for m in messages if m.topic == "/latched"]
    assert (state.name, state.value) == ("open", True)


def test_many_quick_topics_are_written_to_their_last_message(tmp_path: Path, talker: Node) -> None:
    """A world with two agents has some sixty topics; what came last matters to a verdict."""
    topics, rounds = 60, 250
    recorder = start(tmp_path / "bag")
    try:
        outlets = [talker.create_publisher(String, f"words_{i}", qos.EVENTS) for i in range(topics)]
        deadline = time.monotonic() + 60
        while any(outlet.get_subscription_count() == 0 for outlet in outlets):
            assert time.monotonic() < deadline, "the recorder never subscribed"
            rclpy.spin_once(talker, timeout_sec=0.1)
        for k in range(rounds):
            for outlet in outlets:
                outlet.publish(String(data=str(k)))
            time.sleep(0.01)
    finally:
        os.kill(recorder.pid, signal.SIGINT)
        recorder.wait(30)
    heard: dict[str, list[str]] = {f"/words_{i}": [] for i in range(topics)}
    for message in read_bag(tmp_path / "bag", tuple(heard)):
        heard[message.topic].append(message.content.data)
    assert {topic: len(words) for topic, words in heard.items()} == dict.fromkeys(heard, rounds)
    assert all(words == [str(k) for k in range(rounds)] for words in heard.values())


def test_a_restarted_recorder_begins_a_second_bag(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    recorder = start(tmp_path / "bag")
    deadline = time.monotonic() + 60
    while not (tmp_path / "bag_2" / "metadata.yaml").is_file():
        assert time.monotonic() < deadline
        assert recorder.poll() is None
        time.sleep(0.1)
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(30) == 0
    own = {"/diagnostics", "/parameter_events", "/rosout"}
    assert {message.topic for message in read_bag(tmp_path / "bag_2")} <= own


def test_a_recorder_that_comes_back_to_a_full_disk_waits_for_room(tmp_path: Path) -> None:
    try:
        disk = SmallDisk(tmp_path / "disk")
    except PlannerError as error:
        pytest.skip(str(error))
    try:
        (disk.folder / "bag").mkdir()
        disk.fill()
        recorder = subprocess.Popen(
            [sys.executable, str(RECORDER), "--ros-args", "-p", f"folder:={disk.folder / 'bag'}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert recorder.stderr is not None
        assert "recording goes on when there is room" in recorder.stderr.readline()
        assert sorted(path.name for path in disk.folder.iterdir()) == ["bag", "ballast"]
        disk.empty()
        deadline = time.monotonic() + 60
        while not (disk.folder / "bag_2" / "metadata.yaml").is_file():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=30)
        assert recorder.returncode == 0
        assert "Traceback" not in said
        assert not [*disk.folder.glob("bag_3")]
    finally:
        disk.close()
