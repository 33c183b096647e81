"""Dialogue files: prompts come back whole, however little of them was kept."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import made_row

from planner.bench.runs.dialogues import (
    DialogueWriter,
    HeadLine,
    read_dialogue,
    recording_text,
)
from planner.models.chat import Message, Speaker, Timings, Usage, transcript
from planner.models.recorded import RecordedModel
from planner.models.trace import ModelCall
from planner.world.errors import FileError

HEAD = HeadLine(
    episode_id="fruit_0",
    seed=1,
    instruction="Bring fruit.",
    planner="partnr_react",
    model="tiny",
    agents=("agent_0", "agent_1"),
    axes=made_row("x").axes,
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
        prompt=transcript(messages),
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
        writer.turn(_call(messages, agents, grammar), messages, "stop", step, step / 30)
    path = tmp_path_factory.mktemp("dialogue") / "d.jsonl"
    path.write_text(writer.text(), encoding="utf-8")
    read = read_dialogue(path)
    assert read.head == HEAD
    assert [turn.messages for turn in read.turns] == [messages for messages, _, _ in turns]
    assert [turn.grammar for turn in read.turns] == [grammar for _, _, grammar in turns]
    assert [turn.line.step for turn in read.turns] == list(range(len(turns)))


def test_a_prompt_that_grows_is_kept_once() -> None:
    writer = DialogueWriter(HEAD)
    messages: tuple[Message, ...] = ()
    for number in range(20):
        messages = (*messages, Message(Speaker.USER, f"turn {number} " + "x" * 1000))
        writer.turn(_call(messages, ("agent_0",), "g"), messages, "stop", number, 0.0)
    assert writer.text().count("x" * 1000) == 20
    assert writer.text().count('"record":"grammar"') == 1


def test_a_dialogue_can_be_played_back(tmp_path: Path) -> None:
    writer = DialogueWriter(HEAD)
    asked = (Message(Speaker.USER, "What now?"),)
    writer.turn(_call(asked, ("agent_0",), "g"), asked, "stop", 0, 0.0)
    writer.failed(asked, "the server is down", 0, 0.0)
    path = tmp_path / "d.jsonl"
    path.write_text(writer.text(), encoding="utf-8")
    recording = tmp_path / "r.jsonl"
    recording.write_text(recording_text(read_dialogue(path)), encoding="utf-8")
    answer = asyncio.run(RecordedModel(recording).complete(asked))
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


def test_a_turn_cannot_go_on_from_one_that_is_not_there(tmp_path: Path) -> None:
    writer = DialogueWriter(HEAD)
    writer.turn(_call((), ("agent_0",), ""), (), "stop", 0, 0.0)
    text = writer.text().replace('"after":null', '"after":4')
    (tmp_path / "d.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"line 2.after: has not been said before it"):
        read_dialogue(tmp_path / "d.jsonl")
