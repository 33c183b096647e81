"""Success against fault rate: what LLaMAR's roles recover, with the chat model `teacher`.

One run of the suite `llamar` for each method and rate, two agents, in one process each. A run that
was interrupted goes on where it ended. Prints a table with intervals of 95 % over tasks, and
writes curve.json and curve.png.

Repeat with: python benchmarks/bench_faults.py --out FOLDER [--episodes N] [--rates R ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import print_table
from PIL import Image, ImageDraw, ImageFont

from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.table import estimated
from planner.evaluation.metrics.table import metrics
from planner.evaluation.statistics import Estimate

RATES = (0.0, 0.1, 0.2, 0.35, 0.5)
FLAWLESS = ("--planner-faults", "0", "--corrector-faults", "0", "--verifier-faults", "0")
CONFIRM = ("--confirm-empty-with-planner", "true", "--confirm-done-with-subtasks", "true")


@dataclass(frozen=True)
class Method:
    """A line of the picture: a planner with options, drawn in a colour."""

    title: str
    planner: str
    options: tuple[str, ...]
    colour: tuple[int, int, int]

    @property
    def folder(self) -> str:
        return self.title.replace(",", "").replace(" ", "_")


METHODS = (
    Method("Act", "llamar_act", (), (36, 92, 171)),
    Method("LLaMAR, faults in all roles", "llamar", (), (200, 80, 30)),
    Method("LLaMAR, faults in all roles, ends confirmed", "llamar", CONFIRM, (40, 130, 70)),
    Method("LLaMAR, faults in the Actor only", "llamar", FLAWLESS, (130, 60, 150)),
)


@dataclass(frozen=True)
class Measured:
    """A point of a line."""

    method: Method
    fault_rate: float
    success: Estimate
    ended_too_early: int
    episodes: int


def measure(method: Method, fault_rate: float, args: argparse.Namespace) -> Measured:
    folder = args.out / f"{method.folder}_{fault_rate:g}"
    words = ["bench", "llamar", "--planner", method.planner, "--model", "teacher", "--quiet"]
    words += ["--agents", "2", "--episodes", str(args.episodes), "--workers", str(args.workers)]
    words += ["--fault-rate", str(fault_rate), *method.options, "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "planner.cli", *words], check=True, capture_output=True)
    judged = [row for row in newest_rows(folder / ROWS_NAME).values() if row.verdict]
    success = estimated(metrics()["llamar_success"], judged).estimate
    early = sum(
        row.verdict is not None
        and row.verdict.end.value == "done"
        and row.metrics["llamar_success"] == 0
        for row in judged
    )
    return Measured(method, fault_rate, success, early, len(judged))


def as_json(points: Sequence[Measured], episodes: int) -> str:
    """The figures behind the picture."""
    found = [
        {
            "method": point.method.title,
            "planner": point.method.planner,
            "options": point.method.options,
            "fault_rate": point.fault_rate,
            "success": point.success.value,
            "low": point.success.low,
            "high": point.success.high,
            "tasks": point.success.n,
            "episodes": point.episodes,
            "ended_too_early": point.ended_too_early,
        }
        for point in points
    ]
    words = {"suite": "llamar", "model": "teacher", "agents": 2, "episodes": episodes}
    return json.dumps({**words, "points": found}, indent=1) + "\n"


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 460, 60, 30, 110, 50
INK, PAPER, GRID = (30, 30, 30), (255, 255, 255), (222, 222, 222)


def picture_of(points: Sequence[Measured]) -> Image.Image:
    """Success (up) against fault rate (right), a line for each method, with intervals."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    last = max(point.fault_rate for point in points) or 1.0

    def place(fault_rate: float, share: float, shift: float = 0.0) -> tuple[float, float]:
        x = LEFT + fault_rate / last * (WIDTH - LEFT - RIGHT) + shift
        return x, HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        draw.line([place(0, share), place(last, share)], fill=GRID)
        draw.text((12, place(0, share)[1] - 9), f"{share:.2f}", fill=INK, font=font)
    for fault_rate in dict.fromkeys(point.fault_rate for point in points):
        at = place(fault_rate, 0)
        draw.text((at[0] - 12, at[1] + 8), f"{fault_rate:g}", fill=INK, font=font)
    draw.text((WIDTH / 2 - 80, HEIGHT - 22), "fault rate of a reply", fill=INK, font=font)
    for number, method in enumerate(METHODS):
        line = [point for point in points if point.method == method]
        shift = (number - 1.5) * 3.0
        centres = [place(p.fault_rate, p.success.value or 0.0, shift) for p in line]
        draw.line(centres, fill=method.colour, width=2)
        for point, centre in zip(line, centres, strict=True):
            low, high = point.success.low or 0.0, point.success.high or 0.0
            ends = [place(point.fault_rate, low, shift), place(point.fault_rate, high, shift)]
            draw.line(ends, fill=method.colour, width=1)
            x, y = centre
            draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=method.colour)
        draw.line([(LEFT, 22 + 20 * number), (LEFT + 24, 22 + 20 * number)], method.colour, 3)
        draw.text((LEFT + 32, 13 + 20 * number), method.title, fill=INK, font=font)
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--episodes", type=int, default=94)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    points = [measure(method, r, args) for r in args.rates for method in METHODS]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "curve.json").write_text(as_json(points, args.episodes), encoding="utf-8")
    picture_of(points).save(args.out / "curve.png")
    rows = [
        (
            f"{point.method.title}, {point.fault_rate:g}",
            f"{point.success.value or 0.0:.2f} ({point.success.low:.2f}, {point.success.high:.2f})",
            f"{point.ended_too_early} of {point.episodes} ended too early",
        )
        for point in points
    ]
    print_table("Success with faults", rows)


if __name__ == "__main__":
    main()
