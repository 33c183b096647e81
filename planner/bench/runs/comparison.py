"""Compares two runs of the same episodes, and lists the tasks that a run fails."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from planner.bench.runs.manifest import find_suite, read_manifest
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.table import number, seeds_of, task_words
from planner.command_line import aligned
from planner.evaluation import statistics
from planner.evaluation.metrics.metric import MAX_VALUE, Kind, Metric
from planner.evaluation.metrics.table import metrics
from planner.evaluation.statistics import Comparison
from planner.evaluation.trace import EpisodeTrace, read_traces
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
    rows: list[tuple[str, ...]] = [head]
    for found in compared:
        test, by = found.comparison, found.comparison.difference
        numbers = map(number, (found.first, found.second, by.value, by.low, by.high))
        counts = map(str, (test.better, test.worse, by.n))
        rows.append((found.metric.name, *numbers, *counts, f"{test.p:.3g}", test.test))
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


# Which tasks a run fails, or only one of two runs: what was missing, and where to look.

Rows = Mapping[Key, Row]
LAST_CALLS = 3
_RECORDINGS = "recordings"


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that a run fails with some of its seeds.

    Attributes:
        rows: those that failed, by seed; `tried` is the number of all.
    """

    rows: tuple[Row, ...]
    tried: int


def has_failed(row: Row) -> bool:
    """Whether the episode was not solved, or has no verdict."""
    return row.verdict is None or not row.verdict.success


def failures(rows: Rows, among: Iterable[Key] | None = None) -> list[Failure]:
    """The tasks that fail, in order of name; `among` limits them to these episodes."""
    by_task: dict[str, list[Row]] = {}
    for key in sorted(rows if among is None else among):
        by_task.setdefault(key[0], []).append(rows[key])
    found = []
    for of_task in by_task.values():
        failed = tuple(filter(has_failed, of_task))
        if failed:
            found.append(Failure(failed, len(of_task)))
    return found


def only_one_fails(first: Rows, second: Rows) -> tuple[list[Failure], list[Failure]]:
    """The tasks that only the first run fails, and only the second, with the same seed.

    Raises:
        PlannerError: if the runs have no episode in common.
    """
    common = first.keys() & second.keys()
    if not common:
        raise PlannerError("the runs have no episode with the same seed in common")
    odd = [key for key in common if has_failed(first[key]) is not has_failed(second[key])]
    return failures(first, odd), failures(second, odd)


def failure_lines(folder: Path, settings: RunSettings, found: Failure, path: Path) -> list[str]:
    """A task as text: instruction, what was missing, last calls, trace, how to see it.

    Args:
        folder: the run's.
        settings: the run's.
        found: the task; its first failed episode is shown.
        path: of the task's file.

    Raises:
        FileError: for a trace that cannot be read.
    """
    row = found.rows[0]
    seeds = ", ".join(str(each.seed) for each in found.rows)
    lines = [f"{row.episode_id}, seed {seeds}: {len(found.rows)} of {found.tried} not solved"]
    lines.append(f'  instruction: "{row.instruction}"')
    lines.append(f"  missing: {missing_words(row)}")
    trace = trace_path(folder, row.trace) if row.trace else None
    if trace is not None and trace.is_file():
        lines += [f"  call: {call}" for call in _last_calls(next(read_traces(trace)))]
        lines.append(f"  trace: {trace}")
    return [*lines, f"  see it: {report_line(row, settings, path)}"]


def missing_words(row: Row) -> str:
    """Why the episode counts as failed: of its goal, or why there is no verdict."""
    if row.verdict is None:
        return "no verdict" if row.error is None else f"{row.error.fault.value}: {row.error.text}"
    verdict = row.verdict
    unmet = verdict.explanation or f"{verdict.percent_complete:.0%} of the goal holds"
    return f"{unmet} (ended: {verdict.end.value}, {verdict.reason})"


def _last_calls(trace: EpisodeTrace) -> Sequence[str]:
    return [
        f"{call.agent} {call.call} -> {call.text or ('done' if call.succeeded else call.code)}"
        for call in trace.calls[-LAST_CALLS:]
    ]


def report_line(row: Row, settings: RunSettings, path: Path) -> str:
    """The commands that play the episode again, recorded, and make its `planner report`.

    An episode of a benchmark has a trace but no bag. Nodes always have a memory, also where the run
    had full knowledge.
    """
    place = f"{_RECORDINGS}/{row.trace or row.episode_id}"
    given: dict[str, object] = {"episode": path, "seed": row.seed, "planner": settings.planner}
    given |= {"agents": settings.agents} if settings.agents else {}
    given |= {"backend": settings.backend} if settings.backend else {}
    given |= {"backend_config": settings.backend_config} if settings.backend_config else {}
    given |= {"sensors": settings.sensors} if settings.sensors else {}
    if settings.model:
        given |= {"model": settings.model, "model_url": settings.model_url}
        given |= {"control": settings.control.value, **settings.model_options}
    if settings.updater is not None:
        given |= {"memory": settings.memory, "memory_model": settings.memory_model}
        given |= {"memory_url": settings.memory_url, "memory_second": settings.memory_second}
        given |= settings.memory_options
    given |= {**settings.skill_options, **settings.options, "narrate": "true", "record": place}
    words = (f"{name}:={_text(value)}" for name, value in given.items() if value != "")
    up = shlex.join(["planner", "up", *words])
    return f"{up}; {shlex.join(['planner', 'report', f'{place}/bag'])}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# `planner bench failures RUN [RUN]`: the tasks that a run fails, or that only one of two does.


def add_failures(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="one or two directories")


def run_failures(args: argparse.Namespace) -> int:
    """Prints each task with what was missing, the last calls, and how to see it."""
    if len(args.runs) > 2:
        raise PlannerError(f"failures compares two runs, not {len(args.runs)}")
    rows = [newest_rows(folder / ROWS_NAME) for folder in args.runs]
    if len(args.runs) == 1:
        found = failures(rows[0])
        tasks = len({task for task, _ in rows[0]})
        print(f"{len(found)} of {tasks} tasks fail in {args.runs[0]}")
        _print(args.runs[0], found)
        return 0
    for folder, found in zip(args.runs, only_one_fails(*rows), strict=True):
        print(f"{len(found)} tasks fail only in {folder}")
        _print(folder, found)
    return 0


def _print(folder: Path, found: Sequence[Failure]) -> None:
    if not found:
        return
    manifest = read_manifest(folder)
    try:
        paths = {entry.episode_id: entry.path for entry in find_suite(manifest.suite)}
    except PlannerError as error:
        print(f"episodes are named instead of their files: {error}")
        paths = {}
    for each in found:
        name = each.rows[0].episode_id
        path = paths.get(name, Path(name))
        print("\n".join(["", *failure_lines(folder, manifest.settings, each, path)]))
    print()
