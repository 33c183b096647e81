"""`planner bench failures`: the tasks that fail in a run, and what there is to know about each."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from made_rows import made_row

from planner.bench.runs.comparison import failures, only_one_fails, report_line
from planner.bench.runs.rows import Fault, Row, RowError
from planner.bench.runs.settings import RunSettings
from planner.bringup_arguments import Arguments
from planner.cli import main
from planner.world.errors import PlannerError

FAILED, SOLVED = {"success": 0.0}, {"success": 1.0}


def _run(*rows: Row) -> dict[tuple[str, int], Row]:
    return {row.key: row for row in rows}


def test_a_task_fails_if_one_of_its_seeds_does() -> None:
    error = RowError(fault=Fault.CRASH, text="oops")
    rows = _run(
        made_row("a", SOLVED),
        made_row("b", SOLVED),
        made_row("b", FAILED, seed=2),
        made_row("c", error=error),
    )
    b, c = failures(rows)
    assert ([row.key for row in b.rows], b.tried) == ([("b", 2)], 2)
    assert ([row.key for row in c.rows], c.tried) == ([("c", 1)], 1)


def test_of_two_runs_those_that_only_one_fails() -> None:
    first = _run(made_row("a", FAILED), made_row("b", FAILED), made_row("c"), made_row("x", FAILED))
    second = _run(made_row("a", FAILED), made_row("b"), made_row("c", FAILED))
    ones, twos = only_one_fails(first, second)
    assert [found.rows[0].episode_id for found in ones] == ["b"]
    assert [found.rows[0].episode_id for found in twos] == ["c"]
    with pytest.raises(PlannerError, match="no episode with the same seed in common"):
        only_one_fails(_run(made_row("a")), _run(made_row("b")))


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings(planner="expert", agents=2, skill_options={"skill_kind": "noisy"}),
        RunSettings(planner="react", model="teacher", model_options={"fault_rate": 0.1}),
        RunSettings(planner="react", model="teacher", options={"whole_list": True}),
        RunSettings(planner="expert", memory="voxels-plain", backend="embedded"),
    ],
)
def test_the_line_for_a_report_plays_the_episode_again(settings: RunSettings) -> None:
    row = made_row("desk_tidy_0", FAILED, seed=7).model_copy(update={"trace": "desk_tidy_0-7"})
    up, report = report_line(row, settings, Path("some tasks/desk_tidy_0.json")).split("; ")
    assert report == "planner report recordings/desk_tidy_0-7/bag"
    words = shlex.split(up)
    assert words[:2] == ["planner", "up"]
    read = Arguments.from_text(dict(word.split(":=", 1) for word in words[2:]))
    assert (read.episode, read.seed, read.record) == (
        "some tasks/desk_tidy_0.json",
        7,
        "recordings/desk_tidy_0-7",
    )
    assert (read.planner, read.model, read.agents) == (
        settings.planner,
        settings.model,
        settings.agents,
    )
    assert read.narrate
    for given, taken in (
        (settings.options, read.planner_options),
        (settings.model_options, read.model_options),
        (settings.skill_options, read.skill_options),
    ):
        assert taken == dict(given)
    assert settings.updater is None or read.memory == settings.memory


@pytest.mark.needs("papers")
def test_a_runs_failures_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what was missing, the last calls and the trace; beside a run that solves it too."""
    lost, won = tmp_path / "lost", tmp_path / "won"
    common = [
        "bench",
        "desk_tidy_0",
        "--seeds",
        "2",
        "--agents",
        "1",
        "--quiet",
        "--memory",
        "full",
    ]
    assert main([*common, "--planner", "rescue_rules", "--out", str(lost)]) == 0
    assert main([*common, "--planner", "heuristic_expert", "--out", str(won)]) == 0
    assert "2 episodes of 1 task with 2 seeds each, 2 judged" in capsys.readouterr().out
    assert main(["bench", "failures", str(lost)]) == 0
    shown = capsys.readouterr().out
    assert f"1 of 1 tasks fail in {lost}" in shown
    assert "2 of 2 not solved" in shown
    assert 'instruction: "' in shown
    assert "missing: " in shown
    assert "gave_up" in shown
    assert f"trace: {lost}/traces/desk_tidy_0-" in shown
    assert "planner report recordings/desk_tidy_0-" in shown
    assert main(["bench", "failures", str(won)]) == 0
    assert f"0 of 1 tasks fail in {won}" in capsys.readouterr().out
    assert main(["bench", "failures", str(lost), str(won)]) == 0
    shown = capsys.readouterr().out
    assert f"1 tasks fail only in {lost}" in shown
    assert f"0 tasks fail only in {won}" in shown
    manifest = lost / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"desk_tidy_0"', '"/nowhere"'))
    assert main(["bench", "failures", str(lost)]) == 0
    shown = capsys.readouterr().out
    assert "episodes are named instead of their files: there is no suite '/nowhere'" in shown
    assert "planner up episode:=desk_tidy_0 " in shown
    assert main(["bench", "failures", str(won), str(won), str(won)]) == 2
    assert "failures compares two runs, not 3" in capsys.readouterr().err
