"""One run of a whole stack: all nodes of `planner up` with a task, recorder and memory."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.harness import GOAL_TIMEOUT_S, safety_rules
from planner.bad_day.permission import Cause, Revocation, read_records
from planner.bad_day.processes import Program, ProgramSpec, SmallDisk
from planner.bad_day.schedule import FORMS, SUPERVISOR, Timeline
from planner.bad_day.stack_checks import StackEvidence, judge_stack
from planner.bad_day.trial import Assignment, BaseTrial, Outcome
from planner.bad_day.watching.node import Operator, Watcher
from planner.up import find_executable
from planner.world.errors import PlannerError
from sim_bridge.safety.options import default_safety

# A language-model server that can be slow or dead; its replies make robots drive around.

_ENTITY = re.compile(r"Object\.(\d+)")
# After this many turns its reply is Done.
_TURNS = 6


class ModelServer:
    """Streams chat completions: visits objects named in the prompt, then says Done."""

    def __init__(self, seed: int) -> None:
        self.delay_s = 0.0
        self._chance = random.Random(seed)
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.revive()

    @property
    def url(self) -> str:
        """The value for a planner's `model_url`."""
        return f"http://127.0.0.1:{self._port}/v1"

    def kill(self) -> None:
        """Refuses connections from now on."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def revive(self) -> None:
        """Serves again, on the same port."""
        if self._server is not None:
            return
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                time.sleep(outer.delay_s)
                with suppress(OSError):
                    self._say(outer.reply(body["messages"]))

            def _say(self, reply: str) -> None:
                self.close_connection = True
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                choice = {"index": 0, "delta": {"content": reply}, "finish_reason": "stop"}
                event = json.dumps({"choices": [choice]})
                self.wfile.write(f"data: {event}\n\ndata: [DONE]\n\n".encode())

            def log_message(self, *_args: object) -> None:
                """Logs nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reply(self, messages: list[dict[str, object]]) -> str:
        """The next reply in a dialogue."""
        said = sum(message["role"] == "assistant" for message in messages)
        found = _ENTITY.findall(" ".join(str(message["content"]) for message in messages))
        if said >= _TURNS or not found:
            return "Done[]\nAssigned!"
        return f"Navigate[Object.{self._chance.choice(found)}]\nAssigned!"


_CLIENT = Path(__file__).parent / "client" / "node.py"
_PLANNER = Path(sys.executable).with_name("planner")
_POLL_S = 0.05
_READY_S = 90.0
_SHUTDOWN_TIMEOUT_S = 60.0
# How long a task that has to survive an outage may take after it.
_TASK_S = 150.0
# Simulated seconds per second in paced runs, as in the demo.
PACE = 2.5
_STARTED = re.compile(r"^\[planner *\] (\w+) started, process (\d+)", re.MULTILINE)
_BEGINS = re.compile(r"begins +[A-Z]\w+\[")
_EXECUTIVES = ("skill_executor", "task_planner")


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of a stack, drawn from the schedule's seed."""

    paced: bool
    models: bool

    @staticmethod
    def of(schedule: Schedule) -> Setting:
        """Settings of a schedule: paced and fast alternate, a model only if one has faults."""
        part = FORMS.get(schedule.form)
        model = any(e.fault in (Fault.MODEL_SLOW, Fault.MODEL_DEAD) for e in schedule.events)
        paced = part.load is not None or schedule.seed % 2 == 0
        return Setting(paced, model)


