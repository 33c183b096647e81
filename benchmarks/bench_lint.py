"""Linting 10,000 episodes without --solve.

The shipped episodes, copied under other names and seeds until there are enough: all shipped houses,
each read and searched once per process. Repeat with:
python benchmarks/bench_lint.py [--episodes N] [--processes N]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from machine import print_table

from planner.episodes.lint.linting import lint_files
from planner.episodes.recipes.build import shipped_episodes


def write_copies(folder: Path, count: int) -> list[Path]:
    shipped = [json.loads(path.read_text(encoding="utf-8")) for path in shipped_episodes()]
    paths = []
    for number in range(count):
        document = shipped[number % len(shipped)]
        name = f"{document['episode_id']}-{number}"
        path = folder / f"{name}.json"
        text = json.dumps({**document, "episode_id": name, "seed": number})
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=0, help="0 = one a core")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_copies(Path(folder), args.episodes)
        begin, spent = time.perf_counter(), os.times()
        reports = list(lint_files(paths, args.processes))
        wall_s = time.perf_counter() - begin
        now = os.times()
    cpu_s = sum(now[:4]) - sum(spent[:4])
    found = sum(len(report.findings) for report in reports)
    rows = [
        ("episodes", f"{len(reports)}", ""),
        ("findings", f"{found}", "0: they are copies of the shipped ones"),
        ("processes", f"{args.processes or os.cpu_count()}", ""),
        ("wall time", f"{wall_s:.1f} s", "under 60 s for 10,000"),
        ("CPU time of all processes", f"{cpu_s:.1f} s", ""),
        ("CPU time an episode", f"{1e3 * cpu_s / len(reports):.2f} ms", ""),
    ]
    print_table("lint without --solve", rows)


if __name__ == "__main__":
    main()
