from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.bringup import node_list
from planner.bringup_arguments import Arguments
from planner.security import policy
from planner.security.policy import OPERATOR, VIEWER, Policy, allows, overlap, shipped_policy
from planner.world.errors import FileError
from planner.world.files import parse_model
from sim_bridge.one_robot import Command
from sim_bridge.safety.approvals import Answer

ROOT = Path(__file__).parents[3]
COMMANDS = [str(each) for each in (*Command, *Answer)]


def document() -> Any:
    return yaml.safe_load((ROOT / "config/security/policy.yaml").read_text("utf-8"))


def test_there_is_an_identity_for_each_program_of_ours_and_for_two_people() -> None:
    programs = {path.name for path in (ROOT / "nodes").iterdir() if path.is_file()}
    assert set(shipped_policy().identities) == {*programs, OPERATOR, VIEWER}
    for planner in ("tour", "expert", "react"):
        started = node_list(Arguments(planner=planner, record="bag", episode="e", narrate=True))
        assert {spec.executable for spec in started} <= programs


@pytest.mark.parametrize("command", sorted({*COMMANDS, "safety/answer"}))
def test_only_the_operator_may_ask_for_what_moves_or_powers_a_robot(command: str) -> None:
    topic = f"rq/agent_3/{command}Request"
    may = {
        name for name, rights in shipped_policy().rights.items() if allows(rights.publish, topic)
    }
    assert may == (set(shipped_policy().identities) if command == "stop" else {OPERATOR})


@pytest.mark.parametrize(
    "topic",
    [
        "rq/world/loadRequest",
        "rq/world/stepRequest",
        "rq/memory/editRequest",
        "rq/bridge/set_parametersRequest",
        "rq/bridge/set_parameters_atomicallyRequest",
    ],
)
def test_only_the_operator_may_change_the_world_the_memory_or_the_settings(topic: str) -> None:
    rights = shipped_policy().rights
    assert [name for name in rights if allows(rights[name].publish, topic)] == [OPERATOR]


@pytest.mark.parametrize("command", COMMANDS)
def test_only_the_bridge_answers_for_a_robot(command: str) -> None:
    topic = f"rr/agent_0/{command}Reply"
    rights = shipped_policy().rights
    assert [name for name in rights if allows(rights[name].publish, topic)] == ["bridge"]


@pytest.mark.parametrize("command", [*map(str, Command), "take_lease", "arm_stow"])
def test_the_bridge_may_pass_on_to_spot_ros2_what_the_operator_asks(command: str) -> None:
    topic = f"rq/spot/{command}Request"
    rights = shipped_policy().rights
    assert [name for name in rights if allows(rights[name].publish, topic)] == ["bridge"]


def test_the_viewer_sees_everything_and_says_nothing_but_stop() -> None:
    viewer = shipped_policy().rights[VIEWER]
    assert allows(viewer.subscribe, "rt/agent_0/camera/hand/image")
    own = ("rr/rviz", "rr/foxglove_bridge/", "rr/planner_doctor/", "rr/_ros2cli", "rr/transform_")
    rest = {topic for topic in viewer.publish if not topic.startswith(own)}
    assert rest == {
        "ros_discovery_info",
        "rt/rosout",
        "rt/parameter_events",
        "rq/agent_?/stopRequest",
    }
    for topic in viewer.publish - rest:
        assert not overlap(topic, "rr/agent_?/*")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("request", "/agent_0/claim"),
        ("request", "/*"),
        ("request", "/agent_0/est*"),
        ("request", "/agent_?/safety/*"),
    ],
)
def test_a_policy_that_gives_away_what_is_the_operator_s_is_refused(kind: str, name: str) -> None:
    changed = document()
    changed["identities"]["narrator"].setdefault(kind, []).append(name)
    with pytest.raises(FileError, match=r"narrator may publish .* reserved for the operator"):
        parse_model(changed, Policy, "policy.yaml")


@pytest.mark.parametrize("name", ["tf", "/tf<x/>", "/tf&amp;", "/agent_[0-5]/tf", "/a b", "/tf/"])
def test_a_name_that_is_none_or_breaks_xml_is_refused(name: str) -> None:
    changed = document()
    changed["identities"]["narrator"]["subscribe"].append(name)
    with pytest.raises(FileError, match="narrator"):
        parse_model(changed, Policy, "policy.yaml")


def test_a_policy_without_an_operator_is_refused() -> None:
    changed = document()
    del changed["identities"]["operator"]
    with pytest.raises(FileError, match="no identity operator"):
        parse_model(changed, Policy, "policy.yaml")


PATTERNS = st.text("ab*?", max_size=5)
TOPICS = ["".join(letters) for length in range(6) for letters in product("ab", repeat=length)]


def test_topics_services_and_actions_are_the_dds_topics_that_ros_makes_of_them() -> None:
    assert policy.publication("/tf").publish == {"rt/tf"}
    claim = policy.request("/agent_0/claim")
    assert claim.publish == {"rq/agent_0/claimRequest"}
    assert claim.subscribe == {"rr/agent_0/claimReply"}
    called = policy.call("/instruct")
    assert called.publish == {
        f"rq/instruct/_action/{name}Request" for name in ("send_goal", "cancel_goal", "get_result")
    }
    assert {"rt/instruct/_action/feedback", "rt/instruct/_action/status"} <= called.subscribe
    executed = policy.execute("/instruct")
    assert called.publish <= executed.subscribe
    assert called.subscribe <= executed.publish


@given(PATTERNS, PATTERNS)
def test_patterns_overlap_where_a_topic_matches_both(one: str, other: str) -> None:
    both = any(fnmatchcase(t, one) and fnmatchcase(t, other) for t in TOPICS)
    found = policy.overlap(one, other)
    # Two patterns of five letters may meet in a topic that is longer than those tried.
    assert found == both or (found and len((one + other).replace("*", "")) > 5)
