"""ET-Plan-Bench's tables with runs beside them (ETPLAN-T2 to ETPLAN-T4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_rows import made_row

from papers.et_plan_bench.tables import BY_MODEL, ROWS, table_lines
from planner.bench.runs.paper import Run
from planner.bench.runs.settings import RunSettings
from planner.cli import main
from planner.world.errors import PlannerError

NUMBERS = {"sequence_length": 6.77, "lcs_length": 1.5, "lcs_ratio": 0.75}


def made_run(category: str, variants: str = "", successes: int = 3, count: int = 4) -> Run:
    rows = [
        made_row(
            f"e{n}",
            {**NUMBERS, "criteria_success": float(n < successes)},
        ).model_copy(
            update={
                "evidence": {
                    "category": category,
                    "variants": variants,
                    "ranker": "table",
                    "ranker_source": "counts of houses",
                }
            }
        )
        for n in range(count)
    ]
    settings = RunSettings.model_validate({"planner": "et_agent"})
    return Run("ours", "tasks", settings, rows)


def rows_with(lines: list[str], words: str) -> list[str]:
    """The printed rows of the main results below which a run stands."""
    label, found = "", []
    for line in lines[: lines.index("TABLE 3: success with other models")]:
        if "paper, GPT-4" in line:
            label = line.partition("  ")[0]
        if words in line:
            found.append(label)
    return found


def test_check_42_a_rate_is_printed_with_two_decimals() -> None:
    """ETPLAN-C42."""
    lines = table_lines([made_run("navigation", "", 661, 834)], {})
    # Below its row of the main results, and below the usual prompt's.
    line, _ = (line for line in lines if "ours, table" in line)
    assert "79.26 (76.3-82.0)" in line
    assert line.rstrip().endswith("834")


@pytest.mark.parametrize(
    ("category", "variants", "rows"),
    [
        ("navigation", "", ["Navi"]),
        ("navigation", "layout_map occlusion_size", ["Navi + Layout Map"]),
        ("navigation", "action_dependency", ["Navi"]),
        ("navigation_relation", "occlusion_size", [
            "Navi + Relation", "Navi + Relation + Occlusion_Size",
        ]),
        ("two_objects", "optimal_path", [
            "Navi & Mani + Multi Objects + Optimal Path with 2 Arms",
        ]),
        ("temporal", "", ["Navi & Mani + Multi Objects + Temp Dependency"]),
        ("", "", []),
    ],
)  # fmt: skip
def test_a_run_stands_below_the_rows_of_its_tasks(
    category: str, variants: str, rows: list[str]
) -> None:
    lines = table_lines([made_run(category, variants)], {})
    assert rows_with(lines, "ours, table") == rows
    assert ("ours: 4 episodes of no category of ET-Plan-Bench" in lines) is (not rows)
    assert any("counts of houses" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({}, "Navi"),
        ({"think_first": True}, "Navi + CoT"),
        ({"few_shot": True}, "Navi, few-shot"),
        ({"few_shot": True, "think_first": True}, None),
    ],
)
def test_a_run_stands_below_its_prompts(options: dict[str, bool], label: str | None) -> None:
    run = made_run("navigation")
    settings = run.settings.model_copy(update={"options": options})
    lines = table_lines([replace(run, settings=settings)], {})
    part = lines[lines.index("TABLES 6 AND 7: other prompts") :]
    part = part[: part.index("")]
    above = [part[i - 1].partition("  ")[0] for i, line in enumerate(part) if "ours, " in line]
    assert above == ([] if label is None else [label])


def test_a_named_row_takes_the_whole_run() -> None:
    run = made_run("")
    assert rows_with(table_lines([run], {"relation": ["ours"]}), "ours, table") == [
        "Navi + Relation"
    ]
    with pytest.raises(PlannerError, match="there is no row 'walls'"):
        table_lines([run], {"walls": ["ours"]})


def test_printed_rates_are_those_of_table_3() -> None:
    by_key = {row.key: row for row in ROWS}
    assert {key: by_key[key].gpt4[0] for key in BY_MODEL} == {
        key: values[0] for key, values in BY_MODEL.items()
    }
    assert len(by_key) == len(ROWS) == 17


def test_the_command_prints_the_papers_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "table", "et-plan"]) == 0
    printed = capsys.readouterr().out
    assert all(f"TABLE {number}" in printed for number in (2, 3, 4))
    assert "empty" in printed
