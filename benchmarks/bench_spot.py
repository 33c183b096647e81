"""Cost of the path through the Spot SDK, TLS and the emulator, and how soon a robot stops.

    python benchmarks/bench_spot.py

Needs the extra `spot`. One process runs bridge side and emulator; each figure is printed with its
limit from SPOT-F6.4. Times of the robot are emulated seconds, so a busy machine does not change
them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from machine import describe_machine

# A recorded map, made as in the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "sim_bridge" / "spot"))

from planner.world.primitive import Primitive, PrimitiveName
from planner.world.vocabulary import Relation
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.options import default_safety

try:
    from bosdyn.api.spot import robot_command_pb2 as spot_pb2
    from recorded_map import record

    from sim_bridge.spot.backend import SpotBackend
    from sim_bridge.spot.convert import seconds_of
    from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
    from sim_bridge.spot.emulator.server import SpotEmulator
    from sim_bridge.spot.emulator.service import Recorded
    from sim_bridge.spot.options import emulated
except ImportError as missing:
    print(f"nothing measured: the extra `spot` is not installed ({missing})")
    raise SystemExit(0) from None


def main() -> None:
    """Prints one line per figure."""
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
    with tempfile.TemporaryDirectory() as folder:
        record(opened.house, Path(folder))
        for skill in SKILLS:
            graph = folder if skill == "graph_nav" else ""
            figures[f"lease_lost_{skill}_s"] = _ends_after(opened, skill, graph, taken=True)
            figures[f"comms_lost_{skill}_s"] = _ends_after(opened, skill, graph, taken=False)
    for skew_s in (0.0, 37.5, -12.0):
        name = f"errand_skew_{skew_s:+g}_s" if skew_s else "errand_s"
        figures[name], commands, loose = _errand(opened, skew_s)
    figures |= {"commands_of_an_errand": commands, "commands_without_end_or_limits": loose}
    print(describe_machine())
    for name, value in figures.items():
        known = next((limit for start, limit in LIMITS.items() if name.startswith(start)), None)
        print(f"{name:<32} {value:<10.4g} {_judged(value, known)}".rstrip())
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))


def _judged(value: float, known: tuple[str, float, str] | None) -> str:
    """A limit and whether it is met."""
    if known is None:
        return ""
    kind, limit, note = known
    holds = value >= limit if kind == "least" else value <= limit
    return f"at {kind} {limit:g}: {'holds' if holds else 'DOES NOT HOLD'}{note and f' ({note})'}"


def _ends_after(opened: Opened, skill: str, graph: str, *, taken: bool) -> float:
    """Emulated seconds until a skill ends after its lease was taken or its link froze."""
    backend = SpotBackend(emulated().model_copy(update={"graph": graph}))
    gate = SafetyGate(backend)
    gate.reset(opened.house, opened.episode, opened.seed)
    emulator = emulator_of(backend)
    handle = gate.start("agent_0", SKILLS[skill](backend, opened))
    for _ in range(30):
        gate.step(TICK_S)
    if gate.poll(handle).done:
        raise SystemExit(f"{skill} was over before anything went wrong: {gate.poll(handle)}")
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


def _errand(opened: Opened, skew_s: float) -> tuple[float, int, int]:
    """One task: connect, walk, look, pick, place, rest, with a robot whose clock is ahead.

    Returns:
        Wall seconds, the number of walking commands sent, and how many of them lacked an end time
            within the time to live or a speed limit, or allowed stairs.
    """
    began = time.perf_counter()
    backend = SpotBackend(emulated())
    emulator_of(backend).calls.keep_requests = True
    emulator_of(backend).trouble(Trouble(kind=TroubleKind.CLOCK_SKEW, value=skew_s))
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
    spent_s = time.perf_counter() - began
    sound = [_is_bounded(r, skew_s) for r in emulator_of(backend).requests if _walks(r)]
    return spent_s, len(sound), sound.count(False)


def _walks(record: Recorded) -> bool:
    if record.method != "RobotCommand":
        return False
    mobility = record.request.command.synchronized_command.mobility_command
    return bool(mobility.HasField("se2_trajectory_request"))


def _is_bounded(record: Recorded, skew_s: float) -> bool:
    mobility = record.request.command.synchronized_command.mobility_command
    params = spot_pb2.MobilityParams()
    mobility.params.Unpack(params)
    motion = default_safety().motion
    left_s = seconds_of(mobility.se2_trajectory_request.end_time) - skew_s - record.at_s
    return (
        0 < left_s <= motion.command_ttl_s + 0.01
        and 0 < params.vel_limit.max_vel.linear.x <= motion.speed_m_s
        and params.stairs_mode == spot_pb2.MobilityParams.STAIRS_MODE_PROHIBITED
    )


def _idle(backend: SpotBackend) -> dict[str, float]:
    """The share of one core of an idle bridge that reads the robot's state 20 times a second."""
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
        # Each from another direction: a view of a static world is rendered only once.
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
    """A bridge that dies while the robot walks: emulated seconds until it stands, and sits.

    It dies right after sending a goal, which then lives longest.
    """
    emulator = emulator_of(backend)
    x, y, _ = backend.base.position_m
    far = max(things(backend), key=lambda p: abs(p[0] - x) + abs(p[1] - y))
    backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, far))
    for _ in range(90):
        backend.step(TICK_S)
    newest_s = default_safety().motion.command_ttl_s - TICK_S / 2
    while emulator.machine.walk is None or _left_s(emulator) < newest_s:
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


