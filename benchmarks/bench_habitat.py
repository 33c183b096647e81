"""habitat-sim behind the bridge: pictures compared with bare habitat-sim, memory, start, episodes.

CPU times of the bridge's process and habitat-sim's together. habitat_sim is found as the backend
finds it (PLANNER_HABITAT_PYTHON).

Repeat with: python benchmarks/bench_habitat.py [--house NAME] [EPISODE ...]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import print_table

from planner.app.embedded_run import run_embedded
from planner.planning.expert.expert import Expert
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.habitat.backend import HabitatBackend
from sim_bridge.habitat.options import default_options
from sim_bridge.habitat.process import HabitatProcess, interpreter
from sim_bridge.opening import bare_episode

FRAMES, ROUNDS = 100, 3
EPISODES = ("wipe_table_0", "fruit_0", "watch_tv_0")
BARE = Path(__file__).with_name("habitat_bare.py")
_TICKS = os.sysconf("SC_CLK_TCK")


class Wiretap:
    """Records the bridge's requests to habitat-sim, and its process."""

    def __init__(self) -> None:
        self.pid = 0
        self.asked: list[dict[str, Any]] = []
        ask = HabitatProcess.ask

        def heard(process: HabitatProcess, request: str, **what: object) -> Any:
            self.pid = process.pid
            self.asked.append({"do": request, **what})
            return ask(process, request, **what)

        HabitatProcess.ask = heard  # type: ignore[method-assign]

    def cpu_s(self) -> float:
        """CPU time of habitat-sim so far; 0 if there is none."""
        return cpu_s(self.pid) if Path(f"/proc/{self.pid}/stat").exists() else 0.0


def cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def spent_s(tap: Wiretap, work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall time of some work, in this process and habitat-sim's."""
    wall, own, other = time.perf_counter(), time.process_time(), tap.cpu_s()
    work()
    return time.process_time() - own + tap.cpu_s() - other, time.perf_counter() - wall


def views() -> tuple[tuple[float, float], ...]:
    return tuple((math.remainder(i * 0.1, math.tau), 0.4) for i in range(FRAMES))


def frame_s(backend: HabitatBackend, tap: Wiretap) -> tuple[float, float]:
    """CPU and wall time per frame of a camera that turns in every frame."""
    backend.start("agent_0", Primitive(PrimitiveName.LOOK, views_rad=views(), timeout_s=600))
    backend.observe("agent_0")

    def look() -> None:
        for _ in range(FRAMES):
            backend.step(0.3)
            backend.observe("agent_0")

    cpu, wall = spent_s(tap, look)
    backend.stop("agent_0")
    return cpu / FRAMES, wall / FRAMES


def bare_frame(tap: Wiretap, python: str) -> dict[str, float]:
    """The same with bare habitat-sim, in the same world and from the same poses."""
    told = subprocess.run(
        [python, str(BARE)],
        input=json.dumps(tap.asked),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    return found


def start_s(house: House, cache: str) -> tuple[float, float]:
    """CPU and wall time from nothing to a loaded episode and a first picture."""
    backend = HabitatBackend(default_options().model_copy(update={"cache": cache}))
    wall, own, before = time.perf_counter(), time.process_time(), _children_s()
    backend.reset(house, bare_episode(house, 2), 7)
    backend.observe("agent_0")
    wall, own = time.perf_counter() - wall, time.process_time() - own
    backend.close()
    return own + _children_s() - before, wall


def _children_s() -> float:
    """CPU time of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def episodes_s(tap: Wiretap, backend: Any, names: list[str]) -> tuple[float, int]:
    """CPU time of an episode with pictures, and how many succeeded."""
    done = 0

    def play() -> None:
        nonlocal done
        for name in names:
            episode, house = load_episode(name)
            done += run_embedded(backend, house, episode, Expert).verdict.success

    return spent_s(tap, play)[0] / len(names), done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--house", default="bench_8x60x150")
    parser.add_argument("episodes", nargs="*", default=list(EPISODES))
    args = parser.parse_args()
    house = load_house(args.house)
    with tempfile.TemporaryDirectory() as cache:
        first, again = (start_s(house, cache) for _ in range(2))
    tap = Wiretap()
    backend = HabitatBackend()
    backend.reset(house, bare_episode(house, 2), 7)
    cpu, wall = min(frame_s(backend, tap) for _ in range(ROUNDS))
    memory = resident_mb(tap.pid), resident_mb(os.getpid())
    bare = bare_frame(tap, interpreter(default_options().python))
    habitat_s, habitat_done = episodes_s(tap, backend, args.episodes)
    backend.close()
    embedded = EmbeddedBackend()
    embedded_s, embedded_done = episodes_s(tap, embedded, args.episodes)
    embedded.close()
    count = len(args.episodes)
    rows = [
        ("start, house written, processors", f"{first[0]:.1f} s", f"wall {first[1]:.1f} s"),
        ("start, house known, processors", f"{again[0]:.1f} s", f"wall {again[1]:.1f} s"),
        ("resident, habitat-sim", f"{memory[0]:.0f} MB", ""),
        ("resident, bridge", f"{memory[1]:.0f} MB", ""),
        ("observe, a second of processors", f"{1 / cpu:.0f} frames", ""),
        ("habitat-sim bare", f"{1 / bare['cpu_s']:.0f} frames", ""),
        ("share of bare, processors", f"{100 * bare['cpu_s'] / cpu:.0f} %", "at least 85 %"),
        ("observe, wall", f"{1 / wall:.0f} frames/s", ""),
        ("habitat-sim bare, wall", f"{1 / bare['wall_s']:.0f} frames/s", ""),
        ("share of bare, wall", f"{100 * bare['wall_s'] / wall:.0f} %", "at least 85 %"),
        ("episode with pictures, habitat", f"{habitat_s:.1f} s", f"{habitat_done}/{count} done"),
        ("episode with pictures, embedded", f"{embedded_s:.1f} s", f"{embedded_done}/{count} done"),
    ]
    print_table(f"habitat-sim behind the bridge, {house.name}, 384x384 RGB + depth + ids", rows)


if __name__ == "__main__":
    main()
