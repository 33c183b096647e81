"""`planner evaluate RECORDING...`: verdicts from recorded states of the world.

Exit status: 0 if every episode succeeded, 1 if one failed, 2 if one cannot be evaluated, a verdict
    is not final or a live verdict differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from planner.command_line import aligned
from planner.evaluation.progress import MODES, Mode, criteria_word, variant_text
from planner.replay.judging import Judged, Unjudged, judge, recordings
from planner.replay.runs import Request, StateGap
from planner.replay.storage import moment, printable
from planner.world.errors import PlannerError
from planner.world.process_resources import keep_freed_memory

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
        choices=list(MODES),
        default="strict",
        help="as the paper defines it, or compat "
        f"({Mode.PUBLISHED}): as the published code computes it",
    )
    parser.add_argument("--episode", default="", help="name or file; default: from the states")
    parser.add_argument(
        "--partial", action="store_true", help="evaluate incomplete recordings as far as they go"
    )
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--metrics", action="store_true", help="also all papers' metrics")
    parser.add_argument("--traces", type=Path, help="write the traces to this file, JSON lines")


def run(args: argparse.Namespace) -> int:
    """Evaluate all recordings and print the verdicts."""
    keep_freed_memory()
    traced = bool(args.metrics or args.traces)
    request = Request(MODES[args.mode], args.episode, args.partial, traced)
    judged: list[Judged] = []
    unjudged: list[Unjudged] = []
    errors: list[str] = []
    for path in args.recordings:
        for found in _all_in(path, request):
            if isinstance(found, Judged):
                judged.append(found)
            elif isinstance(found, Unjudged):
                unjudged.append(found)
            else:
                errors.append(printable(str(found)))
                print(f"error: {errors[-1]}", file=sys.stderr)
    # Without `--partial`, verdicts on incomplete recordings do not count.
    counted = [j for j in judged if j.final or args.partial]
    if args.traces:
        # Loaded on demand: scipy takes longer to load than a bag to evaluate.
        from planner.evaluation.trace import write_traces

        write_traces(args.traces, [j.trace for j in judged if j.trace])
    if args.json:
        document = _document(judged, counted, errors, metrics=args.metrics)
        document["unjudged"] = [_unjudged_entry(u) for u in unjudged]
        print(json.dumps(document, indent=2))
    else:
        every: list[Judged | Unjudged] = [*judged, *unjudged]
        for each in every:
            for line in each.lacks:
                print(printable(f"missing in {each.source}: {line}"))
        if judged:
            _print_table(judged, partial=args.partial)
        if counted and (args.metrics or len(judged) > 1):
            _print_summary(counted, metrics=args.metrics)
        for one in unjudged:
            _print_unjudged(one)
    if errors or unjudged or len(counted) < len(judged):
        return 2
    if any(j.agrees is False for j in judged):
        return 2
    return 0 if all(j.verdict.success for j in judged) else 1


def _all_in(path: Path, request: Request) -> list[Judged | Unjudged | PlannerError]:
    try:
        return [found for recording in recordings(path) for found in judge(recording, request)]
    except PlannerError as error:
        return [error]


def _document(
    judged: Sequence[Judged], counted: Sequence[Judged], errors: Sequence[str], *, metrics: bool
) -> dict[str, JsonValue]:
    document: dict[str, JsonValue] = {
        "version": 1,
        "results": [_entry(j, counts=j in counted) for j in judged],
        "errors": list(errors),
    }
    if counted:
        document["summary"] = [
            {"metric": name, "left_out": dict(left_out), **estimate}
            for name, estimate, left_out in _summary(counted, metrics=metrics)
        ]
    return document


def _entry(judged: Judged, *, counts: bool) -> dict[str, JsonValue]:
    verdict, criteria = judged.verdict, judged.verdict.criteria
    return {
        "recording": str(judged.source),
        "episode": verdict.episode_id,
        "success": verdict.success if counts else None,
        "final": judged.final,
        "gaps": [{**asdict(gap)} for gap in judged.gaps],
        "missing": list(judged.lacks),
        "percent_complete": verdict.percent_complete,
        "sim_steps": verdict.sim_steps,
        "mode": str(verdict.mode),
        "variant": variant_text(verdict),
        "cut_short": judged.cut_short,
        "agrees_with_live": judged.agrees,
        "explanation": verdict.explanation,
        "criteria": None
        if criteria is None
        else {**asdict(criteria), "entities": dict(criteria.entities)},
        "propositions": [
            {name: value for name, value in asdict(p).items() if name != "holds"}
            for p in verdict.propositions
        ],
    }


def _unjudged_entry(unjudged: Unjudged) -> dict[str, JsonValue]:
    return {
        "recording": str(unjudged.source),
        "house": unjudged.house,
        "episode": unjudged.episode_id,
        "missing": list(unjudged.lacks),
        "instructions": [asdict(instruction) for instruction in unjudged.instructions],
    }


def _print_unjudged(unjudged: Unjudged) -> None:
    print(printable(str(unjudged)))
    for outcome in unjudged.instructions:
        text = f"  instruction {outcome.instruction!r}: {outcome.state}  {outcome.text}"
        print(printable(text).rstrip())


def _print_table(judged: Sequence[Judged], *, partial: bool) -> None:
    cells = (tuple(map(printable, _cells(j, partial=partial))) for j in judged)
    print("\n".join(aligned([_HEAD, *cells])))
    for j in judged:
        for gap in j.gaps:
            print(f"gap in {printable(j.verdict.episode_id)}: {_gap(gap)}")
        if not j.final and not partial:
            continue
        if j.verdict.explanation:
            print(printable(f"why {j.verdict.episode_id}: {j.verdict.explanation}"))
        criteria = j.verdict.criteria
        if criteria is not None and j.verdict.propositions:
            line = f"criteria {criteria_word(criteria)}. {criteria.explanation}".rstrip()
            print(printable(f"{j.verdict.episode_id}: {line}"))


def _gap(gap: StateGap) -> str:
    """From when to when states are missing, in the world's time and the recorder's."""
    many = f"{gap.missing} states" if gap.missing else "states"
    begin = "the beginning" if gap.from_s is None else f"{gap.from_s:.3f} s"
    end = "the end" if gap.to_s is None else f"{gap.to_s:.3f} s"
    since = f"between {moment(gap.from_ns)} and" if gap.from_ns else "before"
    return f"{many} missing between {begin} and {end}, received {since} {moment(gap.to_ns)}"


def _cells(judged: Judged, *, partial: bool) -> tuple[str, ...]:
    verdict = judged.verdict
    word = "success" if verdict.success else "failure"
    live = {True: "the same", False: "DIFFERENT", None: "none"}[judged.agrees]
    if judged.agrees is None and judged.live is not None:
        live = f"in {judged.live.mode}"
    return (
        verdict.episode_id,
        word if judged.final or partial else "not final",
        f"{verdict.percent_complete:.2f}",
        f"{verdict.sim_steps}{' (cut short)' if judged.cut_short else ''}",
        str(verdict.mode),
        variant_text(verdict),
        live,
        str(judged.source),
    )


def _summary(
    judged: Sequence[Judged], *, metrics: bool
) -> list[tuple[str, dict[str, JsonValue], dict[str, int]]]:
    """Name, estimate and left-out counts of each metric; without traces of the verdicts only."""
    # Loaded on demand: scipy takes longer to load than a bag to evaluate.
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
            ("percent_complete", statistics.mean(shares, min_value=0.0, max_value=1.0), {}),
            ("sim_steps", statistics.mean(steps, min_value=0.0), {}),
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
