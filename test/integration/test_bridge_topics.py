"""All names of the ROS interface, with their types, QoS, frames, encodings and contents."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from bridge_harness import BEST_EFFORT, LATCHED, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseArray
from nav_msgs.msg import Odometry
from planner_msgs.msg import WorldInfo, WorldState
from planner_msgs.srv import LoadEpisode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import BatteryState, CameraInfo, Image, JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from planner.ros import conversions, qos
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds
from planner.world.primitive import PrimitiveCode
from planner.world.state import UpdateDecoder
from planner.world.wire import intrinsics_of, state_update
from sim_bridge.embedded.options import SensorModel
from sim_bridge.one_robot import Command

AGENTS = ("agent_0", "agent_1")
IMAGE, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"
PER_AGENT = {
    **{f"camera/{c}/image": IMAGE for c in ("hand", "body")},
    **{f"camera/{c}/camera_info": INFO for c in ("hand", "body")},
    **{f"depth_registered/{c}/image": IMAGE for c in ("hand", "body")},
    **{f"depth_registered/{c}/camera_info": INFO for c in ("hand", "body")},
    **{f"instances/{c}/image": IMAGE for c in ("hand", "body")},
    "odometry": "nav_msgs/msg/Odometry",
    "joint_states": "sensor_msgs/msg/JointState",
    "battery_state": "sensor_msgs/msg/BatteryState",
    "gripper_state": "sensor_msgs/msg/JointState",
    "safety/state": "diagnostic_msgs/msg/DiagnosticStatus",
    "safety/motion_allowed": "std_msgs/msg/Bool",
    "safety/asks/image": IMAGE,
    "safety/asks/target": "geometry_msgs/msg/PointStamped",
    "safety/question": "planner_msgs/msg/ApprovalQuestion",
    "robot_description": "std_msgs/msg/String",
}
SHARED = {
    "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage",
    "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
    "/clock": "rosgraph_msgs/msg/Clock",
    "/world/state": "planner_msgs/msg/WorldState",
    "/world/info": "planner_msgs/msg/WorldInfo",
    "/people": "geometry_msgs/msg/PoseArray",
}
STAYS = {
    *(f"/{a}/{t}" for a in AGENTS for t in ("battery_state", "gripper_state", "robot_description")),
    *(
        f"/{a}/safety/{t}"
        for a in AGENTS
        for t in ("state", "motion_allowed", "asks/image", "asks/target", "question")
    ),
    "/tf_static",
    "/world/state",
    "/world/info",
}

EVERYTHING = QoSProfile(
    depth=100,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    reliability=ReliabilityPolicy.RELIABLE,
)


@pytest.fixture(scope="module")
def shared(world: Path) -> Iterator[Client]:
    with bridge(episode=world):
        made = Client()
        yield made
        made.close()


@pytest.fixture
def client(shared: Client) -> Iterator[Client]:
    yield shared
    shared.forget()


def test_every_topic_is_there_with_its_type_and_qos(client: Client) -> None:
    wanted = {f"/{a}/{t}": kind for a in AGENTS for t, kind in PER_AGENT.items()} | SHARED
    client.wait(
        lambda: wanted.keys() <= {name for name, _ in client.node.get_topic_names_and_types()},
        "the topics",
    )
    for topic, kind in wanted.items():
        (writer,) = client.node.get_publishers_info_by_topic(topic)
        assert writer.topic_type == kind, topic
        stays = writer.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
        assert stays == (topic in STAYS), topic
        assert writer.qos_profile.reliability is ReliabilityPolicy.RELIABLE, topic


def test_every_service_and_action_is_there(client: Client) -> None:
    wanted = {f"/{agent}/{command}" for agent in AGENTS for command in Command}
    wanted |= {"/world/load", "/world/restart", "/world/step"}

    def offers() -> dict[str, list[str]]:
        return dict(client.node.get_service_names_and_types())

    client.wait(lambda: wanted <= offers().keys(), "the services")
    offered = offers()
    for agent in AGENTS:
        for command in Command:
            assert offered[f"/{agent}/{command}"] == ["std_srvs/srv/Trigger"]
        client.action(agent)
    assert offered["/world/load"] == ["planner_msgs/srv/LoadEpisode"]
    assert offered["/world/step"] == ["planner_msgs/srv/StepWorld"]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("camera", ["hand", "body"])
def test_pictures_of_one_exposure_have_one_stamp_and_frame(
    client: Client, agent: str, camera: str
) -> None:
    topics = {
        "rgb": (Image, f"camera/{camera}/image"),
        "info": (CameraInfo, f"camera/{camera}/camera_info"),
        "depth": (Image, f"depth_registered/{camera}/image"),
        "depth_info": (CameraInfo, f"depth_registered/{camera}/camera_info"),
        "ids": (Image, f"instances/{camera}/image"),
    }
    heard = {
        key: client.listen(kind, f"/{agent}/{topic}", BEST_EFFORT)
        for key, (kind, topic) in topics.items()
    }

    def together() -> set[float]:
        stamps = [{stamp_seconds(m.header.stamp) for m in list_} for list_ in heard.values()]
        return set.intersection(*stamps)

    stamp = max(client.wait(together, "five messages of one stamp"))
    one = {
        key: next(m for m in list_ if stamp_seconds(m.header.stamp) == stamp)
        for key, list_ in heard.items()
    }
    assert {m.header.frame_id for m in one.values()} == {f"{agent}/{camera}_optical_frame"}
    assert one["rgb"].encoding == "rgb8"
    assert one["depth"].encoding == "32FC1"
    assert one["ids"].encoding == "32SC1"
    lens = intrinsics_of(one["info"])
    assert lens == intrinsics_of(one["depth_info"])
    assert (lens.width_px, lens.height_px) == (384, 384)
    assert conversions.rgb_array(one["rgb"]).std() > 0
    depth = conversions.depth_array(one["depth"])
    assert 0.05 < float(np.median(depth[depth > 0])) < 10
    assert conversions.instance_array(one["ids"]).max() > 0


def test_exposures_come_at_their_simulated_rate(client: Client) -> None:
    heard = client.listen(CameraInfo, "/agent_0/camera/hand/camera_info", BEST_EFFORT)
    # A hundred turns of the hand: while nothing moves pictures are rarer.
    turns = array("d", [0.3, -0.3] * 50)
    looking = client.start("look", pan_rad=turns, tilt_rad=array("d", [0.3] * 100))
    heard.clear()
    client.wait(lambda: len(heard) >= 13, "a dozen exposures")
    looking.cancel()
    stamps = [round(stamp_seconds(m.header.stamp) * 30) for m in heard[1:]]
    assert {b - a for a, b in itertools.pairwise(stamps)} <= {3, 6}


def test_motion_is_reported_in_the_agents_own_frames(client: Client) -> None:
    odometry = client.hear(Odometry, "/agent_1/odometry")
    assert odometry.header.frame_id == "agent_1/odom"
    assert odometry.child_frame_id == "agent_1/base_link"
    joints = client.hear(JointState, "/agent_1/joint_states")
    assert len(joints.name) == len(joints.position) > 0


def test_frames_form_one_tree_from_the_map_to_every_camera(client: Client) -> None:
    moving = client.listen(TFMessage, "/tf", QoSProfile(depth=100))
    fixed = client.hear(TFMessage, "/tf_static", LATCHED)

    def tree() -> dict[str, str]:
        links = [link for m in (fixed, *moving) for link in m.transforms]
        return {link.child_frame_id: link.header.frame_id for link in links}

    client.wait(lambda: len(tree()) >= 14, "the frames")
    for agent in AGENTS:
        assert {child: parent for child, parent in tree().items() if child.startswith(agent)} == {
            f"{agent}/odom": "map",
            f"{agent}/base_link": f"{agent}/odom",
            f"{agent}/body": f"{agent}/base_link",
            f"{agent}/hand": f"{agent}/base_link",
            f"{agent}/hand_mount": f"{agent}/base_link",
            f"{agent}/hand_optical_frame": f"{agent}/hand",
            f"{agent}/body_optical_frame": f"{agent}/base_link",
        }
    for link in moving[-1].transforms:
        turn = link.transform.rotation
        assert math.isclose(math.hypot(turn.x, turn.y, turn.z, turn.w), 1.0, abs_tol=1e-6)


def test_the_robot_description_has_the_frames_and_the_joints(client: Client) -> None:
    moving = client.listen(TFMessage, "/tf", QoSProfile(depth=100))
    fixed = client.hear(TFMessage, "/tf_static", LATCHED)
    for agent in AGENTS:
        text = client.hear(String, f"/{agent}/robot_description", LATCHED).data
        robot = ET.fromstring(text)  # noqa: S314 - ours
        links = {link.attrib["name"] for link in robot.iter("link")}

        def below_base(links: set[str] = links) -> bool:
            children = {link.child_frame_id for m in (fixed, *moving) for link in m.transforms}
            return links <= children

        client.wait(below_base, "a frame for every link")
        joints = client.hear(JointState, f"/{agent}/joint_states")
        assert set(joints.name) <= {joint.attrib["name"] for joint in robot.iter("joint")}


def test_the_world_tells_what_it_is_made_of(
    client: Client, world: Path, small_house: House, small_episode: Episode
) -> None:
    info = client.hear(WorldInfo, "/world/info", LATCHED)
    assert House.model_validate_json(info.house_json) == small_house
    episode = Episode.model_validate_json(info.episode_json)
    assert episode.model_copy(update={"house": "small"}) == small_episode
    assert (info.backend, info.simulated, info.house) == ("embedded", True, "small")
    assert (list(info.agents), list(info.bodies)) == (list(AGENTS), ["robot", "human"])
    assert (info.time_mode, info.rate, info.idle_time) == ("paced", 1.0, "run")
    assert info.version
    assert SensorModel.model_validate_json(info.sensors_json) == SensorModel()
    # Each loaded world is published, a bare house with no episode; nothing is overwritten.
    heard = client.listen(WorldInfo, "/world/info", EVERYTHING)
    before = len(client.wait(lambda: heard, "/world/info"))
    bare = str(world.parent / "small.json")
    assert client.call(LoadEpisode, "/world/load", house=bare, seed=5).success
    client.wait(lambda: len(heard) > before, "the bare house")
    assert (heard[-1].episode_id, heard[-1].episode_json) == ("", "")
    assert (heard[-1].house, heard[-1].seed, list(heard[-1].agents)) == ("small", 5, ["agent_0"])
    assert client.state().episode_id == ""
    assert client.call(LoadEpisode, "/world/load", episode=str(world)).success
    client.wait(lambda: heard[-1].episode_id == "small", "the episode again")
    assert client.call(LoadEpisode, "/world/load", episode="nowhere").code
    client.idle(0.3)
    assert heard[-1].episode_id == "small"


def test_worlds_of_long_ago_are_not_kept(client: Client, world: Path) -> None:
    for seed in range(1, 13):
        assert client.call(LoadEpisode, "/world/load", episode=str(world), seed=seed).success
    heard = client.listen(WorldInfo, "/world/info", EVERYTHING)
    client.wait(lambda: heard and heard[-1].seed == 12, "the newest world")
    assert [info.seed for info in heard] == list(range(3, 13))


def test_all_stamps_are_of_the_simulated_clock(client: Client) -> None:
    before = stamp_seconds(client.hear(Clock, "/clock", BEST_EFFORT).clock)
    stamped = [
        client.hear(Odometry, "/agent_0/odometry"),
        client.hear(CameraInfo, "/agent_0/camera/hand/camera_info"),
        client.hear(JointState, "/agent_0/joint_states"),
    ]
    after = stamp_seconds(client.hear(Clock, "/clock", BEST_EFFORT).clock)
    for message in stamped:
        assert before <= stamp_seconds(message.header.stamp) <= after + 0.2


def test_people_are_reported_where_they_are(client: Client) -> None:
    """Rules 9 and 12 of docs/spot.md: the partner is a person, the robot is none."""
    people = client.hear(PoseArray, "/people", BEST_EFFORT)
    assert people.header.frame_id == "map"
    partner = client.state().entities["agent_1"].pose.position_m
    assert [(p.position.x, p.position.y) for p in people.poses] == [pytest.approx(partner[:2])]


def test_a_late_joiner_gets_what_stands(client: Client) -> None:
    for agent in AGENTS:
        assert client.hear(Bool, f"/{agent}/safety/motion_allowed", LATCHED).data
        status = client.hear(DiagnosticStatus, f"/{agent}/safety/state", LATCHED)
        assert (status.level, status.hardware_id) == (DiagnosticStatus.OK, agent)
        battery = client.hear(BatteryState, f"/{agent}/battery_state", LATCHED)
        assert battery.percentage == 1.0
        gripper = client.hear(JointState, f"/{agent}/gripper_state", LATCHED)
        assert (list(gripper.position), list(gripper.effort)) == ([1.0], [0.0])
    state = client.wait(lambda: whole_state(client), "a keyframe")
    assert {entity.name for entity in state.entities} >= {"cup_0", "table_0", *AGENTS}
    assert state.header.frame_id == "map"


def whole_state(client: Client) -> WorldState | None:
    """What stands for somebody who joins; a change is followed by a keyframe within 1.2 s."""
    state = client.hear(WorldState, "/world/state", LATCHED)
    return state if state.keyframe else None


def test_the_true_world_comes_as_changes_with_keyframes(client: Client) -> None:
    heard = client.listen(WorldState, "/world/state", qos.TRUTH_INPUT)
    client.wait(lambda: heard, "/world/state")
    begun = len(heard)
    assert client.do("navigate", (2.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS
    # The world rests, and who missed the last change gets all of it.
    client.wait(lambda: len(heard) > begun and heard[-1].keyframe, "a keyframe at rest")
    decoder = UpdateDecoder()
    states = [decoder.decode(state_update(message)) for message in heard]
    assert not decoder.waiting
    moves = [message for message in heard[begun:] if not message.keyframe]
    assert {entity.name for message in moves for entity in message.entities} == {"agent_0"}
    assert states[-1] is None
    assert heard[-1].sequence == heard[-2].sequence
    joined = client.listen(WorldState, "/world/state", qos.TRUTH_INPUT)
    client.wait(
        lambda: any(m.keyframe and m.sequence == heard[-1].sequence for m in joined), "the present"
    )


def test_diagnostics_tell_of_the_world_and_each_agent(client: Client) -> None:
    message = client.hear(DiagnosticArray, "/diagnostics")
    statuses = {status.name: status for status in message.status}
    assert statuses.keys() >= {"bridge: world", "bridge: pictures", "bridge: publishing"}
    assert {f"{agent}: motion" for agent in AGENTS} <= statuses.keys()
    assert all(status.level == DiagnosticStatus.OK for status in statuses.values())


def test_a_trigger_changes_what_late_joiners_hear(client: Client) -> None:
    assert client.call(Trigger, "/agent_1/sit").success
    client.wait(
        lambda: not client.hear(Bool, "/agent_1/safety/motion_allowed", LATCHED).data, "sitting"
    )
    assert client.call(Trigger, "/agent_1/stand").success


def test_agents_come_and_go_with_the_episode(
    client: Client, world: Path, tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    alone = small_episode.model_copy(
        update={"agents": small_episode.agents[:1], "episode_id": "alone"}
    )
    path = write_world(tmp_path, small_house, alone)
    answer = client.call(LoadEpisode, "/world/load", episode=str(path), seed=3)
    assert answer.success, answer.message
    assert (answer.house, answer.episode_id) == ("small", "alone")

    def publishers() -> int:
        return int(client.node.count_publishers("/agent_1/odometry"))

    client.wait(lambda: publishers() == 0, "agent_1's leaving")
    assert client.call(LoadEpisode, "/world/load", episode=str(world)).success
    client.wait(lambda: publishers() == 1, "agent_1's return")
    assert client.hear(Odometry, "/agent_1/odometry").child_frame_id == "agent_1/base_link"
