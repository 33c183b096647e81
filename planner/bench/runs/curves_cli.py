"""`planner bench curves DIR... -o PNG`: runs of policy improvement in one picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.bench.runs.success_curves import draw_success_curves, success_curves
from planner.training.improvement.curve import read_curve
from planner.world.errors import FileError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="DIR", help="folders of planner train ddaft"
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="PNG")


def run(args: argparse.Namespace) -> int:
    """Draws them, and prints the last point of each."""
    curves = [read_curve(folder) for folder in args.runs]
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
    print(args.out)
    return 0
