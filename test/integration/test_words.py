"""Plain English over ROS: several instructions in one running stack, judged as understood."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from bridge_harness import Client
from node_processes import running
from planner_harness import LATCHED, Instructions
from planner_msgs.msg import Evaluation, InstructStatus
from std_msgs.msg import String

from planner.world.house_checks import load_house
from planner.world.topics import InstructionCode, InstructState

# Seconds of an instruction: beside other tests it takes a minute.
TIMEOUT_S = 240.0
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass
class Person:
    """Gives instructions and answers."""

    client: Client

    def say(self, text: str, answer: str = "") -> tuple[InstructionCode, str, list[str]]:
        """The result of an instruction, and the questions that were asked; each gets the answer."""
        client = self.client
        asked: list[str] = []
        publisher = client.node.create_publisher(String, "/instruct/answer", 10)
        instructions = Instructions(client)
        # What is asked before both sides have found each other would be missed, or its answer.
        statuses = client.listen(InstructStatus, "/instruct/status", LATCHED)
        client.wait(lambda: statuses, "the status of the task planner")
        client.wait(publisher.get_subscription_count, "somebody who listens to answers")
        handle = instructions.send(text)
        ended = handle.get_result_async()

        def is_over() -> bool:
            question = statuses[-1].question if statuses else ""
            is_waiting = question and statuses[-1].state == InstructState.WAITING
            if answer and is_waiting and question not in asked and not ended.done():
                asked.append(question)
                publisher.publish(String(data=answer))
            return bool(ended.done())

        try:
            client.wait(is_over, "the end of the instruction", limit=TIMEOUT_S)
        except AssertionError:
            # Or what is said next would be refused as BUSY.
            handle.cancel_goal_async()
            client.idle(5.0)
            raise
        result = ended.result().result
        return InstructionCode(result.code), result.text, asked


@pytest.fixture
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    # A house of one's own, which the evaluator is not told of.
    home = tmp_path_factory.mktemp("home") / "my_home.json"
    house = load_house("train_0").model_copy(update={"name": "my_home"})
    home.write_text(house.model_dump_json(by_alias=True), encoding="utf-8")
    with ExitStack() as nodes:
        bridge = running(
            "bridge",
            house=str(home),
            agents=2,
            time_mode="fast",
            idle_time="hold",
            cameras="hand",
            camera_hz=2.0,
        )
        nodes.enter_context(bridge)
        nodes.enter_context(running("memory", house=str(home)))
        nodes.enter_context(running("evaluator"))
        nodes.enter_context(running("skill_executor", use_sim_time=True, house=str(home)))
        nodes.enter_context(running("task_planner", planner="words", house=str(home)))
        client = Client()
        nodes.callback(client.close)
        yield Person(client)


@pytest.mark.parametrize(
    ("text", "answer", "questions"),
    [
        ("Put the candle on the desk.", "", 0),
        ("Bring the laptop to the kitchen table.", "the bedroom one", 1),
    ],
)
def test_an_instruction_is_carried_out_and_judged_as_understood(
    person: Person, text: str, answer: str, questions: int
) -> None:
    verdicts = person.client.listen(Evaluation, "/evaluation/result", 10)
    code, said, asked = person.say(text, answer)
    assert (code, len(asked)) == (InstructionCode.DONE, questions), said
    person.client.wait(lambda: verdicts, "the verdict")
    assert verdicts[-1].variant.endswith("as understood")
    assert verdicts[-1].status == Evaluation.SUCCEEDED, verdicts[-1].explanation


def test_nothing_is_done_for_what_is_not_understood(person: Person) -> None:
    code, said, _ = person.say("Put the flumbox on the table.")
    assert code is InstructionCode.NO_GOAL
    assert '"flumbox" is not understood' in said


def test_a_correction_a_question_and_a_task_for_afterwards(person: Person) -> None:
    client, instructions = person.client, Instructions(person.client)
    statuses = client.listen(InstructStatus, "/instruct/status", LATCHED)
    task = instructions.send("Put the candle on the desk.")
    client.wait(lambda: statuses and any(statuses[-1].calls), "the first call", TIMEOUT_S)
    doing = instructions.follow("What are you doing?")
    assert (doing.code, "The task: Put the candle" in doing.text) == (InstructionCode.DONE, True)
    changed = instructions.follow("No, on the bed.")
    assert changed.text == "Now: Put the candle on the bed."
    queued = instructions.send("Afterwards put the candle on the desk.")
    assert instructions.follow("Sing.").code == InstructionCode.BUSY
    result, _ = instructions.result(task, TIMEOUT_S)
    assert (result.code, result.text) == (InstructionCode.DONE, "done: put the candle on the bed")
    result, _ = instructions.result(queued, TIMEOUT_S)
    assert (result.code, result.text) == (InstructionCode.DONE, "done: put the candle on the desk")
    # What was done last is known by the next.
    code, said, _ = person.say("Put it back.")
    assert code is InstructionCode.DONE, said
    client.wait(lambda: '"is_on_top"' in statuses[-1].goal, "the goal in names")
    assert "bed_0" in statuses[-1].goal


def test_instead_ends_one_and_begins_another_and_a_doubt_is_asked(person: Person) -> None:
    instructions = Instructions(person.client)
    statuses = person.client.listen(InstructStatus, "/instruct/status", LATCHED)
    task = instructions.send("Put the candle on the desk.")
    person.client.wait(lambda: statuses and any(statuses[-1].calls), "the first call", TIMEOUT_S)
    other = instructions.follow("Go to the kitchen.")
    assert (other.code, other.question[-35:]) == (
        InstructionCode.QUESTION,
        "afterwards, instead, or not at all?",
    )
    instead = instructions.send("Go to the kitchen.", dialogue=[other.question, "instead"])
    result, _ = instructions.result(task, TIMEOUT_S)
    assert result.code == InstructionCode.CANCELED
    assert result.text.startswith("replaced by: Go to the kitchen")
    assert instructions.result(instead, TIMEOUT_S)[0].code == InstructionCode.DONE
