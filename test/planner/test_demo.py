"""The demo's last line: the live verdict and that of the bag."""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest

from planner import demo
from planner.bringup import NodeSpec
from planner.demo import PROMPT, TYPING_WAIT_S, LastLine, TypedAnswers, is_instruction
from planner.narrator.story import question_line
from planner.planning.understanding import Understood, understand
from planner.world.errors import PlannerError
from planner.world.share import config_dir

WORDS = 'Put the "cup" on the table; it\'s $5 & `id`'
MAKEFILE = Path(__file__).parents[2] / "Makefile"


def test_the_default_task_is_understood_as_a_whole() -> None:
    document = json.loads((config_dir() / "episodes/train/demo_dinner.json").read_text())
    understood = understand(document["instruction"], ())
    assert isinstance(understood, Understood)
    # Two plates, the bowl washed and brought, the candle, and then the lamp.
    assert [len(step) for step in understood.goal.steps] == [2, 2, 1]


@pytest.mark.parametrize("name", ["demo_dinner", "a/b-c.json", "~/x.json", "../x", ""])
def test_a_name_or_a_path_is_no_instruction(name: str) -> None:
    assert not is_instruction(name)


@pytest.mark.parametrize("words", [WORDS, "Tidy up", "请整理厨房", "x" * 10_000 + "!"])
def test_other_words_are_an_instruction(words: str) -> None:
    assert is_instruction(words)


def test_a_file_is_an_episode_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "my task.json"
    file.write_text("{}")
    assert not is_instruction(str(file))


def started(
    words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, NodeSpec]:
    """The nodes that `planner demo` would start, by name."""
    found: dict[str, NodeSpec] = {}

    def note(specs: Sequence[NodeSpec], *_: object, **__: object) -> int:
        found.update({spec.name: spec for spec in specs})
        return 0

    monkeypatch.setattr(demo, "run_nodes", note)
    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    assert demo.run(parser.parse_args([*words, "-o", str(tmp_path)])) == 0
    return found


def test_an_instruction_is_given_in_a_house(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ["--planner", "react", "--model", "m", "--model-url", "http://127.0.0.1:1/v1"]
    nodes = started([WORDS, *model, "--house", "train_3"], monkeypatch, tmp_path)
    assert (nodes["bridge"].parameters["house"], nodes["bridge"].parameters["episode"]) == (
        "train_3",
        "",
    )
    told = nodes["narrator"].parameters
    assert (told["instruction"], told["house"], told["episode"]) == (WORDS, "train_3", "")
    planner = nodes["task_planner"].parameters
    assert (planner["model"], planner["model_url"]) == ("m", "http://127.0.0.1:1/v1")
    assert planner["model_deadline"] == 60.0
    assert "note: " not in capsys.readouterr().out


def test_by_default_words_and_pictures_are_all_that_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = started([], monkeypatch, tmp_path)
    assert nodes["task_planner"].parameters["planner"] == "words"
    assert nodes["memory"].parameters["updater"] == "learned"
    assert "demo_dinner, words with learned: words and pictures only;" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--planner", "expert"], "the planner expert reads the task's goal;"),
        (["--memory", "privileged"], "the memory privileged reads the true world;"),
        (
            ["--planner", "expert", "--memory", "auto"],
            "the planner expert reads the task's goal and the memory auto reads the true world;",
        ),
    ],
)
def test_what_is_known_beside_words_and_pictures_is_said_in_the_first_line(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    said: str,
) -> None:
    started(given, monkeypatch, tmp_path)
    assert f"demo: demo_dinner, {said}" in capsys.readouterr().out


def test_a_slow_model_and_its_adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = ["--planner", "react", "--model", "smollm2", "--adapter", "react"]
    nodes = started([WORDS, *model, "--model-deadline", "300"], monkeypatch, tmp_path)
    planner = nodes["task_planner"].parameters
    assert (planner["model_deadline"], planner["adapter"]) == (300.0, "react")


def test_words_get_a_robot_and_a_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for given, agents in (([], 2), (["--agents", "1"], 1)):
        nodes = started(["Tidy up.", *given], monkeypatch, tmp_path)
        assert nodes["bridge"].parameters["agents"] == agents


