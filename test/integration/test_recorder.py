"""The recorder against real publishers: every topic, custom types, kill -9, no loss."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from planner_msgs.msg import Evaluation, NamedState
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import Image
from std_msgs.msg import String

from planner.bad_day.processes import SmallDisk
from planner.recorder import bag_file
from planner.recorder.node import RecorderNode, RoundsExecutor
from planner.replay.bag import Bag, read_bag
from planner.replay.recover import recover
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


def start(bag: Path, *more: str) -> subprocess.Popen[bytes]:
    words = ["--ros-args", "-p", f"folder:={bag}", *more]
    return subprocess.Popen([sys.executable, str(RECORDER), *words])


def wait_for_reader(node: Node, words: Publisher[String] | Publisher[Image]) -> None:
    deadline = time.monotonic() + 60
    while words.get_subscription_count() == 0:
        assert time.monotonic() < deadline, "the recorder never subscribed"
        rclpy.spin_once(node, timeout_sec=0.1)


def spread(node: Node) -> None:
    """Publishes numbered words once the recorder listens, and one latched state before."""
    latched = node.create_publisher(NamedState, "latched", qos.LATCHED)
    latched.publish(NamedState(name="open", value=True))
    words = node.create_publisher(String, "words", qos.EVENTS)
    wait_for_reader(node, words)
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


@pytest.mark.slow
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
            if (k + 1) % (qos.EVENTS.depth // 2) == 0:
                # Not more than a publisher keeps for a reader that gets no time.
                assert all(outlet.wait_for_all_acked(Duration(seconds=60)) for outlet in outlets)
    finally:
        os.kill(recorder.pid, signal.SIGINT)
        recorder.wait(60)
    heard: dict[str, list[str]] = {f"/words_{i}": [] for i in range(topics)}
    for message in read_bag(tmp_path / "bag", tuple(heard)):
        heard[message.topic].append(message.content.data)
    assert {topic: len(words) for topic, words in heard.items()} == dict.fromkeys(heard, rounds)
    assert all(words == [str(k) for k in range(rounds)] for words in heard.values())


Capture = pytest.CaptureFixture[str]
Beside = tuple[Node, RecorderNode, RoundsExecutor]


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    """A talker, and a recorder in this process."""
    rclpy.init(args=["--ros-args", "-p", f"recorder:folder:={tmp_path / 'bag'}"])
    talker, recorder, executor = Node("talker"), RecorderNode(), RoundsExecutor()
    executor.add_node(recorder)
    yield talker, recorder, executor
    executor.shutdown()
    talker.destroy_node()
    rclpy.shutdown()


def until(met: Callable[[], object], executor: RoundsExecutor) -> None:
    deadline = time.monotonic() + 60
    while not met():
        assert time.monotonic() < deadline
        executor.spin_once()


def recording(bag: Path) -> dict[str, dict[str, int]]:
    """What the bag says of each topic."""
    counts: dict[str, dict[str, int]] = json.loads(Bag(bag).metadata[bag_file.RECORDING]["topics"])
    return counts


def test_a_new_topic_is_met_while_pictures_keep_the_recorder_busy(
    tmp_path: Path, beside: Beside
) -> None:
    talker, recorder, executor = beside
    done = 0

    def slow(picture: bytes) -> tuple[str, bytes]:
        nonlocal done
        done += 1
        time.sleep(0.2)
        return "", picture

    pictures = talker.create_publisher(Image, "pictures", qos.EVENTS)
    with mock.patch("planner.recorder.node.compressed", slow):
        until(pictures.get_subscription_count, executor)
        for _ in range(30):
            pictures.publish(Image())
        until(lambda: done, executor)
        verdict = talker.create_publisher(String, "verdict", qos.EVENTS)
        until(verdict.get_subscription_count, executor)
        assert done < 30
        verdict.publish(String(data="success"))
        assert verdict.wait_for_all_acked()
    recorder.destroy_node()
    counts = recording(tmp_path / "bag")
    assert (counts["/pictures"]["written"], counts["/verdict"]["written"]) == (30, 1)


def test_what_a_full_queue_dropped_before_it_was_read_is_said(
    tmp_path: Path, beside: Beside, capsys: pytest.CaptureFixture[str]
) -> None:
    talker, recorder, executor = beside
    pictures = talker.create_publisher(Image, "pictures", qos.EVENTS)
    with mock.patch("planner.recorder.node.PICTURE_QUEUE_DEPTH", 4):
        until(pictures.get_subscription_count, executor)
    for _ in range(9):
        pictures.publish(Image())
    assert pictures.wait_for_all_acked()
    recorder.destroy_node()
    counts = recording(tmp_path / "bag")["/pictures"]
    assert counts["received"] == 4
    assert counts["missed"] > 0
    assert "MISSING: /pictures" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["rgb8", "16UC1", "32SC1"])
def test_a_gap_among_compressed_pictures_has_their_name_in_the_bag(
    tmp_path: Path, beside: Beside, encoding: str
) -> None:
    talker, recorder, executor = beside
    size = {"rgb8": 3, "16UC1": 2, "32SC1": 4}[encoding]
    picture = Image(height=2, width=2, encoding=encoding, step=2 * size, data=bytes(4 * size))
    pictures = talker.create_publisher(Image, "pictures", qos.EVENTS)
    with mock.patch("planner.recorder.node.PICTURE_QUEUE_DEPTH", 4):
        until(pictures.get_subscription_count, executor)
    (source,) = (each for each in recorder._all_counts() if each.name == "/pictures")
    for sent in (1, 9):
        for _ in range(sent):
            pictures.publish(picture)
        assert pictures.wait_for_all_acked()
        until(lambda: source.received, executor)
    recorder.destroy_node()
    bag = Bag(tmp_path / "bag")
    (name,) = (topic for topic in bag.topics if topic.startswith("/pictures"))
    assert sum(gap.missing for gap in bag.recorded_gaps(name)) == source.missed == 5
    jumps = [sequence for _, sequence, _ in bag.numbered(name)]
    assert jumps[-1] - jumps[0] + 1 - len(jumps) == 5


def test_views_that_do_not_change_are_left_out(tmp_path: Path, talker: Node) -> None:
    bag, views = tmp_path / "bag", ["-p", "image_hz:=3.0", "-p", "changed_views:=true"]
    recorder = start(bag, *views)
    names = ("camera", "depth_registered")
    publishers = [
        talker.create_publisher(Image, f"agent_0/{name}/hand/image", qos.EVENTS) for name in names
    ]
    for publisher in publishers:
        wait_for_reader(talker, publisher)
    for k in range(20):
        # Two seconds: the view changes once, after one of them.
        level = 40 if k < 10 else 140
        rgb = Image(height=8, width=8, encoding="rgb8", step=24, data=bytes([level]) * 192)
        depth = Image(height=8, width=8, encoding="16UC1", step=16, data=bytes([level]) * 128)
        if k >= 10:
            rgb.data[:96] = array("B", bytes([10]) * 96)
        for publisher, picture in zip(publishers, (rgb, depth), strict=True):
            picture.header.stamp.sec, picture.header.stamp.nanosec = divmod(k * 10**8, 10**9)
            publisher.publish(picture)
        time.sleep(0.02)
    # Once: a reader that is idle says what it has every three seconds.
    assert all(publisher.wait_for_all_acked() for publisher in publishers)
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(60) == 0
    counts = {name: topic.count for name, topic in Bag(bag).topics.items() if "hand" in name}
    assert counts == {
        "/agent_0/camera/hand/image/compressed": 2,
        "/agent_0/depth_registered/hand/image/compressedDepth": 2,
    }


@pytest.mark.parametrize("arrives", [True, False])
def test_a_verdict_that_never_arrived_is_counted_as_missing(
    tmp_path: Path, beside: Beside, capsys: pytest.CaptureFixture[str], arrives: bool
) -> None:
    talker, recorder, executor = beside
    progress = talker.create_publisher(Evaluation, "evaluation", qos.STATE)
    result = talker.create_publisher(Evaluation, "evaluation/result", qos.LATCHED)
    until(lambda: progress.get_subscription_count() and result.get_subscription_count(), executor)
    running = Evaluation(episode_id="e", status=Evaluation.RUNNING, sim_step=10)
    verdict = Evaluation(episode_id="e", status=Evaluation.FAILED, sim_step=20)
    for message in (running, verdict, verdict):
        progress.publish(message)
    if arrives:
        result.publish(verdict)
        assert result.wait_for_all_acked()
    assert progress.wait_for_all_acked()
    recorder.destroy_node()
    missed = 0 if arrives else 1
    assert recording(tmp_path / "bag")["/evaluation/result"]["missed"] == missed
    gap = Bag(tmp_path / "bag").metadata.get(bag_file.GAP, {})
    assert (gap.get("topic"), gap.get("missing")) == (
        (None, None) if arrives else ("/evaluation/result", "1")
    )
    assert ("MISSING: /evaluation/result 1 of 1" in capsys.readouterr().out) != arrives


@pytest.mark.slow
def test_a_stop_amid_a_backlog_loses_nothing_of_it(tmp_path: Path, talker: Node) -> None:
    """What was taken from the middleware is in the recorder alone; a verdict comes last."""
    noise = np.random.default_rng(0).integers(0, 9000, (480, 640), dtype=np.uint16)
    depth = Image(height=480, width=640, encoding="16UC1", step=1280)
    depth.data = array("B", noise.tobytes())
    recorder = start(tmp_path / "bag")
    try:
        pictures = talker.create_publisher(Image, "depth", qos.EVENTS)
        words = talker.create_publisher(String, "words", qos.EVENTS)
        deadline = time.monotonic() + 60
        while not (pictures.get_subscription_count() and words.get_subscription_count()):
            assert time.monotonic() < deadline, "the recorder never subscribed"
            rclpy.spin_once(talker, timeout_sec=0.1)
        for _ in range(90):
            pictures.publish(depth)
        words.publish(String(data="last"))
        assert pictures.wait_for_all_acked()
        assert words.wait_for_all_acked()
        time.sleep(0.2)
    finally:
        os.kill(recorder.pid, signal.SIGINT)
        recorder.wait(60)
    counts = recording(tmp_path / "bag")
    bag = Bag(tmp_path / "bag")
    assert [message.content.data for message in bag.messages(("/words",))] == ["last"]
    assert counts["/depth"]["written"] + counts["/depth"]["missed"] == 90
    assert (
        sum(info.count for t, info in bag.topics.items() if t.startswith("/depth"))
        == (counts["/depth"]["written"])
    )


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


@pytest.mark.slow
def test_twelve_seconds_of_full_disk_lose_nothing(tmp_path: Path, talker: Node) -> None:
    """What comes meanwhile waits; the bag goes on, and says nothing is missing."""
    try:
        disk = SmallDisk(tmp_path / "disk")
    except PlannerError as error:
        pytest.skip(str(error))
    bag = disk.folder / "bag"
    try:
        recorder = start(bag)
        words = talker.create_publisher(String, "words", qos.EVENTS)
        wait_for_reader(talker, words)
        sent = 0

        def speak(seconds: float) -> None:
            nonlocal sent
            ends_s = time.monotonic() + seconds
            while time.monotonic() < ends_s:
                words.publish(String(data=str(sent)))
                sent += 1
                if sent % 50 == 0:
                    assert words.wait_for_all_acked()
                time.sleep(0.002)

        speak(2.0)
        disk.fill()
        speak(12.0)
        disk.empty()
        speak(2.0)
        assert words.wait_for_all_acked()
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(60) == 0
        written = Bag(bag)
        assert [m.content.data for m in written.messages(("/words",))] == [
            str(number) for number in range(sent)
        ]
        assert (written.cut_short, written.lacks()) == (False, ())
        assert "No space left" in "".join(
            message.content.msg for message in written.messages(("/rosout",))
        )
    finally:
        disk.close()


def test_what_a_full_disk_cost_is_said_before_any_verdict(
    beside: Beside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    talker, recorder, executor = beside
    monkeypatch.setattr("planner.recorder.bag_writer.BACKLOG_BYTES", 20_000)
    words = talker.create_publisher(String, "words", qos.EVENTS)
    told: list[DiagnosticStatus] = []
    talker.create_subscription(
        DiagnosticArray, "diagnostics", lambda message: told.extend(message.status), qos.DIAGNOSTICS
    )
    until(words.get_subscription_count, executor)

    def speak(numbers: range) -> None:
        for number in numbers:
            words.publish(String(data=f"{number} {os.urandom(500).hex()}"))
            executor.spin_once()
        assert words.wait_for_all_acked()

    def is_told(level: bytes) -> bool:
        rclpy.spin_once(talker, timeout_sec=0.0)
        return any(s.name == "recorder: bag" and s.level == level for s in told)

    speak(range(20))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A stand-in for a full disk: no file of this process may grow.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        speak(range(20, 80))
        until(lambda: is_told(DiagnosticStatus.ERROR), executor)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    until(lambda: is_told(DiagnosticStatus.WARN), executor)
    speak(range(80, 100))
    recorder.destroy_node()
    written = Bag(tmp_path / "bag")
    there = [int(m.content.data.split()[0]) for m in written.messages(("/words",))]
    assert set(there) >= {*range(20), *range(80, 100)}
    (gap,) = written.gaps("/words")
    assert gap.missing == 100 - len(there) > 0
    lost = [line for line in written.lacks() if "cannot be written" in line]
    assert int(lost[0].split()[0]) >= gap.missing
    counts = recording(tmp_path / "bag")["/words"]
    assert (counts["written"], counts["unwritten"]) == (len(there), 100 - len(there))
    assert "INCOMPLETE" in capsys.readouterr().out


def test_a_bag_goes_on_in_its_next_file(tmp_path: Path, talker: Node) -> None:
    bag = tmp_path / "bag"
    recorder = start(bag, "-p", "max_bag_s:=1")
    try:
        words = talker.create_publisher(String, "words", qos.EVENTS)
        wait_for_reader(talker, words)
        count, deadline = 0, time.monotonic() + 60
        while len(list(bag.glob("*.mcap"))) < 4:
            assert time.monotonic() < deadline
            words.publish(String(data=str(count)))
            count += 1
            time.sleep(0.02)
    finally:
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(60) == 0
    written = Bag(bag)
    assert [m.content.data for m in written.messages(("/words",))] == [*map(str, range(count))]
    assert (written.cut_short, written.lacks()) == (False, ())


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
        assert "recording continues when there is space" in recorder.stderr.readline()
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
