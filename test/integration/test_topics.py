"""docs/topics.md against the nodes that it was made from, and against the running graph."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from bridge_harness import Client, bridge, write_world
from node_processes import running
from planner_msgs.msg import Evaluation
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_srvs.srv import Trigger

from planner.world.episode import Episode
from planner.world.house import House

ROOT = Path(__file__).resolve().parents[2]
GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "receptacles": ["table_1"]},
        }
    ]
}
# As rclpy names the node of an endpoint whose participant it does not know yet.
UNKNOWN_NODE = "_NODE_NAME_UNKNOWN_"
SCRIPT, PAGE = ROOT / "scripts" / "topics.py", ROOT / "docs" / "topics.md"


@pytest.fixture
def rows() -> dict[str, tuple[str, str, str]]:
    """Type, QoS and publishers of each topic of the page."""
    cells = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `/")
    ]
    return {name: (kind, qos, by) for name, kind, qos, by, _ in cells}


@pytest.fixture
def client(tmp_path: Path, small_house: House, small_episode: Episode) -> Iterator[Client]:
    """A client beside all nodes that stay."""
    task = small_episode.model_copy(update={"evaluation": GOAL})
    with ExitStack() as stack:
        stack.enter_context(running("recorder", folder=tmp_path / "bag", images="none"))
        world = write_world(tmp_path, small_house, task)
        stack.enter_context(bridge(episode=world, time_mode="fast", idle_time="hold"))
        stack.enter_context(running("memory", updater="privileged", episode=world))
        stack.enter_context(running("skill_executor", episode=world))
        stack.enter_context(running("task_planner", planner="expert", episode=world))
        stack.enter_context(running("evaluator", episode=world))
        made = Client()
        yield made
        made.close()


def echo_qos(publishers: list[TopicEndpointInfo]) -> QoSProfile:
    """As `ros2 topic echo` chooses it without options: what all publishers offer."""
    offered = [publisher.qos_profile for publisher in publishers]
    reliable = all(q.reliability is ReliabilityPolicy.RELIABLE for q in offered)
    latched = all(q.durability is DurabilityPolicy.TRANSIENT_LOCAL for q in offered)
    return QoSProfile(
        depth=5,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def test_documented_echo_commands_take_a_name_and_no_options(
    rows: Mapping[str, tuple[str, str, str]],
) -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    echoed = [
        words
        for page in pages
        for words in re.findall(r"ros2 topic echo (.*)$", page.read_text(encoding="utf-8"), re.M)
    ]
    assert "/evaluation/result" in echoed
    assert [words for words in echoed if words not in rows] == []


@pytest.mark.slow
def test_the_page_is_what_the_script_writes() -> None:
    made = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True)
    assert made.stdout == PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_running_graph_has(
    client: Client, rows: Mapping[str, tuple[str, str, str]]
) -> None:
    general = runpy.run_path(str(SCRIPT))["general"]

    def found() -> dict[str, list[TopicEndpointInfo]]:
        names = [name for name, _ in client.node.get_topic_names_and_types() if "/_" not in name]
        return {name: client.node.get_publishers_info_by_topic(name) for name in names}

    # Those of tour or narrator alone have no publisher here.
    expected = {name for name, (_, _, by) in rows.items() if by not in ("", "tour", "narrator")}

    def missing() -> set[str]:
        return expected - {general(name) for name, publishers in found().items() if publishers}

    def nameless() -> set[str]:
        # Who a publisher is becomes known a little later than the publisher.
        return {
            name
            for name, publishers in found().items()
            if any(one.node_name == UNKNOWN_NODE for one in publishers)
        }

    try:
        client.wait(lambda: not missing(), "every topic of the page")
    except AssertionError:
        raise AssertionError(f"of the page, not in the graph: {missing()}") from None
    client.wait(lambda: not nameless(), "the nodes of all publishers")
    graph = found()
    assert {general(name) for name in graph} - {"/rosout", "/parameter_events"} <= rows.keys()
    for name, publishers in graph.items():
        if general(name) not in rows:
            continue
        kind, qos, by = rows[general(name)]
        for publisher in publishers:
            assert publisher.node_name in by.split(", "), name
            assert publisher.topic_type == kind, name
            offered = publisher.qos_profile
            assert (offered.durability is DurabilityPolicy.TRANSIENT_LOCAL) == ("latched" in qos)
            assert (offered.reliability is ReliabilityPolicy.RELIABLE) == ("reliable" in qos), name

    # The verdict stands for who comes later and gives no options.
    client.wait(lambda: client.call(Trigger, "/evaluation/finish").success, "the verdict")
    for name in ("/evaluation", "/evaluation/result"):
        heard = client.listen(Evaluation, name, echo_qos(graph[name]))
        client.wait(
            lambda heard=heard: any(one.status != Evaluation.RUNNING for one in heard),
            f"the verdict on {name}",
        )
