"""Problems: diagnostics, the log, refused commands, restarts, unreadable messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from planner.replay.report.clock import WorldClock
from planner.replay.report.document import Fault, Level
from planner.replay.report.messages import LogLine, Status
from planner.replay.report.scan import Scanned

DIAGNOSTICS = "/diagnostics"
LOG = "/rosout"
RECEIPTS = "/safety/receipts"
_MAX_FAULTS = 500

Kind = Literal["diagnostics", "log", "refused", "restart", "unreadable"]


@dataclass(slots=True)
class _Occurrences:
    first_s: float
    last_s: float
    count: int = 1


@dataclass(slots=True)
class FaultList:
    """Collects problems; equal ones are merged, with their count, first and last time."""

    _seen: dict[tuple[Kind, Level, str, str], _Occurrences] = field(default_factory=dict)

    def add(self, kind: Kind, level: Level, source: str, text: str, t_s: float) -> None:
        """Adds one occurrence."""
        key = (kind, level, source, text)
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = _Occurrences(t_s, t_s)
            return
        seen.first_s, seen.last_s = min(seen.first_s, t_s), max(seen.last_s, t_s)
        seen.count += 1

    def listed(self) -> tuple[Fault, ...]:
        """In the order of their first occurrence, errors before warnings at the same time."""
        found = [
            Fault(kind, level, source, text, seen.first_s, seen.last_s, seen.count)
            for (kind, level, source, text), seen in self._seen.items()
        ]
        found.sort(key=lambda f: (f.first_s, f.level is not Level.ERROR, f.kind, f.source, f.text))
        return tuple(found[:_MAX_FAULTS])


def faults_of(scanned: Scanned, clock: WorldClock) -> tuple[Fault, ...]:
    """All problems in a bag."""
    faults = FaultList()
    for reports in scanned.of(DIAGNOSTICS, tuple):
        t_s = clock.at(reports.stamp_s, reports.received_ns)
        for status in reports.content:
            if status.level is not None:
                faults.add("diagnostics", status.level, status.name, status.message, t_s)
    for line in scanned.of(LOG, LogLine):
        said = line.content
        if said.level is not None:
            t_s = clock.at(line.stamp_s, line.received_ns)
            faults.add("log", said.level, said.name, said.text, t_s)
    for topic in scanned.events:
        for receipt in scanned.of(topic, Status) if topic.endswith(RECEIPTS) else ():
            said_of = receipt.content
            if said_of.level is not None:
                t_s = clock.at_receipt(receipt.received_ns)
                faults.add("refused", said_of.level, said_of.name, _refusal(said_of), t_s)
    for restart in clock.restarts:
        text = f"the world's clock went back from {restart.from_stamp_s:g} s to "
        text += f"{restart.to_stamp_s:g} s: the world was loaded again"
        faults.add("restart", Level.WARNING, "clock", text, restart.t_s)
    for topic, (count, reason) in sorted(scanned.unreadable.items()):
        text = f"{count} messages could not be read: {reason}"
        faults.add("unreadable", Level.ERROR, topic, text, 0.0)
    return faults.listed()


def _refusal(receipt: Status) -> str:
    rule = receipt.values.get("rule", "")
    return f"{receipt.message} (rule {rule})" if rule else receipt.message
