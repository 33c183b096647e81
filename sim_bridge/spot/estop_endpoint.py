"""An emergency-stop endpoint in a process of its own, beside the bridge (rule 4).

It checks in at the robot while the bridge regularly reports that it is alive. When the bridge
falls silent or is gone, it lets the robot sit down and cuts the motors; when this process dies
with it, the robot does so by itself after the endpoint's timeout.

    python -m sim_bridge.spot.estop_endpoint    # started by the bridge, not by hand

Input: lines `alive`, `allow`, `gentle`, `hard`, `leave`. Output: a line `ready` or `error WHY`,
then `ok WORD` or `error WHY` for each word but `alive`.
"""

from __future__ import annotations

import select
import sys
import time
from typing import Any

from planner.world.errors import PlannerError
from sim_bridge.safety.options import SafetyOptions

NAME = "planner-estop"
# A bridge that was silent for this long is not alive.
SILENT_S = 1.5
_RPC_S = 0.5
# How long the robot gets to sit down before the endpoint is removed.
_LEAVE_S = 6.0


def main() -> int:
    """Serves until the bridge is gone; returns the process's exit status."""
    try:
        endpoint, timeout_s = _set_up(SafetyOptions.model_validate_json(sys.argv[1]))
    except PlannerError as error:
        _reply(f"error {error}")
        return 1
    _reply("ready")
    _Watch(endpoint, timeout_s).serve()
    return 0


def _set_up(safety: SafetyOptions) -> tuple[Any, float]:
    from bosdyn.client.estop import EstopClient, EstopEndpoint, MotorsOnError

    from sim_bridge.spot.connection import SDK_ERRORS, explain, resolve_address
    from sim_bridge.spot.link import SpotLink

    link = SpotLink(resolve_address("", 443, ""), safety, time.time)
    link.connect()
    client = link.client(EstopClient)
    endpoint = EstopEndpoint(client, NAME, safety.estop.timeout_s)
    try:
        endpoint.force_simple_setup()
    except MotorsOnError:
        raise PlannerError(
            "the emergency stop cannot be set up while the motors are on; let the robot sit down, "
            "switch its motors off on the tablet, and start again"
        ) from None
    except SDK_ERRORS as error:
        raise PlannerError(f"the emergency stop cannot be set up: {explain(error)}") from error
    return endpoint, safety.estop.timeout_s


class _Watch:
    """The level at which the endpoint checks in, from the bridge's input or its silence."""

    def __init__(self, endpoint: Any, timeout_s: float) -> None:
        from bosdyn.client.estop import StopLevel

        self._endpoint, self._period_s = endpoint, min(timeout_s / 5, 0.5)
        self._levels = {
            "allow": StopLevel.ESTOP_LEVEL_NONE,
            "gentle": StopLevel.ESTOP_LEVEL_SETTLE_THEN_CUT,
            "hard": StopLevel.ESTOP_LEVEL_CUT,
        }
        self._wanted = "allow"
        self._heard_s = time.monotonic()

    def serve(self) -> None:
        """Checks in until the bridge leaves or is gone."""
        while True:
            self._check_in()
            readable, _, _ = select.select([sys.stdin], [], [], self._period_s)
            if not readable:
                continue
            word = sys.stdin.readline()
            if not word or not self._obey(word.strip()):
                break
        self._leave()

    def _obey(self, word: str) -> bool:
        self._heard_s = time.monotonic()
        if word in self._levels:
            self._wanted = word
            why = self._check_in()
            _reply(f"error {why}" if why else f"ok {word}")
        elif word == "leave":
            _reply("ok leave")
            return False
        return True

    def _check_in(self) -> str:
        from sim_bridge.spot.connection import SDK_ERRORS, explain

        silent = time.monotonic() - self._heard_s > SILENT_S
        level = "gentle" if silent and self._wanted == "allow" else self._wanted
        try:
            self._endpoint.check_in_at_level(self._levels[level], timeout=_RPC_S)
        except SDK_ERRORS as error:
            # If this fails, the robot stops by itself after the timeout.
            return explain(error)
        return ""

    def _leave(self) -> None:
        """Lets the robot come to rest, then removes the endpoint, which is refused before."""
        from sim_bridge.spot.connection import SDK_ERRORS

        if self._wanted == "allow":
            self._wanted = "gentle"
        ends_s = time.monotonic() + _LEAVE_S
        while time.monotonic() < ends_s:
            self._check_in()
            try:
                self._endpoint.deregister()
            except SDK_ERRORS:
                time.sleep(self._period_s)
            else:
                return


def _reply(line: str) -> None:
    print(line.replace("\n", " "), flush=True)


if __name__ == "__main__":
    sys.exit(main())
