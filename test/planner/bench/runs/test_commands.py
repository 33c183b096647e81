"""`planner bench`: a suite, its table, comparisons and claims, from the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from repeated_run import run_and_repeat

from planner.bench.runs.cli import SUBCOMMANDS
from planner.bench.runs.manifest import Job, find_suite
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.cli import main
from planner.parts.command import further_commands
from planner.skills.kind import SkillKind
from planner.world.errors import PlannerError

ONE = ["bench", "desk_tidy_0", "--memory", "full", "--agents", "1", "--quiet"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of the privileged baseline, and one of a model that says the same again."""
    return run_and_repeat(tmp_path_factory.mktemp("runs"), ONE)


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_a_suite_runs_once(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ONE, "--planner", "heuristic_expert", "--out", str(runs[0])]) == 0
    out = capsys.readouterr().out
    assert "1 episodes were done before" in out
    assert "ended: done 1" in out


@pytest.mark.needs("papers")
def test_other_settings_are_refused_in_one_line(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*ONE, "--planner", "heuristic_expert", "--seed", "4", "--out", str(runs[0])]
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "manifest.json: settings.seed: is 0, not 4: resume with the same settings" in line


def test_every_word_is_listed_apart_from_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    lines = capsys.readouterr().out.splitlines()
    further = further_commands(SUBCOMMANDS, "bench")
    for name, command in {**SUBCOMMANDS, **further}.items():
        (line,) = (each for each in lines if each.startswith(f"  {name} "))
        assert line.removeprefix(f"  {name}").lstrip() == command.summary


@pytest.mark.needs("papers")
def test_a_run_is_shown(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "show", str(runs[1])]) == 0
    shown = capsys.readouterr().out
    assert "planner partnr_react" in shown
    assert "planning_cycles" in shown
    assert main(["bench", "show", str(runs[1]), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["summary"]["rows"], document["summary"]["judged"]) == (1, 1)


@pytest.mark.needs("papers")
def test_two_runs_are_compared(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "compare", *map(str, runs)]) == 0
    shown = capsys.readouterr().out
    assert "planner: A 'heuristic_expert', B 'partnr_react'" in shown
    assert "1 episodes in both runs" in shown
    assert main(["bench", "compare", *map(str, runs), "--json"]) == 0
    found = {entry["metric"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert found["success"]["p"] == 1.0


@pytest.mark.needs("papers")
def test_claims_are_printed(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    base, said = map(str, runs)
    assert main(["bench", "claims", said, "--as", f"decentralized={base}"]) == 0
    shown = capsys.readouterr().out
    assert "3295.20 / 2519.02" in shown
    assert "coordination burden" in shown
    assert f"single: {said}" in shown
    assert "no run of human_llm and two_humans" in shown


@pytest.mark.slow
def test_skills_of_another_kind_are_run_and_recorded(tmp_path: Path) -> None:
    words = [*ONE, "--planner", "heuristic_expert", "--skill-kind", "noisy", "--skill-noise", "10"]
    words += ["--skill-body", "", "--out", str(tmp_path / "x")]
    assert main(words) == 0
    (row,) = newest_rows(tmp_path / "x" / ROWS_NAME).values()
    assert row.axes.skills is SkillKind.NOISY
    manifest = json.loads((tmp_path / "x" / "manifest.json").read_text(encoding="utf-8"))
    given = {"skill_kind": "noisy", "skill_noise": 10.0, "skill_body": ""}
    assert manifest["settings"]["skill_options"] == given
    assert row.verdict is not None
    assert row.verdict.failed_skills > 0, "every grasp fails with this much noise"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing", "--out", "x"], "there is no suite 'nothing'"),
        (["fruit_0", "--workers", "0", "--out", "x"], "--workers is 0, below 1"),
        (["fruit_0", "--seeds", "-1", "--out", "x"], "--seeds is -1, below 0"),
        (["fruit_0", "--model-deadline", "-1", "--out", "x"], "out of its range"),
        (
            ["fruit_0", "--workers", "2", "--engine", "one_process", "--out", "x"],
            "one_process has no 2 workers",
        ),
        (["fruit_0", "--workers", "2", "--at-once", "2", "--out", "x"], "--at-once is for"),
        (["show", "/nowhere"], "manifest.json: cannot be read"),
        (["compare", "/nowhere", "/nowhere"], "/nowhere: is no run of planner bench"),
        (["failures", "/nowhere"], "/nowhere: is no run of planner bench: it has no rows.jsonl"),
        pytest.param(
            ["claims", "--as", "boss=RUN"],
            "expected ROLE=RUN",
            marks=pytest.mark.needs("papers"),
        ),
    ],
)
def test_what_cannot_be_done_is_reported(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    named = [str(tmp_path / "x") if word == "x" else word for word in words]
    assert main(["bench", *named]) == 2
    assert told in capsys.readouterr().err


def test_the_first_episodes_are_run_with_several_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def run_nothing(
        _folder: Path, _manifest: object, jobs: Sequence[Job], *_: object, **__: object
    ) -> None:
        asked.extend((job.episode_id, job.seed) for job in jobs)
        raise PlannerError("enough")

    monkeypatch.setattr("planner.bench.runs.run_cli.run_jobs", run_nothing)
    words = ["bench", "partnr_val", "--episodes", "3", "--seeds", "2", "--out", str(tmp_path / "x")]
    assert main(words) == 2
    begun = [entry.episode_id for entry in find_suite("partnr_val")[:3]]
    assert sorted({name for name, _ in asked}) == sorted(begun)
    assert all(len({seed for name, seed in asked if name == each}) == 2 for each in begun)
    assert len(asked) == 6
