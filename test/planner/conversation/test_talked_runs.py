"""What is said in the middle of tasks that are carried out in the embedded simulator."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from talked_runs import Case, TalkedRun, read_cases

from planner.planning.session import Questions
from planner.world.topics import InstructionCode

CASES = read_cases(Path(__file__).parents[2] / "data" / "conversation" / "corrections.yaml")
TWO = {"red cup": "table_2", "blue cup": "counter_0"}


def test_there_are_forty_of_many_kinds() -> None:
    assert len(CASES) == 40
    assert len({case.kind for case in CASES}) >= 10


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{k}: {case.says[0][1]}", marks=[pytest.mark.slow] * (k % 5 > 0))
        for k, case in enumerate(CASES)
    ],
)
def test_what_is_said_in_a_task_holds_in_the_end(case: Case) -> None:
    run = TalkedRun(case)
    result = run.play()
    assert not run.unsaid
    assert not run.wrong(), "\n".join([*run.lines, *(reply.text for reply in run.replies)])
    assert result.outcome.code is InstructionCode.DONE
    assert result.verdict.success, result.verdict.explanation


def talked(*says: tuple[str, str], **holds: str) -> TalkedRun:
    named = {label.replace("_", " "): place for label, place in holds.items()}
    run = TalkedRun(Case("Put the red cup on the desk.", TWO, says, named))
    run.play()
    return run


def test_what_holds_the_wrong_thing_puts_it_back_where_it_was() -> None:
    run = talked(("did Pick", "no, the blue one"), red_cup="table_2", blue_cup="desk_0")
    assert not run.wrong(), run.lines


def test_a_question_about_the_task_disturbs_nothing() -> None:
    run = talked(
        ("begins Pick", "what are you doing?"), ("did Pick", "how long?"), red_cup="desk_0"
    )
    assert not run.wrong()
    doing, how_long = (reply.text for reply in run.replies)
    assert doing.startswith("agent_0 picks up cup_0. The task: Put the red cup on the desk")
    assert "none of 1 parts is done" in how_long
    assert not any("failed" in line for line in run.lines)


def test_of_two_who_contradict_each_other_the_last_word_counts() -> None:
    run = talked(
        ("begins Pick", "no, the blue one"),
        ("begins Pick", "no, the red one"),
        red_cup="desk_0",
        blue_cup="counter_0",
    )
    assert not run.wrong(), run.lines


def test_ten_corrections_in_a_row_end_as_the_last_one_says() -> None:
    colors = ["blue", "red"] * 5
    run = talked(
        *(("begins", f"no, the {color} one") for color in colors),
        red_cup="desk_0",
        blue_cup="counter_0",
    )
    assert len(run.replies) == 10
    assert not run.wrong(), run.lines


def test_a_correction_that_nobody_understands_stops_all_and_silence_goes_on_as_before() -> None:
    run = TalkedRun(
        Case("Put the red cup on the desk.", TWO, [("did Pick", "no, the flumbox")], {})
    )
    asked: list[str] = []

    def hear_nothing() -> None:
        talk = run.conversation.talk
        if talk.asks and len(asked) < 3:
            # All stand as long as the answer is waited for.
            asked.append(talk.asks)
            assert run.session.is_held
        elif talk.asks:
            assert talk.silence(talk.asks)

    run.meanwhile = hear_nothing
    result = run.play()
    assert asked
    assert asked[0] == 'What is meant by "no, the flumbox"?'
    assert result.outcome.code is InstructionCode.DONE
    assert run.conversation.talk.said[-1].text.startswith("Nobody answered; I go on as before")


def test_a_doubt_is_settled_by_an_answer() -> None:
    case = Case(
        "Put the red cup on the desk and the red bowl on the bed.",
        {**TWO, "red bowl": "table_2", "blue bowl": "counter_0"},
        [("begins Explore", "no, the blue one"), ("failed|did|begins", "the bowl")],
        {"blue bowl": "bed_0", "red cup": "desk_0", "red bowl": "table_2"},
    )
    run = TalkedRun(case)
    run.play()
    assert run.replies[0].question.startswith("Which is meant:")
    assert not run.wrong(), "\n".join(run.lines)


def test_stop_and_go_on_in_the_simulator() -> None:
    run = TalkedRun(
        Case("Put the red cup on the desk.", TWO, [("did Pick", "stop")], {"red cup": "desk_0"})
    )
    stood: list[float] = []

    def go_on_later() -> None:
        if run.session.is_held:
            stood.append(run.backend.now_s())
            if len(stood) > 30:
                run.replies.append(run.conversation.talk.hear("go on"))

    run.meanwhile = go_on_later
    result = run.play()
    assert result.outcome.code is InstructionCode.DONE
    assert not run.wrong()
    assert stood[-1] > stood[0]
    assert run.replies[-1].text.startswith("I go on")


def test_another_task_is_asked_about_and_does_not_disturb_this_one() -> None:
    run = talked(("begins Pick", "Put the blue cup on the bed."), red_cup="desk_0")
    (reply,) = run.replies
    assert reply.code is InstructionCode.QUESTION
    assert reply.question.endswith("afterwards, instead, or not at all?")
    assert not run.wrong()


def test_what_is_said_while_a_question_is_open_answers_it() -> None:
    case = Case(
        "Put the cup on the desk.",
        {"red cup": "table_2", "blue cup": "table_2"},
        [],
        {"blue cup": "desk_0", "red cup": "table_2"},
    )
    run = TalkedRun(case)
    asked: list[str] = []

    async def ask(question: str) -> str | None:
        asked.append(question)
        waits = asyncio.ensure_future(run.questions.ask(question, lambda _line: None))
        await asyncio.sleep(0)
        await run.conversation.hear("the blue one", (), run.replies.append)
        return await waits

    run.ask = ask
    run.questions = run.conversation._questions = Questions(5.0)
    result = run.play()
    assert asked
    assert result.outcome.code is InstructionCode.DONE
    assert not run.wrong(), run.lines
    assert run.replies[0].text == "The answer: the blue one"
