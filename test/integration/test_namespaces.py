"""Two stacks in one ROS graph: each namespace has its own world, judge, time and frames."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from bridge_harness import LATCHED, TIMEOUT_S, Bridge, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticArray
from executive import attend_command
from node_processes import ending, running
from planner_msgs.msg import Evaluation, WorldState
from std_srvs.srv import Trigger

from planner.command_line import EXIT_CONFIGURATION
from planner.replay.bag import Bag
from planner.replay.judging import Judged, Request, judge
from planner.replay.live import live_verdicts
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode
from planner.world.state import UpdateDecoder
from planner.world.state import WorldState as WorldRecord
from planner.world.wire import state_update

GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "receptacles": ["table_1"]},
        }
    ]
}
# What rclpy and the shared names of ROS have outside every namespace.
SHARED = ("/rosout", "/parameter_events", "/diagnostics")


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


@pytest.fixture
def task(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    episode = small_episode.model_copy(update={"evaluation": GOAL})
    return write_world(tmp_path, small_house, episode)


def world(client: Client, namespace: str) -> WorldRecord:
    """The true world as it is now."""
    decoder = UpdateDecoder()

    def whole() -> WorldRecord | None:
        message = client.hear(WorldState, f"{namespace}/world/state", LATCHED)
        return decoder.decode(state_update(message)) if message.keyframe else None

    return client.wait(whole, f"{namespace}: a keyframe")


@pytest.mark.slow
def test_two_stacks_move_and_judge_their_own_worlds(
    client: Client, task: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        for name in ("/a", "/b"):
            folder = tmp_path / f"bag_{name[1:]}"
            stack.enter_context(running("recorder", namespace=name, folder=folder))
        for name in ("/a", "/b"):
            stack.enter_context(bridge(namespace=name, episode=task, rate=8.0, agents=1))
            stack.enter_context(running("evaluator", namespace=name, episode=task))
        judged = {n: client.listen(Evaluation, f"{n}/evaluation") for n in ("/a", "/b")}
        diagnostics = client.listen(DiagnosticArray, "/diagnostics")
        for heard in judged.values():
            client.wait(lambda heard=heard: heard, "the judge")

        start = world(client, "/a").entities
        for step, name in (("navigate", "cup_0"), ("pick", "cup_0"), ("navigate", "book_0")):
            done = client.do(step, start[name].box.center_m, agent="a/agent_0")
            assert done.code == PrimitiveCode.SUCCESS, (step, done.text)
        table = start["book_0"].box.center_m
        done = client.do("place", table, agent="a/agent_0", relation="on")
        assert done.code == PrimitiveCode.SUCCESS, done.text

        client.wait(lambda: judged["/a"][-1].percent_complete == 1.0, "success in /a")
        results = {n: client.listen(Evaluation, f"{n}/evaluation/result", LATCHED) for n in judged}
        answers = {n: client.call(Trigger, f"{n}/evaluation/finish") for n in ("/a", "/b")}
        assert answers["/a"].message.startswith("success")
        assert answers["/b"].message.startswith("failure  percent_complete: 0.00")

        # As `planner up` does: recorders end last, once the verdicts were diagnostics.
        client.wait(lambda: all(results.values()), "both verdicts")

        # Nothing of either stack lies outside its namespace, and each has its own time.
        names = [name for name, _ in client.node.get_topic_names_and_types()]
        assert [n for n in names if not n.startswith(("/a/", "/b/")) and n not in SHARED] == []
        assert {"/a/tf", "/b/tf", "/a/clock", "/b/clock"} <= set(names)
        services = [name for name, _ in client.node.get_service_names_and_types()]
        assert [n for n in services if not n.startswith(("/a/", "/b/", "/client/"))] == []
        statuses = {status.name for message in diagnostics for status in message.status}
        client.wait(
            lambda: (
                {"/a/bridge: world", "/b/bridge: world"}
                <= {status.name for message in diagnostics for status in message.status}
            ),
            f"both bridges' statuses; received: {statuses}",
        )
    # Bags hold the names without the namespace, so that all that reads bags finds them.
    for name, success in (("a", True), ("b", False)):
        bag = Bag(tmp_path / f"bag_{name}")
        assert not any(topic.startswith(("/a/", "/b/")) for topic in bag.topics)
        assert {"/world/state", "/evaluation/result", "/tf", "/clock"} <= set(bag.topics)
        assert [verdict.success for verdict in live_verdicts(bag)] == [success]
        (judged,) = judge(bag.folder, Request())
        assert isinstance(judged, Judged)
        assert judged.final, f"the bag lacks states: {judged.gaps}"
        assert judged.agrees, f"live: {judged.live}\nby the bag: {judged.verdict}"
        assert judged.verdict.success == success


def test_one_bridge_a_namespace(task: Path) -> None:
    with bridge(namespace="/a", episode=task):
        second = Bridge(namespace="/a", episode=task)
        with ending(second.process):
            assert second.process.wait(TIMEOUT_S) == EXIT_CONFIGURATION
        assert "another bridge runs in ROS domain" in second.log
        assert "namespace /a" in second.log


def test_a_command_reaches_the_stack_of_its_namespace(task: Path) -> None:
    with (
        bridge(namespace="/a", episode=task),
        attend_command("agent_0", "--namespace", "a") as command,
    ):
        assert command.stdout is not None
        lines = iter(command.stdout.readline, "")
        assert any(line == "agent_0: received by bridge\n" for line in lines)
        command.send_signal(signal.SIGINT)
        assert command.wait(TIMEOUT_S) == 0
