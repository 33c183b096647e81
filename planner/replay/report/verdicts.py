"""The verdicts on a run: evaluated again from its states, and as evaluated live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.evaluation.metrics.partnr import doer_of
from planner.evaluation.progress import criteria_word, variant_text
from planner.evaluation.trace import EpisodeTrace
from planner.replay.judging import Judged, Unjudged, judge
from planner.replay.report.clock import WorldClock
from planner.replay.report.document import ProgressPoint, Proposition, Verdict, Verdicts
from planner.replay.report.messages import Event, JudgedPart, Judgement
from planner.replay.runs import Request
from planner.world.errors import FileError

PROGRESS = "/evaluation"
RESULT = "/evaluation/result"
STATES = "/world/state"
_RUNNING, _SUCCEEDED = 0, 1


class StepTimes:
    """Maps simulation steps to times of the report."""

    def __init__(self, rows: Sequence[tuple[int, float]]) -> None:
        """Takes steps with their times."""
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
    rejudged: Rejudged,
    results: Sequence[Event[Judgement]],
    steps: StepTimes,
    clock: WorldClock,
) -> Verdicts:
    """Both verdicts, whether they agree, and whether the bag's is final."""
    ends = [event.content for event in results if event.content.status != _RUNNING]
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
        success=content.status == _SUCCEEDED,
        percent_complete=content.percent_complete,
        sim_steps=content.task_steps,
        mode=content.scoring,
        variant="",
        explanation=content.explanation,
        criteria=content.criteria,
        propositions=tuple(_live_proposition(p, steps) for p in content.parts),
    )


def _live_proposition(part: JudgedPart, steps: StepTimes) -> Proposition:
    first_s = steps.at(part.first_step)
    return Proposition(part.text, part.satisfied, part.first_step, first_s, part.detail, "")


def step_times(
    states: Sequence[tuple[int, float, int]],
    progress: Sequence[Event[Judgement]],
    clock: WorldClock,
) -> StepTimes:
    """The times of steps, from the states and from the evaluator's live messages."""
    return StepTimes(
        [
            *((step, clock.at(stamp, ns)) for step, stamp, ns in states),
            *((e.content.sim_step, clock.at(e.stamp_s, e.received_ns)) for e in progress),
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
        satisfied = tuple(part.satisfied for part in content.parts)
        if found and (found[-1].percent_complete, found[-1].satisfied) == (share, satisfied):
            continue
        t_s = clock.at(event.stamp_s, event.received_ns)
        found.append(ProgressPoint(t_s, share, satisfied))
    return tuple(found)
