"""Start-up time of `planner --help` and `planner episodes list`.

Repeat with: python benchmarks/bench_command_start.py [--runs N]

Each run is a process of its own, after a warm-up run that fills the file cache. CPU time is what an
idle machine would take; wall time includes other processes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from machine import print_table

PLANNER = Path(sys.executable).with_name("planner")
# Limit for each, seconds.
LIMITS_S = {("--help",): 0.5, ("episodes", "list"): 1.0}


def took_s(words: tuple[str, ...]) -> tuple[float, float]:
    """Wall and CPU seconds of a command."""
    began_s, before = time.monotonic(), os.times()
    subprocess.run([PLANNER, *words], check=True, stdout=subprocess.DEVNULL)
    wall_s, after = time.monotonic() - began_s, os.times()
    user_s = after.children_user - before.children_user
    return wall_s, user_s + after.children_system - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    rows = []
    for words, limit_s in LIMITS_S.items():
        took_s(words)
        wall, processor = zip(*(took_s(words) for _ in range(runs)), strict=True)
        figures = f"{statistics.median(wall):.2f} s, processor {statistics.median(processor):.2f} s"
        rows.append((f"planner {' '.join(words)}", figures, f"under {limit_s:g} s"))
    print_table(f"median of {runs} starts", rows)


if __name__ == "__main__":
    main()
