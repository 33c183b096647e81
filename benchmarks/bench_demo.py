"""Time from `planner demo` to the first motion of an agent, after set-up.

Repeat with: python benchmarks/bench_demo.py [--task NAME] [--runs N]

Each run is stopped as soon as the first agent moves. CPU time is that of all processes of the demo
up to then: on a busy machine it says more than the wall time.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import print_table

from planner.demo import DEFAULT_TASK
from planner.environment import ros_environment

DOMAIN = "87"
MOVING = re.compile(r"  is moving, [\d.]+ s after the start$")
WITHIN_S = 10.0


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


def busy_s(pid: int) -> float:
    """CPU time of a process so far, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_motion(task: str, folder: str) -> tuple[float, float]:
    """Start a demo; return wall and CPU time until its first motion, s."""
    command = [sys.executable, "-m", "planner.cli", "demo", "--task", task, "-o", folder]
    begun_s = time.monotonic()
    with subprocess.Popen(
        command,
        env={**ros_environment(os.environ), "ROS_DOMAIN_ID": DOMAIN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        told = []
        for line in process.stdout:
            told.append(line)
            if MOVING.search(line):
                wall_s = time.monotonic() - begun_s
                cpu_s = sum(busy_s(pid) for pid in family(process.pid))
                process.send_signal(signal.SIGINT)
                process.communicate()
                return wall_s, cpu_s
    raise SystemExit(f"the demo ended with status {process.wait()}:\n{''.join(told)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", default=DEFAULT_TASK)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    rows = []
    for number in range(1, args.runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            wall_s, cpu_s = first_motion(args.task, folder)
        rows.append((f"run {number}: wall", f"{wall_s:.1f} s", f"under {WITHIN_S:.0f} s"))
        rows.append((f"run {number}: CPU of all processes", f"{cpu_s:.1f} s", ""))
    print_table(f"{args.task}: from the command to the first motion", rows)


if __name__ == "__main__":
    main()
