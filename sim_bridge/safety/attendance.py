"""Which executives attend an agent, by their heartbeats (rule 8).

Pure: heartbeats and times are arguments, on one steady clock, never the world's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from sim_bridge.safety.options import Executive

# Maximum relative drift of another machine's steady clock.
DRIFT = 1e-3
# Executives whose sequence numbers are kept.
MAX_EXECUTIVES = 64
# A missed-deadline event names no publisher: it concerns those silent for this long.
SUSPECT_AFTER_S = 0.2
# Name of an executive in the gate's own process, which sends no messages.
LOCAL_EXECUTIVE = "this process"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One heartbeat, see msgs/msg/Heartbeat.msg; `stamp_s` 0 means that it was sent just now."""

    executive: str
    sequence: int
    stamp_s: float = 0.0
    leaving: bool = False


class Step(StrEnum):
    """What rule 8 requires for the current motion."""

    GOES_ON = "goes on"
    PAUSES = "pauses"
    ENDS = "ends"


@dataclass(slots=True)
class _Executive:
    """State of one executive; `offset_s` is our clock minus its clock.

    `forgiven`: its silence is no longer a reason to sit down.
    """

    sequence: int
    heard_s: float
    offset_s: float
    quiet: bool = False
    left: bool = False
    forgiven: bool = False


class Attendance:
    """The executives of one agent, and which of them a motion under way depends on."""

    def __init__(self, options: Executive) -> None:
        """Uses the times of `options`."""
        self._options = options
        self._known: dict[str, _Executive] = {}
        self._needed: frozenset[str] = frozenset()
        self._operated_s = -math.inf

    # Heartbeats

    def receive(self, heartbeat: Heartbeat, now_s: float) -> bool:
        """Processes a heartbeat; False if it is repeated or older than the last one."""
        before = self._known.get(heartbeat.executive)
        if before is not None and heartbeat.sequence <= before.sequence:
            return False
        offset_s = 0.0
        if heartbeat.stamp_s:
            offset_s = now_s - heartbeat.stamp_s
            if before is not None:
                gap_s = now_s - before.heard_s
                offset_s = min(offset_s, before.offset_s + DRIFT * gap_s)
        heard_s = min(now_s, heartbeat.stamp_s + offset_s) if heartbeat.stamp_s else now_s
        known = _Executive(heartbeat.sequence, heard_s, offset_s, left=heartbeat.leaving)
        self._known[heartbeat.executive] = known
        if not heartbeat.leaving:
            self._forgive(now_s)
        self._forget_some()
        return True

    def miss(self, now_s: float, *, everyone: bool) -> None:
        """The middleware reports missing heartbeats, which counts as silence at once.

        Args:
            now_s: on the steady clock.
            everyone: whether no publisher is left; else only those not heard recently are silent.
        """
        for known in self._known.values():
            if everyone or now_s - known.heard_s > SUSPECT_AFTER_S:
                known.quiet = True

    def operated(self, now_s: float) -> None:
        """The operator, or the gate itself, commanded the agent."""
        self._operated_s = now_s

    def hand_over(self) -> None:
        """The operator takes over: executives lost before are no reason to sit down."""
        for known in self._known.values():
            known.forgiven = True

    def _forgive(self, now_s: float) -> None:
        """Somebody attends: executives that fell silent long before no longer count as lost."""
        for name, known in self._known.items():
            late = now_s - known.heard_s > self._options.stop_after_s
            if late and name not in self._needed:
                known.forgiven = True

    def _forget_some(self) -> None:
        while len(self._known) > MAX_EXECUTIVES:
            idle = [name for name in self._known if name not in self._needed]
            if not idle:
                return
            del self._known[min(idle, key=lambda name: self._known[name].heard_s)]

    # Motions

    def begin(self, now_s: float) -> None:
        """A motion begins: it depends on every executive that attends now."""
        fresh = self.executives(now_s)
        self._needed = frozenset(fresh or self._within(now_s, self._options.stop_after_s))

    def end(self) -> None:
        """The motion has ended."""
        self._needed = frozenset()

    def step(self, now_s: float) -> Step:
        """Whether the current motion goes on, pauses or ends; one without executives goes on."""
        if self.silent_s(now_s) > self._options.stop_after_s:
            return Step.ENDS
        if not self._needed <= self.executives(now_s):
            return Step.PAUSES
        return Step.GOES_ON

    def silent_s(self, now_s: float) -> float:
        """Longest silence among the executives that the motion depends on, seconds."""
        return max((now_s - self._known[name].heard_s for name in self._needed), default=0.0)

    def until_s(self) -> float:
        """Until when commands of the current motion may live; inf without executives."""
        heard_s = min((self._known[name].heard_s for name in self._needed), default=math.inf)
        return heard_s + self._options.expire_after_s

    def missing(self, now_s: float) -> str:
        """Names of the silent executives that the motion depends on, for people."""
        gone = sorted(self._needed - self.executives(now_s))
        return _listed(gone or sorted(self._needed))

    # At rest

    def executives(self, now_s: float) -> frozenset[str]:
        """Executives that attend now."""
        return self._within(now_s, self._options.pause_after_s)

    def attended_within(self, now_s: float, seconds: float) -> bool:
        """Whether an executive that has not left was heard in the last `seconds`."""
        return bool(self._within(now_s, seconds))

    def alone_s(self, now_s: float) -> float:
        """Seconds since an agent lost its executives without replacement.

        0 while an executive attends, if all have left in order, and if none attended since the
        operator took over.
        """
        lost = [k.heard_s for k in self._known.values() if not (k.left or k.forgiven)]
        if not lost or self.executives(now_s):
            return 0.0
        return max(0.0, now_s - max(*lost, self._operated_s))

    def last_heard(self, now_s: float) -> str:
        """The executive heard last and how long ago, for people; empty if none was."""
        if not self._known:
            return ""
        name, known = max(self._known.items(), key=lambda item: item[1].heard_s)
        parted = "said goodbye" if known.left else "was last heard"
        return f"{name[:64]} {parted} {now_s - known.heard_s:.1f} s ago"

    def _within(self, now_s: float, seconds: float) -> frozenset[str]:
        return frozenset(
            name
            for name, known in self._known.items()
            if not (known.left or (known.quiet and seconds <= self._options.pause_after_s))
            and now_s - known.heard_s <= seconds
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name[:64] for name in names)
