"""A whole stack under hostile inputs: every node lives on, and the task succeeds afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from planner.bad_day.hostile.node import Attacker, begin_anew
from planner.bad_day.processes import reserve_domain
from planner.bad_day.watching.node import Operator
from planner.supervisor import dies_with
from planner.world.errors import PlannerError

EPISODE = "demo_dinner"
_PLANNER = Path(sys.executable).with_name("planner")
_STARTED = re.compile(r"^\[planner *\] (\w+) started, process (\d+)", re.MULTILINE)
_SAID = re.compile(r"^\[planner *\] (.* (?:died|cannot run|ended without)\b.*)$", re.MULTILINE)
_FAILURE = re.compile(r"^\[\w+ *\] .*?(?:\[ERROR\].*|Traceback.*|\w*Error: .*)$", re.MULTILINE)
# What takes an agent from whatever the inputs made of it to where it may move again.
_RECOVERY = ("stop", "estop/release", "claim", "power_on", "stand")
# Inputs between two looks at the graph, in which topics come and go.
_ROUND = 500
# Wall seconds.
_READY_S, _TASK_S, _END_S, _ANSWER_S, _POLL_S = 120.0, 600.0, 60.0, 20.0, 0.2


@dataclass(slots=True)
class Attack:
    """What came of it.

    Attributes:
        inputs: sent.
        seconds: that sending took.
        counts: of the inputs, by what they were sent to.
        nodes: that ran.
        violations: nothing if all held.
        failures: lines of the log that tell of errors, without repetitions.
        log: of all nodes.
    """

    inputs: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    nodes: tuple[str, ...] = ()
    violations: list[str] = field(default_factory=list)
    failures: tuple[str, ...] = ()
    log: str = ""


def attack(inputs: int, seed: int, keep: Path | None = None) -> Attack:
    """Starts a stack, sends inputs to it, and has it carry out its task.

    Args:
        inputs: how many.
        seed: of what is sent.
        keep: folder for the log; None keeps nothing.

    Raises:
        PlannerError: if the stack did not start.
    """
    with reserve_domain() as domain, tempfile.TemporaryDirectory() as folder:
        place = Path(keep or folder)
        place.mkdir(parents=True, exist_ok=True)
        with _stack(place, domain) as stack:
            return _attacked(stack, inputs, seed)


class _Stack:
    """`planner up` with a log in a file."""

    def __init__(self, folder: Path, domain: int) -> None:
        self.environment = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        self.domain, self._log = domain, folder / "up.log"
        words = {
            "episode": EPISODE,
            "planner": "expert",
            "paced": "false",
            "record": str(folder / "run"),
            "console": "true",
            "console_port": "0",
        }
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(_PLANNER), "up", *(f"{name}:={value}" for name, value in words.items())],
                env=self.environment,
                # Where a hostile path is written that is relative.
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=dies_with(os.getpid()),
            )

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def nodes(self) -> list[tuple[str, str]]:
        """Names and processes of all nodes that were started so far."""
        return _STARTED.findall(self.log)

    def instruct(self, seconds: float) -> tuple[int, str]:
        """The exit status and the words of `planner instruct` with the episode's instruction."""
        done = subprocess.run(
            [str(_PLANNER), "instruct", "", "--timeout", str(seconds)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds + _END_S,
            check=False,
        )
        return done.returncode, f"{done.stdout}{done.stderr}"


@contextmanager
def _stack(folder: Path, domain: int) -> Iterator[_Stack]:
    stack = _Stack(folder, domain)
    try:
        yield stack
    finally:
        if not stack.is_over:
            stack.process.send_signal(signal.SIGINT)
        try:
            stack.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            stack.process.kill()
            stack.process.wait()


def _attacked(stack: _Stack, inputs: int, seed: int) -> Attack:
    found = Attack()
    _wait_until_ready(stack)
    attacker, begun_s = Attacker(stack.domain, seed), time.monotonic()
    try:
        while found.inputs < inputs and not stack.is_over and not _SAID.search(stack.log):
            attacker.look()
            count = min(_ROUND, inputs - found.inputs)
            attacker.send(count, lambda: stack.is_over)
            found.inputs += count
    finally:
        found.seconds, found.counts = time.monotonic() - begun_s, attacker.counts
        attacker.close()
    if not stack.is_over:
        _carry_out(stack, found)
    _judge(stack, found)
    return found


def _wait_until_ready(stack: _Stack) -> None:
    """Waits until an instruction could be given.

    Raises:
        PlannerError: if it cannot in time.
    """
    until_s = time.monotonic() + _READY_S
    while "fast" not in stack.log or "entities after update" not in stack.log:
        if stack.is_over or time.monotonic() > until_s:
            raise PlannerError(f"the stack did not start: {stack.log[-400:]}")
        time.sleep(_POLL_S)


def _carry_out(stack: _Stack, found: Attack) -> None:
    """Has the task carried out in a world that begins anew."""
    operator = Operator(stack.domain)
    try:
        for name in _RECOVERY:
            if operator.reaches(name, _ANSWER_S):
                operator.wait(operator.call(name), _ANSWER_S)
            elif name == "stop":
                found.violations.append("nobody serves stop")
    finally:
        operator.close()
    if problem := begin_anew(stack.domain, EPISODE):
        found.violations.append(f"the world does not begin anew: {problem}")
    status, said = stack.instruct(_TASK_S)
    if status or "verdict: success" not in said:
        found.violations.append(f"the task does not succeed afterwards, status {status}: {said}")


def _judge(stack: _Stack, found: Attack) -> None:
    names = Counter(name for name, _ in stack.nodes())
    found.nodes = tuple(sorted(names))
    found.violations += [f"{name} was restarted" for name, count in names.items() if count > 1]
    found.violations += _SAID.findall(stack.log)
    if stack.is_over:
        found.violations.append(f"the stack ended with status {stack.process.returncode}")
    found.log = stack.log
    found.failures = tuple(dict.fromkeys(_FAILURE.findall(found.log)))
