"""The nodes of a run: idle cost and memory, instruction to first skill call, recording, a demo.

Repeat with: python benchmarks/bench_ros_nodes.py [WHAT...] [--seconds N]

idle: `planner up planner:=expert` with two agents in a shipped house, nobody told anything.
instruction: from sending /instruct to the goal of the first skill call; the model is scripted,
the body does everything at once.
recorder: two agents that look round, 10 Hz RGB-D, the demo's pace, recorded as a demo records.
recorder-full: the same at real-time pace with every picture as published (record_full:=true).
demo: from `planner demo` to the first motion of an agent, when it is stopped.
Figures of processes are the kernel's: CPU time, resident memory.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from machine import print_table
from planner_msgs.action import ExecutePrimitive, ExecuteSkill, FollowInstruction
from rclpy.action import ActionClient, ActionServer
from rclpy.node import Node
from rclpy.task import Future
from rosgraph_msgs.msg import Clock

from planner.bringup import node_list
from planner.bringup_arguments import Arguments
from planner.demo import DEFAULT_PACE
from planner.environment import ros_environment
from planner.recorder.bag_file import RECORDING
from planner.replay.bag import Bag
from planner.ros.primitives import goal_message
from planner.ros.qos import CLOCK
from planner.world.primitive import Primitive, PrimitiveName

DOMAIN = "86"
ROOT = Path(__file__).resolve().parents[1]
EPISODE = "night_light_0"
SETTLE_S = 10.0
# The longest that the safety rules allow.
LOOKS_S = 600.0
MOVING = re.compile(r"  is moving, [\d.]+ s after the start$")
Rows = list[tuple[str, str, str]]


def busy_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no memory")


class Up:
    """`planner up`; the process ids of its nodes come from its log."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "planner.cli", "up", *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.pids: dict[str, int] = {}
        self.log: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.log.append(line)
            started = re.match(r"\[planner *\] (\w+) started, process (\d+)", line)
            if started:
                self.pids[started[1]] = int(started[2])

    def wait_for(self, words: str, limit_s: float = 120.0) -> None:
        deadline = time.monotonic() + limit_s
        while not any(words in line for line in self.log):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"no {words!r} in the log:\n{''.join(self.log)}")
            time.sleep(0.1)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