def _left_s(emulator: SpotEmulator) -> float:
    """The remaining lifetime of the last goal."""
    walk = emulator.machine.walk
    return 0.0 if walk is None else walk.ends_s - emulator.clock.now_s()


def things(backend: SpotBackend) -> list[tuple[float, float, float]]:
    """Targets worth walking to: objects on furniture."""
    state = backend.world_state()
    if state is None:
        return []
    return [e.box.center_m for e in state.entities.values() if e.relation is Relation.ON]


def emulator_of(backend: SpotBackend) -> SpotEmulator:
    """The emulator behind a backend."""
    if backend.emulator is None:
        raise SystemExit("the benchmark needs the emulator")
    return backend.emulator


def _far(_: SpotBackend, opened: Opened) -> Primitive:
    piece = max(opened.house.furniture, key=lambda p: abs(p.x_m) + abs(p.y_m))
    return Primitive(PrimitiveName.NAVIGATE, (piece.x_m, piece.y_m, piece.size_m[2] / 2))


def _thing(backend: SpotBackend, _: Opened) -> Primitive:
    """A pick of an object in reach, after a walk to it."""
    for place in things(backend):
        handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, place))
        while not backend.poll(handle).done:
            backend.step(TICK_S)
        result = backend.poll(handle).result
        if result is not None and result.succeeded:
            return Primitive(PrimitiveName.PICK, place)
    raise SystemExit("nothing to pick")


SKILLS = {
    "walk": _far,
    "graph_nav": _far,
    "pick": _thing,
    "arm": lambda *_: Primitive(PrimitiveName.LOOK, views_rad=((1.0, 0.3), (-1.0, 0.3)) * 20),
}
# By prefix of a figure's name.
LIMITS = {
    "hand_rgbd_hz_on_one_core": ("least", 10.0, ""),
    "hand_rgbd_hz": ("least", 10.0, "of the wall clock: a busy machine is slower"),
    "dead_bridge_stands": ("most", 0.7, "of emulated time, right after a goal was sent"),
    "dead_bridge_motors": ("most", 8.0, "policy of 5 s, and 3 s"),
    "lease_lost": ("most", 0.6, ""),
    "comms_lost": ("most", 1.5, ""),
    "errand": ("most", 20.0, ""),
    "commands_without": ("most", 0.0, ""),
}


if __name__ == "__main__":
    main()