class StackTrial(BaseTrial):
    """Runs one schedule."""

    def __init__(self, assignment: Assignment) -> None:
        super().__init__(assignment)
        if self.schedule.survives:
            # The shipped times: with those of the harness the motors are off after 3 s.
            keepalive = default_safety().keepalive.model_dump()
            self._safety = {"keepalive": keepalive, **self._safety}
        if self._form.task is None:
            raise PlannerError(f"{self.schedule.form} is no form of whole stacks")
        self._task, self._setting = self._form.task, Setting.of(self.schedule)
        self._nodes: dict[str, Program] = {}
        self._extra: list[Program] = []
        self._disk: SmallDisk | None = None
        self._left_out = ""
        self._watcher: Watcher | None = None

    def run(self) -> Outcome:
        """Runs it and judges it.

        Raises:
            PlannerError: if the run could not be set up.
        """
        model = ModelServer(self.schedule.seed)
        with nullcontext() if self._form.load is None else self._robot() as robot:
            self._harness = robot
            record = self._folder / "run"
            if any(event.fault is Fault.FULL_DISK for event in self.schedule.events):
                self._disk = self._small_disk(record)
            operator = Operator(self._domain)
            if robot is None:
                self._watcher = Watcher(self._domain)
            try:
                return self._run(operator, model, record)
            finally:
                self._busy.set(0)
                operator.close()
                if self._watcher is not None:
                    self._watcher.close()
                if self._disk is not None:
                    self._disk.close()
                model.kill()

    def _small_disk(self, record: Path) -> SmallDisk | None:
        try:
            return SmallDisk(record)
        except PlannerError as error:
            self._left_out = f"{Fault.FULL_DISK}: {error}"
            return None

    def _run(self, operator: Operator, model: ModelServer, record: Path) -> Outcome:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self._domain)}
        if self._harness is not None:
            environment |= self._harness.environment
        self._environment = environment
        self._up = self._start("up", [str(_PLANNER), "up", *self._arguments(model, record)])
        self._make_ready(operator)
        began_s = time.time()
        self._run_faults(operator, model)
        self._clear_all(model)
        cleared_s = time.time()
        self._up.wait(_TASK_S if self.schedule.survives else self._task.after_s)
        interrupted = self._up.status is None
        for program in self._extra:
            program.send(signal.SIGTERM)
        stopped_s = time.time()
        self._up.send(signal.SIGINT)
        status = self._up.wait(_SHUTDOWN_TIMEOUT_S)
        for program in self._extra:
            program.send(signal.SIGKILL)
        found = judge_stack(
            StackEvidence(
                self.schedule,
                status=status,
                interrupted=interrupted,
                log=self._up.output(),
                record=record,
                revocations=self._revocations,
                moving=None if self._watcher is None else self._watcher.moving,
                robot=None if self._harness is None else self._harness.moving(),
                robot_revocations=() if self._harness is None else self._harness.faults.revocations,
                round_trip_s=0.0
                if self._harness is None
                else self._harness.faults.longest_round_trip_s,
                pace=PACE if self._setting.paced else None,
                requests=[
                    *operator.records,
                    *(one for each in self._extra for one in read_records(each.output())),
                ],
                began_s=began_s,
                cleared_s=cleared_s,
                ended_s=stopped_s,
                goal_holds=self._harness is not None and self._harness.goal_holds(),
                seconds=time.time() - began_s,
            )
        )
        return replace(found, left_out=self._left_out)

    # Start

    def _arguments(self, model: ModelServer, record: Path) -> list[str]:
        setting = self._setting
        safety = self._folder / "safety.json"
        safety.write_text(json.dumps(safety_rules(self._safety)), "utf-8")
        words = {
            "episode": self._task.episode,
            "agents": str(self._task.agents),
            "record": str(record),
            "narrate": "true",
            "cameras": "hand",
            "camera_hz": "4",
            "safety_config": str(safety),
            "planner": "react" if setting.models else "expert",
        }
        if setting.models:
            words |= {"model": "bad-day", "model_url": model.url}
        if self._harness is not None:
            words |= {"memory": "learned", **self._harness.arguments()}
        elif setting.paced:
            words["pace"] = str(PACE)
        else:
            words["paced"] = "false"
        return [f"{name}:={value}" for name, value in words.items()]

    def _start(self, name: str, words: list[str]) -> Program:
        log = self._folder / f"{name}_{len(self._extra)}.log"
        return self._spawner.start(ProgramSpec(name, tuple(words), self._environment, log))

    def _make_ready(self, operator: Operator) -> None:
        """Waits until the task is running; claims a robot and makes it stand before.

        Raises:
            PlannerError: if the task does not start in time.
        """
        if self._harness is not None:
            self._harness.make_ready(operator)
        until_s = time.monotonic() + _READY_S
        while _BEGINS.search(self._up.output()) is None:
            if self._up.status is not None or time.monotonic() > until_s:
                raise PlannerError(f"the task does not begin: {self._up.output()[-400:]}")
            time.sleep(_POLL_S)

    def _process(self, name: str) -> Program | None:
        return self._up if name == SUPERVISOR else self._node(name) if name else None

    def _node(self, name: str) -> Program | None:
        """The current process of a node, which may have been restarted."""
        pids = [int(pid) for found, pid in _STARTED.findall(self._up.output()) if found == name]
        if not pids:
            return None
        known = self._nodes.get(name)
        if known is None or known.pid != pids[-1]:
            known = self._nodes[name] = Program(name, pids[-1], None, None)
        return known

    # Faults

    def _run_faults(self, operator: Operator, model: ModelServer) -> None:
        inject = partial(self._inject, operator, model)
        Timeline(self.schedule).run(inject, partial(self._clear, model), self._is_over)

    def _is_over(self) -> bool:
        return self._up.status is not None

    def _inject(self, operator: Operator, model: ModelServer, event: Event) -> None:
        if self._harness is not None and self._harness.faults.inject(event):
            return
        node = self._process(event.name)
        match event.fault:
            case Fault.CALL:
                operator.call(event.name)
                self._revoke(Cause.OPERATOR, 0.0)
            case Fault.FREEZE if node is not None:
                node.freeze()
                if event.name in _EXECUTIVES:
                    self._revoke(Cause.CLIENT_SILENT, event.seconds)
                elif event.name == "bridge":
                    self._revoke(Cause.BRIDGE_SILENT, event.seconds)
            case Fault.KILL if node is not None:
                node.throttle(1.0)
                node.send(signal.SIGKILL)
            case Fault.CPU_SHARE if node is not None:
                node.throttle(event.value)
            case Fault.BUSY:
                self._busy.set(round(event.value))
            case Fault.FULL_DISK if self._disk is not None:
                self._disk.fill()
            case Fault.SECOND_BRIDGE:
                words = [str(find_executable("bridge")), "--ros-args", "-p", "house:=train_0"]
                self._extra.append(self._start("second_bridge", words))
            case Fault.SECOND_CLIENT:
                seed, timeout_s = str(self.schedule.seed), str(GOAL_TIMEOUT_S)
                words = [str(_CLIENT), "second_client", seed, timeout_s, "2,2", "4,4"]
                self._extra.append(self._start("second_client", words))
            case Fault.MODEL_SLOW:
                model.delay_s = event.value
            case Fault.MODEL_DEAD:
                model.kill()
            case _:
                return

    def _clear(self, model: ModelServer, event: Event) -> None:
        if self._harness is not None:
            self._harness.faults.clear(event)
        node = self._up if event.name == SUPERVISOR else self._nodes.get(event.name)
        match event.fault:
            case Fault.FREEZE if node is not None:
                if node.thaw() and event.name != SUPERVISOR:
                    self._allow(event)
            case Fault.CPU_SHARE if node is not None:
                node.throttle(1.0)
            case Fault.BUSY:
                self._busy.set(0)
            case Fault.FULL_DISK if self._disk is not None:
                self._disk.empty()
            case Fault.MODEL_SLOW:
                model.delay_s = 0.0
            case Fault.MODEL_DEAD:
                model.revive()
            case _:
                return

    def _revoke(self, cause: Cause, seconds: float) -> None:
        """Records a revocation, in simulated time or, for a robot, in wall-clock time."""
        watcher = self._watcher
        at_s = time.time() if watcher is None else watcher.clock_s
        rate = PACE if watcher is not None else 1.0
        self._revocations.append(Revocation(at_s, at_s + seconds * rate, cause, False))

    def _allow(self, event: Event) -> None:
        """Ends the revocation of a resumed process: simulated time may have run slowly."""
        cause = Cause.BRIDGE_SILENT if event.name == "bridge" else Cause.CLIENT_SILENT
        at_s = time.time() if self._watcher is None else self._watcher.clock_s
        for index, revocation in enumerate(self._revocations):
            if revocation.cause is cause and revocation.ends_s > at_s:
                self._revocations[index] = replace(revocation, ends_s=at_s)

    def _clear_all(self, model: ModelServer) -> None:
        if self._harness is not None:
            self._harness.faults.clear_all()
        self._busy.set(0)
        model.delay_s = 0.0
        model.revive()
        if self._disk is not None:
            self._disk.empty()
        for node in (self._up, *self._nodes.values()):
            node.throttle(1.0)
            node.thaw(at_once=True)
