"""`planner bench failures RUN [RUN]`: the tasks that a run fails, or that only one of two does."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from planner.bench.runs.failures import Failure, failure_lines, failures, only_one_fails
from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.suites import find_suite
from planner.world.errors import PlannerError


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
