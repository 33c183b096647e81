"""How soon a Spot stops behind a slow or broken link, and how far it walks on.

    python benchmarks/bench_far_away.py [--tries N]

A bridge in a process of its own before the emulator in real time, with a relay between them that
delays and stalls. The robot walks; then a stop is asked for over ROS, the link stalls, or the
bridge is halted (SIGSTOP) or killed. When the body moved last is known to the emulator's own
step. Who asks for the stop and who attends are processes of their own, as busy as the rest. The
emulator and the relay, which stand for machines of their own, get a nice value of -10 where the
system allows it. Needs the extra `spot`.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from machine import busy, print_table

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ["ROS_DOMAIN_ID"] = "86"
# The tests' stack.
sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "integration"))

try:
    from bench_heartbeat import walking
    from executive import attend_command
    from spot_stack import ROBOT, SpotStack
except ImportError as missing:
    print(f"nothing measured: the extra `spot` is not installed ({missing})")
    raise SystemExit(0) from None

from sim_bridge.pacing import raise_priority

ROUND_TRIPS_S = (0.02, 0.05, 0.1, 0.2, 0.3)
GRACE_S, MOTION_S, TOLD_S = 0.1, 0.7, 1.5
Row = tuple[str, str, str]


def stops(tries: int) -> list[Row]:
    """Seconds from requesting a stop to its answer."""
    rows = []
    with a_walk() as (stack, begin), stop_client() as stop:
        for round_trip_s in ROUND_TRIPS_S:
            stack.relay.change(round_trip_s=round_trip_s)
            stack.client.idle(1.0)
            took = []
            for _ in range(tries):
                begin()
                stack.until_moving()
                took.append(stop())
            what = f"stop answered, {round_trip_s * 1e3:.0f} ms of round trip"
            rows.append(row(what, took, round_trip_s + GRACE_S))
    return rows


def stalls(tries: int) -> list[Row]:
    """Seconds from a stall to its report, and from the last byte to standing."""
    told, moved = [], []
    with a_walk() as (stack, begin):
        for _ in range(tries):
            begin()
            stack.until_moving()
            stalled_s = time.time()
            stack.relay.change(stalled=True)
            stack.client.wait(lambda: "COMMS_LOST" in spoken(stack), "the word of it")
            told.append(time.time() - stalled_s)
            stack.client.idle(1.0)
            # The emulator advances only on calls: bring it up to date.
            stack.emulator.advance()
            moved.append(stack.track.moved_s - stalled_s)
            stack.relay.change(stalled=False)
            stack.client.wait(lambda: not spoken(stack), "that it may move again")
    return [
        row("loss of communication told", told, TOLD_S),
        row("walks on after the link stalls", moved, MOTION_S),
    ]


def deaths(number: int, tries: int) -> list[Row]:
    """Seconds from the bridge's last byte to standing."""
    moved = []
    for _ in range(tries):
        with a_walk() as (stack, begin):
            begin()
            stack.until_moving()
            os.kill(stack.bridge.process.pid, number)
            shift_s = time.time() - time.monotonic()
            stack.client.idle(2.0)
            stack.emulator.advance()
            moved.append(stack.track.moved_s - (stack.relay.reached_target_s + shift_s))
            if number == signal.SIGSTOP:
                os.kill(stack.bridge.process.pid, signal.SIGCONT)
    name = signal.Signals(number).name
    return [row(f"walks on after the bridge's last byte, {name}", moved, MOTION_S)]


def spoken(stack: SpotStack) -> str:
    """Why the robot may not move, as the bridge reports it."""
    state = stack.states[-1]
    if state.message == "motion allowed":
        return ""
    return f"COMMS_LOST {state.message}" if "answer from the robot" in state.message else "other"


@contextmanager
def stop_client() -> Iterator[Callable[[], float]]:
    """A function that calls stop from another process and returns the seconds until its answer."""
    command = [sys.executable, str(Path(__file__).with_name("stop_client.py")), ROBOT]
    pipe = subprocess.PIPE
    with at_nice(0):
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    asks, answers = process.stdin, process.stdout

    def stop() -> float:
        print(file=asks, flush=True)
        return float(answers.readline())

    assert answers.readline() == "ready\n"
    try:
        yield stop
    finally:
        asks.close()
        process.wait()


@contextmanager
def at_nice(nice: int) -> Iterator[None]:
    """Processes started in this context have this nice value."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


@contextmanager
def a_walk() -> Iterator[tuple[SpotStack, Callable[[], None]]]:
    """A robot that walks on request, attended while this context lasts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        at_nice(0),
        walking(Path(folder)) as (stack, begin),
        attend_command(ROBOT),
    ):
        if problem := raise_priority(-10):
            print(f"the emulator shares the machine as any process does: {problem}")
        stack.client.wait(lambda: "attend" in stack.attended_by, "attendance")
        yield stack, begin


def row(what: str, times: list[float], limit_s: float) -> Row:
    """A figure beside its limit."""
    figure = f"{statistics.median(times):.3f} s, at most {max(times):.3f} s"
    holds = "holds" if max(times) <= limit_s and not math.isnan(max(times)) else "DOES NOT HOLD"
    return what, figure, f"{limit_s:g} s: {holds}"


def main() -> None:
    """Prints one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=5, help="of each")
    parser.add_argument("--busy", type=int, default=4, help="busy processes beside it")
    given = parser.parse_args()
    with busy(given.busy):
        rows = [*stops(given.tries), *stalls(given.tries)]
        rows += deaths(signal.SIGSTOP, given.tries)
        rows += deaths(signal.SIGKILL, given.tries)
    print_table(f"a robot far away, {given.tries} tries each, {given.busy} busy processes", rows)


if __name__ == "__main__":
    main()