def test_without_pictures_nobody_but_the_memory_watches_the_cameras(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nodes = started(["Tidy up.", "--no-pictures"], monkeypatch, tmp_path)
    assert nodes["recorder"].parameters["images"] == "none"
    assert nodes["narrator"].parameters["pictures"] is False
    usual = started(["Tidy up."], monkeypatch, tmp_path)
    assert "pictures" not in usual["narrator"].parameters
    with pytest.raises(PlannerError, match="--no-pictures contradicts --record-full"):
        started(["Tidy up.", "--no-pictures", "--record-full"], monkeypatch, tmp_path)


def test_answers_are_given_in_turn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = ["--answer", "the kitchen", "--answer", "both"]
    nodes = started(["Tidy up.", *answers], monkeypatch, tmp_path)
    assert nodes["narrator"].parameters["answers"] == "the kitchen;both"


@pytest.mark.parametrize(("is_terminal", "wait_s"), [(True, TYPING_WAIT_S), (False, None)])
def test_on_a_terminal_there_is_time_to_type_an_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_terminal: bool, wait_s: float | None
) -> None:
    terminal = StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdin", terminal)
    nodes = started(["Tidy up."], monkeypatch, tmp_path)
    assert nodes["task_planner"].parameters.get("answer_wait") == wait_s


def test_one_task_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="expected one task"):
        started(["Tidy up.", "--task", "demo_dinner"], monkeypatch, tmp_path)


def test_make_hands_the_words_on_as_they_were_typed(
    tmp_path: Path, outside_make: dict[str, str]
) -> None:
    """The recipe of `make demo`, with a `planner` that prints what it is given."""
    fake = tmp_path / "planner"
    fake.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    fake.chmod(0o755)
    given = [f"TASK={WORDS}", f"ANSWER={WORDS}"]
    made = subprocess.run(
        ["make", "-f", str(MAKEFILE), "-o", "setup", "demo", *given, f"BIN={tmp_path}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=outside_make,
    )
    assert made.stdout.endswith(f"<demo><--task={WORDS}><--answer={WORDS}>")


def test_a_run_that_nothing_judges_ends_with_what_its_planner_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, said = LastLine(), "verdict: none (no goal to judge by)  planner: DONE: done"
    assert line.take("narrator", said)
    assert line.finish(tmp_path, 0) == 0
    assert capsys.readouterr().out == f"{said}\n"


def test_a_bag_that_contradicts_the_live_verdict_fails_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = LastLine()
    assert line.take("narrator", "verdict: success  percent_complete: 1.00  sim_steps: 10")
    assert not line.take("narrator", "00:01  agent_0  did     Pick[cup_0]")
    # There is no bag at all.
    assert line.finish(tmp_path, 0) == 1
    assert capsys.readouterr().out == (
        f"verdict: success  bag verdict: none: {tmp_path}: has no bag and no state log  "
        "percent_complete: 1.00  sim_steps: 10\n"
    )


WAIT_S = 10.0
WHICH = question_line(4.0, "Which sink: the one in the kitchen or the one in the bathroom?")


class Terminal:
    """A pipe in place of a terminal, what is shown on it, and what was sent."""

    def __init__(self, given: int = 0) -> None:
        read, self._keys = os.pipe()
        self.screen = StringIO()
        self.sent: queue.Queue[str] = queue.Queue()
        self.answers = TypedAnswers(os.fdopen(read), self.screen, given, self.sent.put)

    def type(self, text: str) -> None:
        os.write(self._keys, text.encode())


def test_a_typed_line_answers_the_question() -> None:
    terminal = Terminal()
    terminal.answers.take("narrator", WHICH)
    assert terminal.screen.getvalue() == f"{PROMPT}\n"
    terminal.type("the kitchen one\n")
    assert terminal.sent.get(timeout=WAIT_S) == "the kitchen one"
    terminal.answers.take("narrator", question_line(9.0, "Which table?"))
    terminal.type("\nthe round one\n")
    assert terminal.sent.get(timeout=WAIT_S) == "the round one"


def test_what_was_answered_beforehand_is_not_asked_for() -> None:
    terminal = Terminal(given=1)
    terminal.answers.take("narrator", WHICH)
    assert not terminal.screen.getvalue()
    terminal.answers.take("narrator", WHICH)
    terminal.type("both\n")
    assert terminal.sent.get(timeout=WAIT_S) == "both"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("narrator", "00:04  plan:    question: Which sink?"),
        ("task_planner", WHICH),
        ("narrator", "00:05  agent_0  did     Pick[cup_0]"),
    ],
)
def test_other_lines_ask_nothing(name: str, text: str) -> None:
    terminal = Terminal()
    terminal.answers.take(name, text)
    assert not terminal.screen.getvalue()
