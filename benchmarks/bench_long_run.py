"""Memory, descriptors and threads of all nodes while a recorded task is repeated for hours.

Repeat with: python benchmarks/bench_long_run.py [--minutes 120] [--episode NAME] [--up WORD ...]

The world is loaded anew and the episode's instruction followed, again and again. A slope is that
of a straight line through the samples after the first quarter, in which caches fill: of the memory
of a process alone, and of all that it touched, with files and the middleware's shared segments of a
fixed size. Exit status 1 if the first is above 5 MB an hour, or descriptors or threads grew.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rclpy
from bench_ros_nodes import Up
from machine import print_table
from planner_msgs.action import FollowInstruction
from planner_msgs.srv import LoadEpisode
from rclpy.action import ActionClient
from rclpy.node import Node

from planner.environment import ros_environment
from planner.world import topics

LIMIT_MB_PER_HOUR = 5.0
SAMPLE_S = 10.0
ANSWER_S, TASK_S = 60.0, 600.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one time.

    Attributes:
        at_s: since the beginning, s.
        memory_mb: resident memory.
        own_mb: the part of it that is neither a file nor shared.
    """

    at_s: float
    memory_mb: float
    own_mb: float
    descriptors: int
    threads: int


def sample(pid: int, at_s: float) -> Sample:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    said = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    kilobytes = {key: int(said[key].split()[0]) for key in ("VmRSS", "RssAnon")}
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    own_mb = kilobytes["RssAnon"] / 1024
    return Sample(at_s, kilobytes["VmRSS"] / 1024, own_mb, descriptors, int(said["Threads"]))


def slope_mb_per_hour(samples: list[Sample], megabytes: list[float]) -> float:
    return float(np.polyfit([each.at_s / 3600 for each in samples], megabytes, 1)[0])


class Robots:
    """Loads the world and lets the stack follow the episode's instruction."""

    def __init__(self, node: Node, episode: str) -> None:
        self._node, self._episode = node, episode
        self._load = node.create_client(LoadEpisode, topics.LOAD_WORLD)
        self._instruct = ActionClient(node, FollowInstruction, topics.INSTRUCT)

    def run(self) -> bool:
        """One task; whether its planner was done."""
        assert self._load.wait_for_service(ANSWER_S)
        loaded = self._load.call_async(LoadEpisode.Request(episode=self._episode))
        rclpy.spin_until_future_complete(self._node, loaded, timeout_sec=ANSWER_S)
        assert self._instruct.wait_for_server(ANSWER_S)
        sent = self._instruct.send_goal_async(FollowInstruction.Goal())
        rclpy.spin_until_future_complete(self._node, sent, timeout_sec=ANSWER_S)
        handle = sent.result()
        if handle is None or not handle.accepted:
            time.sleep(1.0)
            return False
        ended = handle.get_result_async()
        rclpy.spin_until_future_complete(self._node, ended, timeout_sec=TASK_S)
        result = ended.result()
        return result is not None and result.result.code == 0


def measure(args: argparse.Namespace, record: Path) -> int:
    up = Up(f"episode:={args.episode}", "planner:=expert", f"record:={record}", *args.up)
    done, tried, seen = 0, 0, defaultdict[str, list[Sample]](list)
    try:
        up.wait_for("serves agent_0")
        os.environ.update(ros_environment(os.environ))
        rclpy.init()
        node = rclpy.create_node("long_run")
        robots = Robots(node, args.episode)
        begun_s = time.monotonic()
        next_s = begun_s

        def look() -> None:
            nonlocal next_s
            if (now_s := time.monotonic()) < next_s:
                return
            next_s = now_s + SAMPLE_S
            for name, pid in up.pids.items():
                seen[name].append(sample(pid, now_s - begun_s))
            if args.verbose:
                own = " ".join(
                    f"{n} {s[-1].memory_mb:.0f}/{s[-1].own_mb:.0f}" for n, s in seen.items()
                )
                print(f"{now_s - begun_s:.0f} s, {done} of {tried} tasks: {own}", flush=True)

        node.create_timer(1.0, look)
        while time.monotonic() - begun_s < args.minutes * 60:
            tried += 1
            done += robots.run()
        hours = (time.monotonic() - begun_s) / 3600
    finally:
        up.stop()
    size_mb = sum(file.stat().st_size for file in record.rglob("*") if file.is_file()) / 1e6
    rows = [("tasks done", f"{done} of {tried} in {hours * 60:.0f} minutes", "all")]
    grows = False
    for name, samples in seen.items():
        warm = samples[len(samples) // 4 :]
        slope = slope_mb_per_hour(warm, [each.own_mb for each in warm])
        touched = slope_mb_per_hour(warm, [each.memory_mb for each in warm])
        first, last = warm[0], warm[-1]
        grows |= slope > LIMIT_MB_PER_HOUR or last.descriptors > first.descriptors
        grows |= last.threads > first.threads
        text = (
            f"{slope:+6.1f} MB/h from {first.own_mb:.0f} to {last.own_mb:.0f} MB, "
            f"all {touched:+.1f} MB/h from {first.memory_mb:.0f} to {last.memory_mb:.0f} MB, "
            f"descriptors {first.descriptors} to {last.descriptors}, "
            f"threads {first.threads} to {last.threads}"
        )
        rows.append((name, text, f"below {LIMIT_MB_PER_HOUR:.0f} MB/h, flat"))
    rows.append(("recording", f"{size_mb:.0f} MB, {size_mb / hours:.0f} MB/h", ""))
    print_table(f"{args.episode} again and again", rows)
    return int(grows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--episode", default="demo_dinner")
    parser.add_argument(
        "--up", nargs="*", default=["pace:=2.5"], metavar="NAME:=VALUE", help="of planner up"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print every sample")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return measure(args, Path(folder) / "run")


if __name__ == "__main__":
    sys.exit(main())
