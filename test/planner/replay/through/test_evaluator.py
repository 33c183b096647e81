"""The judge again: where it says the same, and where a live judge said otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.world.errors import FileError

Through = Callable[..., Path]


def summary(folder: Path) -> dict:
    (run,) = json.loads((folder / "summary.json").read_text())["runs"]
    return run


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "differences.jsonl").read_text().splitlines()]


@pytest.fixture
def judged(film, messages, monkeypatch) -> Callable[..., Path]:
    """A bag with a judgement of each state; changes are made to that of one step."""
    monkeypatch.setattr(
        "planner.replay.through.recorded.task_of", lambda *_: (film.episode, film.house)
    )

    def make(name: str = "bag", at: int = -1, **changes: object) -> Path:
        judge = Evaluator(read_evaluation(film.episode.evaluation, "e"), film.house, film.states[0])
        told = [("/world/state", messages.world(film.states[0]))]
        for number, state in enumerate(film.states[1:]):
            judge.update(state)
            progress = replace(judge.result(), sim_steps=state.step, episode_id=state.episode_id)
            given = {"status": 0, **(changes if number == at else {})}
            told.append(("/world/state", messages.world(state)))
            told.append(("/evaluation", messages.verdict(progress, state.stamp_s, **given)))
        verdict = messages.verdict(film.verdict(), 9.0)
        film.states = film.states[:1]
        return film.bag(name, *told[1:], ("/evaluation/result", verdict), live=False)

    return make


def test_the_judge_says_again_what_it_said(film, judged, through: Through) -> None:
    film.solved()
    found = summary(through(judged(), "evaluator"))
    assert (found["steps"], found["steps_that_differ"], found["error"]) == (3, 0, "")
    assert (found["first_different_step"], found["verdicts_agree"]) == (None, True)
    assert found["verdict"]["success"] is True


def test_the_first_step_that_differs_is_named(
    film, judged, through: Through, capsys: pytest.CaptureFixture[str]
) -> None:
    film.solved()
    folder = through(judged(at=0, percent_complete=0.25), "evaluator")
    found = summary(folder)
    assert (found["steps_that_differ"], found["first_different_step"]) == (1, 10)
    assert [record["different"] for record in records(folder)] == [
        ["complete 0.500 and not 0.250"],
        [],
        [],
    ]
    said = capsys.readouterr().out
    assert "step 10  complete 0.500 and not 0.250" in said
    assert "judgements: 3, of which 1 differ, first at step 10" in said


@pytest.mark.needs("papers")
def test_other_rules_are_compared_too(film, judged, through: Through) -> None:
    film.put("apple_0", 0.2).put("cup_0", -0.2)
    bag = judged()
    assert summary(through(bag, "evaluator"))["verdict"]["success"] is False
    other = summary(through(bag, "evaluator", "scoring:=compat", name="other"))
    assert other["mode"] == "partnr_v0"
    assert other["live_verdict"]["mode"] == "strict"


def test_a_bag_without_judgements_is_judged(film, judged, through: Through) -> None:
    film.solved()
    film.bag("plain", live=False)
    found = summary(through(film.folder / "plain", "evaluator"))
    assert (found["steps"], found["verdicts_agree"]) == (0, None)
    assert found["verdict"]["success"] is True
    del judged


def test_a_bag_that_was_cut_short_is_judged_as_far_as_it_goes(
    film, judged, through: Through, capsys: pytest.CaptureFixture[str]
) -> None:
    film.put("cup_0", -0.2)
    bag = film.bag("cut", live=False, close=False)
    found = summary(through(bag, "evaluator"))
    assert found["verdict"]["percent_complete"] == 0.5
    assert "was cut short" in capsys.readouterr().out
    del judged


def test_a_bag_without_states_is_refused(film, messages, through: Through) -> None:
    film.states = []
    told = [("/skills/results", messages.skill("agent_0", "Wait[]", 1.0))]
    with pytest.raises(FileError, match="nothing is judged"):
        through(film.bag("b", *told, live=False), "evaluator")
