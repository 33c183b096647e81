"""From a camera's stamp to the memory's update in another process, with a change in every picture.

Repeat with: python benchmarks/bench_ros_camera.py [--seconds N] [--rate HZ]

The bridge runs in real time; its robot turns a little to and fro, and before each exposure an
object in its view is moved by 0.4 m, so that every picture changes the memory, which stores the
change before it publishes it. Three processes: bridge, memory (uses every exposure), and this one,
which subscribes to /memory/updates. All clocks are the kernel's monotonic one; the time of a stamp
is the start of its tick. CPU time is that of the stage's thread: what a stage takes on an idle
machine.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from machine import print_table
from planner_msgs.msg import MemoryUpdate
from rclpy.node import Node

from planner.environment import ros_environment
from planner.memory import node as memory_node
from planner.memory.memory import Memory
from planner.ros import qos
from planner.ros.camera_input import CameraInput
from planner.world.observation import Observation
from planner.world.wire import stamp_of
from sim_bridge import node as bridge_node
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.entities import Agent
from sim_bridge.pacing import TICKS_PER_S

DOMAIN = "85"
EPISODE = "night_light_0"
STARTS_WITHIN_S, WARM_UP_S = 120.0, 5.0
AHEAD_M, ASIDE_M, SWAY_RAD = 1.2, 0.2, 0.02
NOTES = open(os.environ.get("BENCH_NOTES", os.devnull), "a", buffering=1)  # noqa: PTH123, SIM115
RATE_HZ = float(os.environ.get("BENCH_RATE", "10"))


def note(what: str, stamp_s: float) -> None:
    """One line: what, stamp in ms, wall and thread time in ns."""
    wall, own = time.monotonic_ns(), time.thread_time_ns()
    NOTES.write(f"{what} {round(stamp_s * 1e3)} {wall} {own}\n")


class RestlessBackend(EmbeddedBackend):
    """Moves an object in the robot's view before each exposure, and records its times."""

    _began: tuple[float, str] | None = None

    def step(self, dt_s: float) -> None:
        world = self._loaded()
        if world.steps % round(TICKS_PER_S / RATE_HZ) == 0:
            self._stir()
        note("tick", world.time_s + dt_s)
        super().step(dt_s)

    def _stir(self) -> None:
        world = self._loaded()
        agent = next(iter(world.agents.values()))
        thing = next(iter(world.things.values()))
        side = 1 if (world.steps // round(TICKS_PER_S / RATE_HZ)) % 2 else -1
        if self._began is None:
            self._began = (self._open_view(agent), thing.name)
        yaw = self._began[0]
        world.move_agent(agent, agent.x_m, agent.y_m, yaw + side * SWAY_RAD)
        thing.x_m = agent.x_m + AHEAD_M * math.cos(yaw) - side * ASIDE_M * math.sin(yaw)
        thing.y_m = agent.y_m + AHEAD_M * math.sin(yaw) + side * ASIDE_M * math.cos(yaw)
        thing.z_m = 0.8
        world.touch(thing.name)

    def _open_view(self, agent: Agent) -> float:
        """A view without anything near."""
        here = (agent.x_m, agent.y_m, 0.8)
        yaws = [math.tau * i / 24 for i in range(24)]
        return max(
            yaws,
            key=lambda yaw: self._synced_scene().first_hit(
                here, (here[0] + math.cos(yaw), here[1] + math.sin(yaw), 0.8)
            )[1],
        )

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        if not cameras:
            return super().observe(agent, cameras)
        note("draw", self.now_s())
        seen = super().observe(agent, cameras)
        note("drawn", seen.stamp_s)
        return seen


def serve_bridge() -> int:
    """The bridge itself, with a backend that records times."""
    bridge_node.make_backend = lambda *_: RestlessBackend()
    return bridge_node.main()


class NotingMemory(Memory):
    """Records when it starts to process an exposure and when it has stored the change."""

    def observe(self, observation: Observation) -> Any:
        note("learn", observation.stamp_s)
        change = super().observe(observation)
        note("learned", observation.stamp_s)
        return change


def serve_memory() -> int:
    """The memory node itself, recording times."""
    sys.modules["planner.memory.settings"].Memory = NotingMemory
    take, tell = CameraInput._take, memory_node.MemoryNode._publish  # noqa: SLF001 - timed inside

    def noting_take(camera: CameraInput, kind: str, data: bytes) -> None:
        note("arrived", stamp_of(data))
        take(camera, kind, data)

    def noting_tell(node: Any, change: Any) -> None:
        tell(node, change)
        if change is not None:
            note("told", change.stamp_s)

    CameraInput._take = noting_take  # noqa: SLF001
    memory_node.MemoryNode._publish = noting_tell  # noqa: SLF001
    return memory_node.main()


@dataclass(frozen=True, slots=True)
class Heard:
    """How many exposures were drawn, and of those told, by stamp in ms, the times of each stage.

    `walls` and `heard` are of one clock, `cpus` each thread's own; all in ns.
    """

    drawn: int
    walls: dict[int, dict[str, int]]
    cpus: dict[int, dict[str, int]]
    heard: dict[int, int]


class Listener(Node):
    """Records when the memory's updates arrive."""

    def __init__(self) -> None:
        super().__init__("bench")
        self.heard: dict[int, int] = {}
        self.create_subscription(MemoryUpdate, "/memory/updates", self._note, qos.EVENTS)

    def _note(self, message: MemoryUpdate) -> None:
        stamp = message.header.stamp
        stamp_ms = round(stamp.sec * 1e3 + stamp.nanosec * 1e-6)
        self.heard.setdefault(stamp_ms, time.monotonic_ns())


def measure(seconds: float, rate_hz: float) -> Heard:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        environment = ros_environment(os.environ) | {
            "BENCH_NOTES": str(notes),
            "BENCH_RATE": f"{rate_hz}",
        }
        bridge = ["--bridge", f"episode:={EPISODE}", "agents:=1", f"camera_hz:={rate_hz}"]
        memory = ["--memory", f"episode:={EPISODE}", f"update_period:={1 / rate_hz}"]
        memory += [f"store:={folder}/store"]
        processes = [
            subprocess.Popen([sys.executable, __file__, *words], env=environment)
            for words in (bridge, memory)
        ]
        try:
            rclpy.init()
            listener = Listener()
            deadline = time.monotonic() + STARTS_WITHIN_S
            while not listener.heard and time.monotonic() < deadline:
                spin(listener, 0.5)
            spin(listener, WARM_UP_S)
            began = time.monotonic_ns()
            spin(listener, seconds)
            ended = time.monotonic_ns()
            spin(listener, 2.0)
        finally:
            for process in processes:
                process.send_signal(signal.SIGINT)
            for process in processes:
                process.wait(30)
        lines = [line.split() for line in notes.read_text().splitlines()]
    rclpy.try_shutdown()
    return sorted_out(lines, listener.heard, began, ended)


def spin(node: Node, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.05)


def sorted_out(lines: list[list[str]], heard: dict[int, int], began: int, ended: int) -> Heard:
    walls: dict[int, dict[str, int]] = defaultdict(dict)
    cpus: dict[int, dict[str, int]] = defaultdict(dict)
    for what, stamp_ms, wall, own in lines:
        # Of several arrivals the last one counts: then the exposure is complete.
        walls[int(stamp_ms)][what] = int(wall)
        cpus[int(stamp_ms)][what] = int(own)
    drawn = {s: t for s, t in walls.items() if "drawn" in t and began <= t["draw"] < ended}
    whole = {s: t for s, t in drawn.items() if "told" in t and s in heard}
    if not whole:
        raise RuntimeError("the memory told of no exposure")
    return Heard(len(drawn), whole, {stamp_ms: cpus[stamp_ms] for stamp_ms in whole}, heard)


def spent_s(seconds: float, rate_hz: float) -> list[float]:
    """Processor seconds of each exposure that was told: drawn, read, learned, stored and told."""
    stages = (("draw", "drawn"), ("arrived", "learn"), ("learn", "learned"), ("learned", "told"))
    return [
        sum(cpu[last] - cpu[first] for first, last in stages) / 1e9
        for cpu in measure(seconds, rate_hz).cpus.values()
    ]


def report(found: Heard) -> None:
    whole, heard = found.walls, found.heard

    def row(name: str, values: list[float], wanted: str = "") -> tuple[str, str, str]:
        p50, p99, most = np.percentile(np.array(values) / 1e6, (50, 99, 100))
        return (name, f"{p50:6.1f} {p99:6.1f} {most:6.1f}", wanted)

    def between(name: str, first: str, last: str) -> tuple[str, str, str]:
        return row(name, [t[last] - t[first] for t in whole.values()])

    def spent(name: str, first: str, last: str) -> tuple[str, str, str]:
        return row(name, [cpu[last] - cpu[first] for cpu in found.cpus.values()])

    rows = [
        ("exposures, told as changes", f"{found.drawn}, {len(whole)}", "all"),
        row(
            "stamp to update in a third process",
            [heard[s] - t["tick"] for s, t in whole.items()],
            "p99 under 50",
        ),
        between("  tick until drawing", "tick", "draw"),
        between("  drawing", "draw", "drawn"),
        between("  pictures to the memory", "drawn", "arrived"),
        between("  waiting for frames, reading", "arrived", "learn"),
        between("  learning and storing", "learn", "learned"),
        between("  telling: messages made and sent", "learned", "told"),
        row(
            "  told (after all is sent) to heard", [heard[s] - t["told"] for s, t in whole.items()]
        ),
        spent("CPU: drawing", "draw", "drawn"),
        spent("CPU: reading pictures and frames", "arrived", "learn"),
        spent("CPU: learning and storing", "learn", "learned"),
        spent("CPU: telling", "learned", "told"),
    ]
    print_table("camera to memory over ROS, three processes; ms: p50, p99, most", rows)


def main() -> int:
    if "--bridge" in sys.argv or "--memory" in sys.argv:
        serve = serve_bridge if "--bridge" in sys.argv else serve_memory
        words = [word for given in sys.argv[2:] for word in ("-p", given)]
        sys.argv = [sys.argv[0], "--ros-args", *words]
        return serve()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=10.0, help="exposures a second")
    options = parser.parse_args()
    os.environ.update(ROS_DOMAIN_ID=DOMAIN, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    report(measure(options.seconds, options.rate))
    return 0


if __name__ == "__main__":
    sys.exit(main())
