"""`planner bench table all`: who runs, what the table says, and going on after a kill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_rows import made_row

from planner.bench.runs.all_cli import (
    Asked,
    Contestant,
    Result,
    field_of,
    markdown_lines,
    text_lines,
)
from planner.bench.runs.manifest import drawn, find_suite
from planner.bench.runs.rows import ROWS_NAME, Fault, RowError, newest_rows
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.cli import main
from planner.evaluation.statistics import wilson
from planner.planning.part import PLANNERS, Asks
from planner.world.errors import PlannerError

ONE = ["bench", "table", "all", "--episodes-of", "desk_tidy_0", "--quiet"]


def test_every_planner_runs_or_is_told() -> None:
    """None is missing, whatever planners there are."""
    field = field_of(Asked())
    run = {contestant.settings.planner for contestant in field.contestants}
    told = {line.partition(":")[0] for line in field.left_out}
    assert run | told == set(PLANNERS.names())
    assert not run & told
    assert {"expert", "words", "learned", "react"} <= run
    assert len({contestant.name for contestant in field.contestants}) == len(field.contestants)


def test_each_planner_gets_what_its_record_needs() -> None:
    field = field_of(Asked(fault_rates=(0.0, 0.2), options={"whole_list": "true"}))
    found = {contestant.name: contestant.settings for contestant in field.contestants}
    assert found["heuristic_expert"].memory == MemoryKind.FULL
    assert found["learned"].memory == MemoryKind.RAYS
    assert found["react-teacher-0.2"].model_options == {"fault_rate": 0.2}
    assert found["react-teacher-0"].options == {"whole_list": True}
    assert found["words"].options == {}
    assert {settings.agents for settings in found.values()} == {1}


@pytest.mark.needs("papers")
def test_what_a_planner_needs_besides_a_model_is_told(tmp_path: Path) -> None:
    """Without its store of solved tasks PARTNR's planner with an example cannot be made."""
    (line,) = field_of(Asked()).left_out
    assert line == "partnr_rag: needs the option traces: --option traces=VALUE"
    options = {"traces": str(tmp_path / "store")}
    named = field_of(Asked(planners=("partnr_rag",), options=options))
    assert [contestant.name for contestant in named.contestants] == ["partnr_rag-teacher-0"]
    assert not named.left_out


