"""Where the new evaluator differs from the live one, step by step, and at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planner.replay.through.evaluator import JudgedRun
from planner.replay.through.judgements import Judgement, judgement_differences
from planner.replay.through.result import Findings, plain


@dataclass(frozen=True, slots=True)
class Compared:
    """A live judgement and the new one at its step."""

    live: Judgement
    now: Judgement
    found: tuple[str, ...]


def compared(run: JudgedRun) -> list[Compared]:
    """Each live judgement with the new one; the verdict last."""
    steps = []
    for live in run.live:
        now = run.verdict if live.is_final else run.at(live.step)
        if now is not None:
            steps.append(Compared(live, now, tuple(judgement_differences(live, now))))
    return steps


def evaluator_findings(
    runs: Sequence[JudgedRun], request: Mapping[str, str], bag: Mapping[str, JsonValue]
) -> Findings:
    """The findings about an evaluator, to save and print."""
    records: list[Mapping[str, JsonValue]] = []
    lines: list[str] = []
    parts: list[JsonValue] = []
    for number, run in enumerate(runs):
        steps = compared(run)
        records += [_record(number, step) for step in steps]
        parts.append(_part(run, steps))
        lines.append(
            f"run {number}: {run.house}, {run.episode_id or 'no episode'}, by {run.mode.value}"
        )
        lines += _step_lines(steps)
        lines += _summary_lines(run, steps)
    summary: dict[str, JsonValue] = {
        "version": 1,
        "through": dict(request),
        "bag": dict(bag),
        "runs": parts,
    }
    return Findings(records, summary, lines)


def _record(run: int, step: Compared) -> Mapping[str, JsonValue]:
    return {
        "run": run,
        "step": step.live.step,
        "stamp_s": step.live.stamp_s,
        "is_final": step.live.is_final,
        "different": [*step.found],
        "live": _side(step.live),
        "replayed": _side(step.now),
    }


def _side(judgement: Judgement) -> JsonValue:
    return {
        "mode": judgement.mode,
        "percent_complete": judgement.percent_complete,
        "success": judgement.success if judgement.is_final else None,
        "satisfied": [s.satisfied for s in judgement.standings],
    }


def _part(run: JudgedRun, steps: Sequence[Compared]) -> JsonValue:
    first = next((step for step in steps if step.found), None)
    final = next((step for step in steps if step.live.is_final), None)
    return {
        "episode": run.episode_id,
        "house": run.house,
        "mode": run.mode.value,
        "variant": run.variant.value,
        "states": run.states,
        "last_step": run.last_step,
        "steps": len(steps),
        "steps_that_differ": sum(bool(step.found) for step in steps),
        "first_different_step": None if first is None else first.live.step,
        "live_verdict": None if final is None else _side(final.live),
        "verdict": None if run.verdict is None else _side(run.verdict),
        "verdicts_agree": None if final is None else not final.found,
        "error": run.error,
    }


def _step_lines(steps: Sequence[Compared]) -> list[str]:
    lines = []
    before: tuple[str, ...] = ()
    for step in steps:
        if step.found != before:
            at = f"{step.live.stamp_s:9.2f} s  step {step.live.step}"
            words = "verdict: " if step.live.is_final else ""
            lines += [plain(f"{at}  {words}{found}") for found in step.found]
            if not step.found:
                lines.append(f"{at}  {words}as the live judge again")
        before = step.found
    return lines


def _summary_lines(run: JudgedRun, steps: Sequence[Compared]) -> list[str]:
    if run.error:
        return [plain(f"not judged: {run.error}")]
    lines = []
    if steps:
        first = next((step for step in steps if step.found), None)
        differ = sum(bool(step.found) for step in steps)
        begins = "" if first is None else f", first at step {first.live.step}"
        lines.append(f"judgements: {len(steps)}, of which {differ} differ{begins}")
    else:
        lines.append("the bag has no judgement to compare with")
    rows = [("now", run.verdict), ("live", next((s.live for s in steps if s.live.is_final), None))]
    for name, judgement in rows:
        if judgement is None:
            lines.append(f"{name}: no verdict")
            continue
        word = "success" if judgement.success else "failure"
        lines.append(
            f"{name}: {word}  percent_complete: {judgement.percent_complete:.2f}  "
            f"step: {judgement.step}"
        )
    return lines
