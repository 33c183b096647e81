"""The policy of SROS 2 and what nodes really publish, subscribe, serve and call.

Without security in the middleware the nodes run unhindered, and the graph tells what they would
need: whatever a node has and its identity may not fails here, as it would fail to start there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from bridge_harness import Client, bridge, write_world
from dds_graph import DdsGraph
from node_processes import Node, running
from planner_harness import script
from std_srvs.srv import Trigger
from test_spot_external import StandIn

from planner.security.policy import OPERATOR, allows, shipped_policy
from planner.world.episode import Episode
from planner.world.house import House

# The runs come before the first test, on a machine that others keep busy.
# Its agents that talk to each other are a paper's.
pytestmark = [pytest.mark.timeout(900), pytest.mark.slow, pytest.mark.needs("papers")]
TIMEOUT_S = 150.0
LOOK_S = 0.05
# Enough for an instruction that lasts while the graph is looked at.
MODEL_REPLIES = 500
GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "receptacles": ["table_1", "couch_0"]},
        }
    ]
}
# Of this test.
OURS = ("/client", "/stand_in")


@pytest.fixture(scope="module")
def graph(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[DdsGraph]:
    """All that nodes have, over runs of every kind."""
    folder = tmp_path_factory.mktemp("graph")
    task = small_episode.model_copy(update={"evaluation": GOAL})
    world = write_world(folder, small_house, task)
    client = Client()
    graph = DdsGraph(client.node)
    try:
        a_whole_run(graph, world, folder)
        a_tour(graph, folder / f"{small_house.name}.json")
        what_a_robot_without_truth_has(graph, client, world)
        a_world_without_pictures(graph, folder)
        a_robot_of_others(graph, client, folder, small_house, small_episode)
        yield graph
    finally:
        client.close()


def look_while(graph: DdsGraph, goes_on: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while goes_on():
        assert time.monotonic() < deadline, f"{what} did not end; nodes: {sorted(graph.found)}"
        graph.look()
        time.sleep(LOOK_S)


def a_whole_run(graph: DdsGraph, world: Path, folder: Path) -> None:
    """`planner up` with all that it can start, beside it a narrator and the operator's commands."""
    # Time that races stands while nobody acts, or it would take the processor from the commands.
    held = folder / "held.yaml"
    held.write_text("bridge: {ros__parameters: {idle_time: hold}}\n")
    words = ("up", "planner:=expert", f"episode:={world}", "paced:=false", "use_sim_time:=true")
    words += (f"params_file:={held}",)
    words += ("console:=true", "console_port:=0")
    with planner(*words, "camera_hz:=2", "record_image_hz:=1.0", f"record:={folder / 'run'}"):
        with running("narrator", episode=world, record=folder / "run") as narrates:
            look_while(graph, lambda: narrates.poll() is None, "the run")
            assert narrates.returncode == 0
        # Nothing is left to do: it asks, and hears that.
        with planner("instruct", "", "--wait", "60") as gives:
            look_while(graph, lambda: gives.poll() is None, "the instruction")
            assert gives.returncode == 0
        for through in ((), ("--skills",)):
            with planner("attend", "agent_0", *through) as attends:
                topic = f"rt/agent_0/{'skill' if through else 'safety'}/heartbeat"
                look_while(graph, lambda: topic not in attended(graph), "the attendance")  # noqa: B023
                assert attends.poll() is None
        # The robot asks nothing.
        with planner("approve", "agent_0") as answers:
            look_while(graph, lambda: answers.poll() is None, "the question to the operator")
            assert answers.returncode == 1
        with planner("memory", "query", "where is the cup?") as asks:
            look_while(graph, lambda: asks.poll() is None, "the question")
            assert asks.returncode == 0


def attended(graph: DdsGraph) -> set[str]:
    """What `planner attend` publishes."""
    return {t for name, ends in graph.found.items() if name.startswith("/attend_") for t in ends[0]}


