"""Success on held-out tasks by roll-outs: curves of one or several runs, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from planner.bench.line_colours import line_colours
from planner.evaluation import statistics
from planner.evaluation.statistics import Estimate
from planner.training.improvement.curve import Curve, CurvePoint
from planner.world.errors import PlannerError

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