def test_a_planner_whose_right_replies_are_unknown_runs_with_no_teacher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told what it needs, and runs with a model that is named."""
    silent = replace(PLANNERS.get("react"), asks=Asks(bare_replies=True))
    usable = {**PLANNERS.usable(), "react": silent}
    monkeypatch.setattr(PLANNERS, "usable", lambda: usable)
    asked = Asked(planners=("react", "expert"))
    field = field_of(asked)
    assert [contestant.name for contestant in field.contestants] == ["expert"]
    assert field.left_out == ("react: needs a language model: name one with --model",)
    field = field_of(replace(asked, models=("org/Tiny",), model_url="http://h:1/v1"))
    assert [c.name for c in field.contestants] == ["expert", "react-org_Tiny"]


@pytest.mark.needs("sim_bridge/habitat")
def test_all_run_in_the_simulator_that_is_named(tmp_path: Path) -> None:
    asked = Asked(backend="habitat", backend_config=str(tmp_path / "habitat.yaml"))
    found = {c.settings.backend_config for c in field_of(asked).contestants}
    assert found == {asked.backend_config}
    assert {c.settings.backend for c in field_of(asked).contestants} == {"habitat"}
    with pytest.raises(PlannerError, match="external is not a simulator that runs in one process"):
        field_of(Asked(backend="external"))


def test_a_named_model_runs_with_all_that_use_one() -> None:
    asked = Asked(
        planners=("react", "expert", "words"),
        fault_rates=(0.1,),
        models=("org/Tiny",),
        model_url="http://h:1/v1",
    )
    field = field_of(asked)
    assert [c.name for c in field.contestants] == [
        "expert",
        "react-teacher-0.1",
        "react-org_Tiny",
        "words",
        "words-org_Tiny",
    ]
    assert field.contestants[2].settings.model_url == "http://h:1/v1"
    assert not field.left_out


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param(
            Asked(planners=("partnr_rag",)),
            "no planner can be run: partnr_rag: needs the option",
            marks=pytest.mark.needs("papers"),
        ),
        (Asked(planners=("expart",)), "expart"),
        (Asked(options={"horizn": "3"}), "no planner and no model has an option 'horizn'"),
        (Asked(options={"whole_list": "many"}), "whole_list"),
        (Asked(planners=("react",), fault_rates=(2.0,)), "fault_rate"),
    ],
)
def test_what_cannot_be_compared_is_refused(asked: Asked, told: str) -> None:
    with pytest.raises(PlannerError, match=told):
        field_of(asked)


def test_episodes_are_drawn_from_the_whole_suite() -> None:
    """The first ones by name would be of one type."""
    suite = find_suite("train")
    some = drawn(suite, 6, seed=1)
    assert len({entry.episode_id for entry in some}) == 6
    assert some == drawn(suite, 6, seed=1) != drawn(suite, 6, seed=2)
    assert list(some) == sorted(some, key=suite.index)
    assert drawn(suite, 0, seed=1) == suite
    with pytest.raises(PlannerError, match="the suite has"):
        drawn(suite, len(suite) + 1, seed=1)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Brown, Cai and DasGupta's formula, worked out by hand for n = 10.
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0)],
)
def test_wilsons_interval(successes: int, n: int, low: float, high: float) -> None:
    found = wilson(successes, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_what_cannot_be_done_is_not_solved_and_told() -> None:
    """An episode without a verdict lowers the success, and is counted with its reason."""
    refused = made_row("c", error=RowError(fault=Fault.REFUSED, text="needs a goal"))
    rows = (made_row("a"), made_row("b", {"success": 0.0}), refused)
    good = Result(Contestant("good", RunSettings(planner="expert", agents=1)), (made_row("a"),) * 3)
    bad = Result(Contestant("bad", RunSettings(planner="words", agents=1)), rows)
    lines = text_lines([bad, good], ["react: needs a language model"])
    first, second = (line.split() for line in lines[1:3])
    assert first[:3] == ["good", "goal", "1.00"]
    assert second[:3] == ["bad", "words", "0.33"]
    assert second[-2:] == ["3", "1"]
    text = "\n".join(lines)
    assert "cannot, 1 times refused: needs a goal" in text
    assert "not run: react: needs a language model" in text
    page = markdown_lines([bad, good], [])
    assert page[2].startswith("| good | goal | 1.00 | 0.44 | 1.00 |")


def test_a_comparison_under_way_is_told_for_the_episodes_that_all_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planners = ["--planner", "words", "--planner", "expert", "--planner", "learned"]
    words = [*ONE[:4], "train", "--count", "9", *planners, "--out", str(tmp_path), "--so-far"]
    assert main(words) == 2
    assert "no episode that every begun run has done" in capsys.readouterr().err
    for planner, episodes in (("words", "abc"), ("expert", "cbd")):
        (tmp_path / planner).mkdir()
        rows = [made_row(name, {"success": float(name == "c")}) for name in episodes]
        text = "".join(f"{row.model_dump_json()}\n" for row in rows)
        (tmp_path / planner / ROWS_NAME).write_text(text)
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "2 episodes of train so far, of 9 to do, the first by house: no fair sample" in shown
    assert "not run: learned: not begun" in shown
    cells = {line.split()[0]: line.split() for line in shown.splitlines()[2:4]}
    assert cells["words"][2] == cells["expert"][2] == "0.50"
    assert cells["words"][-2:] == ["2", "0"]


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_a_killed_comparison_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what has no row is run again; why a planner did not solve its episodes is told."""
    out, page = tmp_path / "runs", tmp_path / "page.md"
    planners = ["--planner", "heuristic_expert", "--planner", "rescue_rules"]
    words = [*ONE, *planners, "--out", str(out), "--markdown", str(page)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "1 episodes of desk_tidy_0, 1 acting" in shown
    assert "rescue_rules: ended gave_up 1; most often not solved with: rescue_rules needs" in shown
    first = (out / "heuristic_expert" / ROWS_NAME).read_bytes()
    (out / "rescue_rules" / ROWS_NAME).write_bytes(b"")
    assert main(words) == 0
    assert (out / "heuristic_expert" / ROWS_NAME).read_bytes() == first
    assert len(newest_rows(out / "rescue_rules" / ROWS_NAME)) == 1
    text = page.read_text(encoding="utf-8")
    assert "$ planner bench table all --episodes-of desk_tidy_0 --planner heuristic_expert" in text
    assert "| heuristic_expert | goal and everything | 1.00 |" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bench", "table", "all"], "all needs --out"),
        (["bench", "table", "all", "RUN", "--out", "x"], "all makes its runs itself"),
        pytest.param(
            ["bench", "table", "epm", "--out", "x"],
            "--out is of all, not of epm",
            marks=pytest.mark.needs("papers"),
        ),
        ([*ONE, "--out", "x", "--count", "-1"], "--count is -1, below 0"),
        ([*ONE, "--out", "x", "--option", "horizon"], "expected NAME=VALUE"),
    ],
)
def test_wrong_arguments_are_one_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
