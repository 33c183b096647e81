"""The verdicts on a run, as evaluated again and live, and its memory compared with the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.evaluation.metrics.metric import doer_of
from planner.evaluation.progress import criteria_word, variant_text
from planner.evaluation.trace import EpisodeTrace
from planner.memory.scores import DEFAULT_DISTANCE_M, Placed, score
from planner.replay.judging import Judged, Unjudged, judge
from planner.replay.live import JudgedPart, Judgement
from planner.replay.report.document import (
    Believed,
    Memory,
    MemoryPoint,
    ProgressPoint,
    Proposition,
    Verdict,
    Verdicts,
)
from planner.replay.report.messages import (
    Entry,
    Event,
    MemoryEdits,
    MemoryState,
    Status,
)
from planner.replay.report.tracks import TrueWorld, WorldClock, thinned
from planner.replay.runs import Request
from planner.world.errors import FileError

# The memory compared with the truth over time.

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
    for moment in thinned(sorted(moments), _MAX_POINTS):
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


PROGRESS = "/evaluation"
RESULT = "/evaluation/result"
STATES = "/world/state"


class StepTimes:
    """Maps simulation steps to times of the report."""

    def __init__(self, rows: Sequence[tuple[int, float]]) -> None:
        first: dict[int, float] = {}
        for step, t_s in rows:
            first[step] = min(t_s, first.get(step, t_s))
        self._steps = sorted(first)
        self._times = [first[step] for step in self._steps]

    def at(self, step: int | None) -> float | None:
        """The time of a step; None if no step's time is known."""
        if step is None or not self._steps:
            return None
        return round(float(np.interp(step, self._steps, self._times)), 3)


@dataclass(frozen=True, slots=True)
class Rejudged:
    """The evaluation of a bag with its trace, or why there is none."""

    judged: Judged | None
    reason: str

    @property
    def trace(self) -> EpisodeTrace | None:
        """The input of the metrics."""
        return self.judged.trace if self.judged else None


def rejudged(folder: Path) -> Rejudged:
    """Evaluates a bag from its states, as far as it goes."""
    found = next(judge(folder, Request(partial=True, traced=True)), None)
    if isinstance(found, Judged):
        return Rejudged(found, "")
    if isinstance(found, Unjudged):
        what = f"episode {found.episode_id} has no goal" if found.episode_id else "no episode"
        return Rejudged(None, f"there is no goal to judge by: {what}")
    if isinstance(found, FileError):
        reason = f"{found.field}: {found.reason}" if found.field else found.reason
    else:
        reason = str(found or "nothing was judged")
    # The reason must not depend on where the bag is.
    return Rejudged(None, reason.replace(str(folder), folder.name))


def verdicts_of(
    rejudged: Rejudged, results: Sequence[Event[Judgement]], steps: StepTimes, clock: WorldClock
) -> Verdicts:
    """Both verdicts, whether they agree, and whether the bag's is final."""
    ends = [event.content for event in results if event.content.is_final]
    live = _live(ends[-1], steps) if ends else None
    judged = rejudged.judged
    if judged is None:
        return Verdicts(None, live, None, final=False, reason=rejudged.reason)
    reason = ""
    if judged.gaps:
        first = judged.gaps[0]
        count = sum(gap.missing for gap in judged.gaps)
        many = f"{count} states" if count else "states"
        begin, end = clock.at_receipt(first.from_ns), clock.at_receipt(first.to_ns)
        reason = f"{many} of the world are missing, the first between {begin:g} s and {end:g} s"
    elif judged.cut_short:
        reason = "the recording has no end: how the run went on is not known"
    elif judged.agrees is False:
        reason = "it is not the verdict that was given live"
    return Verdicts(_from_bag(judged, steps), live, judged.agrees, final=not reason, reason=reason)


def _from_bag(judged: Judged, steps: StepTimes) -> Verdict:
    verdict, trace = judged.verdict, judged.trace
    return Verdict(
        source="bag",
        success=verdict.success,
        percent_complete=round(verdict.percent_complete, 4),
        sim_steps=verdict.sim_steps,
        mode=str(verdict.mode),
        variant=variant_text(verdict),
        explanation=verdict.explanation,
        criteria=criteria_word(verdict.criteria),
        propositions=tuple(
            Proposition(
                text=p.text,
                satisfied=p.satisfied,
                first_step=p.first_step,
                first_t_s=steps.at(p.first_step),
                reason=p.detail,
                doer=doer_of(trace, index) if trace else "",
            )
            for index, p in enumerate(verdict.propositions)
        ),
    )


def _live(content: Judgement, steps: StepTimes) -> Verdict:
    return Verdict(
        source="live",
        success=content.success,
        percent_complete=content.percent_complete,
        sim_steps=content.sim_steps,
        mode=content.mode,
        variant="",
        explanation=content.explanation,
        criteria=content.criteria,
        propositions=tuple(_live_proposition(p, steps) for p in content.propositions),
    )


def _live_proposition(part: JudgedPart, steps: StepTimes) -> Proposition:
    first = part.first_step if part.first_step >= 0 else None
    return Proposition(part.text, part.satisfied, first, steps.at(first), part.detail, "")


def step_times(
    states: Sequence[tuple[int, float, int]],
    progress: Sequence[Event[Judgement]],
    clock: WorldClock,
) -> StepTimes:
    """The times of steps, from the states and from the evaluator's live messages."""
    return StepTimes(
        [
            *((step, clock.at(stamp, ns)) for step, stamp, ns in states),
            *((e.content.step, clock.at(e.stamp_s, e.received_ns)) for e in progress),
        ]
    )


def progress_of(
    rejudged: Rejudged, live: Sequence[Event[Judgement]], steps: StepTimes, clock: WorldClock
) -> tuple[ProgressPoint, ...]:
    """Progress over time, from the bag's states; else as the evaluator reported it live."""
    if rejudged.trace is not None:
        return tuple(
            ProgressPoint(
                steps.at(line.step) or 0.0, round(line.percent_complete, 4), line.satisfied
            )
            for line in rejudged.trace.progress
        )
    found: list[ProgressPoint] = []
    for event in live:
        content = event.content
        share = content.percent_complete
        satisfied = tuple(part.satisfied for part in content.propositions)
        if found and (found[-1].percent_complete, found[-1].satisfied) == (share, satisfied):
            continue
        t_s = clock.at(event.stamp_s, event.received_ns)
        found.append(ProgressPoint(t_s, share, satisfied))
    return tuple(found)
