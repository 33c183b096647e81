"""One scripted episode on the embedded world and through SDK, TLS and emulator.

SPOT-F2.7, SPOT-F6.4. Real bridges, real DDS: topics, types, frames, encodings, QoS, services,
outcome codes, poses and the verdict of the judge are the same.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bridge_harness import BEST_EFFORT, LATCHED, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import BatteryState, CameraInfo, Image, JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import evaluation_of
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode
from planner.world.state import WorldState

RELIABLE = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "number": 1, "receptacles": ["table_1"]},
        }
    ],
    "dependencies": [],
    "constraints": [],
}
STREAMS: dict[str, type] = {
    "camera/hand/image": Image,
    "camera/hand/camera_info": CameraInfo,
    "depth_registered/hand/image": Image,
    "odometry": Odometry,
    "joint_states": JointState,
}


@pytest.fixture(scope="module")
def task(small_episode: Episode) -> Episode:
    return small_episode.model_copy(
        update={"agents": small_episode.agents[:1], "evaluation": GOAL, "episode_id": "contract"}
    )


class Story:
    """What a client sees of a world, whichever it is."""

    def __init__(self, house: House, task: Episode, client: Client) -> None:
        self._client = client
        first = client.state()
        judge = Evaluator(evaluation_of(task), house, first)
        self.interface = self._interface()
        self.streams = {topic: self._stream(kind, topic) for topic, kind in STREAMS.items()}
        self.stays = self._stays()
        self.codes = [self._do(*deed) for deed in self._script(first)]
        self.last = client.state()
        judge.update(self.last)
        self.verdict = judge.finish()
        self.after_stop = self._cancel()

    def _interface(self) -> dict[str, Any]:
        """Names with types and the QoS of who publishes them."""
        node = self._client.node
        self._client.wait(
            lambda: "/agent_0/stand" in dict(node.get_service_names_and_types()), "the services"
        )
        found: dict[str, Any] = {}
        for topic, kinds in node.get_topic_names_and_types():
            writers = node.get_publishers_info_by_topic(topic)
            ours = [w for w in writers if w.node_name == "bridge"]
            if ours and not topic.startswith("/rosout"):
                qos = ours[0].qos_profile
                found[topic] = (kinds, qos.reliability, qos.durability)
        services = dict(node.get_service_names_and_types())
        found |= {name: services[name] for name in services if name.startswith("/agent_0")}
        return found

    def _stream(self, kind: type, topic: str) -> list[Any]:
        """Frames, encodings and shapes, heard best effort and reliably."""
        contents = []
        for qos in (BEST_EFFORT, RELIABLE):
            message = self._client.hear(kind, f"/agent_0/{topic}", qos)
            fields = ("encoding", "height", "width", "step", "child_frame_id")
            contents.append([message.header.frame_id, *(getattr(message, f, None) for f in fields)])
        assert contents[0] == contents[1]
        return contents[0]

    def _stays(self) -> dict[str, Any]:
        """What a late joiner gets."""
        client = self._client
        fixed = client.hear(TFMessage, "/tf_static", LATCHED).transforms
        state = client.hear(DiagnosticStatus, "/agent_0/safety/state", LATCHED)
        return {
            "tf_static": sorted((t.header.frame_id, t.child_frame_id) for t in fixed),
            "allowed": client.hear(Bool, "/agent_0/safety/motion_allowed", LATCHED).data,
            "state": sorted(value.key for value in state.values),
            "battery": type(client.hear(BatteryState, "/agent_0/battery_state", LATCHED)).__name__,
        }

    @staticmethod
    def _script(first: WorldState) -> list[tuple[Any, ...]]:
        cup, table = (first.entities[name].box.center_m for name in ("cup_0", "table_1"))
        top = (table[0], table[1], 2 * table[2])
        on = {"relation": "on"}
        return [
            ("place", top, on),
            ("navigate", cup, {}),
            ("look", cup, {}),
            ("pick", cup, {}),
            ("pick", cup, {}),
            ("navigate", top, {}),
            ("place", top, on),
            ("navigate", (100.0, 100.0, 0.0), {}),
            ("navigate", cup, {"frame": "nowhere"}),
            ("navigate", (math.nan, 0.0, 0.0), {}),
            ("clean", top, {}),
            ("somersault", top, {}),
        ]

    def _do(self, name: str, target: Any, more: dict[str, Any]) -> tuple[str, str]:
        return name, PrimitiveCode(self._client.do(name, target, **more).code).name

    def _cancel(self) -> float:
        """Cancels a walk; how fast it still is within the time that its command lives."""
        walk = self._client.start("navigate", (1.5, 2.0, 0.0))
        self._client.wait(lambda: walk.feedback, "the walk's feedback")
        walk.cancel()
        assert walk.result().code == PrimitiveCode.CANCELED
        seen = self._client.hear(Odometry, "/agent_0/odometry", BEST_EFFORT)
        return float(seen.twist.twist.linear.x)


@pytest.fixture(scope="module")
def stories(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, task: Episode
) -> tuple[Story, Story]:
    world = write_world(tmp_path_factory.mktemp("world"), small_house, task)
    stories = []
    for backend in ("embedded", "spot_emulator"):
        with bridge(backend=backend, episode=world, time_mode="fast"):
            client = Client()
            stories.append(Story(small_house, task, client))
            client.close()
    return stories[0], stories[1]


def test_names_types_and_quality_of_service_are_the_same(stories: tuple[Story, Story]) -> None:
    embedded, spot = stories
    assert embedded.interface == spot.interface
    assert {"/agent_0/odometry", "/clock", "/world/state", "/agent_0/claim"} <= set(spot.interface)


def test_frames_encodings_and_latched_topics_are_the_same(stories: tuple[Story, Story]) -> None:
    embedded, spot = stories
    assert embedded.streams == spot.streams
    assert embedded.streams["camera/hand/image"][1] == "rgb8"
    assert embedded.stays == spot.stays


def test_outcomes_poses_and_the_verdict_are_the_same(stories: tuple[Story, Story]) -> None:
    embedded, spot = stories
    assert embedded.codes == spot.codes
    assert ("pick", "SUCCESS") in spot.codes
    assert ("place", "SUCCESS") in spot.codes
    for name in ("cup_0", "agent_0"):
        one, other = embedded.last.entities[name], spot.last.entities[name]
        assert (one.parent, one.relation, one.room) == (other.parent, other.relation, other.room)
        assert math.dist(one.pose.position_m, other.pose.position_m) < 0.3, name
    assert embedded.verdict.success
    assert spot.verdict.success
    assert embedded.verdict.percent_complete == spot.verdict.percent_complete
    assert [p.satisfied for p in embedded.verdict.propositions] == [
        p.satisfied for p in spot.verdict.propositions
    ]


def test_a_cancelled_walk_stands_still(stories: tuple[Story, Story]) -> None:
    """SPOT-F6.4, ROS level: cancel of an action stops within the time that its command lives."""
    assert [story.after_stop for story in stories] == [0.0, 0.0]


def test_every_trigger_service_answers(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, task: Episode
) -> None:
    world = write_world(tmp_path_factory.mktemp("world"), small_house, task)
    with bridge(backend="spot_emulator", episode=world, time_mode="fast"):
        client = Client()
        for name in ("sit", "power_off", "release", "claim", "power_on", "stand", "stop"):
            answer = client.call(Trigger, f"/agent_0/{name}")
            assert answer.success, (name, answer.message)
        answer = client.call(Trigger, "/agent_0/estop/gentle")
        assert answer.success
        assert not client.call(Trigger, "/agent_0/power_on").success
        client.close()
