"""Whole runs of LLaMAR's actions on a task of ours: the checklist and the measures of the rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.cli import main
from planner.episodes.episode_file import unpacked
from planner.evaluation.trace import read_traces
from planner.world.share import config_dir

TASK = "place_0_type_2_air_the_furniture"
# After a turn the team has seen all four.
TURN = ("Rotate(Right)", "Rotate(Right)")
STEPS = (
    TURN,
    ("NavigateTo(Wardrobe_1)", "NavigateTo(Nightstand_1)"),
    ("Open(Wardrobe_1)", "Open(Nightstand_1)"),
    ("NavigateTo(Nightstand_2)", "NavigateTo(ChestOfDrawers_1)"),
    ("Open(Nightstand_2)", "Open(ChestOfDrawers_1)"),
)
DONE = ("Done", "Done")


@pytest.fixture
def run(tmp_path: Path):
    """Runs the task with what Alice and Bob do in each joint step; returns the row."""

    def play(*steps: tuple[str, str]) -> Row:
        replies = (json.dumps({"Alice": a, "Bob": b}) for a, b in steps)
        script = tmp_path / "script.txt"
        script.write_text("\n\n".join(replies) + "\n", encoding="utf-8")
        path = unpacked(config_dir() / "suites" / "llamar.json.gz") / f"{TASK}.json"
        words = ["bench", str(path), "--planner", "llamar_act", "--model", f"scripted:{script}"]
        words += ["--memory", "full", "--quiet", "--out", str(tmp_path / "run")]
        assert main(words) == 0
        (row,) = newest_rows(tmp_path / "run" / ROWS_NAME).values()
        return row

    return play


def test_a_flawless_team_does_the_whole_checklist_in_joint_steps(run, tmp_path) -> None:
    row = run(*STEPS, DONE)
    assert row.verdict.success
    assert row.metrics["llamar_success"] == row.metrics["transport_rate"] == 1.0
    assert row.metrics["coverage"] == 1.0
    # Four actions of each: the way and the opening, twice.
    assert row.metrics["balance"] == pytest.approx(4 / 4.0001)
    assert row.metrics["joint_steps"] == 6
    (file,) = (tmp_path / "run" / "traces").glob("*.trace.jsonl")
    (trace,) = read_traces(file)
    assert len(trace.episode.reference.subtasks) == len(trace.subtasks) == 8


def test_llamar_check_38_a_team_that_stops_before_all_are_done_fails(run) -> None:
    row = run(
        *STEPS[:3], ("NavigateTo(Nightstand_2)", "Idle"), ("Open(Nightstand_2)", "Idle"), DONE
    )
    assert not row.verdict.success
    assert row.metrics["llamar_success"] == 0.0
    assert row.metrics["transport_rate"] == 0.75
    assert row.metrics["coverage"] == 0.75
    assert row.metrics["balance"] == pytest.approx(2 / 4.0001)
    assert row.metrics["joint_steps"] == 6


def test_llamar_checks_34_and_35_of_a_failed_and_an_irrelevant_action(run) -> None:
    # Nobody stands at the wardrobe, and the desk is not of the task.
    row = run(
        TURN, TURN, ("Open(Wardrobe_1)", "NavigateTo(Desk_1)"), ("Idle", "Open(Desk_1)"), DONE
    )
    assert row.metrics["transport_rate"] == 0.0
    assert row.metrics["coverage"] == 0.0
    assert row.metrics["coverage_attempted"] == 0.25
    assert row.metrics["balance"] == 0.0
    assert row.verdict.failed_skills == 1


@pytest.mark.slow
def test_the_teacher_is_named_in_every_row(tmp_path: Path) -> None:
    path = unpacked(config_dir() / "suites" / "llamar.json.gz") / f"{TASK}.json"
    words = ["bench", str(path), "--planner", "llamar", "--model", "teacher", "--agents", "2"]
    words += ["--fault-rate", "0.1", "--quiet", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    (row,) = newest_rows(tmp_path / "run" / ROWS_NAME).values()
    assert row.model.startswith("teacher (reads the goal and its prompt; invented_entity 0.0142")
    assert row.axes.privilege == "goal"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "planner", "knows"),
    [
        (TASK, "llamar_act", "memory"),
        # Behind the team's backs, and in other rooms.
        pytest.param(
            "place_5_type_2_air_the_furniture", "llamar_act", "memory", marks=pytest.mark.slow
        ),
        # On the floor of a room that has to be looked at from inside.
        pytest.param("place_3_type_1_couch_evening", "llamar", "memory", marks=pytest.mark.slow),
        # From a bathroom in which a step on the shortest way ends at a wall.
        ("place_5_type_1_cut_four", "llamar", "prompt"),
    ],
)
def test_the_teacher_finds_what_nobody_has_seen_yet(
    tmp_path: Path, task: str, planner: str, knows: str
) -> None:
    path = unpacked(config_dir() / "suites" / "llamar.json.gz") / f"{task}.json"
    words = ["bench", str(path), "--planner", planner, "--model", "teacher", "--agents", "2"]
    words += ["--teacher-knows", knows, "--quiet", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    (row,) = newest_rows(tmp_path / "run" / ROWS_NAME).values()
    assert row.metrics["llamar_success"] == 1.0
    assert row.model.endswith("no faults)")
