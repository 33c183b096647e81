"""Questions of the agent's runs are written in shards, each with its prompt as it was."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from papers.et_plan_bench import questions as et_plan_questions
from papers.et_plan_bench.questions import (
    MANIFEST,
    Gathered,
    Question,
    QuestionCounts,
    write_questions,
)
from planner.training.chat_tuning import read_chats
from planner.world.errors import FileError, PlannerError


def question(number: int, kind: str = "room ranking") -> Question:
    messages = (("system", "You know homes."), ("user", f"Where is thing {number}?"))
    return Question(kind, "et_train_0", f"task_{number}", messages, "['kitchen_0']")


def test_shards_hold_chats_and_the_manifest_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(et_plan_questions, "SHARD_SIZE", 2)
    gathered = Gathered(
        [question(1), question(2, "classification"), question(3)],
        Counter({"episodes that failed": 4}),
    )
    shards = write_questions(tmp_path / "questions", gathered, {"teacher": "nobody"})
    assert [path.name for path in shards] == ["questions_0000.jsonl", "questions_0001.jsonl"]
    chats = read_chats(shards)
    assert len(chats) == 3
    assert [turn.text for turn in chats[1].turns] == [
        "You know homes.",
        "Where is thing 2?",
        "['kitchen_0']",
    ]
    assert [turn.is_learned for turn in chats[1].turns] == [False, False, True]
    manifest = json.loads((tmp_path / "questions" / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["questions"] == 3
    assert manifest["kinds"] == {"classification": 1, "room ranking": 2}
    assert manifest["left_out"] == {"episodes that failed": 4}
    assert (manifest["teacher"], manifest["houses"]) == ("nobody", ["et_train_0"])
    for path, shard in zip(shards, manifest["shards"], strict=True):
        assert shard["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_writing_again_leaves_no_old_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(et_plan_questions, "SHARD_SIZE", 1)
    folder = tmp_path / "questions"
    write_questions(folder, Gathered([question(1), question(2)]), {})
    write_questions(folder, Gathered([question(3)]), {})
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "questions_0000.jsonl"]


def test_no_questions_are_one_error(tmp_path: Path) -> None:
    failed = Gathered([], Counter({"episodes that failed": 2}))
    with pytest.raises(PlannerError, match=r"no question to learn from .2 episodes"):
        write_questions(tmp_path / "questions", failed, {})
    assert str(QuestionCounts.of(Gathered([question(1)]))) == "1 room ranking"


def test_a_run_of_another_planner_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"rows\.jsonl"):
        et_plan_questions.questions_of(tmp_path)
