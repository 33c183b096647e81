"""The memory compared with the truth over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.memory.scores import DEFAULT_DISTANCE_M, Placed, score
from planner.replay.report.clock import WorldClock
from planner.replay.report.document import Believed, Memory, MemoryPoint
from planner.replay.report.messages import Entry, Event, MemoryEdits, MemoryState, Status
from planner.replay.report.things import TrueWorld

SNAPSHOTS = "/memory/entities"
UPDATES = "/memory/updates"
_NODE = "memory"
# Points of the comparison over a whole run.
_MAX_POINTS = 240


@dataclass(frozen=True, slots=True)
class _State:
    """The memory's content from a receipt on, by entity id."""

    received_ns: int
    t_s: float
    entries: Mapping[int, Entry]


def memory_of(
    snapshots: Sequence[Event[MemoryState]],
    updates: Sequence[Event[MemoryEdits]],
    diagnostics: Sequence[Event[tuple[Status, ...]]],
    truth: TrueWorld | None,
    clock: WorldClock,
) -> Memory | None:
    """Follows the memory; None if the bag has none of its topics."""
    history = _History()
    events: list[Event[MemoryState] | Event[MemoryEdits]] = [*snapshots, *updates]
    # An update before the snapshot that contains it, so that none is applied twice.
    events.sort(key=lambda e: (e.received_ns, isinstance(e.content, MemoryState)))
    for event in events:
        t_s = clock.at(event.stamp_s, event.received_ns)
        if isinstance(event.content, MemoryState):
            history.take_snapshot(event.received_ns, t_s, event.content)
        else:
            history.take_update(event.received_ns, t_s, event.content)
    if not history.states:
        return None
    return Memory(
        updater=_updater(diagnostics),
        distance_m=DEFAULT_DISTANCE_M,
        points=tuple(_points(history.states, truth, clock)),
        believed=tuple(_believed(history.states)),
        lost_updates=history.lost,
    )


def _updater(diagnostics: Sequence[Event[tuple[Status, ...]]]) -> str:
    """The updater's name according to the memory node's diagnostics."""
    for event in reversed(diagnostics):
        for status in event.content:
            if status.hardware_id == _NODE and "updater" in status.values:
                return status.values["updater"]
    return ""


class _History:
    """The memory's states in order."""

    def __init__(self) -> None:
        self.states: list[_State] = []
        self.lost = 0
        self._sequence: int | None = None

    def take_snapshot(self, received_ns: int, t_s: float, state: MemoryState) -> None:
        if self._sequence is not None and state.sequence > self._sequence:
            self.lost += state.sequence - self._sequence
        self._sequence = state.sequence
        self._add(received_ns, t_s, state.entries)

    def take_update(self, received_ns: int, t_s: float, update: MemoryEdits) -> None:
        if self._sequence is not None:
            if update.sequence <= self._sequence:
                return
            self.lost += update.sequence - self._sequence - 1
        self._sequence = update.sequence
        entries = dict(self.states[-1].entries) if self.states else {}
        for number, entry in update.edits:
            if entry is None:
                entries.pop(number, None)
            else:
                entries[number] = entry
        self._add(received_ns, t_s, entries)

    def _add(self, received_ns: int, t_s: float, entries: Mapping[int, Entry]) -> None:
        if not self.states or self.states[-1].entries != entries:
            self.states.append(_State(received_ns, t_s, entries))


def _points(
    states: Sequence[_State], truth: TrueWorld | None, clock: WorldClock
) -> Iterator[MemoryPoint]:
    known = truth if truth is not None and truth.spots else None
    moments = {state.received_ns for state in states}
    if known is not None:
        moments |= {ns for ns in known.changes_ns() if ns >= states[0].received_ns}
    at = 0
    for moment in _thinned(sorted(moments)):
        while at + 1 < len(states) and states[at + 1].received_ns <= moment:
            at += 1
        yield _point(states[at], moment, known, clock)


def _point(
    state: _State, moment_ns: int, truth: TrueWorld | None, clock: WorldClock
) -> MemoryPoint:
    t_s = max(state.t_s, clock.at_receipt(moment_ns))
    ours = [
        Placed(e.name, e.class_name, (e.x_m, e.y_m, e.z_m))
        for e in state.entries.values()
        if not e.picked
    ]
    if truth is None:
        return MemoryPoint(t_s, len(ours), None, None, None, None, None)
    made = score(ours, truth.placed_at(moment_ns))
    return MemoryPoint(
        t_s=t_s,
        remembered=made.remembered,
        true=made.true,
        matched=len(made.matches),
        precision=_rounded(made.precision),
        recall=_rounded(made.recall),
        error_m=_rounded(made.error_m),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _thinned(moments: Sequence[int]) -> list[int]:
    if len(moments) <= _MAX_POINTS:
        return list(moments)
    step = (len(moments) - 1) / (_MAX_POINTS - 1)
    return [moments[round(i * step)] for i in range(_MAX_POINTS)]


def _believed(states: Sequence[_State]) -> Iterator[Believed]:
    """Each object with each place where it was believed to be, and the time span."""
    current: dict[int, tuple[float, Entry]] = {}
    found: list[tuple[float, float | None, Entry]] = []
    for state in states:
        for number, (since_s, entry) in list(current.items()):
            if state.entries.get(number) != entry:
                found.append((since_s, state.t_s, entry))
                del current[number]
        for number, entry in state.entries.items():
            if number not in current:
                current[number] = (state.t_s, entry)
    found += [(since_s, None, entry) for since_s, entry in current.values()]
    for since_s, until_s, e in sorted(found, key=lambda row: (row[0], row[2].name)):
        x_m, y_m = round(e.x_m, 3), round(e.y_m, 3)
        yield Believed(e.name, e.class_name, since_s, until_s, x_m, y_m, e.picked)
