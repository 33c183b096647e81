"""PARTNR's table with runs beside its rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_server import chat_server
from made_rows import made_row

from planner.bench.runs.llamar_tables import Run
from planner.bench.runs.partnr_tables import BASELINES, row_keys, table_lines
from planner.bench.runs.rows import ROWS_NAME, Fault, RowError, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.cli import main
from planner.planning.axes import Control, MemorySource, Observability
from planner.skills.kind import SkillKind
from planner.world.errors import PlannerError


def made_run(
    planner: str,
    suite: str = "partnr_val",
    control: Control = Control.DECENTRALIZED,
    skills: SkillKind = SkillKind.ORACLE,
    observability: Observability = Observability.PARTIAL,
    source: MemorySource = MemorySource.SUMMARY,
    memory: str = "privileged",
) -> Run:
    """Four judged episodes, of which three succeed, and one that was refused."""
    rows = [
        made_row(f"e{n}", {"success": float(n > 0), "sim_steps": 50.0}, control=control)
        for n in range(4)
    ]
    setting = {"skills": skills, "observability": observability, "memory_source": source}
    axes = rows[0].axes.model_copy(update=setting)
    refused = made_row("e4", error=RowError(fault=Fault.REFUSED, text="no"))
    settings = RunSettings(planner=planner, memory=memory)
    placed = [row.model_copy(update={"axes": axes}) for row in rows]
    return Run(f"run-of-{planner}", suite, settings, [*placed, refused])


def beside(run: Run, **named: list[str]) -> list[str]:
    """The rows below which a run stands; "" = none of the paper's."""
    found, row = [], ""
    for line in table_lines([run], named):
        if line.startswith(("paper ", "OTHER")):
            row = line.split()[1] if line.startswith("paper ") else ""
        elif line.startswith(f"ours {run.name} "):
            found.append(row)
    return found


def test_the_rows_of_captions_have_the_success_that_the_text_gives() -> None:
    assert row_keys() == ("a", "b", "c", "d", "e", "f", "g", "h", "i", "captioned", "views")
    printed = {line.key: line.success for line in BASELINES}
    assert (printed["captioned"], printed["views"]) == ((0.72,), (0.69,))
    lines = table_lines([], {})
    (captioned,) = (line for line in lines if line.startswith("paper captioned"))
    assert captioned.split()[-4:] == ["-", "0.72", "-", "-"]
    (react,) = (line for line in lines if line.startswith("paper e"))
    assert "3295.20 (76.27)" in react


@pytest.mark.parametrize(
    ("run", "row"),
    [
        (made_run("partnr_captioned"), "captioned"),
        (made_run("partnr_views", source=MemorySource.CAPTIONS), "views"),
        (made_run("partnr_react"), "e"),
        (made_run("partnr_react", suite="imported/tasks"), "e"),
        (made_run("partnr_summary", control=Control.SINGLE), "a"),
        (made_run("partnr_rag"), "f"),
        (made_run("partnr_finetuned", source=MemorySource.STATE), "g"),
        (made_run("partnr_react", skills=SkillKind.LEARNED), "h"),
        (
            made_run(
                "partnr_react",
                skills=SkillKind.LEARNED,
                observability=Observability.CONCEPTGRAPH,
                memory="object-graph",
            ),
            "i",
        ),
        (
            made_run(
                "heuristic_expert",
                control=Control.CENTRALIZED,
                observability=Observability.FULL,
                memory="full",
            ),
            "b",
        ),
        # How the memory is read, the memory, the tasks, the control, the planner are others.
        (made_run("partnr_react", source=MemorySource.TOOLS), ""),
        (
            made_run(
                "partnr_react",
                skills=SkillKind.LEARNED,
                observability=Observability.CONCEPTGRAPH,
                memory="learned",
            ),
            "",
        ),
        (made_run("partnr_views", suite="llamar"), ""),
        (made_run("partnr_captioned", control=Control.SINGLE), ""),
        (made_run("expert"), ""),
    ],
)
def test_a_run_stands_beside_the_row_of_its_method(run: Run, row: str) -> None:
    assert beside(run) == [row]
    (line,) = (one for one in table_lines([run], {}) if one.startswith("ours"))
    assert "0.75 [0.19, 0.99]" in line
    assert line.endswith("4 of 5")


def test_a_named_run_stands_beside_its_row_whatever_its_settings() -> None:
    run = made_run("expert")
    assert beside(run, views=[run.name]) == ["views"]
    with pytest.raises(PlannerError, match="there is no row 'z'; known are a, b"):
        table_lines([run], {"z": [run.name]})


def test_the_command_prints_the_papers_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "table", "partnr"]) == 0
    assert "paper views" in capsys.readouterr().out


@pytest.mark.parametrize("planner", ["partnr_captioned", "partnr_views"])
def test_a_run_by_captions_is_drawn_for_any_memory(
    planner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With real pictures; the teacher stands in for both models."""
    out = str(tmp_path / "run")
    words = ["bench", "night_light_0", "--planner", planner, "--model", "teacher", "--out", out]
    assert main(words) == 0
    (row,) = newest_rows(tmp_path / "run" / ROWS_NAME).values()
    assert row.verdict is not None, row.error
    assert row.verdict.success, row.verdict.reason
    assert int(row.evidence["captions"]) >= row.verdict.decisions
    assert row.evidence["pictures_missing"] == "0"
    capsys.readouterr()
    assert (
        main(["bench", "table", "partnr", "--as", f"{planner.removeprefix('partnr_')}={out}"]) == 0
    )
    assert f"ours {out}" in capsys.readouterr().out


def test_a_server_gets_the_pictures_and_another_model_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stand-in for a vision-language model behind the real client."""
    with chat_server(["A bed and a lamp."]) as (url, asked):
        chosen = {
            "default": {"model": "teacher"},
            "roles": {"captioner": {"model": "v", "url": url}},
        }
        (tmp_path / "models.yaml").write_text(json.dumps({"version": 1, **chosen}))
        words = ["--model", f"roles:{tmp_path / 'models.yaml'}", "--out", str(tmp_path / "run")]
        assert main(["bench", "night_light_0", "--planner", "partnr_views", *words]) == 0
    (row,) = newest_rows(tmp_path / "run" / ROWS_NAME).values()
    assert row.verdict is not None, row.error
    assert row.verdict.success, row.verdict.reason
    assert len(asked) == int(row.evidence["captions"])
    for body in asked:
        (message,) = body["messages"]
        kinds = [part["type"] for part in message["content"]]
        assert sorted(kinds) == ["image_url", "text"]
    (dialogue,) = (tmp_path / "run" / "traces").glob("*.dialogue.jsonl")
    assert "Your camera shows: A bed and a lamp." in dialogue.read_text(encoding="utf-8")
