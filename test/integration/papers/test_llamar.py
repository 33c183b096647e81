"""LLaMAR over ROS: two agents in joint steps, with camera pictures, status and trace."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import llamar_scripts
import pytest
from bridge_harness import Client, write_world
from node_processes import running
from planner_harness import Instructions, script
from planner_msgs.msg import Evaluation, InstructStatus, PlannerTrace, SkillReport, WorldGraph
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from papers.llamar.coela import SEND
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.topics import InstructionCode

GOAL = {
    "function_name": "is_on_top",
    "args": {"objects": ["cup_0"], "receptacles": ["couch_0"]},
}
STEPS = (
    ("NavigateTo(Cup_1)", "Rotate(Left)"),
    ("Pickup(Cup_1)", "stay idle"),
    ("NavigateTo(Couch_1)", "go to the couch"),
)
ALL = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.mark.slow
def test_a_team_works_in_joint_steps_over_ros(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    robot, person = small_episode.agents
    facing = robot.model_copy(update={"start": (2.2, 1.9, math.pi / 2)})
    episode = small_episode.model_copy(
        update={"evaluation": {"propositions": [GOAL]}, "agents": (facing, person)}
    )
    path = write_world(tmp_path, small_house, episode)
    said = llamar_scripts.replies("llamar", STEPS)
    # The Verifier's last reply: all that is open is done, whatever the evaluator thinks.
    said[-1] = json.dumps({"reason": "r", "completed subtasks": [llamar_scripts.SUBTASK]})
    client = Client()
    try:
        with (
            running("bridge", backend="embedded", episode=path, time_mode="fast", idle_time="hold"),
            running("memory", episode=path),
            running("skill_executor", episode=path, use_sim_time=True),
            running(
                "task_planner",
                episode=path,
                planner="llamar",
                model=script(tmp_path / "said.txt", *said),
                camera_pictures=True,
            ),
        ):
            traces = client.listen(PlannerTrace, "/planner/trace", 100)
            statuses = client.listen(InstructStatus, "/instruct/status", ALL)
            reports = client.listen(SkillReport, "/skills/results", 100)
            graphs = client.listen(WorldGraph, "/world_graph", ALL)
            client.wait(lambda: any("cup_0" in str(g.nodes) for g in graphs), "the cup")
            result = Instructions(client).follow(agents=["agent_0", "agent_1"])
            client.wait(lambda: len(traces) == 12, "all calls of the model")
    finally:
        client.close()
    assert (result.code, result.text) == (InstructionCode.DONE, "no subtask is open")
    # Every role's calls, in order, and what both agents did in each step.
    roles = ["planner", "actor", "corrector", "verifier"]
    assert [trace.role for trace in traces] == roles * 3
    acting = [list(trace.calls) for trace in traces if trace.role == "actor"]
    assert acting == [
        ["NavigateTo[cup_0]", "Rotate[Left]"],
        ["PickupObject[cup_0]", "Wait[]"],
        ["NavigateTo[couch_0]", "NavigateTo[couch_0]"],
    ]
    assert len(reports) == 6
    # A step begins when the one before has ended for both.
    for step in range(3):
        assert {report.agent for report in reports[2 * step : 2 * step + 2]} == {
            "agent_0",
            "agent_1",
        }
    # Pictures of both cameras after the agents have moved.
    assert len(re.findall(r"\[picture \w+\]", traces[-1].prompt)) == 2
    # The subtasks as they change.
    told = [{item.key: item.value for item in status.evidence} for status in statuses]
    subtasks = [
        (json.loads(each["open_subtasks"]), json.loads(each["completed_subtasks"]))
        for each in told
        if "open_subtasks" in each
    ]
    assert subtasks[0] == ([llamar_scripts.SUBTASK], [])
    assert subtasks[-1] == ([], [llamar_scripts.SUBTASK])
    assert {each["team_memory"] for each in told if "team_memory" in each} == {
        "memory 0",
        "memory 1",
        "memory 2",
    }


def test_agents_talk_over_their_topics(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    path = write_world(
        tmp_path,
        small_house,
        small_episode.model_copy(update={"evaluation": {"propositions": [GOAL]}}),
    )
    silent = json.dumps({"message": None})
    said = [json.dumps({"message": "The cup is mine."}), silent]
    said += [choice(SEND), choice("rotate in Left direction")]
    # In the second step all have heard it; then both are done.
    said += [silent, silent, choice("Done"), choice("Done")]
    client = Client()
    try:
        with (
            running("bridge", backend="embedded", episode=path, time_mode="fast", idle_time="hold"),
            running("memory", episode=path),
            running("skill_executor", episode=path, use_sim_time=True),
            running(
                "task_planner",
                episode=path,
                planner="llamar_coela",
                model=script(tmp_path / "said.txt", *said),
            ),
        ):
            traces = client.listen(PlannerTrace, "/planner/trace", 100)
            heard = client.listen(String, "/agent_0/says", 100)
            graphs = client.listen(WorldGraph, "/world_graph", ALL)
            client.wait(lambda: any("agent_1" in str(g.nodes) for g in graphs), "the agents")
            client.wait(
                lambda: client.node.count_publishers("/agent_1/says") == 1, "the agents' topics"
            )
            result = Instructions(client).follow(agents=["agent_0", "agent_1"])
            client.wait(lambda: len(traces) == 8 and heard, "all calls and the message")
    finally:
        client.close()
    assert result.code == InstructionCode.DONE
    assert [message.data for message in heard] == ["The cup is mine."]
    assert [(trace.role, list(trace.agents)) for trace in traces[4:]] == [
        ("messenger", ["agent_0"]),
        ("messenger", ["agent_1"]),
        ("planner", ["agent_0"]),
        ("planner", ["agent_1"]),
    ]
    told = 'Messages: ["step 1, Alice: The cup is mine."]'
    assert [told in trace.prompt for trace in traces] == [False] * 4 + [True] * 4


def choice(words: str) -> str:
    return json.dumps({"reason": "r", "choice": words})


@pytest.mark.slow
def test_a_privileged_model_does_the_episodes_task_over_ros(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    episode = small_episode.model_copy(update={"evaluation": {"propositions": [GOAL]}})
    path = write_world(tmp_path, small_house, episode)
    client = Client()
    try:
        with (
            running("bridge", backend="graph", episode=path, time_mode="fast", idle_time="hold"),
            running("memory", episode=path),
            running("skill_executor", episode=path, use_sim_time=True),
            running("evaluator", episode=path),
            running("task_planner", episode=path, planner="llamar", model="teacher"),
        ):
            judged = client.listen(Evaluation, "/evaluation")
            result = Instructions(client).follow(agents=["agent_0", "agent_1"])
            client.wait(lambda: judged and judged[-1].percent_complete == 1.0, "the verdict")
    finally:
        client.close()
    assert (result.code, result.text) == (InstructionCode.DONE, "no subtask is open")
    evidence = {item.key: item.value for item in result.evidence}
    assert evidence["privilege"] == "goal"
    assert evidence["privileged_model"].startswith("teacher (reads the goal")
    assert evidence["model_faults"] == "{}"
