"""One bridge run: the bridge node on a robot in real time, or on a simulator.

The bridge and its clients are processes of their own; robot, link and operator live in this one.
Ground truth comes from the robot's stand-in, whose time is wall-clock time.
"""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

from planner.bad_day.bridge_checks import Evidence, Recovery, back_s, judge_run
from planner.bad_day.faults import Event, Fault
from planner.bad_day.harness import ANSWER_S, READY_S, Faults, RobotHarness
from planner.bad_day.permission import Cause, Request, Revocation, joined, read_records, truncated
from planner.bad_day.processes import Program, ProgramSpec
from planner.bad_day.schedule import Timeline
from planner.bad_day.trial import Assignment, BaseTrial, Outcome
from planner.bad_day.watching.node import Operator
from planner.up import find_executable
from planner.world.errors import PlannerError

_CLIENT = Path(__file__).parent / "client" / "node.py"
# How long after the last fault remaining motion is observed.
_SETTLE_S = 0.9
_SHUTDOWN_TIMEOUT_S = 40.0
_POLL_S = 0.5
# Within this time of its first drive a robot whose faults have ended has to arrive somewhere: two
# drives. Its client, which draws what it does, may look around before.
_DRIVE_S, _LOOK_S = 30.0, 60.0


class BridgeTrial(BaseTrial):
    """Runs one schedule."""

    def __init__(self, assignment: Assignment) -> None:
        super().__init__(assignment)
        self._programs: dict[str, Program] = {}
        self._all: list[tuple[str, Program]] = []
        self._killed_bridges: list[float] = []
        self._killed_clients: set[str] = set()

    def run(self) -> Outcome:
        """Runs it and judges it.

        Raises:
            PlannerError: if the run could not be set up.
        """
        with self._robot() as robot:
            try:
                return self._run(robot)
            finally:
                self._busy.set(0)

    # One run

    def _run(self, robot: RobotHarness) -> Outcome:
        self._arguments = robot.arguments()
        places = [f"{x:.2f},{y:.2f}" for x, y in robot.places]
        self._goals = [str(robot.goal_timeout_s), *places]
        domain = {"ROS_DOMAIN_ID": str(self._domain)}
        self._environment = {**os.environ, **domain, **robot.environment}
        operator, faults = Operator(self._domain), robot.faults
        try:
            self._start_bridge_with_retries(operator)
            robot.make_ready(operator)
            self._start_client("client", self.schedule.seed)
            self._await_first_goal()
            began_s = time.time()
            inject = partial(self._inject, operator, faults)
            Timeline(self.schedule).run(inject, partial(self._clear, faults))
            self._clear_all(faults)
            recovery = self._recover(operator, robot)
            alone = self._ended_alone()
            requests = self._settle(operator, time.time())
            stopped_s = time.time()
            statuses = self._end()
        finally:
            operator.close()
        time.sleep(_SETTLE_S)
        robot.stand_still()
        others = robot.programs()
        statuses |= {name: status for name, status, _ in others}
        logs = self._logs() | {name: output for name, _, output in others}
        known = [*requests, *faults.revocations, *self._revocations, *joined(robot.moving())]
        (self._folder / "evidence.log").write_text("".join(f"{each}\n" for each in known))
        return judge_run(
            Evidence(
                self.schedule,
                steps=robot.moving(),
                samples=robot.samples(),
                requests=requests,
                revocations=[*faults.revocations, *self._revocations],
                began_s=began_s,
                ended_s=stopped_s,
                round_trip_s=faults.longest_round_trip_s,
                bridge_died_s=self._killed_bridges,
                killed_clients=frozenset(self._killed_clients),
                statuses=statuses,
                logs=logs,
                truth_delay_s=robot.truth_delay_s,
                seconds=time.time() - began_s,
                set_back=faults.set_back,
                silent_bridge_s=robot.silent_bridge_s,
                recovery=recovery,
                ended_alone=alone,
            )
        )

    def _start_bridge(self, name: str) -> None:
        words = [str(find_executable("bridge")), "--ros-args"]
        for key, value in self._arguments.items():
            words += ["-p", f"{key}:={value}"]
        self._start(name, words)

    def _start_bridge_with_retries(self, operator: Operator) -> None:
        """Starts the bridge, with retries for connection timeouts on a busy machine.

        Raises:
            PlannerError: if it does not start in time.
        """
        until_s = time.monotonic() + READY_S
        self._start_bridge("bridge")
        while not operator.reaches("claim", _POLL_S):
            if time.monotonic() > until_s:
                said = self._programs["bridge"].output()[-300:]
                raise PlannerError(f"the bridge did not start in time: {said}")
            if self._programs["bridge"].status is not None:
                self._all.pop()
                self._start_bridge("bridge")

    def _start_client(self, name: str, seed: int) -> None:
        self._start(name, [str(_CLIENT), name, str(seed), *self._goals])

    def _await_first_goal(self) -> None:
        client, until_s = self._programs["client"], time.monotonic() + READY_S
        while not read_records(client.output()):
            if time.monotonic() > until_s:
                raise PlannerError(f"the client sends no goal: {client.output()[-300:]}")
            time.sleep(0.05)

    def _start(self, name: str, words: list[str]) -> None:
        log = self._folder / f"{name}_{len(self._all)}.log"
        program = self._spawner.start(ProgramSpec(name, tuple(words), self._environment, log))
        self._programs[name] = program
        self._all.append((name, program))

    def _inject(self, operator: Operator, faults: Faults, event: Event) -> None:
        if faults.inject(event):
            return
        program = self._programs.get(event.name)
        match event.fault:
            case Fault.CALL:
                operator.call(event.name)
            case Fault.FREEZE if program is not None:
                program.freeze()
                self._revoke(event.name, time.time() + event.seconds)
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

    def _clear(self, faults: Faults, event: Event) -> None:
        faults.clear(event)
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
            self._revocations.append(Revocation(now_s, float("inf"), Cause.BRIDGE_SILENT, True))
            # As `planner up` does.
            self._start_bridge("bridge")
        else:
            self._killed_clients.add(name)
            # Its last goal has no client any more.
            self._revocations.append(
                Revocation(now_s, float("inf"), Cause.CLIENT_SILENT, True, name)
            )
            self._start_client(f"client_{len(self._all)}", self.schedule.seed + len(self._all))

    def _revoke(self, name: str, until_s: float) -> None:
        bridge = name == "bridge"
        cause = Cause.BRIDGE_SILENT if bridge else Cause.CLIENT_SILENT
        self._revocations.append(
            Revocation(time.time(), until_s, cause, False, "" if bridge else name)
        )

    # Its end

    def _clear_all(self, faults: Faults) -> None:
        faults.clear_all()
        # Processes frozen beyond the end of the schedule resume now.
        self._revocations = truncated(self._revocations, time.time())
        self._busy.set(0)
        for program in self._programs.values():
            program.throttle(1.0)
            program.thaw(at_once=True)

    def _recover(self, operator: Operator, robot: RobotHarness) -> Recovery | None:
        """Makes the robot ready and waits for a drive; not where goals are too short for one."""
        if not self._form.recovers:
            return None
        try:
            self._await_bridge()
            robot.make_ready(operator)
        except PlannerError as error:
            return Recovery(time.time(), str(error))
        ready_s = time.time()
        drives: list[Request] = []
        while time.time() < (drives[0].sent_s + _DRIVE_S if drives else ready_s + _LOOK_S):
            drives = [
                one
                for one in self._requests(operator)
                if one.name == "navigate" and one.sent_s > ready_s
            ]
            if any(one.success for one in drives):
                break
            time.sleep(0.1)
        return Recovery(ready_s)

    def _await_bridge(self) -> None:
        """Waits until a bridge that was restarted serves, and its predecessor is forgotten.

        Raises:
            PlannerError: if that takes too long.
        """
        until_s = time.monotonic() + READY_S
        while time.time() < back_s(self._killed_bridges, self._logs()):
            if time.monotonic() > until_s:
                said = self._programs["bridge"].output()[-300:]
                raise PlannerError(f"the bridge did not start again: {said}")
            time.sleep(0.1)

    def _ended_alone(self) -> dict[str, int]:
        """What has ended by itself: not a second bridge, which has to, and nothing once killed.

        The successor of a killed bridge may find no robot and be started again.
        """
        spared = {"second_bridge"} | ({"bridge"} if self._killed_bridges else set())
        return {
            f"{name} {each.pid}": status
            for name, each in self._all
            if name not in spared | self._killed_clients and (status := each.status) is not None
        }

    def _logs(self) -> dict[str, str]:
        return {f"{name} {each.pid}": each.output() for name, each in self._all}

    def _requests(self, operator: Operator) -> list[Request]:
        clients = [p for name, p in self._all if "client" in name]
        return [*operator.records, *(one for p in clients for one in read_records(p.output()))]

    def _settle(self, operator: Operator, cleared_s: float) -> list[Request]:
        """Waits until every call is answered, ends the clients, and waits for their results."""
        time.sleep(_SETTLE_S)
        clients = [program for name, program in self._all if "client" in name]
        for client in clients:
            # The client cancels its goal and waits for the result.
            client.send(signal.SIGTERM)
        while time.time() < cleared_s + ANSWER_S:
            requests = self._requests(operator)
            # Do not wait for calls to a killed bridge.
            gone_s = back_s(self._killed_bridges, self._logs())
            waits = [one for one in requests if one.kind == "service" and one.sent_s > gone_s]
            answered = all(one.ended_s is not None for one in waits)
            if answered and all(client.status is not None for client in clients):
                break
            time.sleep(0.1)
        # Observe any remaining motion.
        time.sleep(_SETTLE_S)
        return self._requests(operator)

    def _end(self) -> dict[str, int | None]:
        """Asks all processes to end; the exit status of each, None if it had to be killed."""
        found: dict[str, int | None] = {}
        for name, program in self._all:
            if "bridge" in name and program.status is None:
                program.send(signal.SIGINT)
        for name, program in self._all:
            if "bridge" in name:
                found[f"{name} {program.pid}"] = program.wait(_SHUTDOWN_TIMEOUT_S)
        return found
