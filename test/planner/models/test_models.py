"""Scripted and recorded models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from planner.bringup_arguments import ARGUMENTS
from planner.models.chat import Completion, Message, ModelError, Request, Speaker
from planner.models.model_choice import ModelChoice, make_model
from planner.models.recorded import RecordedModel, RecordingModel
from planner.models.teacher import ScriptedModel
from planner.planning.part import PLANNERS, PlannerChoice, make_planner, needs_model
from planner.planning.planner import Task
from planner.world.errors import FileError, PlannerError

HELLO = (Message(Speaker.SYSTEM, "be short"), Message(Speaker.USER, "hello"))
BYE = (*HELLO, Message(Speaker.ASSISTANT, "hi"), Message(Speaker.USER, "bye"))


def ask(model: ScriptedModel | RecordedModel | RecordingModel, *messages: Message) -> Completion:
    return asyncio.run(
        model.complete(Request(messages, stop=("Assigned!",), grammar="root ::= [a-z]*"))
    )


def record(path: Path) -> None:
    model = RecordingModel(ScriptedModel(["hi\nAssigned!", "bye"]), path)
    ask(model, *HELLO)
    ask(model, *BYE)


def test_a_script_is_cut_at_stop_strings_and_ends() -> None:
    model = ScriptedModel(["one\nAssigned! two"])
    assert ask(model, *HELLO).text == "one\n"
    with pytest.raises(ModelError, match="the script has 1 replies, not 2"):
        ask(model, *HELLO)


def test_a_recording_answers_the_same(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    record(path)
    model = RecordedModel(path)
    assert model.name == "scripted"
    assert ask(model, *HELLO).text == "hi\n"
    assert ask(model, *BYE).text == "bye"
    with pytest.raises(ModelError, match="has 2 calls and was asked for more"):
        ask(model, *BYE)


def test_the_first_different_prompt_fails_with_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    record(path)
    model = RecordedModel(path)
    with pytest.raises(ModelError) as caught:
        ask(model, HELLO[0], Message(Speaker.USER, "good morning"))
    text = str(caught.value)
    assert "call 1 is not what was recorded" in text
    assert "-hello" in text
    assert "+good morning" in text


def test_what_a_killed_recorder_wrote_is_there(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    model = RecordingModel(ScriptedModel(["hi", "bye"]), path)
    ask(model, *HELLO)
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "is empty"),
        ("nonsense\n", "line 1"),
        ('{"version": 2, "model": "m"}\n', "line 1.version"),
        ('{"version": 1, "model": "m"}\n{"messages": []}\n', "line 2.reply"),
        ('{"version": 1, "model": "m"}\n{"reply', "line 2"),
    ],
)
def test_a_broken_recording_names_the_line(tmp_path: Path, text: str, where: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(text)
    with pytest.raises(FileError, match=where):
        RecordedModel(path)


def test_models_by_name(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text("Navigate[Object.100]\nAssigned!\n\nDone[]\nAssigned!\n")
    model = make_model(ModelChoice(f"scripted:{script}", record=str(tmp_path / "out.jsonl")))
    assert model is not None
    assert asyncio.run(model.complete(Request(HELLO))).text.startswith("Navigate")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"version": 1, "model": "scripted"}
    assert make_model(ModelChoice()) is None
    server = make_model(ModelChoice("tiny", "http://127.0.0.1:1/v1"))
    assert server is not None
    assert server.name == "tiny"


@pytest.mark.parametrize(
    ("model", "url", "words"),
    [
        ("", "http://127.0.0.1:1/v1", "model names no model"),
        ("tiny", "", "model_url names no server"),
        ("tiny", "127.0.0.1", "does not begin with http"),
        ("scripted:/nowhere", "", "cannot be read"),
        ("recorded:/nowhere", "", "cannot be read"),
    ],
)
def test_parameters_that_do_not_fit_are_reported(model: str, url: str, words: str) -> None:
    with pytest.raises(PlannerError, match=words):
        make_model(ModelChoice(model, url))


@pytest.mark.parametrize("name", [n for n, p in PLANNERS.usable().items() if p.needs.model])
def test_a_planner_without_its_model_names_the_parameters(name: str) -> None:
    with pytest.raises(PlannerError) as caught:
        make_planner(PlannerChoice(name), Task("Tidy.", ("agent_0",)), None)
    assert str(caught.value) == needs_model(name)
    assert "model_url" in needs_model(name)


def test_an_unknown_planner_is_reported() -> None:
    with pytest.raises(PlannerError, match="there is no planner 'x'"):
        make_planner(PlannerChoice("x"), Task("Tidy.", ("agent_0",)), None)


def test_the_bring_up_knows_every_planner() -> None:
    (choices,) = (each.choices for each in ARGUMENTS if each.name == "planner")
    assert choices == ("none", "tour", *PLANNERS.names())
