"""Instructions with goals, in wordings that the rules need not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli import main
from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.planning.understanding import GoalReply, accounts_for, short_question
from planner.training.chat_tuning import read_chats
from planner.training.sentences import Paraphraser, Sentence, read_by_rules

EVERYDAY = Path(__file__).parents[2] / "data" / "everyday"


@pytest.fixture(scope="module")
def drawn() -> list[Sentence]:
    paraphraser = Paraphraser(1)
    return [paraphraser.draw() for _ in range(150)]


def test_most_have_a_goal_and_some_ask_for_nothing(drawn: list[Sentence]) -> None:
    without = [s for s in drawn if s.goal is None]
    assert 0 < len(without) < len(drawn) / 3
    assert not any(isinstance(interpret(s.text), Goal) for s in without if "?" not in s.text)


def test_the_rules_do_not_know_many_of_the_wordings(drawn: list[Sentence]) -> None:
    found = [(interpret(s.text), s.goal) for s in drawn if s.goal is not None]
    known = [same_meaning(goal, meant) for goal, meant in found if isinstance(goal, Goal)]
    assert len(known) < 0.7 * len(found)
    # Where they know them, they nearly always agree with the plain wording.
    assert sum(known) > 0.8 * len(known)


def test_each_seed_has_its_own_sentences(drawn: list[Sentence]) -> None:
    again, other = Paraphraser(1), Paraphraser(2)
    assert [again.draw() for _ in range(5)] == drawn[:5]
    assert [other.draw() for _ in range(5)] != drawn[:5]


def test_what_the_rules_do_not_read_teaches_nothing() -> None:
    (read,) = read_by_rules(["Put the zorblax on the bed.", "Put the cup on the bed."])
    assert read.text == "Put the cup on the bed."


def test_the_command_writes_chats_to_tune_a_model_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, file = tmp_path / "lines.txt", tmp_path / "sentences.jsonl"
    lines.write_text("Put the cup on the bed.\n\nHello.\n")
    words = ["train", "sentences", str(file), "--annotated", str(EVERYDAY / "blind_10.yaml")]
    assert main([*words, "--sentences", str(lines), "--count", "8", "--seed", "3"]) == 0
    assert "20 annotated, 1 read by rules, 8 drawn" in capsys.readouterr().out
    chats = read_chats([file])
    assert len(chats) == 29
    system, user, reply = chats[20].turns
    asked = tuple((m.speaker, m.text) for m in short_question("Put the cup on the bed."))
    assert ((system.speaker, system.text), (user.speaker, user.text)) == asked
    assert reply.is_learned
    for chat in chats:
        found = GoalReply().read(chat.turns[-1].text, ended=True)
        assert found is None or isinstance(found, Goal)
    assert GoalReply().read(reply.text, ended=True) == interpret("Put the cup on the bed.")


@pytest.mark.parametrize(
    ("text", "goal", "accounts"),
    [
        ("the mugs ought to be on a shelf", "Put the mugs on a shelf.", True),
        ("the mugs ought to be on a shelf", "Put the mugs on a table.", False),
        ("two mugs ought to be on a shelf", "Put the mug on a shelf.", False),
        ("the red mug ought to be on a shelf", "Put the mug on a shelf.", False),
        ("the mugs ought not to be on a shelf", "Put the mugs on a shelf.", False),
        ("the mugs ought to be on a shelf", "Put the mugs and the cup on a shelf.", False),
    ],
)
def test_a_goal_speaks_of_what_the_text_speaks_of(text: str, goal: str, accounts: bool) -> None:
    meant = interpret(goal)
    assert isinstance(meant, Goal)
    assert accounts_for(text, meant) is accounts