@contextmanager
def running(*commands: list[str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    environment = ros_environment(os.environ)
    processes = [subprocess.Popen(words, env=environment) for words in commands]
    try:
        yield processes
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            process.wait(60)


def node(executable: str, **parameters: object) -> list[str]:
    words = [sys.executable, str(ROOT / "nodes" / executable), "--ros-args"]
    # An empty text needs quotes to be one.
    values = {name: "''" if value == "" else value for name, value in parameters.items()}
    return words + [word for n, v in values.items() for word in ("-p", f"{n}:={v}")]


def idle(seconds: float) -> Rows:
    up = Up("planner:=expert", f"episode:={EPISODE}")
    try:
        up.wait_for("serves agent_1")
        time.sleep(SETTLE_S)
        before = {name: busy_s(pid) for name, pid in up.pids.items()}
        time.sleep(seconds)
        load = {name: (busy_s(up.pids[name]) - b) / seconds for name, b in before.items()}
        memory = {name: memory_mb(pid) for name, pid in up.pids.items()}
    finally:
        up.stop()
    rows = [(name, f"{load[name]:6.1%} of one core", f"{memory[name]:.0f} MB") for name in load]
    total = f"{sum(memory.values()):.0f} MB; wanted under 15 %"
    return [*rows, ("all nodes idle", f"{sum(load.values()):6.1%} of one core", total)]


def look_round(bench: Node, action: ActionClient) -> Future:
    """Lets an agent look around for the maximum time; returns the future of the end."""
    views = tuple((math.remainder(i * 0.2, math.tau), 0.4) for i in range(1000))
    look = Primitive(PrimitiveName.LOOK, views_rad=views, timeout_s=LOOKS_S)
    action.wait_for_server()
    sent = action.send_goal_async(goal_message(look))
    spin(bench, sent.done, 60.0)
    return sent.result().get_result_async()


def instruction(seconds: float) -> Rows:
    count = max(20, round(seconds * 2))
    bench = rclpy.create_node("bench_body")
    begun: list[float] = []

    def serve(goal: Any) -> Any:
        begun.append(time.monotonic())
        goal.succeed()
        return ExecuteSkill.Result(code=0, text="Successful execution!")

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script"
        replies = ["Navigate[Object.100]\nAssigned!", "Done[]\nAssigned!"] * (count + 1)
        script.write_text("\n\n".join(replies))
        commands = (
            node("bridge", episode=EPISODE, agents=1),
            node("memory", episode=EPISODE),
            node("task_planner", episode=EPISODE, planner="react", model=f"scripted:{script}"),
        )
        with running(*commands):
            servers = [ActionServer(bench, ExecuteSkill, "/agent_0/skill", serve)]
            client = ActionClient(bench, FollowInstruction, "/instruct")
            spin(bench, client.server_is_ready, 120.0)
            spin(bench, lambda: False, 3.0)
            waits = [follow(bench, client, begun) for _ in range(count + 1)][1:]
            for server in servers:
                server.destroy()
    bench.destroy_node()
    p50, p99 = np.percentile(np.array(waits) * 1e3, (50, 99))
    return [
        (f"instruction to first skill call, p50 of {count}", f"{p50:.1f} ms", ""),
        ("instruction to first skill call, p99", f"{p99:.1f} ms", "under 50 ms"),
    ]


def follow(bench: Node, client: ActionClient, begun: list[float]) -> float:
    """Seconds from sending an instruction to its first skill call."""
    begun.clear()
    sent_s = time.monotonic()
    goal = FollowInstruction.Goal(instruction="Go to the table.", agents=["agent_0"])
    sent = client.send_goal_async(goal)
    spin(bench, sent.done, 60.0)
    ended = sent.result().get_result_async()
    spin(bench, ended.done, 60.0)
    return begun[0] - sent_s


def spin(node: Node, met: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not met() and time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.05)


def recorder(seconds: float) -> Rows:
    return record_demo(seconds)[1]


def record_demo(seconds: float) -> tuple[float, Rows]:
    arguments = Arguments.from_text({"record": "x", "narrate": "true", "episode": EPISODE})
    return record(seconds, arguments, DEFAULT_PACE)


def recorder_full(seconds: float) -> Rows:
    return record(seconds, Arguments.from_text({"record": "x", "record_full": "true"}), 1.0)[1]


def record(seconds: float, arguments: Arguments, pace: float) -> tuple[float, Rows]:
    """The recorder's share of a core, and all figures.

    The share is at the pace that was asked for: a world that is late on a busy machine sends less.
    """
    (spec,) = [s for s in node_list(arguments) if s.name == "recorder"]
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / "bag"
        commands = (
            node("bridge", episode=EPISODE, cameras="hand", rate=pace),
            node("recorder", **{**spec.parameters, "folder": bag}),
        )
        with running(*commands) as processes:
            bench = rclpy.create_node("bench_looks")
            clients = [
                ActionClient(bench, ExecutePrimitive, f"/agent_{i}/primitive") for i in (0, 1)
            ]
            ticks: list[float] = []
            bench.create_subscription(
                Clock, "/clock", lambda m: ticks.append(m.clock.sec + m.clock.nanosec / 1e9), CLOCK
            )
            ends = [look_round(bench, client) for client in clients]
            spin(bench, lambda: False, SETTLE_S)
            before, began_s = busy_s(processes[1].pid), ticks[-1]
            spin(bench, lambda: False, seconds)
            load = (busy_s(processes[1].pid) - before) / (ticks[-1] - began_s) * pace
            memory = memory_mb(processes[1].pid)
            for end in ends:
                # A static world publishes hardly any pictures.
                if end.done():
                    raise RuntimeError(f"an agent looks round no more: {end.result().result.text}")
            bench.destroy_node()
        found = Bag(bag)
        counts = json.loads(found.metadata[RECORDING]["topics"])
        minutes = (found.end_ns - found.start_ns) / 60e9
        size_mb = sum(path.stat().st_size for path in bag.iterdir()) / 1e6
    pictures = [count for name, count in counts.items() if name.endswith("/image")]
    received = sum(count["received"] for count in pictures)
    every = [sum(count[key] for count in counts.values()) for key in ("received", "missed")]
    return load, [
        ("messages received, missed", f"{every[0]}, {every[1]}", "0 missed"),
        ("pictures a second of its wall clock", f"{received / (minutes * 60):.0f}", ""),
        ("pictures written", f"{sum(count['written'] for count in pictures)}", ""),
        ("load of the recorder", f"{load:.1%} of one core", "under 20 %"),
        ("its resident memory", f"{memory:.0f} MB", ""),
        ("the bag grows", f"{size_mb / minutes:.1f} MB a minute", "40 MB for a demo"),
    ]


def demo(_seconds: float) -> Rows:
    wall_s, cpu_s = first_motion()
    return [
        ("to the first motion", f"{wall_s:.1f} s", "under 10 s"),
        ("CPU of all processes", f"{cpu_s:.1f} s", ""),
    ]


def first_motion() -> tuple[float, float]:
    """Start a demo; return wall and CPU time until its first motion, s."""
    began_s = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "planner.cli", "demo", "-o", folder],
            env=ros_environment(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        told = []
        for line in process.stdout:
            told.append(line)
            if MOVING.search(line):
                wall_s = time.monotonic() - began_s
                cpu_s = sum(busy_s(pid) for pid in family(process.pid))
                process.send_signal(signal.SIGINT)
                process.communicate()
                return wall_s, cpu_s
    raise RuntimeError(f"the demo ended with status {process.wait()}:\n{''.join(told)}")


MEASURED: dict[str, Callable[[float], Rows]] = {
    "idle": idle,
    "instruction": instruction,
    "recorder": recorder,
    "recorder-full": recorder_full,
    "demo": demo,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=[*MEASURED])
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    os.environ.update(ROS_DOMAIN_ID=DOMAIN, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    for what in options.what:
        if what not in MEASURED:
            parser.error(f"{what!r} is not one of {', '.join(MEASURED)}")
        rclpy.init()
        rows = MEASURED[what](options.seconds)
        rclpy.try_shutdown()
        print_table(f"{what}, {options.seconds:.0f} s", rows)


if __name__ == "__main__":
    main()
