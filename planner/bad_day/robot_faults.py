"""Injects faults of link and robot into an emulator, and records when they forbid motion."""

from __future__ import annotations

import math
import time

from planner.bad_day.harness import Faults
from planner.bad_day.permission import Cause, ClockSetBack, Revocation
from planner.bad_day.schedule import Event, Fault
from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
from sim_bridge.spot.emulator.relay import LinkRelay
from sim_bridge.spot.emulator.server import SpotEmulator

_KINDS = {
    Fault.DROP_REQUEST: TroubleKind.DROP_REQUEST,
    Fault.DROP_ANSWER: TroubleKind.DROP_ANSWER,
    Fault.REORDER: TroubleKind.REORDER,
}
# How long a request that is to be reordered waits for a later one.
_HOLD_S = 2.0


class RobotFaults(Faults):
    """Injects faults and records when they forbid motion."""

    def __init__(self, emulator: SpotEmulator) -> None:
        assert emulator.link is not None  # noqa: S101 - the harness makes it with one
        super().__init__()
        self._emulator, self._link = emulator, emulator.link

    @property
    def link(self) -> LinkRelay:
        """The relay in front of the emulator."""
        return self._link

    def inject(self, event: Event) -> bool:
        """Injects a fault; False if it is not one of link or robot."""
        now_s = time.time()
        match event.fault:
            case Fault.ROUND_TRIP:
                self._link.change(round_trip_s=event.value)
                self.longest_round_trip_s = max(self.longest_round_trip_s, event.value)
            case Fault.LOSS:
                self._link.change(loss=event.value)
            case Fault.STALL:
                self._link.stall(event.seconds)
                self._revoke(now_s, now_s + event.seconds, Cause.LINK_SILENT, ends=False)
            case Fault.CUT:
                self._link.cut()
            case Fault.DROP_REQUEST | Fault.DROP_ANSWER | Fault.REORDER:
                self._trouble(_KINDS[event.fault], method=event.name, seconds=_HOLD_S)
            case Fault.TAKE_LEASE:
                self._trouble(TroubleKind.TAKE_LEASE, name=event.name)
                self._revoke(now_s, math.inf, Cause.LEASE_TAKEN, ends=True)
            case Fault.CLOCK_STEP:
                skew_s = self._emulator.machine.skew_s + event.value
                self._trouble(TroubleKind.CLOCK_SKEW, value=skew_s)
                if event.value < 0:
                    self.set_back.append(ClockSetBack(now_s, -event.value))
            case Fault.ESTOP:
                self._trouble(TroubleKind.ESTOP, value=1.0)
                self._revoke(now_s, math.inf, Cause.ESTOP, ends=True)
            case _:
                return False
        return True

    def clear(self, event: Event) -> None:
        """Ends a fault of limited duration."""
        if event.fault is Fault.ESTOP:
            self._trouble(TroubleKind.ESTOP, value=0.0)
        elif event.fault is Fault.TAKE_LEASE:
            self._trouble(TroubleKind.RETURN_LEASE)

    def clear_all(self) -> None:
        """Restores a good link and drops pending faults."""
        self._link.change(round_trip_s=0.0, loss=0.0)
        self._emulator.forget_call_faults()
        self._trouble(TroubleKind.ESTOP, value=0.0)

    def _trouble(self, kind: TroubleKind, **more: object) -> None:
        self._emulator.trouble(Trouble.model_validate({"kind": kind, **more}))

    def _revoke(self, begins_s: float, ends_s: float, cause: Cause, *, ends: bool) -> None:
        self.revocations.append(Revocation(begins_s, ends_s, cause, ends))
