"""The `primitive` action: results, cancel, one at a time, lost clients, permission to move."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from bridge_harness import Client, bridge
from nav_msgs.msg import Odometry
from planner_msgs.srv import LoadEpisode, StepWorld
from std_srvs.srv import Trigger

from planner.world.geometry import Vec3
from planner.world.primitive import PrimitiveCode

BEGIN = (1.5, 2.0)
KITCHEN: Vec3 = (1.0, 1.4, 0.0)
LIVING_ROOM: Vec3 = (6.8, 1.8, 0.0)
BOOK: Vec3 = (6.6, 3.2, 0.44)


@pytest.fixture(scope="module")
def shared(world: Path) -> Iterator[Client]:
    with bridge(episode=world, rate=3.0):
        made = Client()
        yield made
        made.close()


@pytest.fixture
def client(shared: Client, world: Path) -> Iterator[Client]:
    answer = shared.call(LoadEpisode, "/world/load", episode=str(world))
    assert answer.success, answer.message
    yield shared
    shared.forget()


def middle(client: Client, name: str) -> Vec3:
    return client.state().entities[name].box.center_m


def place_of(client: Client, agent: str = "agent_0") -> tuple[float, float]:
    x, y, _ = client.state().entities[agent].pose.position_m
    return (x, y)


def speed(client: Client, agent: str = "agent_0") -> float:
    return abs(client.hear(Odometry, f"/{agent}/odometry").twist.twist.linear.x)


def walking(client: Client, target: Vec3 = LIVING_ROOM) -> object:
    """A walk that has begun to move."""
    goal = client.start("navigate", target)
    client.wait(lambda: speed(client) > 0.1, "moving")
    return goal


def assert_at_rest(client: Client) -> None:
    client.wait(lambda: speed(client) == 0.0, "rest")
    before = place_of(client)
    client.idle(1.0)
    assert place_of(client) == before


def test_a_thing_is_fetched_over_ros(client: Client) -> None:
    cup = middle(client, "cup_0")
    goal = client.start("navigate", cup)
    result = goal.result()
    assert (result.code, goal.status) == (PrimitiveCode.SUCCESS, GoalStatus.STATUS_SUCCEEDED)
    assert result.text
    assert client.do("pick", cup).code == PrimitiveCode.SUCCESS
    assert client.state().entities["agent_0"].holding == "cup_0"
    table = middle(client, "book_0")
    assert client.do("navigate", table).code == PrimitiveCode.SUCCESS
    assert client.do("place", table, relation="on").code == PrimitiveCode.SUCCESS
    assert client.state().entities["cup_0"].parent == "table_1"


def test_feedback_tells_phase_progress_and_place(client: Client) -> None:
    goal = client.start("navigate", LIVING_ROOM)
    goal.result()
    feedbacks = [message.feedback for message in goal.feedback]
    assert len(feedbacks) >= 5
    progress = [feedback.progress for feedback in feedbacks]
    assert progress == sorted(progress)
    assert 0.0 <= progress[0] < progress[-1] <= 1.0
    assert all(feedback.phase for feedback in feedbacks)
    assert {feedback.pose.header.frame_id for feedback in feedbacks} == {"map"}
    assert feedbacks[-1].pose.pose.position.x > feedbacks[0].pose.pose.position.x + 1.0


@pytest.mark.parametrize(
    ("name", "target", "more", "code", "says"),
    [
        ("fly", KITCHEN, {}, PrimitiveCode.UNKNOWN_PRIMITIVE, "'fly'"),
        ("navigate", KITCHEN, {"frame": ""}, PrimitiveCode.BAD_FRAME, "no frame"),
        ("navigate", KITCHEN, {"frame": "agent_1/odom"}, PrimitiveCode.BAD_FRAME, "agent_1"),
        ("navigate", KITCHEN, {"frame": "agent_7/odom"}, PrimitiveCode.UNKNOWN_AGENT, "agent_7"),
        ("navigate", (math.nan, 0, 0), {}, PrimitiveCode.BAD_TARGET, "nan"),
        ("navigate", (100.0, 100.0, 0.0), {}, PrimitiveCode.UNREACHABLE, ""),
        ("place", KITCHEN, {}, PrimitiveCode.BAD_TARGET, "relation"),
        ("place", KITCHEN, {"relation": "on"}, PrimitiveCode.HAND_EMPTY, ""),
        ("pick", BOOK, {}, PrimitiveCode.TOO_FAR, ""),
        ("pick", LIVING_ROOM, {}, PrimitiveCode.NOTHING_THERE, ""),
        ("clean", KITCHEN, {}, PrimitiveCode.NOT_ABLE, "clean"),
        ("navigate", LIVING_ROOM, {"timeout_s": 0.3}, PrimitiveCode.TIMED_OUT, ""),
    ],
)
def test_what_fails_tells_why_in_code_and_words(
    client: Client, name: str, target: Vec3, more: dict[str, object], code: int, says: str
) -> None:
    goal = client.start(name, target, **more)
    result = goal.result()
    assert result.code == code, result.text
    assert says in result.text
    assert goal.status == GoalStatus.STATUS_ABORTED


def test_a_cancelled_goal_ends_as_canceled_and_the_agent_stands(client: Client) -> None:
    goal = walking(client)
    goal.cancel()
    assert goal.result().code == PrimitiveCode.CANCELED
    assert goal.status == GoalStatus.STATUS_CANCELED
    assert_at_rest(client)


def test_a_second_goal_is_busy_and_the_first_continues(client: Client) -> None:
    first = walking(client)
    second = client.start("look", KITCHEN)
    assert second.result().code == PrimitiveCode.BUSY
    assert client.do("look", KITCHEN, agent="agent_1").code == PrimitiveCode.SUCCESS
    assert first.result().code == PrimitiveCode.SUCCESS


def test_stop_ends_a_goal_and_leaves_the_agent_usable(client: Client) -> None:
    goal = walking(client)
    assert client.call(Trigger, "/agent_0/stop").success
    assert goal.result().code == PrimitiveCode.STOPPED
    assert_at_rest(client)
    assert client.do("look", KITCHEN).code == PrimitiveCode.SUCCESS


@pytest.mark.parametrize("command", ["estop/gentle", "estop/hard", "power_off", "sit", "release"])
def test_who_may_not_move_does_not(client: Client, command: str) -> None:
    goal = walking(client)
    assert client.call(Trigger, f"/agent_0/{command}").success
    assert goal.result().code == PrimitiveCode.STOPPED
    assert_at_rest(client)
    refused = client.do("navigate", KITCHEN)
    assert refused.code == PrimitiveCode.NOT_ALLOWED
    assert "may not move" in refused.text
    assert client.do("look", KITCHEN, agent="agent_1").code == PrimitiveCode.SUCCESS
    for step in ("estop/release", "claim", "power_on", "stand"):
        assert client.call(Trigger, f"/agent_0/{step}").success
    assert client.do("look", KITCHEN).code == PrimitiveCode.SUCCESS


def test_a_new_episode_ends_what_was_under_way(client: Client, world: Path) -> None:
    goal = walking(client)
    start = place_of(client)
    assert client.call(LoadEpisode, "/world/load", episode=str(world)).success
    result = goal.result()
    assert result.code == PrimitiveCode.CANCELED
    assert "episode" in result.text
    assert goal.status == GoalStatus.STATUS_ABORTED
    assert place_of(client) != start
    assert_at_rest(client)


@pytest.mark.parametrize(
    ("house", "episode", "says"),
    [
        ("", "", "name a house"),
        ("atlantis", "", "atlantis"),
        ("", "no/such/file.json", "no/such/file.json"),
        ("train_0", "{world}", "not of train_0"),
    ],
)
def test_a_bad_load_is_reported_and_the_old_world_continues(
    client: Client, world: Path, house: str, episode: str, says: str
) -> None:
    goal = walking(client)
    answer = client.call(
        LoadEpisode, "/world/load", house=house, episode=episode.format(world=world)
    )
    assert not answer.success
    assert answer.code != 0
    assert says in answer.message
    assert (answer.house, answer.episode_id) == ("small", "small")
    assert goal.result().code == PrimitiveCode.SUCCESS


def test_a_world_begins_anew(client: Client) -> None:
    client.wait(lambda: place_of(client) == BEGIN, "the state of the world just loaded")
    client.start("navigate", LIVING_ROOM).result()
    client.wait(lambda: place_of(client) != BEGIN, "another place")
    assert client.call(Trigger, "/world/restart").success
    client.wait(lambda: place_of(client) == BEGIN, "the beginning")


def test_a_negative_seed_is_refused(client: Client, world: Path) -> None:
    answer = client.call(LoadEpisode, "/world/load", episode=str(world), seed=-1)
    assert not answer.success
    assert "seed" in answer.message


def test_only_a_world_in_lockstep_is_stepped(client: Client) -> None:
    answer = client.call(StepWorld, "/world/step", duration_s=1.0)
    assert not answer.success
    assert "stepped" in answer.message