def a_tour(graph: DdsGraph, house: Path) -> None:
    fast = ("paced:=false", "use_sim_time:=true", "camera_hz:=2")
    with planner("up", "planner:=tour", f"house:={house}", *fast) as up:
        look_while(graph, lambda: up.poll() is None, "the tour")
        assert up.returncode == 0


def what_a_robot_without_truth_has(graph: DdsGraph, client: Client, world: Path) -> None:
    """A memory that looks, a judge of what is believed, a narrator who waits for an operator.

    And what speaks with persons.
    """
    with ExitStack() as stack:
        # It names no house, so it asks the bridge; it ends where that one is not a shipped one.
        stack.enter_context(running("tour"))
        look_while(graph, lambda: "rt/world/info" not in graph.found["/tour"][1], "the start")
        stack.enter_context(bridge(episode=world))
        stack.enter_context(running("memory", updater="learned", episode=world))
        stack.enter_context(running("evaluator", world="perceived", episode=world))
        # The speech server of this address is not asked.
        stack.enter_context(running("ear", ear="server", url="http://127.0.0.1:9/v1"))
        stack.enter_context(running("mouth"))
        # Agents that talk to each other, each with its camera's pictures.
        nothing = script(world.parent / "nothing.txt", *["{}"] * MODEL_REPLIES)
        talking = {"planner": "llamar_coela", "camera_pictures": True, "model": nothing}
        stack.enter_context(running("task_planner", episode=world, **talking))
        narrators: list[Node] = []

        def lacks() -> bool:
            # A run of empty replies is soon over, and what it opens may go unseen: then once more.
            if not narrators or narrators[-1].poll() is not None:
                told = running("narrator", attended=True, episode=world, instruction="go")
                narrators.append(stack.enter_context(told))
            seen = {name: topics for name, (_, topics) in graph.found.items()}
            subscribed = defaultdict(set, seen)
            return not (
                "rt/agent_0/camera/hand/image" in subscribed["/memory"]
                and "rt/world_graph" in subscribed["/evaluator"]
                and "rt/agent_0/camera/hand/image" in subscribed["/task_planner"]
                and "rt/agent_0/says" in subscribed["/task_planner"]
                and "rt/agent_0/safety/motion_allowed" in subscribed["/narrator"]
                and "rt/agent_0/speech" in subscribed["/mouth"]
                and "rt/voice/audio" in subscribed["/ear"]
            )

        look_while(graph, lacks, "the start")


def a_world_without_pictures(graph: DdsGraph, folder: Path) -> None:
    """A graph whose bridge waits for whoever acts, and the memory of what agents see there."""
    house, sightings = kitchen.written(folder), "rt/agent_0/sightings"
    held = {"time_mode": "fast", "idle_time": "hold"}
    with bridge(backend="graph", house=house, **held), running("memory", house=house):
        memory = graph.found["/memory"]
        look_while(graph, lambda: sightings not in memory[1], "the memory's subscription")
        bridged = graph.found["/bridge"]
        awaited = {sightings, "rt/lockstep/world"}
        look_while(graph, lambda: not awaited <= bridged[0], "what the bridge publishes")


def a_robot_of_others(
    graph: DdsGraph, client: Client, folder: Path, house: House, episode: Episode
) -> None:
    """The bridge before spot_ros2, whose services it calls for the operator."""
    alone = episode.model_copy(update={"agents": episode.agents[:1]})
    (folder / "external").mkdir()
    world = write_world(folder / "external", house, alone)
    stand_in = StandIn()
    try:
        with bridge(backend="external", episode=world):
            # On a busy machine the middleware may tell of its topics after its services, and of
            # each topic on its own: every right of a bridge has been seen once this one is up.
            look_while(graph, lambda: bool(unused(graph, "bridge")), "the bridge's topics")
            for name in ("claim", "power_on", "stand", "sit", "power_off", "release", "stop"):
                service = client.node.create_client(Trigger, f"/agent_0/{name}")
                client.wait(service.service_is_ready, name)
                answer = service.call_async(Trigger.Request())
                look_while_waiting(graph, client, answer.done)
                client.node.destroy_client(service)
    finally:
        stand_in.close()


