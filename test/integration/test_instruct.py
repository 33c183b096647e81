"""`planner instruct` and the narrator with an instruction in words, beside a real task planner."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import TIMEOUT_S, Client
from planner_harness import Process, Start, script
from planner_msgs.msg import Evaluation, PropositionState

from planner.ros import qos
from planner.world import topics
from planner.world.topics import InstructionCode

GO, DONE = "Navigate[Object.100]\nAssigned!", "Done[]\nAssigned!"


class Instruct:
    """`planner instruct` in a process of its own, as a user's shell starts it."""

    def __init__(self, *words: str, stdin: int = subprocess.DEVNULL) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", "instruct", *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._data = b""

    def read(self) -> str:
        assert self.process.stdout is not None
        self._data += self.process.stdout.read() or b""
        return self.said

    @property
    def said(self) -> str:
        return self._data.decode(errors="replace")

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.said.splitlines() if line.startswith("{")]


@pytest.fixture
def instruct(client: Client) -> Iterator[Callable[..., Instruct]]:
    made: list[Instruct] = []

    def start(*words: str, stdin: int = subprocess.DEVNULL) -> Instruct:
        made.append(Instruct(*words, stdin=stdin))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()


def ended(client: Client, one: Instruct) -> int:
    """Its status; the nodes of this process, which are the body, go on meanwhile."""

    def is_over() -> bool:
        one.read()
        return one.process.poll() is not None

    client.wait(is_over, "the end of planner instruct")
    one.read()
    return int(one.process.returncode)


def says(client: Client, one: Instruct, words: str) -> None:
    client.wait(lambda: words in one.read(), f"{words!r} of planner instruct")


def test_the_story_is_told_and_a_question_answered(
    alone: Start, client: Client, instruct: Callable[..., Instruct], tmp_path: Path
) -> None:
    model = script(tmp_path / "script", "Ask[which table]", GO, DONE)
    alone(planner="react", model=model, max_questions=1, answer_wait=60.0)
    one = instruct("Go to the table.", "--answer", "the round one", "--json")
    assert ended(client, one) == 0, one.said
    kinds = [event["kind"] for event in one.events]
    assert kinds.index("question") < kinds.index("answer") < kinds.index("begins")
    (begun,) = (event for event in one.events if event["kind"] == "begins")
    assert (begun["agent"], begun["call"]) == ("agent_0", "Navigate[Object.100]")
    last = one.events[-1]
    assert (last["kind"], last["name"], last["exit_status"]) == ("end", "DONE", 0)
    assert last["evidence"]["questions"] == "1"


@pytest.mark.slow
def test_one_at_a_time_and_ctrl_c_cancels(
    alone: Start, client: Client, instruct: Callable[..., Instruct], tmp_path: Path
) -> None:
    model = script(tmp_path / "script", "Ask[which table]", "Ask[which table]", DONE)
    alone(planner="react", model=model, max_questions=2, answer_wait=60.0)
    first = instruct("Go to the table.")
    says(client, first, "question: which table")
    assert "all --answer are used up" in first.said
    second = instruct("Sing.", "--quiet")
    assert ended(client, second) == 1
    assert second.said.startswith("BUSY: another instruction is being followed")
    assert second.said.count("\n") == 1
    first.process.send_signal(signal.SIGINT)
    assert ended(client, first) == 130, first.said
    assert "interrupted: canceling" in first.said
    assert first.said.splitlines()[-1].startswith("CANCELED: ")
    # The next one is followed, until its time is over.
    third = instruct("Go to the table.", "--timeout", "1")
    assert ended(client, third) == 1, third.said
    assert third.said.splitlines()[-1].startswith("CANCELED: ")


