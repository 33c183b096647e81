"""Who attends an agent: the executives whose heartbeats are heard (rule 8).

Pure: it is told what was heard and the time, on one steady clock, never the world's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from sim_bridge.safety.options import Executive

# How fast another machine's steady clock may drift from ours.
DRIFT = 1e-3
# Of so many executives the sequence is remembered.
REMEMBERED = 64
# A missed event of the middleware names no publisher: it is about who was not heard for so long.
SUSPECT_AFTER_S = 0.2
# Who attends without messages: a program with the gate in its own process.
HERE = "this process"


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat, see msgs/msg/Heartbeat.msg; `stamp_s` 0 means that it was sent just now."""

    executive: str
    sequence: int
    stamp_s: float = 0.0
    leaving: bool = False


class Step(StrEnum):
    """What rule 8 says of a motion under way."""

    GOES_ON = "goes on"
    PAUSES = "pauses"
    ENDS = "ends"


@dataclass(slots=True)
class _Executive:
    """What is known of one executive; `offset_s` leads from its clock to ours.

    `forgiven`: that it fell silent is no reason to sit down.
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
        """Judges by the times of `options`."""
        self._options = options
        self._known: dict[str, _Executive] = {}
        self._needed: frozenset[str] = frozenset()
        self._operated_s = -math.inf

    # What is heard

    def hear(self, beat: Beat, now_s: float) -> bool:
        """Takes up a heartbeat; whether it counts, as a repeated or an older one does not."""
        before = self._known.get(beat.executive)
        if before is not None and beat.sequence <= before.sequence:
            return False
        offset_s = 0.0
        if beat.stamp_s:
            offset_s = now_s - beat.stamp_s
            if before is not None:
                gap_s = now_s - before.heard_s
                offset_s = min(offset_s, before.offset_s + DRIFT * gap_s)
        heard_s = min(now_s, beat.stamp_s + offset_s) if beat.stamp_s else now_s
        known = _Executive(beat.sequence, heard_s, offset_s, left=beat.leaving)
        self._known[beat.executive] = known
        if not beat.leaving:
            self._forgive(now_s)
        self._forget_some()
        return True

    def miss(self, now_s: float, *, everyone: bool) -> None:
        """The middleware says that heartbeats stopped: that counts as silence at once.

        Args:
            now_s: on the steady clock.
            everyone: whether no publisher is left; else it is about who was not heard just now.
        """
        for known in self._known.values():
            if everyone or now_s - known.heard_s > SUSPECT_AFTER_S:
                known.quiet = True

    def operated(self, now_s: float) -> None:
        """The operator, or the gate itself, asked for something."""
        self._operated_s = now_s

    def hand_over(self) -> None:
        """The operator has taken the agent up: who was lost before is no reason to sit down."""
        for known in self._known.values():
            known.forgiven = True

    def _forgive(self, now_s: float) -> None:
        """Somebody attends: who fell silent long before is not missed any more."""
        for name, known in self._known.items():
            late = now_s - known.heard_s > self._options.stop_after_s
            if late and name not in self._needed:
                known.forgiven = True

    def _forget_some(self) -> None:
        while len(self._known) > REMEMBERED:
            idle = [name for name in self._known if name not in self._needed]
            if not idle:
                return
            del self._known[min(idle, key=lambda name: self._known[name].heard_s)]

    # Motions

    def begin(self, now_s: float) -> None:
        """A motion begins: the loss of any of those who attend now counts."""
        fresh = self.executives(now_s)
        self._needed = frozenset(fresh or self._within(now_s, self._options.stop_after_s))

    def end(self) -> None:
        """Nothing moves any more."""
        self._needed = frozenset()

    def step(self, now_s: float) -> Step:
        """What becomes of the motion under way; one that nobody asked for goes on."""
        if self.silent_s(now_s) > self._options.stop_after_s:
            return Step.ENDS
        if not self._needed <= self.executives(now_s):
            return Step.PAUSES
        return Step.GOES_ON

    def silent_s(self, now_s: float) -> float:
        """For how long one of those whom the motion depends on was not heard."""
        return max((now_s - self._known[name].heard_s for name in self._needed), default=0.0)

    def until_s(self) -> float:
        """Until when what the motion under way is sent may live; inf where nobody asked for it."""
        heard_s = min((self._known[name].heard_s for name in self._needed), default=math.inf)
        return heard_s + self._options.expire_after_s

    def missing(self, now_s: float) -> str:
        """Who of those whom the motion depends on is not heard, for people."""
        gone = sorted(self._needed - self.executives(now_s))
        return _listed(gone or sorted(self._needed))

    # At rest

    def executives(self, now_s: float) -> frozenset[str]:
        """Who attends now."""
        return self._within(now_s, self._options.pause_after_s)

    def attended_within(self, now_s: float, seconds: float) -> bool:
        """Whether anybody who has not left was heard in the last `seconds`."""
        return bool(self._within(now_s, seconds))

    def alone_s(self, now_s: float) -> float:
        """For how long an agent is alone whose executive was lost.

        0 while somebody attends, where all said goodbye, and where nobody attended since the
        operator took it up: then it is in the operator's hands.
        """
        lost = [k.heard_s for k in self._known.values() if not (k.left or k.forgiven)]
        if not lost or self.executives(now_s):
            return 0.0
        return max(0.0, now_s - max(*lost, self._operated_s))

    def last_heard(self, now_s: float) -> str:
        """Who was heard last and how long ago, for people; empty for nobody."""
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
