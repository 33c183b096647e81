"""`planner evaluate RECORDING...`: the verdicts again, from the true world's states.

Exit status: 0 where every episode succeeded, 1 where one failed, 2 where one cannot be judged or a
live verdict differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from planner.evaluation.progress import CriteriaProgress, Mode, criteria_word
from planner.recorder.freed_memory import keep_freed_memory
from planner.replay.judging import Judged, Request, judge, recordings
from planner.world.errors import PlannerError

_MODES = {"strict": Mode.STRICT, "compat": Mode.PARTNR_V0, "partnr_v0": Mode.PARTNR_V0}
_HEAD = ("episode", "verdict", "complete", "sim_steps", "mode", "variant", "live", "recording")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "recordings",
        nargs="+",
        type=Path,
        metavar="RECORDING",
        help="a bag, a log of states (JSON lines), or a folder of them",
    )
    parser.add_argument(
        "--mode",
        choices=list(_MODES),
        default="strict",
        help="as the paper defines it, or compat (partnr_v0): as the published code computes it",
    )
    parser.add_argument("--episode", default="", help="name or file; default: as the states say")
    parser.add_argument("--partial", action="store_true", help="judge also what was cut short")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--metrics", action="store_true", help="all papers' metrics as well")
    parser.add_argument("--traces", type=Path, help="write the traces to this file, JSON lines")


def run(args: argparse.Namespace) -> int:
    """Judge all recordings and print what came of it."""
    keep_freed_memory()
    traced = bool(args.metrics or args.traces)
    request = Request(_MODES[args.mode], args.episode, args.partial, traced)
    judged: list[Judged] = []
    errors: list[str] = []
    for path in args.recordings:
        for found in _all_in(path, request):
            if isinstance(found, Judged):
                judged.append(found)
            else:
                errors.append(str(found))
                print(f"error: {found}", file=sys.stderr)
    if args.traces:
        # Only for those who want them: scipy takes longer to load than a bag to judge.
        from planner.evaluation.trace import write_traces

        write_traces(args.traces, [j.trace for j in judged if j.trace])
    if args.json:
        print(json.dumps(_document(judged, errors, metrics=args.metrics), indent=2))
    elif judged:
        _print_table(judged)
        if args.metrics or len(judged) > 1:
            _print_summary(judged, metrics=args.metrics)
    if errors or any(j.agrees is False for j in judged):
        return 2
    return 0 if all(j.verdict.success for j in judged) else 1


def _all_in(path: Path, request: Request) -> list[Judged | PlannerError]:
    try:
        return [found for recording in recordings(path) for found in judge(recording, request)]
    except PlannerError as error:
        return [error]


def _document(judged: Sequence[Judged], errors: Sequence[str], *, metrics: bool) -> JsonValue:
    document: dict[str, JsonValue] = {
        "version": 1,
        "results": [_entry(j) for j in judged],
        "errors": list(errors),
    }
    if judged:
        document["summary"] = [
            {"metric": name, "left_out": dict(left_out), **estimate}
            for name, estimate, left_out in _summary(judged, metrics=metrics)
        ]
    return document


def _entry(judged: Judged) -> dict[str, JsonValue]:
    verdict = judged.verdict
    return {
        "recording": str(judged.source),
        "episode": verdict.episode_id,
        "success": verdict.success,
        "percent_complete": verdict.percent_complete,
        "sim_steps": verdict.sim_steps,
        "mode": str(verdict.mode),
        "variant": str(verdict.variant),
        "cut_short": judged.cut_short,
        "agrees_with_live": judged.agrees,
        "explanation": verdict.explanation,
        "criteria": None if verdict.criteria is None else _criteria(verdict.criteria),
        "propositions": [
            {
                "index": p.index,
                "text": p.text,
                "satisfied": p.satisfied,
                "first_step": p.first_step,
                "reason": p.reason and str(p.reason),
                "detail": p.detail,
            }
            for p in verdict.propositions
        ],
    }


def _criteria(criteria: CriteriaProgress) -> JsonValue:
    return {
        "success": criteria.success,
        "share": criteria.share,
        "first_step": criteria.first_step,
        "entities": dict(criteria.entities),
        "explanation": criteria.explanation,
    }


def _print_table(judged: Sequence[Judged]) -> None:
    rows = [_HEAD, *(_cells(j) for j in judged)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    for j in judged:
        if j.verdict.explanation:
            print(f"why {j.verdict.episode_id}: {j.verdict.explanation}")
        criteria = j.verdict.criteria
        if criteria is not None and j.verdict.propositions:
            told = f"criteria {criteria_word(criteria)}. {criteria.explanation}".rstrip()
            print(f"{j.verdict.episode_id}: {told}")


def _cells(judged: Judged) -> tuple[str, ...]:
    verdict = judged.verdict
    live = {True: "the same", False: "DIFFERENT", None: "none"}[judged.agrees]
    if judged.agrees is None and judged.live is not None:
        live = f"in {judged.live.mode}"
    return (
        verdict.episode_id,
        "success" if verdict.success else "failure",
        f"{verdict.percent_complete:.2f}",
        f"{verdict.sim_steps}{' (cut short)' if judged.cut_short else ''}",
        str(verdict.mode),
        str(verdict.variant),
        live,
        str(judged.source),
    )


def _summary(
    judged: Sequence[Judged], *, metrics: bool
) -> list[tuple[str, dict[str, JsonValue], dict[str, int]]]:
    """Name, estimate and what was left out of each metric; without traces of the verdicts only."""
    # Loaded here, because scipy takes longer to load than a bag to judge.
    from planner.evaluation import statistics

    traces = [j.trace for j in judged if j.trace]
    if metrics:
        from planner.evaluation.metrics.table import summarise

        rows = [(r.metric.name, r.estimate, dict(r.left_out)) for r in summarise(traces)]
    else:
        verdicts = [j.verdict for j in judged]
        shares = [v.percent_complete for v in verdicts]
        steps = [float(v.sim_steps) for v in verdicts]
        rows = [
            ("success", statistics.rate(sum(v.success for v in verdicts), len(verdicts)), {}),
            ("percent_complete", statistics.mean(shares, least=0.0, most=1.0), {}),
            ("sim_steps", statistics.mean(steps, least=0.0), {}),
        ]
    return [
        (name, {**asdict(estimate), "interval": str(estimate.interval)}, left_out)
        for name, estimate, left_out in rows
    ]


def _print_summary(judged: Sequence[Judged], *, metrics: bool) -> None:
    for name, estimate, left_out in _summary(judged, metrics=metrics):
        value, low, high = (estimate[key] for key in ("value", "low", "high"))
        between = "" if low is None else f"  [{_short(low)}, {_short(high)}] {estimate['interval']}"
        without = "".join(f"  ({count} {why})" for why, count in left_out.items())
        print(f"{name}: {_short(value)}{between}  n={estimate['n']}{without}")


def _short(value: JsonValue) -> str:
    if not isinstance(value, float):
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
