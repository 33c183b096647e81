"""What policy improvement gained: paired differences on the same held-out tasks (EPM-2.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.command_line import aligned
from planner.evaluation.statistics import Comparison, by_task, compare
from planner.training.improvement.curve import Curve, read_curve
from planner.training.improvement.samplers import ddaft
from planner.world.errors import PlannerError

BEFORE = "before"
_Outcomes = Mapping[tuple[str, int], float]


@dataclass(frozen=True, slots=True)
class ImprovedRun:
    """A finished run of `planner train ddaft`.

    Attributes:
        before: of each held-out task with its seed, whether the first policy solved it.
        after: whether the last one did.
    """

    curve: Curve
    before: _Outcomes
    after: _Outcomes


@dataclass(frozen=True, slots=True)
class Gain:
    """`second` minus `first` in success, over runs of as many seeds."""

    first: str
    second: str
    seeds: int
    found: Comparison


def read_improved(folder: Path) -> ImprovedRun | None:
    """The curve of a run's folder, and the outcomes of its first and last policy.

    None if only the curve was kept, or its policies were not scored.

    Raises:
        FileError: if a file is missing or wrong.
    """
    curve = read_curve(folder)
    places = [_evaluation(folder, point.iteration) for point in curve.points]
    if len(places) < 2 or not (places[0].is_file() and places[-1].is_file()):
        return None
    return ImprovedRun(curve, _outcomes(places[0]), _outcomes(places[-1]))


def _evaluation(folder: Path, iteration: int) -> Path:
    return folder / f"iteration_{iteration}" / "evaluation" / ROWS_NAME


def _outcomes(path: Path) -> _Outcomes:
    rows = newest_rows(path)
    return {key: float(row.verdict.success) for key, row in rows.items() if row.verdict is not None}


def gains(runs: Sequence[ImprovedRun]) -> list[Gain]:
    """Each algorithm against the policy before it, then DDAFT against each rival at equal seeds.

    A task's value is its mean over the runs and over the seeds that it was scored with, so that
    tasks, which are what was drawn, are what the interval is over.

    Raises:
        PlannerError: if runs were not scored on the same tasks.
    """
    by_name: dict[str, dict[int, ImprovedRun]] = {}
    for run in runs:
        by_name.setdefault(run.curve.algorithm, {})[run.curve.seed] = run
    found = []
    for name, of_seed in by_name.items():
        chosen = list(of_seed.values())
        before, after = [run.before for run in chosen], [run.after for run in chosen]
        found.append(_gain(BEFORE, before, name, after))
    for name, of_seed in by_name.items():
        seeds = sorted(of_seed.keys() & by_name.get(ddaft.NAME, {}).keys())
        if name != ddaft.NAME and seeds:
            ours = [by_name[ddaft.NAME][seed].after for seed in seeds]
            found.append(_gain(name, [of_seed[seed].after for seed in seeds], ddaft.NAME, ours))
    return found


def _gain(first: str, before: Sequence[_Outcomes], second: str, after: Sequence[_Outcomes]) -> Gain:
    keys = sorted(set(before[0]).intersection(*before, *after))
    if any(len(outcomes) != len(before[0]) for outcomes in (*before, *after)) or not keys:
        raise PlannerError(f"{first} and {second} were not scored on the same held-out tasks")

    def of_tasks(runs: Sequence[_Outcomes]) -> list[list[float]]:
        return by_task((key[0], run[key]) for key in keys for run in runs)

    found = compare(of_tasks(before), of_tasks(after), binary=True)
    return Gain(first, second, len(before), found)


def gain_lines(found: Sequence[Gain]) -> list[str]:
    """The differences as a table."""
    rows: list[tuple[str, ...]] = [
        ("SECOND", "FIRST", "DIFFERENCE", "LOW", "HIGH", "BETTER", "WORSE", "P", "N", "SEEDS")
    ]
    for gain in found:
        estimate = gain.found.difference
        numbers = (
            "-" if x is None else f"{x:+.2f}" for x in (estimate.value, estimate.low, estimate.high)
        )
        counts = (gain.found.better, gain.found.worse, f"{gain.found.p:.3f}", estimate.n)
        rows.append((gain.second, gain.first, *numbers, *map(str, counts), str(gain.seeds)))
    return [
        "WHAT IMPROVEMENT GAINED: second - first on the same held-out tasks, intervals of 95 %",
        *aligned(rows),
        "",
    ]
