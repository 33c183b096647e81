"""Dialogue files: prompts come back whole, however little of them was kept."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.models.caller import ModelCall
from planner.models.chat import Message, Picture, Request, Role, Speaker, Timings, Usage
from planner.models.recorded import DialogueWriter, HeadLine, RecordedModel, read_dialogue
from planner.world.errors import FileError

HEAD = HeadLine(
    episode_id="fruit_0",
    seed=1,
    instruction="Bring fruit.",
    planner="partnr_react",
    model="tiny",
    agents=("agent_0", "agent_1"),
    axes={"control": "single"},
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(Speaker), st.text(max_size=5)), max_size=4
).map(tuple)
TURNS = st.lists(
    st.tuples(MESSAGES, st.sampled_from([("agent_0",), ("agent_1",)]), st.sampled_from(["", "g"])),
    max_size=6,
)


def _call(messages: tuple[Message, ...], agents: tuple[str, ...], grammar: str) -> ModelCall:
    return ModelCall(
        planner="partnr_react",
        model="tiny",
        agents=agents,
        cycle=1,
        messages=messages,
        grammar=grammar,
        reply="Done[]",
        calls=("Done[]",),
        usage=Usage(7, 3, 2),
        timings=Timings(),
        parameters={"grammar_hash": "abc", "exact": "true"},
    )


@settings(max_examples=60, deadline=None)
@given(turns=TURNS)
def test_prompts_come_back_whole(
    tmp_path_factory: pytest.TempPathFactory,
    turns: list[tuple[tuple[Message, ...], tuple[str, ...], str]],
) -> None:
    writer = DialogueWriter(HEAD)
    for step, (messages, agents, grammar) in enumerate(turns):
        writer.add(_call(messages, agents, grammar), step, step / 30)
    path = tmp_path_factory.mktemp("dialogue") / "d.jsonl"
    path.write_text(writer.text(), encoding="utf-8")
    read = read_dialogue(path)
    assert read.head == HEAD
    said = [tuple(Message(m.speaker, m.text) for m in turn.messages) for turn in read.turns]
    assert said == [messages for messages, _, _ in turns]
    assert [turn.grammar for turn in read.turns] == [grammar for _, _, grammar in turns]
    assert [turn.line.step for turn in read.turns] == list(range(len(turns)))


def test_a_prompt_that_grows_is_kept_once() -> None:
    writer = DialogueWriter(HEAD)
    messages: tuple[Message, ...] = ()
    for number in range(20):
        messages = (*messages, Message(Speaker.USER, f"turn {number} " + "x" * 1000))
        writer.add(_call(messages, ("agent_0",), "g"), number, 0.0)
    assert writer.text().count("x" * 1000) == 20
    assert writer.text().count('"record":"grammar"') == 1


def test_a_dialogue_can_be_played_back(tmp_path: Path) -> None:
    writer = DialogueWriter(HEAD)
    asked = (Message(Speaker.USER, "What now?"),)
    writer.add(_call(asked, ("agent_0",), "g"), 0, 0.0)
    failed = replace(_call(asked, ("agent_0",), "g"), answered=False, error="the server is down")
    writer.add(failed, 0, 0.0)
    path = tmp_path / "e-1.dialogue.jsonl"
    path.write_text(writer.text(), encoding="utf-8")
    answer = asyncio.run(RecordedModel(path).complete(Request(asked)))
    assert (answer.text, answer.usage) == ("Done[]", Usage(7, 3, 2))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"record": "grammar", "hash": "x", "text": ""}, "line 1: comes before the head"),
        ({"record": "nothing"}, "line 1"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, line: dict[str, str], words: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(FileError, match=words):
        read_dialogue(path)


def test_a_turn_cannot_continue_from_one_that_is_not_there(tmp_path: Path) -> None:
    writer = DialogueWriter(HEAD)
    writer.add(_call((), ("agent_0",), ""), 0, 0.0)
    text = writer.text().replace('"after":null', '"after":4')
    (tmp_path / "d.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"line 2.after: has not been said before it"):
        read_dialogue(tmp_path / "d.jsonl")


def test_each_role_has_a_dialogue_of_its_own_and_files_of_before_mean_the_planner(
    tmp_path: Path,
) -> None:
    writer = DialogueWriter(HEAD)
    first = (Message(Speaker.USER, "What now?"),)
    picture = Picture(b"png")
    look = (Message(Speaker.USER, "What is there?", (picture,)),)
    writer.add(_call(first, ("agent_0",), ""), 0, 0.0)
    writer.add(replace(_call(look, ("agent_0",), ""), role=Role.MEMORY), 1, 0.0)
    path = tmp_path / "d.jsonl"
    path.write_text(writer.text(), encoding="utf-8")
    planner, memory = read_dialogue(path).turns
    assert (planner.line.role, memory.line.role) == (Role.PLANNER, Role.MEMORY)
    assert memory.messages[0].pictures == (picture.digest,)
    before = writer.text().replace(',"role":"planner"', "").replace(',"pictures":[]', "")
    assert "role" not in before.splitlines()[1]
    path.write_text(before, encoding="utf-8")
    assert read_dialogue(path).turns[0].line.role is Role.PLANNER
