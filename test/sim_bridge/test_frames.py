"""The URDF of a body: valid, and its frames are those of /tf, for every position of the joints."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import mujoco
import pytest

from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.options import default_options
from sim_bridge.embedded.sensing import observation as observation_of
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.geometry import MAP, fixed_links, moving_links, robot_description

SPOTS_JOINTS = ("fl.hx", "arm0.sh0", "arm0.wr0")
# What MuJoCo needs to keep every link of a URDF, and none of it a weight.
EXTENSION = '<mujoco><compiler fusestatic="false" boundmass="1" boundinertia="1"/></mujoco>'


def seen(house: House, episode: Episode, agent: str, *, pan_rad: float = 0.0) -> Observation:
    options = default_options()
    world = KinematicWorld(HouseGround(house), episode, 0, default_catalogue(), options)
    body = world.agents[agent]
    body.pan_rad, body.tilt_rad = pan_rad, body.tilt_rad + pan_rad / 3
    return observation_of(world, body, (), None)


def frames(observation: Observation) -> dict[str, str]:
    links = [*moving_links(observation), *fixed_links(observation.agent)]
    odometry = {MAP, f"{observation.agent}/odom"}
    return {link.child: link.parent for link in links if link.parent not in odometry}


@pytest.mark.parametrize("kind", [AgentKind.ROBOT, AgentKind.HUMAN])
@pytest.mark.parametrize("joints", [("hand_pan", "hand_tilt"), SPOTS_JOINTS])
def test_every_link_hangs_on_the_base_by_one_joint(
    kind: AgentKind, joints: tuple[str, ...]
) -> None:
    robot = ET.fromstring(robot_description("agent_2", default_bodies()[kind], ("hand",), joints))  # noqa: S314 - ours
    links = [link.attrib["name"] for link in robot.iter("link")]
    assert len(links) == len(set(links))
    parents = {
        joint.find("child").attrib["link"]: joint.find("parent").attrib["link"]  # type: ignore[union-attr]
        for joint in robot.iter("joint")
    }
    assert set(parents) == set(links) - {"agent_2/base_link"}
    for link in parents:
        at, steps = link, 0
        while at in parents:
            at, steps = parents[at], steps + 1
            assert steps <= len(links)
        assert at == "agent_2/base_link"
    # A camera that the agent lacks has no frame.
    assert "agent_2/body_optical_frame" not in links


@pytest.mark.parametrize("agent", ["agent_0", "agent_1"])
def test_the_links_are_the_frames_below_the_base(
    small_house: House, small_episode: Episode, agent: str
) -> None:
    observation = seen(small_house, small_episode, agent)
    kind = next(a.kind for a in small_episode.agents if a.uid == agent)
    body = default_bodies()[kind]
    text = robot_description(agent, body, tuple(body.cameras), observation.joints)
    links = {link.attrib["name"] for link in ET.fromstring(text).iter("link")}  # noqa: S314 - ours
    assert links == {*frames(observation), f"{agent}/base_link"}
    movable = {
        joint.attrib["name"]
        for joint in ET.fromstring(text).iter("joint")  # noqa: S314 - ours
        if joint.attrib["type"] != "fixed"
    }
    assert movable == set(observation.joints)


@pytest.mark.parametrize("pan_rad", [0.0, 0.7, -2.0])
def test_the_joints_place_the_links_where_tf_has_them(
    small_house: House, small_episode: Episode, pan_rad: float
) -> None:
    observation = seen(small_house, small_episode, "agent_0", pan_rad=pan_rad)
    body = default_bodies()[AgentKind.ROBOT]
    text = robot_description("agent_0", body, tuple(body.cameras), observation.joints)
    model = mujoco.MjModel.from_xml_string(text.replace("</robot>", f"{EXTENSION}</robot>"))
    data = mujoco.MjData(model)
    for name, value in observation.joints.items():
        data.qpos[model.joint(name).qposadr[0]] = value
    mujoco.mj_kinematics(model, data)
    in_base = {
        link.child: link.pose
        for link in moving_links(observation)
        if link.parent == "agent_0/base_link"
    }
    camera = observation.optical["hand"]
    for name, pose in {**in_base, "agent_0/hand_optical_frame": camera}.items():
        placed = data.body(name)
        assert placed.xpos == pytest.approx(pose.position_m, abs=1e-6), name
        assert placed.xmat.reshape(3, 3) == pytest.approx(pose.rotation(), abs=1e-6), name


@pytest.mark.parametrize("kind", [AgentKind.ROBOT, AgentKind.HUMAN])
def test_a_body_has_the_size_and_the_parts_of_its_file(kind: AgentKind) -> None:
    body = default_bodies()[kind]
    base = next(iter(ET.fromstring(robot_description("agent_0", body, (), ())).iter("link")))  # noqa: S314 - ours
    (around,) = base.iter("collision")
    cylinder, origin = around.find("geometry/cylinder"), around.find("origin")
    assert cylinder is not None
    assert origin is not None
    assert float(cylinder.attrib["radius"]) == body.radius_m
    assert float(cylinder.attrib["length"]) == body.height_m
    assert float(origin.attrib["xyz"].split()[2]) == body.height_m / 2
    assert len(list(base.iter("visual"))) == len(body.parts)
