"""Rule 8 over real DDS: heartbeats by content, and what the middleware tells of their absence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bridge_harness import LATCHED, Bridge, Client, bridge, refusals, write_world
from diagnostic_msgs.msg import DiagnosticStatus
from executive import Executive, attending
from planner_msgs.msg import Heartbeat

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode

ROBOT = "agent_0"
WALK = (1.5, 2.0, 0.0)


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[Bridge]:
    """A simulated world in which attendance counts; a walk takes a hundred times as long."""
    folder = tmp_path_factory.mktemp("world")
    safety = folder / "safety.yaml"
    safety.write_text("version: 1\nexecutive: {where: always}\n")
    episode = write_world(folder, small_house, small_episode)
    with bridge(episode=episode, safety_config=safety, rate=0.01) as made:
        yield made


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def attended_by(states: list[DiagnosticStatus]) -> str:
    values = states[-1].values if states else []
    return next((item.value for item in values if item.key == "attended_by"), "")


def attended(client: Client, executive: Executive) -> list[DiagnosticStatus]:
    """Waits until the bridge says who attends; the list of its states."""
    states = client.listen(DiagnosticStatus, f"/{ROBOT}/safety/state", LATCHED)
    client.wait(lambda: executive.publisher.executive in attended_by(states), "attendance")
    return states


def test_a_goal_that_nobody_attends_is_refused_and_says_what_to_do(
    world: Bridge, client: Client
) -> None:
    receipts = client.receipts()
    told = client.do("navigate", WALK)
    assert told.code == PrimitiveCode.NOT_ALLOWED
    assert "run `planner attend agent_0`" in told.text
    evidence = {item.key: item.value for item in told.evidence}
    assert evidence == {"rule": "8", "reason": "NOT_ATTENDED"}
    client.wait(lambda: refusals(receipts), "the receipt")
    assert refusals(receipts)[-1].message == told.text


def test_a_goal_goes_on_while_its_executive_is_heard_and_ends_when_it_hangs(
    world: Bridge, client: Client
) -> None:
    with attending(ROBOT) as executive:
        attended(client, executive)
        walk = client.start("navigate", WALK)
        client.idle(1.5)
        assert walk.feedback, "it is under way"
        executive.lives.clear()
        told = walk.result()
        assert told.code == PrimitiveCode.NOT_ALLOWED
        assert {i.key: i.value for i in told.evidence}["reason"] == "EXECUTIVE_LOST"
        assert executive.publisher.executive in told.text


def test_a_goodbye_ends_the_attendance_at_once(world: Bridge, client: Client) -> None:
    with attending(ROBOT) as executive:
        states = attended(client, executive)
        executive.leave()
        client.wait(lambda: not attended_by(states), "the goodbye")
    assert client.do("navigate", WALK).code == PrimitiveCode.NOT_ALLOWED


def test_a_publisher_that_is_not_heard_is_told_of(world: Bridge, client: Client) -> None:
    publisher = client.node.create_publisher(Heartbeat, f"/{ROBOT}/safety/heartbeat", 10)
    client.wait(lambda: "a publisher is not heard" in world.log, "the line")
    line = next(li for li in world.log.splitlines() if "a publisher is not heard" in li)
    assert f"/{ROBOT}/safety/heartbeat" in line
    assert "planner attend" in line
    client.node.destroy_publisher(publisher)


def test_a_senseless_heartbeat_does_not_count_and_is_told_of(world: Bridge, client: Client) -> None:
    with attending() as executive:
        executive.publisher.executive = ""
        executive.publisher.attend([ROBOT])
        client.wait(lambda: "executive: a heartbeat names who sends it" in world.log, "the line")
        assert client.do("navigate", WALK).code == PrimitiveCode.NOT_ALLOWED
