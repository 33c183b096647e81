"""What the way through the Spot SDK, TLS and the emulator costs, and how soon a robot stops.

    python benchmarks/bench_spot.py

Needs the extra `spot`. Figures are of one process that runs bridge side and emulator.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from machine import describe_machine

from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.opening import default_house, open_world
from sim_bridge.pacing import TICK_S

try:
    from sim_bridge.spot.backend import SpotBackend
    from sim_bridge.spot.options import emulated
except ImportError as missing:
    print(f"nothing measured: the extra `spot` is not installed ({missing})")
    raise SystemExit(0) from None


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=40)
    parser.add_argument("--states", type=int, default=300)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    opened = open_world(default_house(), "", 7, 1)
    backend = SpotBackend(emulated())
    began = time.perf_counter()
    backend.reset(opened.house, opened.episode, 7)
    figures: dict[str, float] = {"reset_claim_power_stand_s": time.perf_counter() - began}
    figures |= _states(backend, options.states)
    figures |= _pictures(backend, options.pictures)
    figures |= _stops(backend)
    backend.close()
    print(describe_machine())
    for name, value in figures.items():
        print(f"{name:<32} {value:.4g}")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))


def _states(backend: SpotBackend, count: int) -> dict[str, float]:
    times = []
    for _ in range(count):
        began = time.perf_counter()
        backend.link.state()
        times.append(time.perf_counter() - began)
    return {
        "state_call_median_ms": statistics.median(times) * 1e3,
        "state_call_p99_ms": sorted(times)[int(len(times) * 0.99) - 1] * 1e3,
    }


def _pictures(backend: SpotBackend, count: int) -> dict[str, float]:
    backend.observe("agent_0", ("hand",))
    walk = Primitive(PrimitiveName.LOOK, views_rad=((1.5, 0.3), (-1.5, 0.3)) * 20)
    handle = backend.start("agent_0", walk)
    spent = cpu = 0.0
    for _ in range(count):
        # Each from another direction: a view of a world that stands still is drawn only once.
        backend.step(TICK_S)
        began, busy = time.perf_counter(), time.process_time()
        backend.observe("agent_0", ("hand",))
        spent += time.perf_counter() - began
        cpu += time.process_time() - busy
    backend.cancel(handle)
    return {
        "hand_rgbd_hz": count / spent,
        "hand_rgbd_cpu_ms": cpu / count * 1e3,
        "hand_rgbd_hz_on_one_core": count / cpu,
    }


def _stops(backend: SpotBackend) -> dict[str, float]:
    """A bridge that dies while the robot walks: emulated seconds until it stands, and sits."""
    emulator = backend.emulator
    if emulator is None:
        raise SystemExit("the benchmark needs the emulator")
    x, y, _ = backend.base.position_m
    far = max(opened_rooms(backend), key=lambda p: abs(p[0] - x) + abs(p[1] - y))
    backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, far))
    for _ in range(90):
        backend.step(TICK_S)
    begun = emulator.clock.now_s()
    stopped = off = 0.0
    while not off and emulator.clock.now_s() - begun < 60:
        backend._clock.advance(TICK_S)  # noqa: SLF001 - time passes and nobody steps the backend
        emulator.advance()
        if not stopped and emulator.machine.walk is None:
            stopped = emulator.clock.now_s() - begun
        if emulator.machine.motors.value == "off":
            off = emulator.clock.now_s() - begun
    return {"dead_bridge_stands_after_s": stopped, "dead_bridge_motors_off_after_s": off}


def opened_rooms(backend: SpotBackend) -> list[tuple[float, float, float]]:
    """Places worth walking to: the middles of the furniture."""
    state = backend.world_state()
    if state is None:
        return []
    return [e.box.center_m for e in state.entities.values() if e.instance_id and e.parent]


if __name__ == "__main__":
    main()
