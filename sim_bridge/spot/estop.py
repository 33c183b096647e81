"""The bridge's end of the emergency-stop process (estop_endpoint.py)."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from typing import IO

from planner.world.errors import PlannerError
from sim_bridge.control import Command
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.connection import RobotAddress

# Importing the SDK takes long on a busy machine; nothing moves before it has answered.
START_S = 60.0
ANSWER_S = 3.0
LEVELS = {
    Command.ESTOP_GENTLE: "gentle",
    Command.ESTOP_HARD: "hard",
    Command.ESTOP_RELEASE: "allow",
}


class EstopProcess:
    """An e-stop endpoint in another process, so that it outlives a bridge that hangs."""

    def __init__(self, where: RobotAddress, safety: SafetyOptions) -> None:
        """Starts it and sets up the endpoint, which requires the motors to be off.

        Raises:
            PlannerError: if it cannot be set up, with what to do.
        """
        env = dict(os.environ)
        env["SPOT_IP"], env["SPOT_PORT"] = where.address, str(where.port)
        env["SPOT_CERTIFICATE"] = where.certificate
        env["BOSDYN_CLIENT_USERNAME"] = where.user
        env["BOSDYN_CLIENT_PASSWORD"] = where.password
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "sim_bridge.spot.estop_endpoint",
                safety.model_dump_json(include={"estop", "timeouts", "link"}),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        answer = self._answer(START_S)
        if answer != "ready":
            self.close()
            why = answer.removeprefix("error ") or "its process did not answer"
            raise PlannerError(f"spot: emergency stop: {why}")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> None:
        """Reports that the bridge is alive and reaches the robot."""
        self._send("alive")

    def set(self, command: Command) -> str:
        """Sets the level of one of the estop commands; returns why that failed, or ""."""
        word = LEVELS[command]
        if not self._send(word):
            return "the emergency stop's process is gone; the robot stops by itself"
        answer = self._answer(ANSWER_S)
        return "" if answer == f"ok {word}" else answer.removeprefix("error ") or "no answer"

    def close(self) -> None:
        """Removes the endpoint; the robot was brought to rest before."""
        if self._process.poll() is None and self._send("leave"):
            self._answer(ANSWER_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # The process has ended already.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, word: str) -> bool:
        pipe: IO[str] | None = self._process.stdin
        try:
            if pipe is not None and not pipe.closed:
                pipe.write(f"{word}\n")
                pipe.flush()
                return True
        except (BrokenPipeError, ValueError):
            pass
        return False

    def _answer(self, within_s: float) -> str:
        pipe: IO[str] | None = self._process.stdout
        if pipe is None or not select.select([pipe], [], [], within_s)[0]:
            return ""
        return pipe.readline().strip()
