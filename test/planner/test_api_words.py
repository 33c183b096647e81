"""Plain English in shipped houses, in this process, judged as it was understood."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import planner
from planner.api import Run
from planner.cli import main
from planner.world.topics import InstructionCode


def follow(house: str, text: str, answers: Sequence[str | None] = ()) -> tuple[Run, list[str]]:
    """A run and the questions that were asked; there is no answer where none is left."""
    asked: list[str] = []

    async def ask(question: str) -> str | None:
        asked.append(question)
        return answers[len(asked) - 1] if len(asked) <= len(answers) else None

    return planner.run(house, instruction=text, ask=ask), asked


@pytest.mark.parametrize(
    ("house", "text", "answers"),
    [
        ("train_0", "Put the candle on the desk, then turn off the radio.", []),
        ("train_0", "Bring the laptop to the kitchen table.", ["the one in the bedroom"]),
        ("heldout_0", "Clear the couch.", []),
        pytest.param(
            "train_0",
            "Put everything that is on the kitchen table in the fridge.",
            [],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "train_0", "Wash the bowl and put it on the counter.", [], marks=pytest.mark.slow
        ),
    ],
)
def test_it_is_done_and_right(house: str, text: str, answers: list[str]) -> None:
    run, asked = follow(house, text, answers)
    assert run.result.outcome.code is InstructionCode.DONE, run.result.outcome.text
    assert run.verdict.understood
    assert run.verdict.success, run.verdict.explanation
    assert len(asked) == len(answers)


@pytest.mark.slow
def test_the_answer_decides_what_is_right() -> None:
    done = {
        answer: follow("train_0", "Bring the laptop to the kitchen table.", [answer])[0]
        for answer in ("the one in the bedroom", "the one in the living room")
    }
    picked = [
        {str(e.call) for e in run.result.events if str(e.call).startswith("Pick")}
        for run in done.values()
    ]
    assert picked == [{"Pick[laptop_1]"}, {"Pick[laptop_0]"}]
    assert all(run.verdict.success for run in done.values())


def test_without_an_answer_the_verdict_is_a_failure_and_the_question_is_the_result() -> None:
    run, asked = follow("train_0", "Bring the laptop to the kitchen table.")
    assert run.result.outcome.code is InstructionCode.QUESTION
    assert run.result.outcome.question == asked[0]
    assert not run.verdict.success


def test_nothing_is_judged_where_nothing_was_understood() -> None:
    run, _ = follow("train_0", "Put the flumbox on the table.")
    assert run.result.outcome.code is InstructionCode.NO_GOAL
    assert run.result.events == ()
    assert "understood" in run.verdict.explanation


@pytest.mark.slow
def test_the_command_takes_words_and_answers(
    capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    words = [
        "--instruction",
        "Bring the laptop to the kitchen table.",
        "--answer",
        "the bedroom one",
    ]
    folder = str(tmp_path_factory.mktemp("run"))
    assert main(["run", "train_0", *words, "--no-images", "-o", folder]) == 0
    said = capsys.readouterr().out
    assert "question: Which laptop" in said
    assert "verdict: success (as understood)" in said
