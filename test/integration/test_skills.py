"""The skill-executor node with a real bridge; the test publishes the world graph."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from bridge_harness import TIMEOUT_S, Bridge, bridge, write_world
from geometry_msgs.msg import PointStamped
from planner_msgs.action import ExecuteSkill
from planner_msgs.srv import LoadEpisode
from skill_harness import Caller, Skills
from unique_identifier_msgs.msg import UUID

from planner.environment import ros_environment
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SUCCESS_TEXT, SkillCode


@pytest.fixture(scope="module")
def episode_file(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Path:
    return write_world(tmp_path_factory.mktemp("world"), small_house, small_episode)


@pytest.fixture(scope="module")
def running(
    episode_file: Path, small_house: House
) -> Iterator[tuple[Caller, list[Skills], Bridge]]:
    with bridge(episode=episode_file, rate=4.0) as world:
        nodes = [Skills(episode=episode_file, use_sim_time="true")]
        caller = Caller(small_house)
        try:
            yield caller, nodes, world
        finally:
            caller.close()
            nodes[-1].kill()


@pytest.fixture
def caller(running: tuple[Caller, list[Skills], Bridge], episode_file: Path) -> Caller:
    caller = running[0]
    assert caller.call(LoadEpisode, "/world/load", episode=str(episode_file)).success
    caller.tell()
    caller.skill()
    caller.skill("agent_1")
    caller.idle(0.5)
    caller.reports.clear()
    return caller


def test_a_thing_is_brought_by_one_skill_after_another(caller: Caller) -> None:
    goal = caller.begin("Navigate[cup_0]")
    result = goal.result()
    assert (result.code, result.text) == (SkillCode.SUCCESS, SUCCESS_TEXT)
    assert goal.status == GoalStatus.STATUS_SUCCEEDED
    assert any("walking to cup_0" in message.feedback.phase for message in goal.feedback)
    caller.tell()
    assert caller.run("Pick[cup_0]").text == SUCCESS_TEXT
    assert caller.run("Navigate[table_1]").text == SUCCESS_TEXT
    placed = caller.run("Place[cup_0, on, table_1, next_to, book_0]")
    assert placed.text == SUCCESS_TEXT
    assert placed.has_position
    assert caller.state().entities["cup_0"].parent == "table_1"
    calls = [(report.agent, report.call, report.code) for report in caller.reports]
    assert calls[-1] == ("agent_0", "Place[cup_0, on, table_1, next_to, book_0]", 0)
    assert len(calls) == 4


def test_refusals_come_at_once_with_code_and_text(caller: Caller) -> None:
    for call, code in (
        ("Fly[cup_0]", SkillCode.UNKNOWN_SKILL),
        ("x" * 100_000, SkillCode.UNPARSABLE),
        ("Pick[nothing_9]", SkillCode.UNKNOWN_ENTITY),
        ("Pick[]", SkillCode.WRONG_ARGUMENTS),
        ("Pick[cup_0, table_0]", SkillCode.WRONG_ARGUMENTS),
        ("Pick[table_1]", SkillCode.WRONG_ROLE),
        ("Open[cup_0]", SkillCode.WRONG_ROLE),
        ("Navigate[$(reboot)]", SkillCode.UNKNOWN_ENTITY),
        ("Clean[cup_0]", SkillCode.NOT_ABLE),
        ("Pick[book_0]", SkillCode.TOO_FAR),
    ):
        goal = caller.begin(call)
        result = goal.result()
        assert result.code == code, result.text
        assert result.text.startswith("Unexpected failure! - ")
        assert goal.status == GoalStatus.STATUS_ABORTED


@pytest.mark.parametrize("timeout_s", [1e18, math.inf, math.nan, -1.0])
def test_an_invalid_timeout_is_refused(caller: Caller, timeout_s: float) -> None:
    result = caller.run("Navigate[table_1]", timeout_s=timeout_s)
    assert result.code == SkillCode.WRONG_ARGUMENTS
    assert "timeout_s" in result.text


def test_a_point_ten_light_years_away_is_refused(caller: Caller) -> None:
    far = PointStamped()
    far.header.frame_id, far.point.x = "map", 1e17
    result = caller.run("Navigate[table_1]", points=[far])
    assert result.code == SkillCode.WRONG_ARGUMENTS
    assert "points[0].point.x" in result.text


def test_a_result_that_nobody_knows_is_no_success(caller: Caller) -> None:
    answer = caller.call(
        ExecuteSkill.Impl.GetResultService,
        "/agent_0/skill/_action/get_result",
        goal_id=UUID(uuid=list(uuid.uuid4().bytes)),
    )
    assert answer.status == GoalStatus.STATUS_UNKNOWN
    assert answer.result.code == SkillCode.BACKEND_FAULT


def test_a_canceled_skill_stops_the_agent(caller: Caller) -> None:
    goal = caller.begin("Navigate[table_1]")
    caller.wait(lambda: caller.speed() > 0, "movement")
    began = time.monotonic()
    goal.cancel()
    result = goal.result()
    assert result.code == SkillCode.CANCELED
    assert goal.status == GoalStatus.STATUS_CANCELED
    assert caller.speed() == 0
    assert time.monotonic() - began < 1.0


def test_after_a_reset_agents_stand_where_the_episode_puts_them(
    caller: Caller, episode_file: Path
) -> None:
    assert caller.run("NavigateTo[table_0]").code == SkillCode.SUCCESS
    assert caller.call(LoadEpisode, "/world/load", episode=str(episode_file)).success
    caller.tell()
    caller.idle(0.5)
    # It faces east at the start, and the table at the end.
    assert caller.run("Rotate[Right]").code == SkillCode.SUCCESS
    turned_rad = caller.state().entities["agent_0"].pose.yaw_rad
    assert turned_rad == pytest.approx(-math.pi / 2, abs=0.1)


def test_another_call_finds_it_busy_and_the_same_one_goes_along(caller: Caller) -> None:
    """PARTNR-D55."""
    first = caller.begin("Navigate[table_1]")
    busy = caller.begin("Navigate[table_0]").result()
    assert busy.code == SkillCode.BUSY
    second = caller.begin("Navigate[ table_1 ]")
    assert first.result().code == second.result().code == SkillCode.SUCCESS


def test_points_stand_for_entities(caller: Caller) -> None:
    point = PointStamped()
    point.header.frame_id = "map"
    center = caller.state().entities["cup_0"].box.center_m
    point.point.x, point.point.y, point.point.z = center
    assert caller.run("Navigate[thing_4]", points=[point]).code == SkillCode.SUCCESS
    assert caller.run("Pick[thing_4]", points=[point]).code == SkillCode.SUCCESS
    assert caller.state().entities["agent_0"].holding == "cup_0"
    point.header.frame_id = "moon"
    assert caller.run("Pick[thing_4]", points=[point]).code == SkillCode.WRONG_ARGUMENTS


# The kernel knows it at once; the middleware would say so after its lease: "has left".
DEAD = "the process of a client of this action has died"


def test_a_caller_that_dies_leaves_no_agent_moving(
    caller: Caller, running: tuple[Caller, list[Skills], Bridge]
) -> None:
    code = (
        "import rclpy, time\n"
        "from rclpy.action import ActionClient\n"
        "from planner_msgs.action import ExecuteSkill\n"
        "rclpy.init(); node = rclpy.create_node('doomed')\n"
        "client = ActionClient(node, ExecuteSkill, '/agent_0/skill')\n"
        "client.wait_for_server(); goal = ExecuteSkill.Goal(call='Explore[living_room_0]')\n"
        "rclpy.spin_until_future_complete(node, client.send_goal_async(goal))\n"
        "print('sent', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=ros_environment(os.environ), stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == b"sent"
    caller.wait(lambda: caller.speed() > 0, "movement")
    child.kill()
    caller.wait(lambda: caller.reports, "the report of the canceled call")
    executor = running[1][-1].process
    caller.wait(lambda: f"Explore[living_room_0]: {DEAD}" in executor.log, "the executor's notice")
    assert caller.reports[-1].code == SkillCode.CANCELED
    assert caller.speed() == 0
    child.wait(TIMEOUT_S)


def test_a_killed_node_stops_its_agents_and_comes_back(
    caller: Caller, running: tuple[Caller, list[Skills], Bridge], episode_file: Path
) -> None:
    _, nodes, world = running
    caller.begin("Navigate[table_1]")
    caller.wait(lambda: caller.speed() > 0, "movement")
    noticed = world.log.count(DEAD)
    nodes[-1].process.send_signal(signal.SIGKILL)
    nodes[-1].process.wait(TIMEOUT_S)
    try:
        caller.wait(lambda: world.log.count(DEAD) > noticed, "the bridge's notice")
        caller.wait(lambda: caller.speed() == 0, "the bridge's stop")
    finally:
        # Whatever comes after, a second try of this test as well, has a node.
        nodes.append(Skills(episode=episode_file, use_sim_time="true"))
    caller.wait(lambda: nodes[-1].serving, "the new node")
    caller.idle(1.0)
    assert caller.run("Navigate[cup_0]").code == SkillCode.SUCCESS


@pytest.mark.slow
def test_small_steps_are_taken_from_where_the_agent_is(caller: Caller) -> None:
    """LLAMAR-C25: the heading comes from the memory until the first primitive has ended."""
    start = caller.state().entities["agent_0"]
    for call in ("Move[Ahead]", "Rotate[Left]", "Move[Ahead]", "Move[Ahead]"):
        result = caller.run(call)
        assert result.code == SkillCode.SUCCESS, (call, result.text)
    end = caller.state().entities["agent_0"]
    (x, y, _), (x0, y0, _) = end.box.center_m, start.box.center_m
    assert (x - x0, y - y0) == pytest.approx((0.25, 0.5), abs=0.02)
    explored = caller.run("ExploreByView[find the cup]")
    assert explored.code == SkillCode.SUCCESS, explored.text
