"""`planner replay` as its own process, and a node that hears what was recorded."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from bridge_harness import Client
from played_bags import LATCHED, Said, clock, make_bag, picture, transform, words
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from planner.environment import ros_environment
from planner.ros import qos
from planner.world.picture_codec import (
    COLOUR_FORMAT,
    DEPTH_FORMAT,
    encode_colour,
    encode_depth,
)

DEEP = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
DEEP_LATCHED = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
DEEP_CLOCK = QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT)
END_S = 60.0
COUNT = 300


class Replay:
    """The command in a process of its own; `keys` is a terminal's other end."""

    def __init__(self, bag: Path, *arguments: str, terminal: bool = False) -> None:
        self.keys, stdin = pty.openpty() if terminal else (-1, subprocess.DEVNULL)
        command = [sys.executable, "-m", "planner.cli", "replay", str(bag), *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=ros_environment(os.environ),
            text=True,
            # Whoever reads keys must be in the foreground of a terminal.
            preexec_fn=_own_terminal if terminal else None,
        )
        if terminal:
            os.close(stdin)

    def press(self, keys: str) -> None:
        os.write(self.keys, keys.encode())

    def ended(self, number: int | None = None) -> tuple[int, str]:
        """Its status and all it said, at its end or after a signal."""
        if number is not None:
            self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=END_S)
        return self.process.returncode, said


def _own_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def replay(bag: Path, *arguments: str, terminal: bool = False) -> Iterator[Replay]:
    started = Replay(bag, *arguments, terminal=terminal)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait()
        if started.process.stdout:
            started.process.stdout.close()
        if terminal:
            os.close(started.keys)


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client("listener")
    yield made
    made.close()


def texts(heard: Sequence[String]) -> list[str]:
    return [message.data for message in heard]


def a_run() -> list[Said]:
    """Three seconds: words all along, a state that changes twice, the world's own time."""
    said = [transform(0.0, "a"), transform(0.0, "b"), words("/state", 0.0, "idle", LATCHED)]
    for n in range(COUNT):
        said.append(words("/words", 0.1 + n / 100, str(n)))
        if n % 10 == 0:
            said.append(clock(0.1 + n / 100, 50 + n / 10))
    said += [words("/state", 1.0, "busy", LATCHED), words("/state", 2.5, "done", LATCHED)]
    return said


