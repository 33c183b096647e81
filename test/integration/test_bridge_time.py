"""Simulated time: exact steps, time that stands, time that races."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bridge_harness import BEST_EFFORT, LATCHED, Bridge, Client, bridge, write_world
from node_processes import Node
from planner_msgs.msg import WorldGraph, WorldInfo, WorldState
from planner_msgs.srv import StepWorld
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from planner.command_line import EXIT_CONFIGURATION
from planner.ros.conversions import depth_array, header
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds
from planner.world.primitive import PrimitiveCode
from sim_bridge.backend import Drawn, make_backend
from sim_bridge.embedded.options import SensorModel, read_sensors
from sim_bridge.opening import open_world

LIVING_ROOM = (6.8, 1.8, 0.0)


@pytest.fixture
def world(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    return write_world(tmp_path, small_house, small_episode)


def now_s(client: Client) -> float:
    return stamp_seconds(client.hear(Clock, "/clock", BEST_EFFORT).clock)


def step(client: Client, duration_s: float) -> float:
    answer = client.call(StepWorld, "/world/step", duration_s=duration_s)
    assert answer.success, answer.message
    return stamp_seconds(answer.stamp)


STEP = 12  # ticks of a thirtieth of a second


def tick(message: CameraInfo) -> int:
    return round(stamp_seconds(message.header.stamp) * 30)


def test_stepped_time_moves_exactly_as_told_and_repeats_itself(world: Path) -> None:
    ends = []
    for _ in range(2):
        with bridge(episode=world, time_mode="stepped") as _running:
            client = Client()
            assert step(client, 1.0) == pytest.approx(1.0, abs=1e-9)
            walk = client.start("navigate", LIVING_ROOM)
            assert step(client, 0.05) == pytest.approx(1.05, abs=1e-9)
            assert step(client, 1.95) == pytest.approx(3.0, abs=1e-9)
            client.idle(1.0)
            assert now_s(client) == pytest.approx(3.0, abs=1e-9)
            state = client.state()
            assert state.stamp_s == pytest.approx(3.0, abs=1e-9)
            ends.append(state.entities)
            while walk.handle.status not in (4, 6):
                step(client, 1.0)
                client.idle(0.1)
            assert walk.result().code == PrimitiveCode.SUCCESS
            client.close()
    assert ends[0] == ends[1]


def test_a_step_publishes_every_exposure_once_with_its_stamp(world: Path) -> None:
    with bridge(episode=world, time_mode="stepped"):
        client = Client()
        heard = client.listen(CameraInfo, "/agent_0/camera/hand/camera_info", QoSProfile(depth=100))
        client.wait(lambda: heard, "the picture that stands")
        # Four exposures at a time: the bridge keeps five for a reader that is busy, no more.
        for end in range(STEP, 5 * STEP + 1, STEP):
            step(client, STEP / 30)
            client.wait(lambda e=end: heard and tick(heard[-1]) >= e - 2, "exposures")
        client.idle(0.5)
        ticks = [tick(message) for message in heard]
        # What stands between two steps is sent again now and then, what passes is not.
        passing = [t for t in ticks if t % STEP]
        first_of_all = list(dict.fromkeys(t for t in ticks if t))
        every_third = [3 * i for i in range(1, 21)]
        assert (
            first_of_all == every_third and passing == [t for t in every_third if t % STEP]
        ) or passing == [3 * i + 1 for i in range(20)]
        client.close()


def test_a_step_of_no_sensible_length_is_refused(world: Path) -> None:
    with bridge(episode=world, time_mode="stepped"):
        client = Client()
        for duration_s in (0.0, -1.0, float("nan"), float("inf"), 1e9):
            answer = client.call(StepWorld, "/world/step", duration_s=duration_s)
            assert not answer.success, duration_s
            assert "duration_s" in answer.message
            assert stamp_seconds(answer.stamp) == 0.0
        client.close()


def test_held_time_stands_until_somebody_acts(world: Path) -> None:
    with bridge(episode=world, time_mode="fast", idle_time="hold"):
        client = Client()
        assert now_s(client) == 0.0
        # Who comes while time stands still sees the world.
        assert stamp_seconds(client.hear(Image, "/agent_0/camera/hand/image").header.stamp) == 0.0
        assert client.hear(TFMessage, "/tf").transforms
        assert client.hear(WorldState, "/world/state", LATCHED).entities
        assert client.do("navigate", LIVING_ROOM).code == PrimitiveCode.SUCCESS
        ended_s = now_s(client)
        assert 5.0 < ended_s < 30.0
        client.idle(1.0)
        assert now_s(client) == ended_s
        client.close()


def test_fast_time_gives_the_same_walk_as_paced_time(world: Path) -> None:
    ends = []
    for parameters in (
        {"time_mode": "fast", "idle_time": "hold"},
        {"rate": 4.0, "idle_time": "hold"},
    ):
        with bridge(episode=world, **parameters):
            client = Client()
            assert client.do("navigate", LIVING_ROOM).code == PrimitiveCode.SUCCESS
            ends.append((now_s(client), client.state().entities))
            client.close()
    assert ends[0] == ends[1]


def test_depth_comes_in_millimetres_where_asked(world: Path) -> None:
    with bridge(episode=world, depth_encoding="16UC1", cameras="hand", camera_hz=5.0):
        client = Client()
        depth = client.hear(Image, "/agent_0/depth_registered/hand/image")
        assert depth.encoding == "16UC1"
        assert depth.step == 2 * depth.width
        names = {name for name, _ in client.node.get_topic_names_and_types()}
        assert "/agent_0/camera/body/image" not in names
        client.close()


@pytest.mark.slow
def test_pictures_of_a_world_in_which_nothing_moves_are_rarer(world: Path) -> None:
    with bridge(episode=world, cameras="hand"):
        client = Client()
        stamps: list[float] = []

        def note(message: Image) -> None:
            stamps.append(stamp_seconds(message.header.stamp))

        client.node.create_subscription(Image, "/agent_0/camera/hand/image", note, 10)
        client.idle(4.0)
        still = np.diff(stamps[1:])
        assert still == pytest.approx(0.5, abs=1e-3)
        stamps.clear()
        assert client.do("navigate", LIVING_ROOM).code == PrimitiveCode.SUCCESS
        # A client that is late loses pictures, but none comes between those of the fast rate.
        moving = np.diff(stamps)
        assert np.median(moving) == pytest.approx(0.1, abs=1e-3)
        client.close()


# Lockstep


def test_fast_time_stands_at_a_picture_until_the_memory_says_it_has_done(world: Path) -> None:
    with bridge(episode=world, time_mode="fast", idle_time="hold"):
        client = Client()
        memory = client.node.create_publisher(Header, "/lockstep/memory", 100)
        client.wait(lambda: memory.get_subscription_count() > 0, "a bridge that listens")
        pictures = client.listen(Image, "/agent_0/depth_registered/hand/image", BEST_EFFORT)

        def shown(at_s: float) -> int:
            return sum(abs(stamp_seconds(p.header.stamp) - at_s) < 1e-6 for p in pictures)

        client.wait(lambda: pictures, "the picture that stands")
        memory.publish(header(0.15, "agent_0"))
        client.idle(0.3)
        walk = client.start("navigate", LIVING_ROOM)
        for awaited_s, next_s in ((0.2, 0.45), (0.5, 0.51), (0.6, 0.9)):
            client.wait(partial(shown, awaited_s), f"the picture at {awaited_s} s")
            # It stands there.
            client.idle(0.5)
            assert now_s(client) == pytest.approx(awaited_s, abs=1e-6)
            memory.publish(header(next_s, "agent_0"))
        # One that was not seen is sent again, as it may be lost.
        client.wait(lambda: shown(0.9) > 1, "the same picture again")
        # Who has left is not waited for.
        client.node.destroy_publisher(memory)
        assert walk.result().code == PrimitiveCode.SUCCESS
        client.close()


@pytest.mark.slow
def test_a_memory_that_dies_delays_a_fast_world_only_once_and_is_named(world: Path) -> None:
    with bridge(episode=world, time_mode="fast", idle_time="hold") as running:
        client = Client()
        graphs = client.listen(WorldGraph, "/world_graph", LATCHED)
        memory = Node("memory", episode=world)
        client.wait(lambda: graphs and _knows_agent(graphs[-1]), "a memory that sees")
        memory.kill()
        memory.wait()
        assert client.do("navigate", LIVING_ROOM).code == PrimitiveCode.SUCCESS
        assert running.log.count("time advances without the memory") == 1
        client.close()


def _knows_agent(graph: WorldGraph) -> bool:
    return any(node.name == "agent_0" for node in graph.nodes)


def test_lockstep_is_for_fast_time(world: Path) -> None:
    refused = Bridge(episode=world, lockstep=True)
    assert refused.ended() == EXIT_CONFIGURATION
    assert "parameter lockstep: needs a simulated world and time_mode:=fast" in refused.log


def test_sensors_err_alike_in_one_process_and_over_ros(world: Path) -> None:
    """The same depth, to the last bit, at the same step; what errs is recorded."""
    opened = open_world("", str(world), 0)
    backend = make_backend("embedded", drawn=Drawn(sensors="consumer_rgbd"))
    backend.reset(opened.house, opened.episode, opened.seed)
    for _ in range(30):
        backend.step(1 / 30)
    here = backend.observe("agent_0", ("body",)).cameras["body"]
    backend.close()
    with bridge(episode=world, time_mode="stepped", sensors="consumer_rgbd"):
        client = Client()
        info = client.hear(WorldInfo, "/world/info", LATCHED)
        assert SensorModel.model_validate_json(info.sensors_json) == read_sensors("consumer_rgbd")
        heard = client.listen(Image, "/agent_0/depth_registered/body/image", QoSProfile(depth=100))
        client.wait(lambda: heard, "the picture that stands")
        assert step(client, 1.0) == pytest.approx(1.0)
        client.wait(lambda: stamp_seconds(heard[-1].header.stamp) > 0.99, "the last picture")
        there = depth_array(heard[-1])
        client.close()
    assert (here.depth_m == 0).any()
    assert np.array_equal(there, here.depth_m)


def test_sensors_that_cannot_be_are_one_line(world: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("version: 1\ndepth: {noise_m: -1.0}\n", encoding="utf-8")
    refused = Bridge(episode=world, sensors=str(path))
    assert refused.ended() == EXIT_CONFIGURATION
    assert f"{path}: depth.noise_m: " in refused.log
    assert "Traceback" not in refused.log
