"""The same episode in one process and over ROS: the same calls, results and verdict."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from bridge_harness import Client, write_world
from household_kitchen import kitchen_episode, kitchen_house
from node_processes import running
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import Evaluation, SkillReport
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile

from planner.app.embedded_run import run_embedded
from planner.evaluation.perceived import verdict_steps
from planner.evaluation.progress import Verdict
from planner.planning.expert.expert import Expert
from planner.replay.judging import check_bag
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.skill import SkillName
from planner.world.topics import InstructionCode
from sim_bridge.embedded.backend import EmbeddedBackend

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
Trace = list[tuple[str, str, int, str]]


def over_ros(episode: str, agents: list[str], folder: Path) -> tuple[Trace, Evaluation]:
    """What the nodes did, and the judge's result, in lockstep (docs/bridge.md)."""
    with ExitStack() as stack:
        client = Client()
        stack.callback(client.close)
        reports = client.listen(SkillReport, "/skills/results", 100)
        verdicts = client.listen(Evaluation, "/evaluation/result", LATCHED)
        instruct = ActionClient(client.node, FollowInstruction, "/instruct")
        stack.enter_context(running("recorder", folder=folder / "bag", images="none"))
        stack.enter_context(running("bridge", episode=episode, time_mode="fast", idle_time="hold"))
        stack.enter_context(running("memory", episode=episode))
        stack.enter_context(running("skill_executor", episode=episode, use_sim_time=True))
        stack.enter_context(running("evaluator", episode=episode))
        stack.enter_context(running("task_planner", episode=episode))
        client.wait(instruct.server_is_ready, "/instruct")
        sent = instruct.send_goal_async(FollowInstruction.Goal(agents=agents))
        client.wait(sent.done, "acceptance")
        asked = sent.result().get_result_async()
        client.wait(asked.done, "the end of the instruction", 240.0)
        result = asked.result().result
        assert result.code == InstructionCode.DONE, result.text
        client.wait(lambda: verdicts, "the verdict")
        # Parts of Rearrange are reported besides the whole.
        whole = [r for r in reports if not r.part_of]
        return [(r.agent, r.call, int(r.code), r.text) for r in whole], verdicts[-1]


def in_process(name: str, agents: int) -> tuple[Trace, Verdict]:
    """What the same objects do in this process, by the episode's own seed."""
    episode, house = load_episode(name)
    backend = EmbeddedBackend()
    try:
        result = run_embedded(backend, house, episode, Expert, agents=agents)
    finally:
        backend.close()
    assert result.verdict.success
    trace = [
        (event.agent, str(event.call), int(event.result.code), event.result.text)
        for event in result.events
        if event.result is not None and event.call.name != SkillName.DONE
    ]
    return trace, result.verdict


def _is_judged_the_same(verdict: Evaluation, expected: Verdict, again: Verdict) -> None:
    assert verdict.status == Evaluation.SUCCEEDED
    assert verdict.percent_complete == pytest.approx(expected.percent_complete)
    before = [(p.text, p.satisfied) for p in expected.propositions]
    assert [(p.text, p.satisfied) for p in verdict.propositions] == before
    assert verdict_steps(verdict) == again.sim_steps


def _is_the_same(name: str, folder: Path, agents: int = 1) -> None:
    """Agents do an episode in this process and over ROS, call by call in the same order."""
    expected, judged = in_process(name, agents)
    assert len({agent for agent, *_ in expected}) == agents
    acting = [a.uid for a in load_episode(name)[0].agents[:agents]]
    trace, verdict = over_ros(name, acting, folder)
    assert trace == expected
    bag = check_bag(folder)
    assert bag.judged is not None, bag.text
    assert bag.agrees, bag.text
    _is_judged_the_same(verdict, judged, bag.judged.verdict)
    # Two agents over DDS are never quite in step.
    if agents == 1:
        assert verdict_steps(verdict) == judged.sim_steps


@pytest.mark.slow
def test_an_episode_is_done_the_same_with_and_without_ros(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    wanted = {"objects": ["cup_0"], "receptacles": ["table_1", "couch_0"]}
    goal = {"propositions": [{"function_name": "is_on_top", "args": wanted}]}
    # Its agents start where its seed says.
    agents = tuple(agent.model_copy(update={"start": None}) for agent in small_episode.agents)
    episode = small_episode.model_copy(update={"evaluation": goal, "agents": agents})
    _is_the_same(str(write_world(tmp_path, small_house, episode)), tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_shipped_episode_is_done_the_same_with_and_without_ros(tmp_path: Path) -> None:
    _is_the_same("desk_tidy_0", tmp_path)


@pytest.mark.slow
def test_two_agents_do_the_same_with_and_without_ros(tmp_path: Path) -> None:
    _is_the_same("desk_tidy_0", tmp_path, agents=2)


@pytest.mark.slow
def test_slices_are_the_same_with_and_without_ros(tmp_path: Path) -> None:
    # They exist neither at the start nor in the bag's first states.
    house = kitchen_house()
    slices = [f"tomato_slice_{k}" for k in range(4)]
    wanted = {"objects": slices, "receptacles": ["bowl_0"], "number": 2}
    goal = {"propositions": [{"function_name": "is_inside", "args": wanted}]}
    episode = kitchen_episode(house).model_copy(update={"evaluation": goal})
    _is_the_same(str(write_world(tmp_path, house, episode)), tmp_path)
