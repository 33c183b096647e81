"""What must not harm a running world: dead clients, frozen listeners, second bridges, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bridge_harness import BEST_EFFORT, Bridge, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from std_srvs.srv import Trigger

from planner.command_line import EXIT_CONFIGURATION
from planner.environment import ros_environment
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds
from planner.world.primitive import PrimitiveCode


@pytest.fixture
def world(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    return write_world(tmp_path, small_house, small_episode)


def python(code: str, stdin: int | None = None) -> subprocess.Popen[str]:
    """A process that runs `code`, which says on its output when it is ready."""
    environment = ros_environment(os.environ)
    here = str(Path(__file__).parent)
    environment["PYTHONPATH"] = os.pathsep.join([here, environment.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


WALKER = """
from bridge_harness import Client
client = Client("walker")
client.start("navigate", (6.8, 1.8, 0.0))
print("ready", flush=True)
client.idle(600)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_client_that_dies_leaves_no_agent_moving(world: Path, number: int) -> None:
    # At half speed the walk takes 18 s, and DDS would tell of the death after 20 s.
    with bridge(episode=world, rate=0.5) as running:
        client = Client()
        client.action()  # another client, which lives on and must not hide the death
        heard = client.listen(Odometry, "/agent_0/odometry")
        with python(WALKER) as walker:
            client.wait(lambda: heard and heard[-1].twist.twist.linear.x > 0.1, "moving")
            walker.send_signal(number)
            died_s = time.monotonic()
            client.wait(lambda: heard[-1].twist.twist.linear.x == 0.0, "rest")
            stopped_s = time.monotonic() - died_s
            walker.wait(30)
        print(f"stopped {stopped_s:.2f} s after signal {number}")
        assert heard[-1].pose.pose.position.x < 5.5
        client.idle(0.5)
        assert heard[-1].twist.twist.linear.x == 0.0
        # The log comes by a pipe of its own, which another thread reads.
        client.wait(lambda: "client of this action has" in running.log, "the line in the log")
        assert client.do("look", (1.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS
        client.close()


ASKER = """
import sys, math
from bridge_harness import Client
from planner_msgs.action import ExecutePrimitive
client = Client("asker")
action = client.action()
print("ready", flush=True)
sys.stdin.readline()
goal = ExecutePrimitive.Goal(name="navigate", heading_rad=math.nan, standoff_m=math.nan)
goal.target.header.frame_id = "map"
goal.target.point.x, goal.target.point.y = 6.8, 1.8
action.send_goal_async(goal)
client.idle(0.2)
print("sent", flush=True)
client.idle(600)
"""


def test_a_client_that_died_before_its_goal_was_read_sets_no_agent_moving(world: Path) -> None:
    # At this rate the walk takes longer than DDS keeps listing a killed process.
    # Fast DDS gives up the shared memory of who does nothing for a second; sockets keep the goal.
    sockets = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
    with bridge(sockets, episode=world, rate=0.25) as running:
        client = Client()
        client.action()
        heard = client.listen(Odometry, "/agent_0/odometry")
        with python(ASKER, stdin=subprocess.PIPE) as asker:
            assert asker.stdin is not None
            assert asker.stdout is not None
            running.process.send_signal(signal.SIGSTOP)
            asker.stdin.write("go\n")
            asker.stdin.flush()
            assert asker.stdout.readline() == "sent\n"
            asker.kill()
            asker.wait(30)
            running.process.send_signal(signal.SIGCONT)
        expected = "the process of a client of this action has died"
        client.wait(lambda: expected in running.log, "the line in the log")
        client.idle(0.5)
        assert heard[-1].twist.twist.linear.x == 0.0
        assert client.do("look", (1.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS
        client.close()


@pytest.mark.slow
def test_a_client_that_leaves_stops_no_goal_but_its_own(world: Path) -> None:
    with bridge(episode=world, rate=4.0) as running:
        for _ in range(4):
            leaving, staying = Client("leaving"), Client("staying")
            assert leaving.do("look", (1.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS
            walk = staying.start("navigate", (3.4, 1.8, 0.0))
            leaving.close()
            assert walk.result().code == PrimitiveCode.SUCCESS
            assert staying.do("navigate", (1.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS
            staying.close()
        assert "client of this action" not in running.log


LISTENER = """
from bridge_harness import Client
from planner_msgs.msg import WorldState
from sensor_msgs.msg import Image
client = Client("frozen")
heard = [client.listen(Image, f"/agent_0/{topic}/hand/image") for topic in
    ("camera", "depth_registered", "instances")]
heard.append(client.listen(WorldState, "/world/state"))
client.wait(lambda: heard[0] and heard[1], "pictures")
print("ready", flush=True)
client.idle(600)
"""


@pytest.mark.slow
def test_a_listener_that_froze_delays_nobody(world: Path) -> None:
    with bridge(episode=world):
        client = Client()
        with python(LISTENER) as frozen:
            frozen.send_signal(signal.SIGSTOP)
            pictures = client.listen(Image, "/agent_0/camera/hand/image", BEST_EFFORT)
            clock = client.listen(Clock, "/clock", BEST_EFFORT)
            walk = client.start("navigate", (6.8, 1.8, 0.0))
            result = walk.result()
            assert result.code == PrimitiveCode.SUCCESS
            simulated_s = stamp_seconds(clock[-1].clock) - stamp_seconds(clock[0].clock)
            stamps = [stamp_seconds(m.header.stamp) for m in pictures]
            frozen.kill()
        # As many exposures as 10 Hz gives, give or take those at both ends.
        assert len(stamps) >= 10 * simulated_s * 0.8
        assert stamps == sorted(stamps)
        client.close()


def test_a_second_bridge_finds_the_first_and_leaves(world: Path) -> None:
    with bridge(episode=world) as first:
        second = Bridge(episode=world)
        assert second.ended() == EXIT_CONFIGURATION
        (error,) = [line for line in second.log.splitlines() if "error" in line]
        assert "another bridge" in error
        assert "ROS_DOMAIN_ID" in error
        assert "Traceback" not in second.log
        assert first.process.poll() is None


def test_a_bridge_may_follow_one_that_was_killed(world: Path) -> None:
    killed = Bridge(episode=world).ready()
    assert killed.ended(signal.SIGKILL) == -signal.SIGKILL
    with bridge(episode=world):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_when_asked_to(world: Path, number: int) -> None:
    running = Bridge(episode=world).ready()
    client = Client()
    client.start("navigate", (6.8, 1.8, 0.0))
    assert running.ended(number) == 0
    assert "Traceback" not in running.log
    client.close()


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"house": "atlantis"}, "atlantis"),
        ({"episode": "no/such/file.json"}, "no/such/file.json"),
        ({"backend": "unity"}, "'unity' is not one of embedded"),
        pytest.param(
            {"backend": "habitat", "backend_config": "no/habitat.yaml"},
            "no/habitat.yaml",
            marks=pytest.mark.needs("sim_bridge/habitat"),
        ),
        ({"time_mode": "slow"}, "parameter time_mode: 'slow'"),
        ({"rate": 0.0}, "parameter rate: 0.0"),
        ({"agents": 9}, "parameter agents: 9"),
        ({"seed": -1}, "parameter seed: -1"),
        ({"backend_config": "no/such.yaml"}, "no/such.yaml"),
        ({"depth_encoding": "8UC1"}, "parameter depth_encoding: '8UC1'"),
        ({"camera_hz": "fast"}, "parameter camera_hz"),
    ],
)
def test_what_cannot_be_is_reported_in_one_line(parameters: dict[str, object], says: str) -> None:
    refused = Bridge(**parameters)
    assert refused.ended() == EXIT_CONFIGURATION
    (error,) = [line for line in refused.log.splitlines() if line.startswith("error: ")]
    assert says in error
    assert "Traceback" not in refused.log


def test_a_world_without_a_renderer_continues_without_pictures(world: Path, tmp_path: Path) -> None:
    settings = tmp_path / "blind.yaml"
    settings.write_text("version: 1\nrenderer: none\n", encoding="utf-8")
    with bridge(episode=world, backend_config=settings) as running:
        client = Client()
        pictures = client.listen(CameraInfo, "/agent_0/camera/hand/camera_info")
        diagnostics = client.listen(DiagnosticArray, "/diagnostics")

        def warned() -> bool:
            statuses = {s.name: s for m in diagnostics[-1:] for s in m.status}
            found = statuses.get("bridge: pictures")
            return found is not None and found.level == DiagnosticStatus.WARN

        client.wait(warned, "the warning")
        assert client.do("navigate", (1.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS
        assert client.call(Trigger, "/agent_0/stop").success
        assert not pictures
        assert running.log.count("no pictures") == 1
        client.close()
