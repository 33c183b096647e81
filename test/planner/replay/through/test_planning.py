"""Another planner at recorded decisions: the same one decides the same, others are compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from llamar_toys import OPEN, acted, corrected, planned, verified
from stage import Stage

from planner.models.caller import ModelCall
from planner.models.teacher import ScriptedModel
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.planning.planner_model import Axes, Control, DialogueOptions
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.topics import InstructState

Through = Callable[..., Path]
CUP_FIRST = (
    "Navigate[{cup}]",
    "Pick[{cup}]",
    "Navigate[{couch}]",
    "Place[{cup}, on, {couch}, None, None]",
    "Done[]",
)


def summary(folder: Path) -> dict:
    (instruction,) = json.loads((folder / "summary.json").read_text())["instructions"]
    return instruction


def decisions(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "differences.jsonl").read_text().splitlines()]


def test_the_expert_decides_again_as_it_did(
    decided_bag: Path, through: Through, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(through(decided_bag, "planner:=expert"))
    assert found["decisions"] == found["decisions_the_same"] > 5
    assert (found["agreement"], found["lost_results"]) == (1.0, 0)
    assert found["calls_of_what_is_really_there"] == {"live": 1.0, "replayed": 1.0}
    said = capsys.readouterr().out
    assert "counterfactual decisions at recorded states" in said
    assert "and not" not in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["desk_tidy_0", "wash_cups_0"])
def test_so_it_does_in_shipped_episodes(tmp_path: Path, through: Through, name: str) -> None:
    episode, house = load_episode(name)
    Stage(tmp_path / "bag", house, episode).play()
    found = summary(through(tmp_path / "bag", "planner:=expert"))
    assert found["decisions"] == found["decisions_the_same"] > 5, found


def scripted(
    name: str, replies: list[str], control: Control = Control.DECENTRALIZED
) -> Callable[[Task, Callable[[ModelCall], None]], Planner]:
    choice = PlannerChoice(name, Axes(control=control), DialogueOptions())
    return lambda task, tell: make_planner(choice, task, ScriptedModel(replies), tell)


@pytest.fixture
def react_bag(tmp_path: Path, small_house: House, asked: Episode) -> tuple[Path, list[str]]:
    """A run of `react` and what its model said."""
    numbers = {
        piece.name: f"Object.{100 + place}" for place, piece in enumerate(small_house.furniture)
    }
    words = {"cup": "Object.106", "couch": numbers["couch_0"]}
    replies = ["Navigate[nothing_0]", f"Navigate[{numbers['table_0']}]"]
    replies += [word.format(**words) for word in CUP_FIRST]
    stage = Stage(
        tmp_path / "bag",
        small_house,
        asked,
        make_planner=scripted("react", [f"{reply}\nAssigned!" for reply in replies]),
        acting=("agent_0",),
    )
    result = stage.play()
    assert result.reason == "done", result.reason
    return tmp_path / "bag", replies


def script(folder: Path, replies: list[str]) -> str:
    path = folder / "script.txt"
    path.write_text("\n\n".join(f"{reply}\nAssigned!" for reply in replies))
    return f"model:=scripted:{path}"


def test_a_model_gets_the_recorded_prompts_again(
    react_bag: tuple[Path, list[str]], tmp_path: Path, through: Through
) -> None:
    bag, replies = react_bag
    found = summary(through(bag, "planner:=react", script(tmp_path, replies)))
    assert (found["agreement"], found["prompts_the_same"]) == (1.0, 1.0)
    assert found["decisions_not_in_own_words"] == 0
    assert found["model"] == {
        "calls": len(replies),
        "refused": 1,
        "prompt_tokens": found["live_model_use"]["prompt_tokens"],
        "cached_tokens": 0,
        "reply_tokens": found["live_model_use"]["reply_tokens"],
    }


def test_a_dialogue_continues_with_what_was_really_done(
    react_bag: tuple[Path, list[str]], tmp_path: Path, through: Through
) -> None:
    bag, _ = react_bag
    folder = through(bag, "planner:=react", script(tmp_path, ["Done[]"] * 6))
    found = summary(folder)
    assert found["prompts_the_same"] == 1.0
    assert found["decisions_the_same"] == 1
    assert all(decision["went_on_as_recorded"] for decision in decisions(folder))
    assert [a["replayed"] for d in decisions(folder) for a in d["agents"]] == ["Done[]"] * 6


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


def test_a_model_that_says_nothing_more_is_reported_as_a_failure(
    decided_bag: Path, tmp_path: Path, through: Through
) -> None:
    folder = through(decided_bag, "planner:=partnr_react", script(tmp_path, ["Wait[]"]))
    assert summary(folder)["gave_up"] > 0
    assert "the script has 1 replies" in decisions(folder)[-1]["failure"]


def test_what_is_missing_is_said(
    decided_bag: Path, seen_bag: Path, tmp_path: Path, through: Through, small_house: House
) -> None:
    with pytest.raises(PlannerError, match="needs a language model"):
        through(decided_bag, "planner:=react")
    with pytest.raises(PlannerError, match="model_url is set"):
        through(decided_bag, "planner:=react", "model_url:=http://127.0.0.1:1/v1")
    del seen_bag, small_house
    with pytest.raises(FileError):
        through(tmp_path / "nowhere", "planner:=expert")


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
