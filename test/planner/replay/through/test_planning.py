"""Another planner at recorded decisions: the same one decides the same, others are compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from shared_bags import decisions, script, scripted, summary
from stage import Stage

from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode

Through = Callable[..., Path]
CUP_FIRST = (
    "Navigate[{cup}]",
    "Pick[{cup}]",
    "Navigate[{couch}]",
    "Place[{cup}, on, {couch}, None, None]",
    "Done[]",
)


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


def test_a_planner_with_a_model_is_asked_of_an_experts_run(
    decided_bag: Path, tmp_path: Path, through: Through
) -> None:
    folder = through(decided_bag, "planner:=react", script(tmp_path, ["Done[]"] * 60))
    told = [a for d in decisions(folder) for a in d["agents"]]
    assert {a["replayed"] for a in told} == {"Done[]"}


def test_a_model_that_says_nothing_more_is_reported_as_a_failure(
    decided_bag: Path, tmp_path: Path, through: Through
) -> None:
    folder = through(decided_bag, "planner:=react", script(tmp_path, ["Wait[]"]))
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
