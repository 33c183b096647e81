"""One interleaving of the form `bridge`: the bridge node before an emulated Spot in real time.

The bridge, its client and what stands beside them are processes of their own; robot, link and the
operator are in this one. The robot's truth is the emulator's, and its time is that of the day.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.bench.bad_day.bridge_checks import Evidence, judge_run
from planner.bench.bad_day.calls.node import Operator
from planner.bench.bad_day.outcome import Outcome
from planner.bench.bad_day.permission import Cause, Silence
from planner.bench.bad_day.processes import Busy, Program, Spawner, Start
from planner.bench.bad_day.records import Asked, read_records
from planner.bench.bad_day.robot_faults import RobotFaults
from planner.bench.bad_day.schedule import RECOVERY, Event, Fault, Schedule
from planner.bench.bad_day.truth import TruthLog
from planner.up import find_executable
from planner.world.errors import PlannerError
from planner.world.house import House
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.clock import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator

_CLIENT = Path(__file__).parent / "client" / "node.py"
_TICK_S = 0.02
# How long what was going on when everything was mended may take to get an answer.
_SETTLE_S = 1.5
ANSWER_S = 20.0
_READY_S = 40.0
_END_S = 40.0
# As config/safety.yaml, but nobody approves what hands do, and it is soon seen that it sits down.
SAFETY = {
    "version": 1,
    "approval": {"where": "never"},
    "people": {"where": "never"},
    "executive": {"where": "always"},
    "keepalive": {"warn_after_s": 1.0, "motors_off_after_s": 3.0},
}


@dataclass
class _Timed:
    """Events and their ends, in the order of time."""

    due: list[tuple[float, bool, Event]] = field(default_factory=list)

    def add(self, at_s: float, event: Event, *, begins: bool) -> None:
        self.due.append((at_s, begins, event))
        self.due.sort(key=lambda each: each[0])

    def next(self, now_s: float) -> tuple[bool, Event] | None:
        if not self.due or self.due[0][0] > now_s:
            return None
        _, begins, event = self.due.pop(0)
        return begins, event


class BridgeTrial:
    """Runs one schedule."""

    def __init__(self, schedule: Schedule, spawner: Spawner, folder: Path, domain: int) -> None:
        self.schedule, self._spawner, self._folder, self._domain = schedule, spawner, folder, domain
        self._programs: dict[str, Program] = {}
        self._all: list[tuple[str, Program]] = []
        self._busy = Busy()
        self._silences: list[Silence] = []
        self._killed_bridges: list[float] = []
        self._killed_clients: set[str] = set()
        self._over = threading.Event()

    def run(self) -> Outcome:
        """Runs it and judges it.

        Raises:
            PlannerError: where the run could not be set up.
        """
        opened = open_world(default_house(), "", self.schedule.seed, 1)
        with SpotEmulator(WallClock(), link=True) as emulator:
            emulator.load(opened.house, opened.episode, opened.seed)
            truth = TruthLog(emulator)
            pump = threading.Thread(target=self._pump, args=(emulator,), daemon=True)
            pump.start()
            try:
                return self._run(emulator, truth, opened.house)
            finally:
                self._over.set()
                pump.join(2.0)
                self._busy.set(0)

    def _pump(self, emulator: SpotEmulator) -> None:
        while not self._over.wait(_TICK_S):
            emulator.advance()

    # One run

    def _run(self, emulator: SpotEmulator, truth: TruthLog, house: House) -> Outcome:
        self._settings = self._write_settings(emulator)
        self._places = [f"{piece.x_m:.2f},{piece.y_m:.2f}" for piece in house.furniture]
        self._environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(self._domain),
            "BOSDYN_CLIENT_USERNAME": emulator.user,
            "BOSDYN_CLIENT_PASSWORD": emulator.password,
        }
        operator = Operator(self._domain)
        faults = RobotFaults(emulator)
        try:
            self._start_bridge("bridge")
            self._make_ready(operator)
            self._start_client("client", self.schedule.seed)
            began_s = time.time()
            self._let_go_wrong(operator, faults)
            self._mend(faults)
            mended_s = time.time()
            asked = self._settle(operator, mended_s)
            stopped_s = time.time()
            statuses = self._end()
        finally:
            operator.close()
        time.sleep(_SETTLE_S)
        self._over.set()
        emulator.advance()
        return judge_run(
            Evidence(
                self.schedule,
                steps=truth.moving(),
                samples=truth.samples,
                asked=asked,
                silences=[*faults.silences, *self._silences],
                began_s=began_s,
                ended_s=stopped_s,
                round_trip_s=faults.longest_round_trip_s,
                bridge_died_s=self._killed_bridges,
                killed_clients=frozenset(self._killed_clients),
                statuses=statuses,
                logs={program.name: program.said() for _, program in self._all},
                powered=emulator.machine.motors.value != "off",
                owner=emulator.machine.lease.owner,
                seconds=time.time() - began_s,
            )
        )

    def _write_settings(self, emulator: SpotEmulator) -> Mapping[str, Path]:
        spot = {
            "version": 1,
            "target": "robot",
            "address": emulator.address,
            "port": emulator.port,
            "certificate": str(emulator.authority),
            "fiducials": [{"tag": 500, "position_m": [0.0, 0.0, 1.0], "yaw_rad": 0.0}],
        }
        found = {"backend_config": self._folder / "spot.json"}
        found["safety_config"] = self._folder / "safety.json"
        found["backend_config"].write_text(json.dumps(spot), "utf-8")
        found["safety_config"].write_text(json.dumps(SAFETY), "utf-8")
        return found

    def _start_bridge(self, name: str) -> None:
        words = [str(find_executable("bridge")), "--ros-args", "-p", "backend:=spot"]
        for key, path in self._settings.items():
            words += ["-p", f"{key}:={path}"]
        self._start(name, words)

    def _start_client(self, name: str, seed: int) -> None:
        self._start(name, [str(_CLIENT), name, str(seed), *self._places])

    def _start(self, name: str, words: list[str]) -> None:
        log = self._folder / f"{name}_{len(self._all)}.log"
        program = self._spawner.start(Start(name, tuple(words), self._environment, log))
        self._programs[name] = program
        self._all.append((name, program))

    def _make_ready(self, operator: Operator) -> None:
        if not operator.reaches("claim", _READY_S):
            raise PlannerError(
                f"the bridge does not come: {self._programs['bridge'].said()[-500:]}"
            )
        for name in ("claim", "power_on", "stand"):
            answer = operator.wait(operator.call(name), ANSWER_S)
            if not answer.success:
                raise PlannerError(f"{name}: {answer.outcome or 'no answer'}")
        operator.prepare("stop", "sit", "release", "power_off", *RECOVERY)
        operator.prepare("estop/gentle", "estop/hard")

    def _let_go_wrong(self, operator: Operator, faults: RobotFaults) -> None:
        due = _Timed()
        began_s = time.time()
        for event in self.schedule.events:
            due.add(began_s + event.at_s, event, begins=True)
        while time.time() < began_s + self.schedule.seconds:
            found = due.next(time.time())
            if found is None:
                time.sleep(_TICK_S)
                continue
            begins, event = found
            if not begins:
                self._undo(event, faults)
                continue
            if event.seconds:
                due.add(time.time() + event.seconds, event, begins=False)
            if not faults.do(event):
                self._do(event, operator)
        for _, begins, event in due.due:
            if not begins:
                self._undo(event, faults)

    def _do(self, event: Event, operator: Operator) -> None:
        program = self._programs.get(event.name)
        match event.fault:
            case Fault.CALL:
                operator.call(event.name)
            case Fault.FREEZE if program is not None:
                program.freeze()
                self._forbid(event.name, time.time() + event.seconds)
            case Fault.KILL if program is not None:
                self._kill(event.name, program)
            case Fault.CPU_SHARE if program is not None:
                program.throttle(event.value)
            case Fault.BUSY:
                self._busy.set(round(event.value))
            case Fault.SECOND_CLIENT:
                self._start_client("second_client", self.schedule.seed + 1)
            case Fault.SECOND_BRIDGE:
                self._start_bridge("second_bridge")
            case _:
                return

    def _undo(self, event: Event, faults: RobotFaults) -> None:
        faults.undo(event)
        program = self._programs.get(event.name)
        if event.fault is Fault.FREEZE and program is not None:
            program.thaw()
        elif event.fault is Fault.CPU_SHARE and program is not None:
            program.throttle(1.0)
        elif event.fault is Fault.BUSY:
            self._busy.set(0)

    def _kill(self, name: str, program: Program) -> None:
        program.throttle(1.0)
        program.send(signal.SIGKILL)
        now_s = time.time()
        if name == "bridge":
            self._killed_bridges.append(now_s)
            self._silences.append(Silence(now_s, float("inf"), Cause.BRIDGE_SILENT, True))
            # As `planner up` does.
            self._start_bridge("bridge")
        else:
            self._killed_clients.add(name)
            # What it asked for last nobody asks for any more.
            self._silences.append(Silence(now_s, float("inf"), Cause.CLIENT_SILENT, True, name))
            self._start_client(f"client_{len(self._all)}", self.schedule.seed + len(self._all))

    def _forbid(self, name: str, until_s: float) -> None:
        bridge = name == "bridge"
        cause = Cause.BRIDGE_SILENT if bridge else Cause.CLIENT_SILENT
        self._silences.append(Silence(time.time(), until_s, cause, False, "" if bridge else name))

    # Its end

    def _mend(self, faults: RobotFaults) -> None:
        faults.mend()
        self._busy.set(0)
        for program in self._programs.values():
            program.throttle(1.0)
            program.thaw()

    def _asked(self, operator: Operator) -> list[Asked]:
        clients = [p for name, p in self._all if "client" in name]
        return [*operator.records, *(one for p in clients for one in read_records(p.log))]

    def _settle(self, operator: Operator, mended_s: float) -> list[Asked]:
        """Waits until every call has its answer, ends the clients, and waits for the rest."""
        time.sleep(_SETTLE_S)
        clients = [program for name, program in self._all if "client" in name]
        for client in clients:
            # It cancels what is under way, and hears what became of it.
            client.send(signal.SIGTERM)
        while time.time() < mended_s + ANSWER_S:
            asked = self._asked(operator)
            answered = all(one.ended_s is not None for one in asked if one.kind == "service")
            if answered and all(client.status is not None for client in clients):
                break
            time.sleep(0.1)
        # What is left over of its motion is seen.
        time.sleep(_SETTLE_S)
        return self._asked(operator)

    def _end(self) -> dict[str, int | None]:
        """Asks everything to end; the status of each, None where it had to be killed."""
        found: dict[str, int | None] = {}
        for name, program in self._all:
            if "bridge" in name and program.status is None:
                program.send(signal.SIGINT)
        for name, program in self._all:
            if "bridge" in name:
                found[f"{name} {program.pid}"] = program.wait(_END_S)
        return found
