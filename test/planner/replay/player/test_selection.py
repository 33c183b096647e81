"""Which topics are played, under which names."""

from __future__ import annotations

import pytest

from planner.replay.player.selection import (
    Selection,
    choose,
    is_command,
    is_topic_name,
    remappings,
)
from planner.world.errors import PlannerError

TOPICS = (
    "/agent_0/cmd_vel",
    "/agent_0/odometry",
    "/agent_0/safety/approve_at",
    "/agent_1/odometry",
    "/instruct/answer",
    "/lockstep/memory",
    "/tf",
)


def chosen(**fields: object) -> dict[str, str]:
    return dict(choose(TOPICS, Selection(**fields)).names)  # type: ignore[arg-type]


def test_all_is_played_but_what_makes_robots_and_nodes_act() -> None:
    found = choose(TOPICS, Selection())
    assert list(found.names) == ["/agent_0/odometry", "/agent_1/odometry", "/tf"]
    assert found.withheld == (
        "/agent_0/cmd_vel",
        "/agent_0/safety/approve_at",
        "/instruct/answer",
        "/lockstep/memory",
    )
    assert list(chosen(commands=True)) == sorted(TOPICS)


def test_a_command_that_is_asked_for_by_name_is_still_withheld() -> None:
    found = choose(TOPICS, Selection(topics=("/agent_0/cmd_vel",)))
    assert not found.names
    assert found.withheld == ("/agent_0/cmd_vel",)


@pytest.mark.parametrize(
    ("topic", "command"),
    [
        ("/cmd_vel", True),
        ("/robot/cmd_vel_nav", True),
        ("/robot/base/cmd_vel/stamped", True),
        ("/goal_pose", True),
        ("/parameter_events", True),
        ("/instruct/status", False),
        ("/agent_0/safety/state", False),
        ("/my_cmd_velocity", False),
    ],
)
def test_commands_are_known_by_their_names(topic: str, command: bool) -> None:
    assert is_command(topic) is command


def test_names_and_patterns() -> None:
    assert list(chosen(topics=("/agent_?/odometry",))) == ["/agent_0/odometry", "/agent_1/odometry"]
    assert list(chosen(exclude=("/agent_1/*",))) == ["/agent_0/odometry", "/tf"]
    assert list(chosen(topics=("/tf", "/agent_*"), exclude=("*odometry",))) == ["/tf"]


@pytest.mark.parametrize("option", ["topics", "exclude"])
def test_a_pattern_that_fits_nothing_is_an_error(option: str) -> None:
    with pytest.raises(PlannerError, match=f"--{option} '/odom': fits no topic"):
        chosen(**{option: ("/odom",)})


def test_topics_get_other_names() -> None:
    names = chosen(topics=("/tf", "/agent_0/odometry"), remap={"/tf": "/old/tf"})
    assert names == {"/tf": "/old/tf", "/agent_0/odometry": "/agent_0/odometry"}


@pytest.mark.parametrize(
    ("remap", "reason"),
    [
        ({"/odom": "/x"}, "the bag has no topic /odom"),
        ({"/tf": "tf"}, "'tf' is not an absolute name"),
        ({"/tf": "/a b"}, "is not an absolute name"),
        ({"/tf": "/agent_0/odometry"}, "would both be /agent_0/odometry"),
    ],
)
def test_a_wrong_new_name_is_an_error(remap: dict[str, str], reason: str) -> None:
    with pytest.raises(PlannerError, match=reason):
        chosen(remap=remap)


def test_words_become_new_names() -> None:
    assert remappings(["/a:=/b", "/c:=/d"]) == {"/a": "/b", "/c": "/d"}
    for words, reason in (
        (["/a=/b"], "expected FROM:=TO"),
        (["/a:="], "expected FROM:=TO"),
        (["/a:=/b", "/a:=/c"], "given twice"),
    ):
        with pytest.raises(PlannerError, match=reason):
            remappings(words)


@pytest.mark.parametrize("name", ["/a", "/a_1/b/C2"])
def test_names_that_ros_allows(name: str) -> None:
    assert is_topic_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "/", "a", "/a/", "//a", "/1a", "/a-b", "/a\n", "/a__b", "/../x", "/é", "/" + "a" * 300],
)
def test_a_topic_of_no_allowed_name_is_left_out(name: str) -> None:
    found = choose(("/tf", name), Selection())
    assert list(found.names) == ["/tf"]
    assert found.invalid_names == (name,)
