"""`planner bench curves DIR... -o PNG`: runs of policy improvement in one picture."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from planner.bench.runs.improvement_gains import gain_lines, gains, read_improved
from planner.bench.runs.success_curves import draw_success_curves, success_curves
from planner.episodes.episode_file import write_text
from planner.training.improvement.curve import read_curve
from planner.world.errors import FileError


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
    try:
        draw_success_curves(curves).save(args.out, format="PNG")
    except OSError as error:
        raise FileError(args.out, "", f"cannot be written: {error.strerror}") from None
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
