"""What the way through the Spot SDK, TLS and the emulator costs, and how soon a robot stops.

    python benchmarks/bench_spot.py

Needs the extra `spot`. Figures are of one process that runs bridge side and emulator; each limit
is that of the research note (F6.4, and the issue's figures) and stands beside its figure. Times of
the robot are emulated seconds, so a busy machine does not change them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from machine import describe_machine

from planner.world.primitive import Primitive, PrimitiveName
from planner.world.vocabulary import Relation
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.gate import SafetyGate

try:
    from sim_bridge.spot.backend import SpotBackend
    from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
    from sim_bridge.spot.emulator.server import SpotEmulator
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
    figures |= _idle(backend)
    figures |= _stops(backend)
    backend.close()
    for skill in SKILLS:
        figures[f"lease_lost_{skill}_s"] = _ends_after(opened, skill, taken=True)
        figures[f"comms_lost_{skill}_s"] = _ends_after(opened, skill, taken=False)
    figures["errand_s"] = _errand(opened)
    print(describe_machine())
    for name, value in figures.items():
        limit = next((text for start, text in LIMITS.items() if name.startswith(start)), "")
        print(f"{name:<32} {value:<10.4g} {limit}".rstrip())
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))


def _ends_after(opened: Opened, skill: str, *, taken: bool) -> float:
    """Emulated seconds until a skill has ended whose lease was taken or whose link froze."""
    backend = SpotBackend(emulated())
    gate = SafetyGate(backend)
    gate.reset(opened.house, opened.episode, opened.seed)
    emulator = emulator_of(backend)
    handle = gate.start("agent_0", SKILLS[skill](backend))
    for _ in range(30):
        gate.step(TICK_S)
    if taken:
        emulator.trouble(Trouble(kind=TroubleKind.TAKE_LEASE, name="tablet"))
    emulator.calls.silent = not taken
    since_s = emulator.clock.now_s()
    while not gate.poll(handle).done:
        gate.step(TICK_S)
    spent_s = emulator.clock.now_s() - since_s
    emulator.calls.silent = False
    gate.close()
    return spent_s


def _errand(opened: Opened) -> float:
    """Seconds on the wall of one errand: connect, walk, look, pick, place, rest."""
    began = time.perf_counter()
    backend = SpotBackend(emulated())
    backend.reset(opened.house, opened.episode, opened.seed)
    for thing in things(backend):
        deeds = (
            Primitive(PrimitiveName.NAVIGATE, thing),
            Primitive(PrimitiveName.LOOK, thing),
            Primitive(PrimitiveName.PICK, thing),
            Primitive(PrimitiveName.PLACE, thing, relation=Relation.ON),
        )
        done = 0
        for deed in deeds:
            handle = backend.start("agent_0", deed)
            while not backend.poll(handle).done:
                backend.step(TICK_S)
            result = backend.poll(handle).result
            if result is None or not result.succeeded:
                break
            done += 1
        if done == len(deeds):
            break
    backend.close()
    return time.perf_counter() - began


def _idle(backend: SpotBackend) -> dict[str, float]:
    """The share of one core that an idle bridge takes, hearing the robot 20 times a second."""
    ticks = 100
    busy = time.process_time()
    for _ in range(ticks):
        backend.step(TICK_S)
    return {"bridge_and_emulator_cpu_share": (time.process_time() - busy) / (ticks * TICK_S)}


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
    emulator = emulator_of(backend)
    x, y, _ = backend.base.position_m
    far = max(things(backend), key=lambda p: abs(p[0] - x) + abs(p[1] - y))
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


def things(backend: SpotBackend) -> list[tuple[float, float, float]]:
    """Places worth walking to: what lies on furniture."""
    state = backend.world_state()
    if state is None:
        return []
    return [e.box.center_m for e in state.entities.values() if e.relation is Relation.ON]


def emulator_of(backend: SpotBackend) -> SpotEmulator:
    """The emulator behind a backend."""
    if backend.emulator is None:
        raise SystemExit("the benchmark needs the emulator")
    return backend.emulator


def _far(backend: SpotBackend) -> Primitive:
    x, y, _ = backend.base.position_m
    far = max(things(backend), key=lambda p: abs(p[0] - x) + abs(p[1] - y))
    return Primitive(PrimitiveName.NAVIGATE, far)


SKILLS = {
    "walk": _far,
    "arm": lambda _: Primitive(PrimitiveName.LOOK, views_rad=((1.0, 0.3), (-1.0, 0.3)) * 20),
}
# By the beginning of a figure's name.
LIMITS = {
    "hand_rgbd_hz": "limit: 10 or more",
    "dead_bridge_stands": "limit: 1.0 and a tick: the TTL (0.7 is of velocities, 0.6 s)",
    "dead_bridge_motors": "limit: 8 (policy of 5 s, and 3 s)",
    "lease_lost": "limit: 0.6",
    "comms_lost": "limit: 1.5",
    "errand_s": "limit: 20",
}


if __name__ == "__main__":
    main()
