"""The robot's clock, by which commands expire (rule 1)."""

from __future__ import annotations

import math
import threading
from typing import Any

from bosdyn.util import RobotTimeConverter

from planner.world.errors import PlannerError
from sim_bridge.spot.advice import SDK_ERRORS

# The robot's stamp may be a little older than its answer, and an estimate over a slow link is off
# by part of the round trip. A walk may outlive its permission by this much unnoticed;
# motion.command_ttl_s is shorter than the allowed time by the same amount.
TOLERANCE_S = 0.1
_NS = 1e9


class RobotClock:
    """The SDK's estimate of the robot's clock, checked against every answer with a stamp.

    Replaces an SDK time sync endpoint in commands.
    """

    def __init__(self, endpoint: Any) -> None:
        """Starts with the estimate of a synchronised endpoint."""
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._skew_s = self._estimated_s
        # Bounds of the skew from the newest answer, and when that was requested.
        self._bounds_s = (-math.inf, math.inf)
        self._asked_s = -math.inf

    @property
    def _estimated_s(self) -> float:
        skew = self._endpoint.clock_skew
        return float(skew.seconds) + float(skew.nanos) / _NS

    @property
    def skew_s(self) -> float:
        """How far the robot's clock is ahead of ours."""
        return self._skew_s

    def check(self, stamp_s: float, asked_s: float, answered_s: float) -> float:
        """Checks the estimate against an answer, and corrects it if they differ.

        Args:
            stamp_s: the robot's time in the answer.
            asked_s: our time of the request.
            answered_s: our time of the answer.

        Returns:
            By how many seconds the estimate was moved: negative if the robot's clock was set back,
                or ours forward; 0.0 if it is consistent.
        """
        with self._lock:
            if 0.0 < self._asked_s - asked_s < answered_s - asked_s:
                # Another thread has a newer answer already.
                return 0.0
            self._asked_s = asked_s
            self._bounds_s = (stamp_s - answered_s, stamp_s - asked_s)
            if self._allows(self._skew_s):
                return 0.0
            before_s, self._skew_s = self._skew_s, math.fsum(self._bounds_s) / 2
            return self._skew_s - before_s

    def _allows(self, skew_s: float) -> bool:
        low_s, high_s = self._bounds_s
        return low_s - TOLERANCE_S <= skew_s <= high_s + TOLERANCE_S

    def compare(self) -> None:
        """Requests a new estimate, and uses it unless it contradicts the newest answer.

        Raises:
            Error: of the SDK.
        """
        # Each answer concerns the previous request.
        for _ in range(2):
            self._endpoint.get_new_estimate()
        with self._lock:
            if self._allows(self._estimated_s):
                self._skew_s = self._estimated_s

    # Interface of an SDK endpoint

    @property
    def clock_identifier(self) -> str:
        """The SDK's name for this comparison."""
        return str(self._endpoint.clock_identifier)

    def get_robot_time_converter(self) -> Any:
        """The SDK's converter with the present skew."""
        return RobotTimeConverter(round(self._skew_s * _NS))

    def robot_timestamp_from_local_secs(self, local_s: float) -> Any:
        """Our time as the robot's."""
        return self.get_robot_time_converter().robot_timestamp_from_local_secs(local_s)


def establish(endpoint: Any, max_skew_s: float) -> RobotClock:
    """Compares the clocks for the first time (rule 1: commands end by robot time).

    Raises:
        PlannerError: if that fails, or they differ by more than `max_skew_s`.
    """
    try:
        done = endpoint.establish_timesync(max_samples=25, break_on_success=True)
    except SDK_ERRORS:
        done = False
    if not done:
        raise PlannerError(
            "spot: the robot's clock cannot be compared; wait until it has booted, try again"
        )
    clock = RobotClock(endpoint)
    if abs(clock.skew_s) > max_skew_s:
        way = "ahead of" if clock.skew_s > 0 else "behind"
        raise PlannerError(
            f"spot: the robot's clock is {abs(clock.skew_s):.0f} s {way} this computer's, more "
            f"than {max_skew_s:g} s (link.most_skew_s); set both clocks by the same time server"
        )
    return clock