@pytest.mark.parametrize("rate", ["max", "3"])
def test_nodes_hear_what_was_recorded(tmp_path: Path, client: Client, rate: str) -> None:
    bag = make_bag(tmp_path / "bag", a_run())
    spoken = client.listen(String, "/words", DEEP)
    states = client.listen(String, "/state", DEEP_LATCHED)
    fixed = client.listen(TFMessage, "/tf_static", DEEP_LATCHED)
    times = client.listen(Clock, "/clock", DEEP_CLOCK)
    with replay(bag, "--rate", rate, "--wait-for-subscribers", "30") as started:
        client.wait(lambda: len(spoken) == COUNT and "done" in texts(states), "the last message")
        status, said = started.ended()
    assert status == 0, said
    assert f"sent {COUNT + 35} messages" in said
    client.idle(0.1)
    assert texts(spoken) == [str(n) for n in range(COUNT)]
    assert texts(states) == ["idle", "busy", "done"]
    assert [message.transforms[0].child_frame_id for message in fixed] == ["a", "b"]
    clock_s = [message.clock.sec + message.clock.nanosec / 1e9 for message in times]
    assert clock_s == [pytest.approx(50 + n) for n in range(COUNT // 10)]


def test_a_late_joiner_hears_the_latched_state(tmp_path: Path, client: Client) -> None:
    bag = make_bag(tmp_path / "bag", [*a_run(), words("/words", 60.0, "the end")])
    arguments = ("--topics", "/state", "/words", "/tf_static", "--start", "2.0", "--clock", "none")
    with replay(bag, *arguments, "--wait-for-subscribers", "30") as started:
        spoken = client.listen(String, "/words", DEEP)
        client.wait(lambda: spoken, "the first words")
        # Said at 0 s and 1 s of the bag, and the second of two frames of different publishers.
        assert client.hear(String, "/state", qos.LATCHED).data in ("busy", "done")
        fixed = client.listen(TFMessage, "/tf_static", DEEP_LATCHED)
        client.wait(lambda: len(fixed) == 2, "both frames")
        assert texts(spoken)[0] == "190"
        assert client.node.count_publishers("/clock") == 0
        status, said = started.ended(signal.SIGINT)
    assert status == 130, said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_part_is_played_again_and_again_under_another_name(
    tmp_path: Path, client: Client
) -> None:
    bag = make_bag(tmp_path / "bag", a_run())
    spoken = client.listen(String, "/old/words", DEEP)
    arguments = "--start 1 --duration 0.095 --loop --topics /words --remap /words:=/old/words"
    with replay(bag, *arguments.split(), "--wait-for-subscribers", "30") as started:
        client.wait(lambda: len(spoken) >= 30, "three passes")
        status, said = started.ended(signal.SIGTERM)
    assert status == 130, said
    assert texts(spoken)[:30] == [str(n) for n in range(90, 100)] * 3


def test_keys_pause_step_and_end(tmp_path: Path, client: Client) -> None:
    said = [words("/words", n / 10, str(n)) for n in range(100)]
    said.append(picture("/agent_0/camera/hand/image/compressed", 3.05))
    bag = make_bag(tmp_path / "bag", sorted(said, key=lambda m: m.at_s))
    spoken = client.listen(String, "/words", DEEP)
    pictures = client.listen(CompressedImage, "/agent_0/camera/hand/image/compressed", DEEP)
    times = client.listen(Clock, "/clock", DEEP_CLOCK)
    arguments = ("--pause", "--rate", "0.1", "--wait-for-subscribers", "30")
    with replay(bag, *arguments, terminal=True) as started:
        # The time of a pause is told, so that nodes that come now know it.
        client.wait(lambda: len(times) > 2, "the time")
        assert spoken == []
        for count in (1, 2):
            started.press("s")
            client.wait(lambda count=count: len(spoken) == count, "one step")
        client.idle(0.3)
        assert texts(spoken) == ["0", "1"]
        started.press(".")
        client.wait(lambda: pictures and len(spoken) >= 31, "the picture and what is before it")
        client.idle(0.2)
        assert texts(spoken) == [str(n) for n in range(31)]
        # Slow enough to be ended before its end, however long this process waits for its turn.
        started.press(" ++")
        client.wait(lambda: len(spoken) > 35, "going on")
        started.press("q")
        status, output = started.ended()
    assert status == 0, output
    assert len(spoken) < 100
    assert "next picture" in output


@pytest.mark.slow
def test_a_made_clock_tells_when_messages_were_received(tmp_path: Path, client: Client) -> None:
    bag = make_bag(tmp_path / "bag", [words("/words", n / 10, str(n)) for n in range(11)])
    times = client.listen(Clock, "/clock", DEEP_CLOCK)
    spoken = client.listen(String, "/words", DEEP)
    with replay(bag, "--wait-for-subscribers", "30") as started:
        client.wait(lambda: len(spoken) == 11, "the last words")
        assert started.ended()[0] == 0
    stamps = [message.clock.sec + message.clock.nanosec / 1e9 for message in times]
    assert stamps == sorted(stamps)
    assert stamps[0] == pytest.approx(1_700_000_000)
    # Several times for each message; a busy machine leaves some out.
    assert len(stamps) >= 22
    assert len(set(stamps)) == len(stamps)


def test_nodes_that_look_through_a_camera_get_raw_pictures_of_compressed_ones(
    tmp_path: Path, client: Client
) -> None:
    rgb = np.zeros((8, 16, 3), np.uint8)
    rgb[:, 8:] = 200
    depth_m = np.linspace(0.0, 3.0, 128, dtype=np.float32).reshape(8, 16)
    said = []
    for n in range(30):
        packed = encode_colour(rgb), encode_depth(depth_m)
        said.append(picture("/hand/image/compressed", n / 10, packed[0], COLOUR_FORMAT))
        said.append(picture("/depth/image/compressedDepth", n / 10, packed[1], DEPTH_FORMAT))
    said.append(picture("/hand/image/compressed", 3.0, b"damaged", COLOUR_FORMAT))
    bag = make_bag(tmp_path / "bag", said)
    colours = client.listen(Image, "/hand/image", qos.IMAGE)
    with replay(bag, "--wait-for-subscribers", "30") as started:
        client.wait(lambda: len(colours) >= 5, "five pictures")
        # Who comes later gets the next ones.
        depths = client.listen(Image, "/depth/image", qos.IMAGE_INPUT)
        client.wait(lambda: len(colours) >= 30 and depths, "all pictures")
        status, output = started.ended()
    assert status == 0, output
    assert "1 compressed pictures are damaged" in output
    seen = np.frombuffer(colours[-1].data, np.uint8).reshape(8, 16, 3)
    assert colours[-1].encoding == "rgb8"
    assert colours[-1].header.frame_id == "lens"
    assert np.abs(seen.astype(int) - rgb).max() <= 3
    millimetres = np.frombuffer(depths[-1].data, np.uint16).reshape(8, 16)
    assert depths[-1].encoding == "16UC1"
    assert np.array_equal(millimetres, np.rint(depth_m * 1000))


@pytest.mark.slow
def test_topics_that_somebody_publishes_are_not_mixed_unless_forced(
    tmp_path: Path, client: Client
) -> None:
    bag = make_bag(tmp_path / "bag", a_run())
    live = client.node.create_publisher(String, "/words", DEEP)
    spoken = client.listen(String, "/words", DEEP)
    # Who finds the subscription of this process has found its publisher too, however busy we are.
    with replay(bag, "--rate", "max", "--wait-for-subscribers", "30") as started:
        status, said = started.ended()
    assert status == 2
    assert "others publish /words (by listener)" in said
    with replay(bag, "--rate", "max", "--exclude", "/words") as started:
        assert started.ended()[0] == 0
    assert spoken == []
    with replay(bag, "--rate", "max", "--force", "--wait-for-subscribers", "30") as started:
        client.wait(lambda: len(spoken) == COUNT, "all words")
        assert started.ended()[0] == 0
    client.node.destroy_publisher(live)


def test_what_cannot_be_published_is_one_line_and_the_rest_is_played(
    tmp_path: Path, client: Client
) -> None:
    strange = "int8 x\n"
    bag = make_bag(
        tmp_path / "bag",
        [
            words("/good", 0.0, "heard"),
            Said("/missing", 0.0, b"\0\1\0\0\1", "absent_msgs/msg/Absent", "", strange),
            Said("/changed", 0.0, b"\0\1\0\0\1", "std_msgs/msg/Bool", "", strange),
            Said("/code", 0.0, b"\0\1\0\0\1", "os/system/Path", "", strange),
            words("/agent_0/cmd_vel", 0.0, "go"),
            words("/lockstep/memory", 0.0, "wait"),
            words("bad\x1b[2J name", 0.0, "x"),
        ],
    )
    heard = client.listen(String, "/good", DEEP)
    commands = client.listen(String, "/agent_0/cmd_vel", DEEP)
    with replay(bag, "--rate", "max", "--wait-for-subscribers", "30") as started:
        status, said = started.ended()
    client.wait(lambda: heard, "the good topic")
    lines = said.splitlines()
    assert status == 0, said
    assert (
        "/missing is left out: the definition of absent_msgs/msg/Absent is not installed" in lines
    )
    assert (
        "/changed is left out: std_msgs/msg/Bool in the bag is not the one that is installed"
        in (lines)
    )
    assert "/code is left out: 'os/system/Path' is not a message type of ROS 2" in lines
    assert "bad\\x1b[2J name is left out: ROS allows no such name" in lines
    (withheld,) = [line for line in lines if "--all sends it" in line]
    assert withheld.endswith("/agent_0/cmd_vel, /lockstep/memory")
    client.idle(0.2)
    assert commands == []


@pytest.mark.slow
def test_a_pause_without_a_terminal_is_refused(tmp_path: Path) -> None:
    bag = make_bag(tmp_path / "bag", a_run())
    began_s = time.monotonic()
    with replay(bag, "--pause") as started:
        status, said = started.ended()
    assert status == 2
    assert said.splitlines()[-1].startswith("error: --pause: there is no terminal")
    assert time.monotonic() - began_s < END_S
