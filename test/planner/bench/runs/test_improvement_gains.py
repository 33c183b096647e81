"""Paired differences of policies on the same held-out tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_rows import made_row
from test_success_curves import made_curve

from planner.bench.runs.rows import ROWS_NAME
from planner.bench.runs.success_curves import (
    BEFORE,
    ImprovedRun,
    gain_lines,
    gains,
    read_improved,
)
from planner.cli import main
from planner.training.improvement.journal import CURVE
from planner.world.errors import PlannerError


def _run(algorithm: str, before: str, after: str, seed: int = 1) -> ImprovedRun:
    """Outcomes as digits, of as many tasks."""
    sides = ({(f"e{i}", 1): float(d) for i, d in enumerate(text)} for text in (before, after))
    curve = made_curve(algorithm, (before.count("1"), after.count("1")), seed=seed)
    return ImprovedRun(curve, *sides)


def test_each_is_paired_with_the_policy_before_and_ddaft_with_its_rivals() -> None:
    found = gains([_run("ddaft", "00001", "11101"), _run("dast", "00001", "10001")])
    assert [(gain.second, gain.first) for gain in found] == [
        ("ddaft", BEFORE),
        ("dast", BEFORE),
        ("ddaft", "dast"),
    ]
    ours, _, against = (gain.found for gain in found)
    assert (ours.difference.value, ours.better, ours.worse) == (pytest.approx(0.6), 3, 0)
    assert against.difference.value == pytest.approx(0.4)
    assert ours.test == "mcnemar_exact"
    assert "ddaft" in gain_lines(found)[2]


def test_seeds_are_averaged_by_task_and_rivals_compared_at_equal_seeds() -> None:
    runs = [
        _run("ddaft", "0000", "1100"),
        _run("ddaft", "0000", "1000", seed=2),
        _run("dast", "0000", "0010", seed=2),
    ]
    ours, _, against = gains(runs)
    assert (ours.seeds, ours.found.difference.n) == (2, 4)
    assert ours.found.difference.value == pytest.approx(1.5 / 4)
    assert (against.seeds, against.found.difference.value) == (1, 0)
    assert (against.found.better, against.found.worse) == (1, 1)


def test_a_task_scored_with_several_seeds_is_one_task() -> None:
    before, after = (
        {(f"e{i}", seed): share for i in range(3) for seed in range(5)} for share in (0.0, 1.0)
    )
    (gain,) = gains([ImprovedRun(made_curve("ddaft", (0, 15)), before, after)])
    assert (gain.found.difference.n, gain.found.better) == (3, 3)
    assert gain.found.p == pytest.approx(0.25)


def test_other_tasks_are_refused() -> None:
    with pytest.raises(PlannerError, match="not scored on the same held-out tasks"):
        gains([_run("ddaft", "000", "111"), _run("dast", "0000", "0000")])


def test_the_commands_print_them_and_write_them_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ddaft"
    for iteration, success in ((0, 0.0), (1, 1.0)):
        place = folder / f"iteration_{iteration}" / "evaluation"
        place.mkdir(parents=True)
        rows = [made_row(name, {"success": success}) for name in ("a", "b")]
        assert all(row.verdict is not None and row.verdict.success == success for row in rows)
        (place / ROWS_NAME).write_text("".join(row.model_dump_json() + "\n" for row in rows))
    (folder / CURVE).write_text(made_curve("ddaft", (0, 10)).model_dump_json())
    picture, numbers = tmp_path / "curves.png", tmp_path / "curves.json"
    assert main(["bench", "curves", str(folder), "-o", str(picture), "--json", str(numbers)]) == 0
    assert "ddaft   before  +1.00" in capsys.readouterr().out
    found = json.loads(numbers.read_text())
    assert found["curves"][0]["algorithm"] == "ddaft"
    assert found["gains"][0]["found"]["difference"]["value"] == 1
    # Of a run of which only the curve was kept there is nothing to pair.
    (folder / "iteration_0" / "evaluation" / ROWS_NAME).unlink()
    assert read_improved(folder) is None
