"""A run of real nodes, recorded, then put through the same memory, planner and judge again."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import LATCHED, Client, write_world
from node_processes import running
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import Evaluation
from rclpy.action import ActionClient

from planner.replay.bag import Bag
from planner.replay.replay_cli import run_through
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.topics import InstructionCode

GOAL = {
    "propositions": [
        {"function_name": "is_on_top", "args": {"objects": ["cup_0"], "receptacles": ["table_1"]}}
    ]
}


@pytest.fixture
def bag(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Path:
    """A cup is brought to another table, with every picture as it was published."""
    folder = tmp_path_factory.mktemp("recorded")
    asked = small_episode.model_copy(
        update={"evaluation": GOAL, "agents": small_episode.agents[:1]}
    )
    episode = str(write_world(folder, small_house, asked))
    with ExitStack() as stack:
        client = Client()
        stack.callback(client.close)
        verdicts = client.listen(Evaluation, "/evaluation/result", LATCHED)
        instruct = ActionClient(client.node, FollowInstruction, "/instruct")
        stack.enter_context(running("recorder", folder=folder / "bag", images="raw"))
        stack.enter_context(running("bridge", episode=episode, time_mode="fast", idle_time="hold"))
        stack.enter_context(running("memory", episode=episode))
        stack.enter_context(running("skill_executor", episode=episode, use_sim_time=True))
        stack.enter_context(running("evaluator", episode=episode))
        stack.enter_context(running("task_planner", episode=episode))
        client.wait(instruct.server_is_ready, "/instruct")
        sent = instruct.send_goal_async(FollowInstruction.Goal())
        client.wait(sent.done, "acceptance")
        asked_for = sent.result().get_result_async()
        client.wait(asked_for.done, "the end of the instruction", 240.0)
        result = asked_for.result().result
        assert result.code == InstructionCode.DONE, result.text
        client.wait(lambda: verdicts, "the verdict")
    assert not Bag(folder / "bag").cut_short
    return folder / "bag"


def through(bag: Path, output: Path, *words: str) -> dict[str, Any]:
    args = Namespace(bag=bag, through=list(words), output=output, start=0.0, duration=None)
    assert run_through(args) == 0
    found: dict[str, Any] = json.loads((output / "summary.json").read_text())
    return found


# One test, so that a repeat of it records anew: a run that a busy machine held up is none that a
# repeat can use.
@pytest.mark.slow
def test_the_same_judge_planner_and_memory_come_to_the_same(bag: Path, tmp_path: Path) -> None:
    (run,) = through(bag, tmp_path / "judge", "evaluator")["runs"]
    assert (run["error"], run["steps_that_differ"], run["verdicts_agree"]) == ("", 0, True)
    assert run["verdict"]["success"] is True

    (work,) = through(bag, tmp_path / "planner", "planner:=expert")["instructions"]
    assert work["decisions"] == work["decisions_the_same"] >= 4
    assert work["lost_results"] == 0

    (world,) = through(bag, tmp_path / "memory", "memory:=privileged")["worlds"]
    assert world["at_the_end"]["replayed"] == world["at_the_end"]["live"]
    assert world["at_the_end"]["live"]["recall"] == 1.0
    last = json.loads((tmp_path / "memory" / "differences.jsonl").read_text().splitlines()[-1])
    assert last["different"] == 0
