"""`planner bench speed`: what things cost in processor time, beside the committed values.

The rows are measured by the checkout's `benchmarks/speed_rows.py`, each in a process of its own;
the committed values are in `benchmarks/speed.json`. Both have the processor time of a calibration
loop at that moment: compared are multiples of it, so that another machine, or a busy one, is no
change.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from planner.environment import ros_environment
from planner.world.errors import PlannerError
from planner.world.files import FileModel, read_model

WORSE = 0.2
# A moment's disturbance is no loss: what is worse is measured again, and the best counts.
TRIES = 3
LONGEST_S = 1800
_SHOWN = {
    "/s": lambda cost: 1 / cost,
    "/min": lambda cost: 60 / cost,
    "s": lambda cost: cost,
    "ms": lambda cost: 1e3 * cost,
    "us": lambda cost: 1e6 * cost,
    "% of a core": lambda cost: 100 * cost,
}
_Seconds = Annotated[float, Field(gt=0)]


class Cost(FileModel):
    """Processor seconds of one thing (action, frame, command), and of the loop beside it.

    Attributes:
        machine: where, and how busy it was.
    """

    processor_s: _Seconds
    calibration_s: _Seconds
    machine: str

    def loops(self) -> float:
        """As a multiple of the calibration loop."""
        return self.processor_s / self.calibration_s


class Committed(FileModel):
    """One row of `speed.json`; without a cost it has not been measured yet."""

    what: str
    unit: Literal["/s", "/min", "s", "ms", "us", "% of a core"]
    cost: Cost | None = None

    def shown(self, cost: Cost) -> str:
        """A cost in the row's unit, with three digits."""
        value = _SHOWN[self.unit](cost.processor_s)
        return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f} {self.unit}"


class Speed(FileModel):
    """`benchmarks/speed.json`: the rows by name."""

    rows: dict[str, Committed]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner bench speed`."""
    parser.add_argument("--only", action="append", metavar="NAME", help="this row; repeatable")
    parser.add_argument("--commit", action="store_true", help="write what is measured to the file")
    parser.add_argument(
        "--benchmarks",
        type=Path,
        default=Path(__file__).parents[2] / "benchmarks",
        help="folder of speed_rows.py and speed.json; default: the checkout's",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the table; 1 if a row is 20 % worse than committed, or has no value to compare.

    Raises:
        PlannerError: for a row that is not in the file; naming file, field and reason if the file
            is missing, as it is where planner is installed without a checkout, or broken.
    """
    path = args.benchmarks / "speed.json"
    speed = read_model(path, Speed)
    for name in args.only or ():
        if name not in speed.rows:
            raise PlannerError(f"--only {name}: {path} has {', '.join(speed.rows)}")
    print(f"{'what':44} {'now':>18} {'committed':>18} {'loops':>10} {'then':>10}  slower by")
    found, failed = dict(speed.rows), []
    for name in args.only or speed.rows:
        row = speed.rows[name]
        try:
            cost = measured(args.benchmarks / "speed_rows.py", name, row.cost)
        except PlannerError as error:
            print(f"{row.what:44} not measured: {error}", flush=True)
            failed.append(name)
            continue
        found[name] = row.model_copy(update={"cost": cost})
        print(line(row, cost), flush=True)
        if row.cost is None or slower(cost, row.cost) > WORSE:
            failed.append(name)
    if args.commit:
        stored = Speed(rows=found).model_dump(mode="json")
        path.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
        return 0
    if failed:
        print(f"slower by more than {WORSE:.0%}, or without a value: {', '.join(failed)}")
    return 1 if failed else 0


def slower(now: Cost, then: Cost) -> float:
    """By which share of `then` a cost has grown, in loops; negative if it has fallen."""
    return now.loops() / then.loops() - 1


def line(row: Committed, now: Cost) -> str:
    """One line of the table."""
    start = f"{row.what:44} {row.shown(now):>18}"
    if row.cost is None:
        return f"{start} {'no value':>18} {now.loops():10.3g}"
    return (
        f"{start} {row.shown(row.cost):>18} {now.loops():10.3g} {row.cost.loops():10.3g}"
        f"  {slower(now, row.cost):+.0%}"
    )


def measured(script: Path, name: str, then: Cost | None) -> Cost:
    """The cost of a row now: the best of several tries if it seems worse than `then`.

    Raises:
        PlannerError: with the last words of a row that cannot be measured here.
    """
    best = _once(script, name)
    for _ in range(TRIES - 1):
        if then is None or slower(best, then) <= WORSE:
            break
        best = min(best, _once(script, name), key=Cost.loops)
    return best


def _once(script: Path, name: str) -> Cost:
    environment = ros_environment(os.environ)
    # As containers have it: every process that a row starts would compile all its imports.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        done = subprocess.run(
            [sys.executable, script, name],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PlannerError(f"took more than {LONGEST_S} s") from None
    last = (done.stdout if done.returncode == 0 else done.stderr).strip().rpartition("\n")[2]
    try:
        return Cost.model_validate_json(last)
    except ValidationError:
        raise PlannerError(last or f"status {done.returncode}") from None
