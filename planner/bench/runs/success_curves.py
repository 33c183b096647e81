"""`planner bench curves DIR... -o PNG`: success by roll-outs, and what improvement gained."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from planner.bench.bench_cli import line_colours
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.command_line import aligned
from planner.episodes.episode_file import write_text
from planner.evaluation import statistics
from planner.evaluation.statistics import Comparison, Estimate, by_task, compare
from planner.training.improvement.journal import Curve, CurvePoint, read_curve
from planner.training.improvement.sampler import DDAFT
from planner.world.errors import PlannerError
from planner.world.files import writing

_SIZE, _MARGIN_PX = (900, 420), 56
_INK, _PAPER, _GRID = (30, 30, 30), (255, 255, 255), (222, 222, 222)


@dataclass(frozen=True, slots=True)
class SuccessPoint:
    """Success of the policies that were fitted to so many roll-outs."""

    samples: int
    success: Estimate


def success_curves(curves: Sequence[Curve]) -> Mapping[str, tuple[SuccessPoint, ...]]:
    """The curve of each algorithm, or of each algorithm and learner if learners differ.

    Over several runs, such as seeds, a point is their mean with Student's t; of one run it is the
    share of tasks, as of `statistics.task_rate`.

    Raises:
        PlannerError: if runs of an algorithm have not the same numbers of roll-outs.
    """
    learners = {curve.learner for curve in curves}
    grouped: dict[str, list[Curve]] = {}
    for curve in curves:
        name = curve.algorithm if len(learners) == 1 else f"{curve.algorithm}, {curve.learner}"
        grouped.setdefault(name, []).append(curve)
    return {name: _joined(name, runs) for name, runs in grouped.items()}


def _joined(name: str, runs: Sequence[Curve]) -> tuple[SuccessPoint, ...]:
    samples = [point.samples for point in runs[0].points]
    if any([point.samples for point in run.points] != samples for run in runs):
        raise PlannerError(f"the runs of {name} have different numbers of roll-outs")
    joined = []
    for place, count in enumerate(samples):
        points = [run.points[place] for run in runs if run.points[place].episodes]
        if len(points) == 1:
            success = _of_one_run(points[0])
        else:
            shares = [point.successes / point.episodes for point in points]
            success = statistics.mean(shares, min_value=0.0, max_value=1.0)
        joined.append(SuccessPoint(count, success))
    return tuple(joined)


def _of_one_run(point: CurvePoint) -> Estimate:
    if point.by_task:
        return statistics.task_rate(point.by_task)
    return statistics.rate(point.successes, point.episodes)


def draw_success_curves(curves: Sequence[Curve]) -> Image.Image:
    """One line for each algorithm, with bars for its intervals; no two have the same colour.

    Raises:
        PlannerError: as of `success_curves`.
    """
    lines = success_curves(curves)
    width, height = _SIZE
    sheet = Image.new("RGB", _SIZE, _PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(13)
    last = max((p.samples for points in lines.values() for p in points), default=1) or 1
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        draw.line([(_MARGIN_PX, y), (width - _MARGIN_PX, y)], fill=_GRID)
        draw.text((14, y - 8), f"{share:g}", fill=_INK, font=font)
        x = _x(share * last, last)
        draw.text((x - 10, height - _MARGIN_PX + 6), f"{share * last:.0f}", fill=_INK, font=font)
    draw.text((_MARGIN_PX, 10), "success on held-out tasks", fill=_INK, font=font)
    draw.text((width - 140, height - 24), "roll-outs", fill=_INK, font=font)
    colours = line_colours(len(lines))
    for number, (name, points) in enumerate(lines.items()):
        colour = colours[number]
        # Beside each other, so that bars of the same number of roll-outs do not hide one another.
        aside = 3 * (number - (len(lines) - 1) / 2)
        known = [(p, p.success.value) for p in points if p.success.value is not None]
        places = [(_x(p.samples, last) + aside, _y(value)) for p, value in known]
        if len(places) > 1:
            draw.line(places, fill=colour, width=2)
        for (x, y), (point, _) in zip(places, known, strict=True):
            draw.ellipse([(x - 3, y - 3), (x + 3, y + 3)], fill=colour)
            low, high = point.success.low, point.success.high
            if low is not None and high is not None:
                draw.line([(x, _y(low)), (x, _y(high))], fill=colour)
        draw.text((width - 250, 10 + 16 * number), name, fill=colour, font=font)
    return sheet


def _x(samples: float, last: int) -> float:
    return _MARGIN_PX + samples / last * (_SIZE[0] - 2 * _MARGIN_PX)


def _y(share: float) -> float:
    return _SIZE[1] - _MARGIN_PX - share * (_SIZE[1] - 2 * _MARGIN_PX)


# What policy improvement gained: paired differences on the same held-out tasks (EPM-2.8).

BEFORE = "before"
_Outcomes = Mapping[tuple[str, int], float]


@dataclass(frozen=True, slots=True)
class ImprovedRun:
    """A finished run of `planner train ddaft`.

    Attributes:
        before: of each held-out task with its seed, whether the first policy solved it.
        after: whether the last one did.
    """

    curve: Curve
    before: _Outcomes
    after: _Outcomes


@dataclass(frozen=True, slots=True)
class Gain:
    """`second` minus `first` in success, over runs of as many seeds."""

    first: str
    second: str
    seeds: int
    found: Comparison


def read_improved(folder: Path) -> ImprovedRun | None:
    """The curve of a run's folder, and the outcomes of its first and last policy.

    None if only the curve was kept, or its policies were not scored.

    Raises:
        FileError: if a file is missing or wrong.
    """
    curve = read_curve(folder)
    places = [_evaluation(folder, point.iteration) for point in curve.points]
    if len(places) < 2 or not (places[0].is_file() and places[-1].is_file()):
        return None
    return ImprovedRun(curve, _outcomes(places[0]), _outcomes(places[-1]))


def _evaluation(folder: Path, iteration: int) -> Path:
    return folder / f"iteration_{iteration}" / "evaluation" / ROWS_NAME


def _outcomes(path: Path) -> _Outcomes:
    rows = newest_rows(path)
    return {key: float(row.verdict.success) for key, row in rows.items() if row.verdict is not None}


def gains(runs: Sequence[ImprovedRun]) -> list[Gain]:
    """Each algorithm against the policy before it, then DDAFT against each rival at equal seeds.

    A task's value is its mean over the runs and over the seeds that it was scored with, so that
    tasks, which are what was drawn, are what the interval is over.

    Raises:
        PlannerError: if runs were not scored on the same tasks.
    """
    by_name: dict[str, dict[int, ImprovedRun]] = {}
    for run in runs:
        by_name.setdefault(run.curve.algorithm, {})[run.curve.seed] = run
    found = []
    for name, of_seed in by_name.items():
        chosen = list(of_seed.values())
        before, after = [run.before for run in chosen], [run.after for run in chosen]
        found.append(_gain(BEFORE, before, name, after))
    for name, of_seed in by_name.items():
        seeds = sorted(of_seed.keys() & by_name.get(DDAFT, {}).keys())
        if name != DDAFT and seeds:
            ours = [by_name[DDAFT][seed].after for seed in seeds]
            found.append(_gain(name, [of_seed[seed].after for seed in seeds], DDAFT, ours))
    return found


def _gain(first: str, before: Sequence[_Outcomes], second: str, after: Sequence[_Outcomes]) -> Gain:
    keys = sorted(set(before[0]).intersection(*before, *after))
    if any(len(outcomes) != len(before[0]) for outcomes in (*before, *after)) or not keys:
        raise PlannerError(f"{first} and {second} were not scored on the same held-out tasks")

    def of_tasks(runs: Sequence[_Outcomes]) -> list[list[float]]:
        return by_task((key[0], run[key]) for key in keys for run in runs)

    found = compare(of_tasks(before), of_tasks(after), binary=True)
    return Gain(first, second, len(before), found)


def gain_lines(found: Sequence[Gain]) -> list[str]:
    """The differences as a table."""
    rows: list[tuple[str, ...]] = [
        ("SECOND", "FIRST", "DIFFERENCE", "LOW", "HIGH", "BETTER", "WORSE", "P", "N", "SEEDS")
    ]
    for gain in found:
        estimate = gain.found.difference
        numbers = (
            "-" if x is None else f"{x:+.2f}" for x in (estimate.value, estimate.low, estimate.high)
        )
        counts = (gain.found.better, gain.found.worse, f"{gain.found.p:.3f}", estimate.n)
        rows.append((gain.second, gain.first, *numbers, *map(str, counts), str(gain.seeds)))
    return [
        "WHAT IMPROVEMENT GAINED: second - first on the same held-out tasks, intervals of 95 %",
        *aligned(rows),
        "",
    ]


# `planner bench curves DIR... -o PNG`: runs of policy improvement in one picture.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="DIR", help="folders of planner train ddaft"
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="PNG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the same as numbers")


def run(args: argparse.Namespace) -> int:
    """Draws them, and prints the last point of each, and what was gained."""
    curves = [read_curve(folder) for folder in args.runs]
    gained = gains([run for folder in args.runs if (run := read_improved(folder)) is not None])
    with writing(args.out):
        draw_success_curves(curves).save(args.out, format="PNG")
    for name, points in success_curves(curves).items():
        last = points[-1]
        found = last.success
        bounds = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
        value = "no verdict" if found.value is None else f"{found.value:.2f}{bounds}"
        print(f"{name}: {value} after {last.samples} roll-outs")
    if gained:
        print("\n".join(["", *gain_lines(gained)]))
    if args.json is not None:
        numbers = {
            "curves": [curve.model_dump(mode="json") for curve in curves],
            "gains": [asdict(gain) for gain in gained],
        }
        write_text(args.json, json.dumps(numbers, indent=2) + "\n")
    print(args.out)
    return 0
