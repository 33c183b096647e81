"""Planners of papers at recorded decisions: the same one decides the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from llamar_toys import OPEN, acted, corrected, planned, verified
from shared_bags import decisions, script, scripted, summary
from stage import Stage

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.topics import InstructState

Through = Callable[..., Path]


def test_a_team_is_asked_of_an_experts_run(
    decided_bag: Path, tmp_path: Path, through: Through
) -> None:
    turn = "Thought: wait\nAgent_0_Action: Wait[]\nAgent_1_Action: Wait[]"
    words = ("planner:=partnr_react", "control:=centralized", script(tmp_path, [turn] * 40))
    found = summary(through(decided_bag, *words))
    assert found["decisions"] > 5
    assert found["model"]["calls"] == found["decisions"]
    assert (found["gave_up"], found["decisions_the_same"]) == (0, 0)


@pytest.mark.parametrize("name", ["partnr_react", "partnr_summary", "partnr_finetuned"])
def test_planners_with_a_model_are_asked_of_an_experts_run(
    decided_bag: Path, tmp_path: Path, through: Through, name: str
) -> None:
    folder = through(decided_bag, f"planner:={name}", script(tmp_path, ["Wait[]"] * 60))
    told = [a for d in decisions(folder) for a in d["agents"]]
    assert {a["replayed"] for a in told} == {"Wait[]"}
    assert summary(folder)["decisions_not_in_own_words"] <= 1


def llamar_replies() -> list[str]:
    """Two joint steps of LLaMAR, after which its Verifier leaves nothing open."""
    nothing = corrected(Alice=None, Bob=None)
    first = acted(Alice="Rotate(Right)", Bob="stay idle")
    second = acted(Alice="stay idle", Bob="Rotate(Left)")
    ends = (verified(), verified(OPEN))
    return [
        text
        for acts, end in zip((first, second), ends, strict=True)
        for text in (planned(OPEN), acts, nothing, end)
    ]


@pytest.fixture
def llamar_bag(tmp_path: Path, small_house: House, asked: Episode) -> Path:
    """A run of `llamar`, with the instruction's status."""
    replies = llamar_replies()
    stage = Stage(tmp_path / "bag", small_house, asked, make_planner=scripted("llamar", replies))
    stage.tell_status(InstructState.RUNNING)
    result = stage.play(then=lambda: stage.tell_status(InstructState.DONE))
    assert result.reason == "done", result.reason
    return tmp_path / "bag"


def test_roles_that_decide_together_are_followed_to_their_end(
    llamar_bag: Path, tmp_path: Path, through: Through
) -> None:
    path = tmp_path / "again.txt"
    path.write_text("\n\n".join(llamar_replies()))
    folder = through(llamar_bag, "planner:=llamar", f"model:=scripted:{path}")
    found = summary(folder)
    # Two joint steps, and that nothing is open, which no reply of the Actor says.
    assert (found["decisions"], found["decisions_the_same"]) == (3, 3)
    assert found["prompts_the_same"] == 1.0
    assert found["decisions_not_in_own_words"] == 0
    assert {a["live"] for a in decisions(folder)[-1]["agents"]} == {"Done[]"}
