"""Rule 8 over real DDS: heartbeats by content, and what the middleware tells of their absence."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import LATCHED, TIMEOUT_S, Bridge, Client, bridge, refusals, write_world
from diagnostic_msgs.msg import DiagnosticStatus
from executive import Executive, attend_command, attending
from node_processes import running
from planner_harness import belief_of_house
from planner_msgs.msg import Heartbeat, WorldGraph

from planner.ros.heartbeat import (
    HeartbeatPublisher,
    HeartbeatRelay,
    HeartbeatSubscription,
    safety_topic,
)
from planner.ros.memory_messages import GraphMessages
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode

ROBOT = "agent_0"
WALK = (1.5, 2.0, 0.0)


@pytest.fixture(scope="module")
def episode(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Path:
    return write_world(tmp_path_factory.mktemp("world"), small_house, small_episode)


@pytest.fixture(scope="module")
def world(episode: Path) -> Iterator[Bridge]:
    """A simulated world in which attendance counts; a walk takes a hundred times as long."""
    safety = episode.with_name("safety.yaml")
    safety.write_text("version: 1\nexecutive: {where: always}\n")
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
    result = client.do("navigate", WALK)
    assert result.code == PrimitiveCode.NOT_ALLOWED
    assert "run `planner attend agent_0`" in result.text
    evidence = {item.key: item.value for item in result.evidence}
    assert (result.rule, evidence["reason"]) == (8, "NOT_ATTENDED")
    client.wait(lambda: refusals(receipts), "the receipt")
    assert refusals(receipts)[-1].message == result.text


def test_a_goal_continues_while_its_executive_is_heard_and_ends_when_it_hangs(
    world: Bridge, client: Client
) -> None:
    with attending(ROBOT) as executive:
        attended(client, executive)
        walk = client.start("navigate", WALK)
        client.idle(1.5)
        client.wait(lambda: walk.feedback, "the walk's feedback")
        executive.lives.clear()
        result = walk.result()
        assert result.code == PrimitiveCode.NOT_ALLOWED
        assert {i.key: i.value for i in result.evidence}["reason"] == "EXECUTIVE_LOST"
        assert executive.publisher.executive in result.text


def test_a_goodbye_ends_the_attendance_at_once(world: Bridge, client: Client) -> None:
    with attending(ROBOT) as executive:
        states = attended(client, executive)
        executive.leave()
        client.wait(lambda: not attended_by(states), "the goodbye")
    assert client.do("navigate", WALK).code == PrimitiveCode.NOT_ALLOWED


@pytest.mark.slow
def test_the_command_attends_until_it_is_ended(world: Bridge, client: Client) -> None:
    states = client.listen(DiagnosticStatus, f"/{ROBOT}/safety/state", LATCHED)
    with attend_command(ROBOT) as command:
        client.wait(lambda: "attend_" in attended_by(states), "attendance")
        walk = client.start("navigate", WALK)
        client.wait(lambda: walk.feedback, "the walk's feedback")
        walk.cancel()
        assert walk.result().code == PrimitiveCode.CANCELED
        command.send_signal(signal.SIGINT)
        assert command.wait(TIMEOUT_S) == 0
        assert command.stdout is not None
        assert "agent_0: received by bridge" in command.stdout.read()
        client.wait(lambda: not attended_by(states), "the goodbye")


def test_the_skill_executor_relays_what_planners_say(
    world: Bridge, client: Client, small_house: House, episode: Path
) -> None:
    graph = client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
    graph.publish(GraphMessages().message(belief_of_house(small_house)))
    with (
        running("skill_executor", episode=episode) as skills,
        attending(ROBOT, through_skills=True) as executive,
    ):
        states = attended(client, executive)
        skills.send_signal(signal.SIGSTOP)
        try:
            client.wait(lambda: not attended_by(states), "silence")
        finally:
            skills.send_signal(signal.SIGCONT)
        client.wait(lambda: executive.publisher.executive in attended_by(states), "attendance")


def test_after_being_busy_it_relays_what_has_come_before_it_sends_a_goal(client: Client) -> None:
    relay = HeartbeatRelay(client.node, "agent_7")
    subscription = HeartbeatSubscription(
        client.node, safety_topic("agent_7"), lambda _everyone: None
    )
    with attending("agent_7", through_skills=True) as executive:
        client.wait(subscription.take, "the first that is relayed")
        # Nothing is spun from here on: its thread is at something else.
        time.sleep(0.5)
        subscription.take()
        deadline_s = time.monotonic() + TIMEOUT_S
        beats: list[Heartbeat] = []
        while not beats:
            assert time.monotonic() < deadline_s
            time.sleep(0.2)
            assert not subscription.take()
            relay.relay_pending()
            time.sleep(0.2)
            beats = subscription.take()
        assert {beat.executive for beat in beats} == {executive.publisher.executive}
    subscription.destroy()
    relay.destroy()


def test_untaken_heartbeats_are_kept_and_let_the_executor_rest(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ear = HeartbeatSubscription(client.node, safety_topic("agent_6"), lambda _everyone: None)
    with attending("agent_6"):
        client.wait(ear.take, "a beat")
        asked: list[object] = []
        can_execute = client.executor.can_execute

        # The executor asks about each entity before each wait.
        def counted(entity: object) -> bool:
            asked.append(entity)
            return can_execute(entity)

        monkeypatch.setattr(client.executor, "can_execute", counted)
        client.idle(0.5)
        waits = len(asked) / len(set(asked))
        numbers = [beat.sequence for beat in client.wait(ear.take, "the beats since")]
    # Fifty for the time limits of `idle`, and one for each beat.
    assert waits < 200
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    ear.destroy()


def test_the_middleware_reports_late_and_gone_peers(client: Client) -> None:
    silences: list[bool] = []
    subscription = HeartbeatSubscription(client.node, safety_topic("agent_8"), silences.append)
    with attending("agent_8") as late:
        client.wait(subscription.take, "a beat")
        silences.clear()
        late.lives.clear()
        # The deadline is missed, and the lease of the last publisher runs out.
        client.wait(lambda: set(silences) == {False, True}, "the word of the silence")
        late.lives.set()
        client.wait(subscription.take, "a beat")
        with attending("agent_8") as other:
            client.wait(
                lambda: (
                    other.publisher.executive in {beat.executive for beat in subscription.take()}
                ),
                "the other one",
            )
            client.idle(0.2)
            silences.clear()
        client.wait(lambda: False in silences, "that one of two has gone")
    client.wait(lambda: True in silences, "that nobody is left")
    subscription.destroy()


def test_a_publisher_that_is_not_heard_is_reported(world: Bridge, client: Client) -> None:
    publisher = client.node.create_publisher(Heartbeat, f"/{ROBOT}/safety/heartbeat", 10)
    client.wait(lambda: "a publisher has incompatible" in world.log, "the line")
    line = next(li for li in world.log.splitlines() if "a publisher has incompatible" in li)
    assert f"/{ROBOT}/safety/heartbeat" in line
    assert "planner attend" in line
    client.node.destroy_publisher(publisher)


def test_an_invalid_heartbeat_does_not_count_and_is_reported(world: Bridge, client: Client) -> None:
    with attending() as executive:
        executive.publisher.executive = ""
        executive.publisher.attend([ROBOT])
        client.wait(lambda: "executive: expected the sender's name" in world.log, "the line")
        assert client.do("navigate", WALK).code == PrimitiveCode.NOT_ALLOWED


def test_an_executive_whose_supervisor_is_silent_is_silent(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = HeartbeatPublisher(client.node)
    heard = HeartbeatSubscription(client.node, safety_topic(ROBOT), lambda _: None)
    publisher.attend([ROBOT])
    client.wait(heard.take, "a heartbeat")
    monkeypatch.setattr("planner.ros.heartbeat.supervisor_is_silent", lambda: True)
    client.idle(0.3)
    heard.take()
    client.idle(1.0)
    assert heard.take() == []
    monkeypatch.undo()
    client.wait(heard.take, "a heartbeat of one whose supervisor is back")
    publisher.destroy()
    heard.destroy()
