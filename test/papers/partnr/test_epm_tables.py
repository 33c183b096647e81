"""The paper's tables of EPM with runs beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_rows import made_row
from test_success_curves import made_curve

from papers.partnr.epm_tables import ABLATIONS, BY_LENGTH, EXTENDED, Lengths, row_keys, table_lines
from planner.bench.runs.manifest import new_manifest
from planner.bench.runs.paper import Run
from planner.bench.runs.rows import ROWS_NAME, Row
from planner.bench.runs.settings import RunSettings
from planner.cli import main
from planner.training.improvement.journal import CURVE
from planner.world.errors import PlannerError


def _row(name: str, success: float, kind: str, calls: int, steps: int) -> Row:
    measured = {"success": success, "percent_complete": success, "sim_steps": float(steps)}
    row = made_row(name, measured, task_types=(kind,))
    assert row.verdict is not None
    return row.model_copy(
        update={"verdict": row.verdict.model_copy(update={"skill_calls": calls, "decisions": 7})}
    )


ROWS = (
    _row("a", 1.0, "constraint_free", 12, 1000),
    _row("b", 1.0, "spatial", 13, 2000),
    _row("c", 0.0, "temporal", 26, 3000),
    _row("d", 0.0, "temporal", 27, 4000),
)


def _run(name: str, **settings: object) -> Run:
    return Run(name, "val", RunSettings.model_validate({"planner": "react", **settings}), ROWS)


def _table(lines: list[str], title: str) -> list[list[str]]:
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    return [line.split("  ") for line in lines[start + 1 : lines.index("", start)]]


def _words(line: list[str]) -> list[str]:
    return [word.strip() for word in line if word.strip()]


def test_the_numbers_are_the_papers() -> None:
    """EPM-T7, EPM-T9, EPM-T10."""
    assert (len(ABLATIONS), len(EXTENDED)) == (6, 10)
    by_key = {block.key: block for block in EXTENDED}
    for row in ABLATIONS:
        if row.key in by_key:
            own = by_key[row.key].values[0][:5]
            pairs = zip(row.values, own, strict=True)
            # EPM-T9 has one digit more of some.
            assert all(
                a and b and float(a[0]) == pytest.approx(float(b[0]), abs=0.05) for a, b in pairs
            )
    assert BY_LENGTH.keys() <= by_key.keys()
    # The three types average to all, but for one row and three of its columns.
    for block in EXTENDED:
        for column in range(8):
            cells = [values[column] for values in block.values]
            if any(cell is None for cell in cells):
                continue
            whole, *parts = (float(cell[0]) for cell in cells if cell is not None)
            near = abs(sum(parts) / 3 - whole) <= 0.06 * max(abs(whole), 0.35)
            assert near is not (block.key == "hd_gt" and column in (2, 3, 4)), (block.key, column)


def test_a_run_stands_beside_the_row_that_it_is_named_for() -> None:
    lines = table_lines([_run("ours"), _run("other", memory="learned")], {"hd_gt": ["ours"]})
    seven = [_words(line) for line in _table(lines, "TABLE 7")]
    place = next(i for i, words in enumerate(seven) if words[:3] == ["GT", "HD", "paper"])
    assert seven[place][3:6] == ["0.63 +/- 0.02", "0.74 +/- 0.01", "2110 +/- 80"]
    assert seven[place + 1][:4] == ["ours", "0.50 +/- 0.29", "0.50 +/- 0.29", "2500 +/- 645"]
    assert seven[-1][:3] == ["Learned", "react", "other"]
    nine = [_words(line) for line in _table(lines, "TABLE 9")]
    place = next(i for i, words in enumerate(nine) if words[:4] == ["HD", "GT", "Te", "paper"])
    assert nine[place + 1][:4] == ["Te", "ours", "0.00 +/- 0.00", "0.00 +/- 0.00"]
    assert nine[place + 1][-1] == "2"
    assert "7.00 +/- 0.00" in nine[place + 1], "a decision of a planner without a model is a cycle"
    all_of = next(words for words in nine if words[:4] == ["HD", "GT", "All", "paper"])
    assert all_of[6:9] == ["2110 +/- 80*", "21.6 +/- 0.6*", "0.17 +/- 0.01*"]


def test_success_by_length_of_the_episode() -> None:
    """EPM-T10."""
    lines = table_lines([_run("ours")], {"hd_ddaft_learned": ["ours"]})
    ten = [_words(line) for line in _table(lines, "TABLE 10")]
    assert ten[-2] == ["HD+DDAFT", "Learned", "paper", "0.82", "0.64", "0.25"]
    assert ten[-1] == ["ours", "1.00 of 1", "0.50 +/- 0.50 of 2", "0.00 of 1"]
    lines = table_lines([_run("ours")], {}, lengths=Lengths(14, 26))
    assert _words(_table(lines, "TABLE 10")[-1])[3:] == [
        "1.00 +/- 0.00 of 2",
        "0.00 of 1",
        "0.00 of 1",
    ]
    with pytest.raises(PlannerError, match="lengths 26 and 13 are not in order"):
        Lengths(26, 13)


def test_perceptions_are_columns() -> None:
    memories = ("privileged", "learned", "voxels-room", "object-graph")
    lines = table_lines([_run(memory, memory=memory) for memory in memories], {})
    table = [_words(line) for line in _table(lines, "SUCCESS BY PERCEPTION")]
    head = table[0]
    assert head[1:] == ["GT", "Learned", "DynaMem", "DynaMem-Room", "DynaMem-Room-TimeOnly", "ConceptGraph", "full knowledge"]  # noqa: E501  # fmt: skip
    ours = table[-1][2:]
    found = {name: value for name, value in zip(head[1:], ours, strict=True) if value != "-"}
    assert found == dict.fromkeys(
        ("GT", "Learned", "DynaMem-Room", "ConceptGraph"), "0.50 +/- 0.29"
    )
    paper = next(words for words in table if words[0] == "DynaMem, true classes")
    assert paper[4:7] == ["0.07 +/- 0.01", "0.10 +/- 0.01", "0.17 +/- 0.01"]


def test_what_is_told_each_turn_is_a_comparison_of_success() -> None:
    lines = table_lines([], {})
    changes, whole = (
        next(line.split() for line in lines if words in line)
        for words in ("PP, told what changes", "PP, told the whole list")
    )
    assert "0.46" in changes
    assert "0.32" in whole
    assert "+/-" not in changes + whole
    assert "whole_list" in row_keys()


@pytest.mark.parametrize(
    ("settings", "perception"),
    [
        ({"memory": "voxels-plain"}, "GT"),
        ({"memory": "voxels-plain", "memory_model": "siglip"}, "DynaMem"),
        ({"memory": "privileged"}, None),
        ({"memory": "voxels-plain", "planner": "react"}, None),
    ],
)
def test_dynamems_planner_with_its_memory_stands_beside_its_row(
    settings: dict[str, str], perception: str | None
) -> None:
    lines = table_lines([_run("ours", **{"planner": "open_loop", **settings})], {})
    nine = [_words(line) for line in _table(lines, "TABLE 9")]
    rows = [i for i, words in enumerate(nine) if words[:2] == ["All", "ours"]]
    above = [nine[i - 1][:4] for i in rows]
    assert above == ([] if perception is None else [["DynaMem", perception, "All", "paper"]])
    (method,) = (w for w in _table(lines, "SUCCESS BY PERCEPTION") if "val" in _words(w))
    assert method[0].startswith(settings.get("planner", "open_loop"))
    assert "0.50 +/- 0.29" in _words(method)


def test_an_unknown_row_is_refused() -> None:
    with pytest.raises(PlannerError, match="there is no row 'hd'; known are dynamem_gt"):
        table_lines([], {"hd": ["x"]})
    assert len(set(row_keys())) == len(row_keys()) == 15


def test_the_command_prints_tables_and_curves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, improved = tmp_path / "run", tmp_path / "improved"
    for folder in (run, improved):
        folder.mkdir()
    settings = RunSettings(planner="react", model="server:tiny")
    manifest = new_manifest("val", (), 4, settings)
    (run / "manifest.json").write_text(manifest.model_dump_json())
    (run / ROWS_NAME).write_text("".join(row.model_dump_json() + "\n" for row in ROWS))
    (improved / CURVE).write_text(made_curve("ddaft", (2, 8)).model_dump_json())
    words = ["bench", "table", "epm", str(improved), "--as", f"hd_gt={run}"]
    assert main([*words, "--lengths", "20", "30"]) == 0
    out = capsys.readouterr().out
    assert "MEDIUM, 20 TO 30" in out
    curve = [_words(line) for line in _table(out.splitlines(), "FIGURE 7")]
    assert curve[-1] == ["ddaft", "100", "0.80", "0.44", "0.97", "10"]
    assert f"{run}: planner react, suite val, memory privileged" in out
    assert main(["bench", "table", "llamar", str(improved)]) == 2
    assert "llamar has no curves" in capsys.readouterr().err
