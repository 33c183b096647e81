"""The task-planner node among the real nodes, and alone with a body and a memory made up here."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from bridge_harness import Client, write_world
from nav_msgs.msg import Odometry
from planner_harness import (
    LATCHED,
    Instructions,
    Process,
    Start,
    belief_of_house,
    planner_alone,
    script,
)
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import Evaluation, InstructStatus, PlannerTrace, WorldGraph, WorldInfo
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from unique_identifier_msgs.msg import UUID

from planner.ros.conversions import time_message
from planner.ros.memory_messages import GraphMessages
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds
from planner.world.topics import InstructionCode

GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": [name], "receptacles": ["table_1", "couch_0"]},
        }
        for name in ("cup_0", "apple_0")
    ]
}


EVERYTHING = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Moves:
    """When in simulated time an agent last moved or turned."""

    def __init__(self, client: Client) -> None:
        self.now_s = self.last_s = 0.0
        for agent in ("agent_0", "agent_1"):
            topic = f"/{agent}/odometry"
            client.node.create_subscription(Odometry, topic, self._note, 10)

    def _note(self, message: Odometry) -> None:
        stamp = message.header.stamp
        self.now_s = max(self.now_s, stamp.sec + stamp.nanosec * 1e-9)
        twist = message.twist.twist
        if abs(twist.linear.x) + abs(twist.angular.z) > 1e-6:
            self.last_s = self.now_s


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


Stack = dict[str, Process]


@pytest.fixture
def stack(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> Iterator[Callable[..., Stack]]:
    running: Stack = {}

    def start(time_mode: str = "fast", **planner: object) -> Stack:
        # Time that races stands while nobody acts, or it would take the processor from the rest.
        idle_time = "hold" if time_mode == "fast" else "run"
        episode = small_episode.model_copy(update={"evaluation": GOAL})
        path = write_world(tmp_path, small_house, episode)
        # Pictures are what costs most here, and four a second are enough to find two things.
        running["bridge"] = Process(
            "bridge", episode=path, time_mode=time_mode, idle_time=idle_time, camera_hz=4.0
        )
        running["memory"] = Process("memory", episode=path, store=tmp_path / "memory")
        running["skills"] = Process("skill_executor", episode=path, use_sim_time=True)
        running["evaluator"] = Process("evaluator", episode=path)
        running["planner"] = Process("task_planner", episode=path, **planner)
        return running

    yield start
    for process in running.values():
        if process.process.poll() is None:
            process.process.send_signal(signal.SIGINT)
    for process in running.values():
        try:
            process.process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def test_a_task_from_words_to_verdict(stack: Callable[..., Stack], client: Client) -> None:
    nodes = stack()
    traces = client.listen(PlannerTrace, "/planner/trace", 100)
    verdicts = client.listen(Evaluation, "/evaluation/result", LATCHED)
    statuses = client.listen(InstructStatus, "/instruct/status", EVERYTHING)
    instructions = Instructions(client)
    client.wait(lambda: statuses, "the status before anything is asked")
    assert statuses[0].state == InstructStatus.IDLE
    handle = instructions.send("Bring the cup to the living room.")
    result, status = instructions.result(handle)
    assert result.code == InstructionCode.DONE, nodes["planner"].log
    assert status == GoalStatus.STATUS_SUCCEEDED
    client.wait(lambda: verdicts, "the verdict")
    assert verdicts[0].status == Evaluation.SUCCEEDED
    client.wait(lambda: statuses[-1].state == InstructStatus.DONE, "the status of the end")
    assert {status.state for status in statuses[1:-1]} == {InstructStatus.RUNNING}
    assert {status.id for status in statuses[1:]} == {bytes(handle.goal_id.uuid).hex()}
    assert all(json.loads(status.goal) == GOAL for status in statuses[1:])
    stamps = [stamp_seconds(status.header.stamp) for status in statuses]
    assert stamps == sorted(stamps)
    assert 0 < stamps[-1] < 10_000
    assert any("Pick" in call for status in statuses for call in status.calls)
    last = statuses[-1]
    assert (last.text, last.house, last.episode_id) == (result.text, "small", "small")
    assert list(last.agents) == ["agent_0", "agent_1"]
    assert last.evidence == result.evidence
    cycles = [feedback.cycle for feedback in instructions.feedback]
    assert cycles == sorted(cycles)
    assert any("Pick" in call for feedback in instructions.feedback for call in feedback.calls)
    assert {trace.model for trace in traces} == {""}
    assert {trace.role for trace in traces} == {"planner"}
    for word in ("begins Pick", "did Place", "judged: success", "DONE"):
        # The planner hears the judge, and this test the planner, a little later than itself.
        client.wait(lambda w=word: w in nodes["planner"].log, word)
    assert nodes["planner"].stop() == 0


def test_one_instruction_at_a_time_and_cancel_stops_within_a_second(
    stack: Callable[..., Stack], client: Client
) -> None:
    stack("paced")
    instructions = Instructions(client)
    first = instructions.send()
    client.wait(lambda: instructions.feedback, "the first call")
    refused = instructions.follow("Something else.")
    assert refused.code == InstructionCode.BUSY
    assert "another instruction" in refused.text
    standing = client.hear(InstructStatus, "/instruct/status", LATCHED)
    assert standing.id == bytes(first.goal_id.uuid).hex()
    assert (standing.state, standing.code) == (InstructStatus.RUNNING, 0)
    moved = Moves(client)
    client.wait(lambda: moved.last_s > 0.0, "an agent that moves")
    asked = first.cancel_goal_async()
    canceled_s = moved.now_s
    result, status = instructions.result(first)
    client.wait(asked.done, "the cancel's answer")
    assert status == GoalStatus.STATUS_CANCELED
    assert result.code == InstructionCode.CANCELED
    standing = client.hear(InstructStatus, "/instruct/status", LATCHED)
    assert (standing.state, standing.code) == (InstructStatus.CANCELED, result.code)
    client.wait(lambda: moved.now_s > canceled_s + 3.0, "three simulated seconds")
    assert moved.last_s - canceled_s < 1.0
    # And the next one begins; test_a_killed_planner_stops_its_agents_and_can_be_asked_again
    # follows one that comes after another to its end.
    instructions.feedback.clear()
    following = instructions.send()
    client.wait(lambda: instructions.feedback, "the next one's first call")
    client.wait(following.cancel_goal_async().done, "the cancel's answer")
    assert instructions.result(following)[0].code == InstructionCode.CANCELED


def test_stop_is_heard_during_a_task_and_go_on_goes_on(
    stack: Callable[..., Stack], client: Client
) -> None:
    nodes = stack("paced")
    statuses = client.listen(InstructStatus, "/instruct/status", EVERYTHING)
    instructions = Instructions(client)
    assert instructions.follow("Stop!").code == InstructionCode.NO_GOAL
    task = instructions.send()
    moved = Moves(client)
    client.wait(lambda: moved.last_s > 0.0, "an agent that moves")
    stop = instructions.follow("Wait a minute, please!")
    stood_s = moved.now_s
    assert (stop.code, stop.text[:16]) == (InstructionCode.DONE, "All agents stand")
    client.wait(lambda: moved.now_s > stood_s + 3.0, "three simulated seconds")
    # Also by the text topic; once more is once more.
    mouth = client.node.create_publisher(String, "/instruct/answer", 10)
    client.wait(mouth.get_subscription_count, "who hears answers")
    mouth.publish(String(data="stop"))
    client.wait(lambda: len(said_in(statuses[-1])) == 4, "the second stop")
    # The reply comes once they stand; what was measured before may come after it.
    assert moved.last_s < stood_s + 0.5
    assert statuses[-1].state == InstructStatus.RUNNING
    assert [one["who"] for one in said_in(statuses[-1])] == ["person", "robot"] * 2
    on = instructions.follow("OK, go on.")
    assert (on.code, on.text[:10]) == (InstructionCode.DONE, "I go on wi"), nodes["planner"].log
    went_on_s = moved.now_s
    client.wait(lambda: moved.last_s > went_on_s, "an agent that moves again")
    # test_talked_runs.py follows one that goes on to its end.
    client.wait(task.cancel_goal_async().done, "the cancel's answer")
    assert instructions.result(task)[0].code == InstructionCode.CANCELED, nodes["planner"].log
    assert statuses[-1].id == bytes(task.goal_id.uuid).hex()


def said_in(status: InstructStatus) -> list[dict[str, str]]:
    found = {item.key: item.value for item in status.evidence}.get("conversation", "[]")
    return list(json.loads(found))


# test_faults.py kills the memory in each phase.
@pytest.mark.slow
@pytest.mark.parametrize("victim", ["skills", "memory"])
def test_a_killed_node_comes_back_and_the_task_continues(
    stack: Callable[..., Stack], client: Client, victim: str
) -> None:
    nodes = stack("paced")
    instructions = Instructions(client)
    handle = instructions.send()
    client.wait(lambda: any("Pick" in c for f in instructions.feedback for c in f.calls), "a pick")
    nodes[victim].kill()
    client.idle(1.0)
    nodes[victim].start()
    try:
        result, _ = instructions.result(handle)
    except AssertionError:
        raise AssertionError("".join(node.log for node in nodes.values())) from None
    assert result.code == InstructionCode.DONE, nodes["planner"].log


# That a dead caller stops its agents is in test_skills.py at every change.
@pytest.mark.slow
def test_a_killed_planner_stops_its_agents_and_can_be_asked_again(
    stack: Callable[..., Stack], client: Client
) -> None:
    nodes = stack("paced")
    instructions = Instructions(client)
    instructions.send()
    client.wait(lambda: instructions.feedback, "the first call")
    client.idle(1.0)
    nodes["planner"].kill()
    client.idle(2.0)
    still = client.state()
    client.idle(1.0)
    later = client.state()
    for name in ("agent_0", "agent_1"):
        assert later.entities[name].pose == still.entities[name].pose
    nodes["planner"].start()
    again = Instructions(client)
    assert again.follow().code == InstructionCode.DONE


# ---- alone, with a memory and a body made up here -----------------------------------------


@pytest.fixture
def alone(tmp_path: Path, small_house: House, client: Client) -> Iterator[Start]:
    with planner_alone(tmp_path, small_house, client) as start:
        yield start


def test_one_instruction_after_another_becomes_a_skill_call(
    alone: Start, client: Client, tmp_path: Path
) -> None:
    count = 5
    replies = ["Navigate[Object.100]\nAssigned!", "Done[]\nAssigned!"] * count
    _, begun = alone(planner="react", model=script(tmp_path / "script", *replies))
    instructions = Instructions(client)
    for _ in range(count):
        result = instructions.follow("Go to the table.", agents=["agent_0"])
        assert result.code == InstructionCode.DONE
    assert len(begun) >= count


@pytest.mark.needs("papers")
def test_partnrs_planner_names_things_and_tells_its_cell(
    alone: Start, client: Client, tmp_path: Path
) -> None:
    replies = ["Thought: I go there.\nNavigate[table_0]\nAssigned!", "Thought: done\nDone[]"]
    _, begun = alone(
        planner="partnr_react", control="single", model=script(tmp_path / "script", *replies)
    )
    traces = client.listen(PlannerTrace, "/planner/trace", 100)
    result = Instructions(client).follow("Go to the table.", agents=["agent_0"])
    assert result.code == InstructionCode.DONE
    assert [call for _, call in begun] == ["Navigate[table_0]"]
    client.wait(lambda: len(traces) == 2, "the traces")
    parameters = {item.key: item.value for item in traces[1].parameters}
    assert (parameters["control"], parameters["memory_source"]) == ("single", "summary")
    assert "cup_0: table_0 in" in traces[1].prompt


def test_a_question_is_answered_over_its_topic_or_left_after_the_limit(
    alone: Start, client: Client, tmp_path: Path
) -> None:
    replies = ["Ask[which table]", "Ask[and which cup]", "Done[]"]
    node, _ = alone(
        planner="react",
        model=script(tmp_path / "script", *replies),
        max_questions=2,
        answer_wait=3.0,
    )
    answers = client.node.create_publisher(String, "/instruct/answer", 10)
    traces = client.listen(PlannerTrace, "/planner/trace", 100)
    instructions = Instructions(client)
    statuses = client.listen(InstructStatus, "/instruct/status", EVERYTHING)
    handle = instructions.send("Go to the table.", agents=["agent_0"])
    client.wait(
        lambda: any(f.plan == "question: which table" for f in instructions.feedback), "a question"
    )
    client.wait(lambda: answers.get_subscription_count() > 0, "the planner's subscription")
    answers.publish(String(data="the round one"))
    result, _ = instructions.result(handle)
    assert result.code == InstructionCode.DONE, node.log
    client.wait(lambda: len(traces) == 3, "the traces")
    assert "the round one" in traces[1].prompt
    assert "No answer came." in traces[2].prompt
    evidence = {item.key: item.value for item in result.evidence}
    client.wait(lambda: statuses[-1].state == InstructStatus.DONE, "the status of the end")
    waited = [s.question for s in statuses if s.state == InstructStatus.WAITING]
    assert list(dict.fromkeys(waited)) == ["which table", "and which cup"]
    dialogue = ["which table", "the round one", "and which cup", ""]
    assert list(statuses[-1].dialogue) == dialogue
    assert (statuses[-1].planner, statuses[-1].model) == ("react", "scripted")
    assert evidence["questions"] == "2"
    assert evidence["model_calls"] == "3"
    assert evidence["memory_source"] == "deltas"


def test_traces_of_a_dialogue(alone: Start, client: Client, tmp_path: Path) -> None:
    replies = ["Navigate[Object.100]", "nonsense", "Done[]"]
    alone(planner="react", model=script(tmp_path / "script", *replies))
    traces = client.listen(PlannerTrace, "/planner/trace", 100)
    result = Instructions(client).follow("Go to the table.")
    assert result.code == InstructionCode.DONE
    client.wait(lambda: len(traces) == 3, "traces")
    assert [list(trace.calls) for trace in traces] == [["Navigate[Object.100]"], [""], ["Done[]"]]
    assert traces[1].error
    assert "Task: Go to the table." in traces[0].prompt
    assert traces[1].prompt.startswith(traces[0].prompt)
    assert traces[0].grammar.startswith("root ::=")


UNFOLLOWABLE = [
    ("", {}, InstructionCode.BAD_REQUEST, "empty"),
    ("x" * 100_000, {}, InstructionCode.BAD_REQUEST, "characters"),
    ("Tidy up.", {"dialogue": ["x"] * 101}, InstructionCode.BAD_REQUEST, "dialogue: 101 items"),
    ("Tidy up.", {"max_calls": 2**32 - 1}, InstructionCode.BAD_REQUEST, "max_calls"),
    ("Tidy up.", {"agents": ["agent_9"]}, InstructionCode.BAD_REQUEST, "agent_9"),
    ("Please gronk the plates.", {}, InstructionCode.NO_GOAL, "gronk"),
    ("Put the bathtub in the teacup.", {}, InstructionCode.BAD_REQUEST, "not possible"),
    ("请整理厨房; rm -rf / $(reboot)", {}, InstructionCode.NO_GOAL, "nothing was done"),
]


def test_what_cannot_be_followed_ends_with_a_code_and_a_sentence(
    alone: Start, client: Client
) -> None:
    _, begun = alone()
    instructions = Instructions(client)
    for instruction, fields, code, word in UNFOLLOWABLE:
        result = instructions.follow(instruction, **fields)
        assert result.code == code, result.text
        assert word in result.text
        assert not begun
    late = client.call(
        FollowInstruction.Impl.GetResultService,
        "/instruct/_action/get_result",
        goal_id=UUID(uuid=[7] * 16),
    )
    assert late.status == GoalStatus.STATUS_UNKNOWN
    assert late.result.code == InstructionCode.PLANNER_FAULT


def test_a_world_that_begins_again_ends_the_instruction(
    alone: Start, client: Client, tmp_path: Path
) -> None:
    alone(
        planner="react",
        model=script(tmp_path / "script", "Ask[which table]"),
        max_questions=1,
        answer_wait=60.0,
    )
    clock = client.node.create_publisher(Clock, "/clock", 10)
    client.wait(lambda: clock.get_subscription_count() > 0, "the planner's subscription")
    for _ in range(20):
        # The planner asks for no more than the newest time, and may miss one.
        clock.publish(Clock(clock=time_message(100.0)))
        client.idle(0.1)
    instructions = Instructions(client)
    handle = instructions.send("Go to the table.", agents=["agent_0"])
    client.wait(
        lambda: any(f.plan == "question: which table" for f in instructions.feedback), "a question"
    )
    clock.publish(Clock(clock=time_message(0.0)))
    result, _ = instructions.result(handle)
    assert result.code == InstructionCode.WORLD_LOST
    assert "went from 100.0 s back to 0.0 s" in result.text


def test_react_without_a_model_says_what_it_needs(alone: Start, client: Client) -> None:
    alone(planner="react")
    result = Instructions(client).follow("Tidy up.")
    assert result.code == InstructionCode.NO_GOAL
    assert "model_url" in result.text


def test_a_memory_that_never_comes(alone: Start, client: Client) -> None:
    process, _ = alone(memory=False, wait=1.0)
    result = Instructions(client).follow("Tidy up.")
    assert result.code == InstructionCode.NOT_READY
    assert "waiting for the memory" in process.log


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"planner": "magic"}, "magic"),
        ({"episode": "nowhere_0"}, "nowhere_0"),
        ({"model_url": "http://127.0.0.1:9/v1"}, "model"),
        ({"model": "scripted:/nowhere"}, "cannot be read"),
    ],
)
def test_wrong_parameters_end_the_node_with_status_78(
    parameters: dict[str, object], word: str
) -> None:
    process = Process("task_planner", **parameters)
    assert process.process.wait(60) == 78
    assert word in process.log
    assert len([line for line in process.log.splitlines() if line.startswith("error:")]) == 1


def test_an_instruction_is_for_all_agents_of_the_world_however_late_the_memory_knows_them(
    alone: Start, client: Client, small_house: House, tmp_path: Path
) -> None:
    infos = client.node.create_publisher(WorldInfo, "/world/info", LATCHED)
    graphs = client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
    infos.publish(WorldInfo(layout=small_house.name, agents=["agent_0", "agent_1"]))
    replies = script(tmp_path / "script", *["Done[]\nAssigned!"] * 2)
    alone(planner="react", model=replies)
    statuses = client.listen(InstructStatus, "/instruct/status", EVERYTHING)
    instructions = Instructions(client)
    for publisher in (infos, graphs):
        client.wait(publisher.get_subscription_count, f"a subscriber of {publisher.topic_name}")
    # A match is no delivery yet.
    client.idle(0.5)
    handle = instructions.send("Go to the table.")
    client.wait(lambda: any(s.state == InstructStatus.RUNNING for s in statuses), "the start")
    belief = belief_of_house(small_house)
    second = replace(belief.nodes["agent_0"], name="agent_1")
    nodes = {**belief.nodes, "agent_1": second}
    graphs.publish(GraphMessages().message(replace(belief, nodes=nodes, sequence=2)))
    instructions.result(handle)
    assert list(statuses[-1].agents) == ["agent_0", "agent_1"]
