"""`planner bench compare RUN_A RUN_B`: how much B differs from A, and whether significantly."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from planner.bench.runs.comparison import compare, comparison_lines, pair
from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.rows import ROWS_NAME, newest_rows


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