def look_while_waiting(graph: DdsGraph, client: Client, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not done():
        assert time.monotonic() < deadline
        client.executor.spin_once(timeout_sec=0.005)
        graph.look()


class planner:  # noqa: N801 - reads as the command
    """A command of ours, gone with the `with`."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __enter__(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", *self.words], env=dict(os.environ)
        )
        return self.process

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(60.0)


def identity_of(node: str) -> str:
    """Whose node it is; those of commands are the operator's before they are a viewer's."""
    (*_, name) = node.split("/")
    for identity, listed in shipped_policy().identities.items():
        if any(fnmatchcase(name, pattern) for pattern in listed.nodes):
            return identity
    return ""


def nodes_of(graph: DdsGraph) -> dict[str, tuple[set[str], set[str]]]:
    return {name: ends for name, ends in graph.found.items() if name not in OURS}


def test_every_program_ran_and_has_an_identity(graph: DdsGraph) -> None:
    ran = {name: identity_of(name) for name in nodes_of(graph)}
    assert "" not in ran.values(), ran
    assert {*ran.values()} == {*shipped_policy().identities} - {"viewer"}


def test_no_node_has_what_its_identity_may_not(graph: DdsGraph) -> None:
    lacking: dict[str, list[str]] = defaultdict(list)
    for node, (published, subscribed) in nodes_of(graph).items():
        identity = identity_of(node)
        rights = shipped_policy().rights[identity]
        lacking[f"{identity}, publish"] += [t for t in published if not allows(rights.publish, t)]
        lacking[f"{identity}, subscribe"] += [
            t for t in subscribed if not allows(rights.subscribe, t)
        ]
    missing = {what: sorted({*topics}) for what, topics in lacking.items() if topics}
    assert not missing, f"add to config/security/policy.yaml: {missing}"


def unused(graph: DdsGraph, identity: str) -> dict[str, list[str]]:
    """Topics and services that the identity may offer or hear and no node of it was seen to.

    Calls last too short to be seen for sure, everybody may stop, and a node that usually says
    nothing on `/diagnostics` says there which of its callbacks failed.
    """
    had: tuple[set[str], set[str]] = (set(), set())
    for node, ends in nodes_of(graph).items():
        if identity_of(node) == identity:
            for all_of_them, of_this_node in zip(had, ends, strict=True):
                all_of_them |= of_this_node
    listed = shipped_policy().identities[identity]
    lasting = listed.model_copy(update={"request": (), "nodes": ()}).rights()
    idle = {
        kind: sorted(p for p in patterns if not any(fnmatchcase(t, p) for t in topics))
        for kind, patterns, topics in (
            ("publish", lasting.publish, had[0] | {"rt/diagnostics"}),
            ("subscribe", lasting.subscribe, had[1]),
        )
    }
    return {kind: patterns for kind, patterns in idle.items() if patterns}


def test_no_identity_may_more_than_its_nodes_have(graph: DdsGraph) -> None:
    identities = {*shipped_policy().identities} - {OPERATOR, "viewer"}
    too_many = {each: unused(graph, each) for each in sorted(identities)}
    too_many = {each: rights for each, rights in too_many.items() if rights}
    assert not too_many, f"take out of config/security/policy.yaml: {too_many}"


def test_whatever_the_bridge_serves_is_the_operator_s_but_for_a_few(graph: DdsGraph) -> None:
    """A service of the bridge that comes new is nobody else's unless it is named here."""
    shared = ("/agent_?/stop", "/agent_?/primitive/_action/*", "/bridge/[gl]*_parameters")
    rights = shipped_policy().rights
    for topic in nodes_of(graph)["/bridge"][1]:
        if not topic.startswith("rq/"):
            continue
        may = {name for name in rights if allows(rights[name].publish, topic)}
        name = topic.removeprefix("rq").removesuffix("Request")
        assert may <= {OPERATOR} or any(fnmatchcase(name, each) for each in shared), (topic, may)
