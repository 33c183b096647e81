"""Velocities and senses over ROS: what a policy, or a person at the keys, needs of a body."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from bridge_harness import Client, bridge, write_world

from planner.ros.primitives import PrimitiveClient
from planner.world.agents import capabilities_of
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.primitive import (
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)


@pytest.fixture(scope="module")
def client(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[Client]:
    episode = write_world(tmp_path_factory.mktemp("world"), small_house, small_episode)
    with bridge(episode=episode, rate=3.0):
        made = Client()
        yield made
        made.close()


@pytest.fixture(scope="module")
def port(client: Client) -> Iterator[PrimitiveClient]:
    robot = capabilities_of("robot")
    assert robot is not None
    made = PrimitiveClient(client.node, "agent_0", robot, lambda: None, lambda: None)
    client.wait(made._client.is_ready, "the bridge")
    yield made
    made.destroy()


def driven(client: Client, port: PrimitiveClient, drive: Drive) -> PrimitiveResult:
    handle = port.start(Primitive(PrimitiveName.DRIVE, drive=drive))
    result: PrimitiveResult = client.wait(lambda: port.poll(handle).result, "the end")
    return result


def test_a_body_is_driven_and_stands_afterwards(client: Client, port: PrimitiveClient) -> None:
    assert driven(client, port, Drive(0.2)).succeeded
    before = port.base()
    assert before is not None
    assert driven(client, port, Drive(0.5, turn_rad_s=1.0)).text == "drove"
    after = port.base()
    assert after is not None
    assert after.yaw_rad - before.yaw_rad == pytest.approx(0.5, abs=0.01)
    assert client.state().entities["agent_0"].pose.yaw_rad == pytest.approx(after.yaw_rad)


@pytest.mark.parametrize(
    ("drive", "why"),
    [
        (Drive(0.5, forward_m_s=5.0), "forward_m_s: a robot may be driven with at most 0.8, got 5"),
        (Drive(2.0, forward_m_s=0.1), "drive_s: expected above 0 and at most 1, got 2"),
        (Drive(0.5, forward_m_s=50.0), "forward_m_s: 50 is outside -10 to 10 m/s"),
    ],
)
def test_what_is_too_much_is_refused(
    client: Client, port: PrimitiveClient, drive: Drive, why: str
) -> None:
    result = driven(client, port, drive)
    assert result.code is PrimitiveCode.BAD_TARGET
    assert why in result.text


def test_the_port_senses_what_the_body_does(client: Client, port: PrimitiveClient) -> None:
    with pytest.raises(PlannerError, match="no camera 'third_eye'"):
        port.observe(("third_eye",))
    seen = client.wait(lambda: port.observe(("hand",)), "pictures of the hand")
    frame = seen.cameras["hand"]
    assert frame.depth_m.shape == frame.rgb.shape[:2]
    assert np.isfinite(frame.depth_m).all()
    assert (frame.depth_m > 0).any()
    base = client.state().entities["agent_0"].pose
    assert seen.base.position_m == pytest.approx(base.position_m, abs=0.01)
    assert frame.pose.position_m[2] == pytest.approx(1.15)
    assert set(seen.joints) == {"hand_pan", "hand_tilt"}