@pytest.mark.slow
def test_an_answer_from_another_terminal(
    alone: Start, client: Client, instruct: Callable[..., Instruct], tmp_path: Path
) -> None:
    model = script(tmp_path / "script", "Ask[which table]", DONE)
    node, _ = alone(planner="react", model=model, max_questions=1, answer_wait=600.0)
    one = instruct("Go to the table.")
    says(client, one, "question: which table")
    answer = subprocess.run(
        [sys.executable, "-m", "planner.cli", "answer", "the round one"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (0, "answer: the round one\n"), answer.stderr
    assert ended(client, one) == 0, one.said + node.log


@pytest.mark.slow
def test_without_a_task_planner_an_answer_is_an_error(client: Client) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "planner.cli", "answer", "yes", "--wait", "0.5"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: no task planner answered within 0.5 s")


@pytest.mark.slow
def test_a_person_at_the_terminal_answers(
    alone: Start, client: Client, instruct: Callable[..., Instruct], tmp_path: Path
) -> None:
    model = script(tmp_path / "script", "Ask[which table]", DONE)
    node, _ = alone(planner="react", model=model, max_questions=1, answer_wait=60.0)
    ours, theirs = pty.openpty()
    one = instruct("Go to the table.", stdin=theirs)
    says(client, one, "question: which table")
    os.write(ours, "the round one \u001b[2J\n".encode())
    assert ended(client, one) == 0, one.said + node.log
    assert "answer: the round one" in one.said
    assert "\u001b" not in one.said
    os.close(ours)
    os.close(theirs)


def test_an_absent_node_is_reported_in_one_line(
    client: Client, instruct: Callable[..., Instruct]
) -> None:
    one = instruct("Sing.", "--wait", "0.5")
    assert ended(client, one) == 2
    domain = os.environ["ROS_DOMAIN_ID"]
    assert re.fullmatch(
        rf"error: no task planner answered within 0.5 s in ROS domain {domain} \(ROS_DOMAIN_ID\), "
        r"searched on this machine \(PLANNER_NETWORK=loopback\); .*\n",
        one.said,
    )


@pytest.mark.slow
def test_an_agent_that_is_not_there_is_refused_by_the_planner(
    alone: Start, client: Client, instruct: Callable[..., Instruct]
) -> None:
    alone()
    one = instruct("Sing.", "--agents", "agent_7", "--json")
    assert ended(client, one) == 1
    assert one.events[-1]["code"] == InstructionCode.BAD_REQUEST
    assert "agent_7" in one.events[-1]["text"]


def test_what_was_understood_is_said_before_anything_is_done(
    alone: Start, client: Client, instruct: Callable[..., Instruct]
) -> None:
    alone(planner="expert")
    one = instruct("Put the cup on the table.", "--json")
    says(client, one, '"understood"')
    one.process.send_signal(signal.SIGINT)
    ended(client, one)
    kinds = [event["kind"] for event in one.events]
    assert kinds.index("state") < kinds.index("understood") < kinds.index("end")
    (event,) = (event for event in one.events if event["kind"] == "understood")
    assert event["requests"] == ["put the cup on the table"]


@pytest.mark.parametrize(
    ("planner", "words", "status"),
    [
        ("react", "Go to the table.", 0),
        pytest.param("expert", "Gronk the table.", 1, marks=pytest.mark.slow),
    ],
)
def test_the_narrator_ends_without_a_verdict_where_there_is_no_goal(
    alone: Start, client: Client, tmp_path: Path, planner: str, words: str, status: int
) -> None:
    model = {"model": script(tmp_path / "script", GO, DONE)} if planner == "react" else {}
    alone(planner=planner, **model)
    house = tmp_path / "small.json"
    narrator = Process("narrator", instruction=words, house=house, record=tmp_path / "out")
    deadline = time.monotonic() + TIMEOUT_S
    client.wait(lambda: narrator.process.poll() is not None or time.monotonic() > deadline)
    assert narrator.process.wait(1) == status, narrator.log
    last = narrator.log.splitlines()[-1]
    outcome = "DONE" if status == 0 else "NO_GOAL"
    assert last.startswith(f"verdict: none (no goal to judge by)  planner: {outcome}: ")
    assert last.endswith(f"picture: {tmp_path / 'out' / 'run.png'}")
    assert ("begins  Navigate[Object.100]" in narrator.log) == (status == 0)
    assert status == 0 or '"Gronk" is not understood' in last


@pytest.mark.slow
def test_a_simulated_person_answers_from_the_evaluators_progress(
    alone: Start, client: Client, instruct: Callable[..., Instruct], tmp_path: Path
) -> None:
    """HELPER-D83."""
    model = script(tmp_path / "script", "Ask[is it right]", DONE)
    alone(planner="react", model=model, max_questions=1, answer_wait=60.0, episode="night_light_0")
    progress = Evaluation(propositions=[PropositionState(satisfied=n > 0) for n in range(4)])
    publisher = client.node.create_publisher(Evaluation, topics.EVALUATION, qos.STATE)
    one = instruct("", "--simulated-person", "--json")

    def is_over() -> bool:
        publisher.publish(progress)
        one.read()
        return one.process.poll() is not None

    client.wait(is_over, "the end of planner instruct")
    one.read()
    (answer,) = (event for event in one.events if event["kind"] == "answer")
    assert answer["answer"] == (
        'The subtask "make the floor lamp powered off" failed: '
        "the floor lamp should be powered off."
    )
