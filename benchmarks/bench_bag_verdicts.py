"""Whether a demo's bag gives the live verdict: at three paces, idle and beside busy processes.

Repeat with: python benchmarks/bench_bag_verdicts.py [--runs N] [--task NAME]

Each run is `planner demo` as users start it; its last line is counted. A bag that lacks states of
the world counts as different.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from machine import busy, print_table

from planner.demo import DEFAULT_PACE
from planner.recorder.bag_file import RECORDING
from planner.replay.bag import Bag

DOMAIN = "84"
PACES = ("--pace=1", f"--pace={DEFAULT_PACE:g}", "--fast")
BUSY = (0, 3)
_LINE = re.compile(r"verdict: (\w+)  bag verdict: (.*?)  percent_complete")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: whether both verdicts are equal, and how many messages the bag lacks."""

    same: bool
    missed: int
    line: str


def run(task: str, pace: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        words = [sys.executable, "-m", "planner.cli", "demo", "--task", task, pace, "-o", output]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        line = (done.stdout.splitlines() or [done.stderr])[-1]
        found = _LINE.match(line)
        missed = -1
        if (output / "bag").is_dir():
            record = Bag(output / "bag").metadata.get(RECORDING, {})
            missed = sum(t["missed"] for t in json.loads(record.get("topics", "{}")).values())
    return Outcome(found is not None and found[1] == found[2], missed, line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="of each pace, idle and busy")
    parser.add_argument("--task", default="night_light_0")
    options = parser.parse_args()
    os.environ.update(ROS_DOMAIN_ID=DOMAIN, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    rows, every = [], []
    for pace in PACES:
        for count in BUSY:
            with busy(count):
                outcomes = [run(options.task, pace) for _ in range(options.runs)]
            every += outcomes
            same = sum(outcome.same for outcome in outcomes)
            missed = ", ".join(str(outcome.missed) for outcome in outcomes)
            name = f"{pace.lstrip('-')}, {count} busy processes"
            rows.append((name, f"{same} of {len(outcomes)} the same; missed {missed}", "all"))
            for outcome in outcomes:
                if not outcome.same:
                    print(f"{name}: {outcome.line}", flush=True)
    same = sum(outcome.same for outcome in every)
    rows.append(("bag verdict equal to live verdict", f"{same} of {len(every)}", "30 of 30"))
    print_table(f"{options.task}, {options.runs} runs each", rows)


if __name__ == "__main__":
    main()
