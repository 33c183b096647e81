"""Compares two runs of the same episodes: how much the second differs, and how significantly."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.table import number, seeds_of, task_words
from planner.command_line import aligned
from planner.evaluation import statistics
from planner.evaluation.metrics.metric import MAX_VALUE, Kind, Metric
from planner.evaluation.metrics.table import metrics
from planner.evaluation.statistics import Comparison
from planner.world.errors import PlannerError

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric over the pairs in which both runs have a value: the means over tasks, the test."""

    metric: Metric
    first: float
    second: float
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Pairing:
    """The episodes that both runs judged, and how many only one of them did."""

    both: tuple[Key, ...]
    only_first: int
    only_second: int


def pair(first: Mapping[Key, Row], second: Mapping[Key, Row]) -> Pairing:
    """Pairs two runs.

    Raises:
        PlannerError: if they have no judged episode in common, or used different rules.
    """
    one = {key for key, row in first.items() if row.verdict is not None}
    two = {key for key, row in second.items() if row.verdict is not None}
    both = tuple(sorted(one & two))
    if not both:
        raise PlannerError("the runs have no judged episode with the same seed in common")
    modes = {(row.mode, row.variant) for rows in (first, second) for row in rows.values()}
    if len(modes) > 1:
        raise PlannerError("the runs were judged by different rules, so they cannot be compared")
    return Pairing(both, len(one - two), len(two - one))


def compare(first: Mapping[Key, Row], second: Mapping[Key, Row]) -> tuple[Compared, ...]:
    """Every per-episode metric that both runs have; pairs without a value drop out."""
    both = pair(first, second).both
    found = []
    for metric in metrics().values():
        if not isinstance(metric, Metric):
            continue
        pairs = [
            (key[0], first[key].metrics[metric.name], second[key].metrics[metric.name])
            for key in both
            if metric.name in first[key].metrics and metric.name in second[key].metrics
        ]
        if not pairs:
            continue
        ones = statistics.by_task((task, value) for task, value, _ in pairs)
        twos = statistics.by_task((task, value) for task, _, value in pairs)
        comparison = statistics.compare(
            ones, twos, binary=metric.kind is Kind.RATE, max_value=MAX_VALUE[metric.kind]
        )
        first_mean, second_mean = (fmean(statistics.task_means(values)) for values in (ones, twos))
        found.append(Compared(metric, first_mean, second_mean, comparison))
    return tuple(found)


def comparison_lines(pairing: Pairing, compared: tuple[Compared, ...]) -> list[str]:
    """The comparison as text."""
    lone = ""
    if pairing.only_first or pairing.only_second:
        lone = f"; left out: {pairing.only_first} only in A, {pairing.only_second} only in B"
    head = ("METRIC", "A", "B", "B - A", "LOW", "HIGH", "LARGER", "SMALLER", "N", "P", "TEST")
    rows = [head]
    for found in compared:
        test = found.comparison
        rows.append(
            (
                found.metric.name,
                number(found.first),
                number(found.second),
                number(test.difference.value),
                number(test.difference.low),
                number(test.difference.high),
                str(test.better),
                str(test.worse),
                str(test.difference.n),
                f"{test.p:.3g}",
                test.test,
            )
        )
    ran = task_words(len({task for task, _ in pairing.both}), seeds_of(pairing.both))
    note = (
        "N: tasks; several seeds of a task are its mean. LARGER, SMALLER: tasks in which the "
        "value of B is so. P: if the runs were alike."
    )
    return [f"{len(pairing.both)} episodes in both runs, of {ran}{lone}", *aligned(rows), note]


# `planner bench compare RUN_A RUN_B`: how much B differs from A, and whether significantly.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("run_a", type=Path, metavar="RUN_A", help="a run's directory")
    parser.add_argument("run_b", type=Path, metavar="RUN_B", help="another one's")
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    """Prints the comparison, and how the runs' settings differ."""
    first, second = (newest_rows(run / ROWS_NAME) for run in (args.run_a, args.run_b))
    a, b = (read_manifest(run).settings.model_dump(mode="json") for run in (args.run_a, args.run_b))
    compared = compare(first, second)
    if args.json:
        found = [
            {"metric": c.metric.name, "a": c.first, "b": c.second, **asdict(c.comparison)}
            for c in compared
        ]
        print(json.dumps(found, indent=2))
        return 0
    print(f"A: {args.run_a}\nB: {args.run_b}")
    for name, value in a.items():
        if b[name] != value:
            print(f"{name}: A {value!r}, B {b[name]!r}")
    print("\n".join(comparison_lines(pair(first, second), compared)))
    return 0
