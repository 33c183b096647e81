"""Which tasks a run fails, or only one of two runs: what was missing, and where to look."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs.manifest import find_suite, read_manifest
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.evaluation.trace import EpisodeTrace, read_traces
from planner.world.errors import PlannerError

Key = tuple[str, int]
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="one or two directories")


def run(args: argparse.Namespace) -> int:
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
