"""`planner bench table PAPER RUN...`: a paper's tables, row by row with our runs.

`planner bench table all` is a table of all planners instead.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.bench.runs import all_cli
from planner.bench.runs.paper import TABLES, Lengths, Run
from planner.bench.runs.success_curves import gain_lines, gains, read_improved
from planner.training.improvement.journal import CURVE, read_curve
from planner.world.errors import PlannerError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    usable = TABLES.usable()
    papers = [*usable, all_cli.ALL]
    curved = ", ".join(name for name, tables in usable.items() if tables.lines_with_curves)
    folders = f"runs' directories, for {curved} also those of planner train ddaft"
    parser.add_argument("paper", choices=papers, metavar="PAPER", help=", ".join(papers))
    parser.add_argument(
        "runs",
        nargs="*",
        type=Path,
        metavar="RUN",
        help=f"{folders}; none: the paper's",
    )
    parser.add_argument(
        "--as",
        action="append",
        default=[],
        dest="named",
        metavar="ROW=RUN",
        help=f"puts a run beside a row whatever its settings: {_rows()}",
    )
    parser.add_argument(
        "--lengths",
        nargs=2,
        type=int,
        default=None,
        metavar=("FROM", "TO"),
        help=f"of {curved}: skill calls of medium episodes; default 13 26",
    )
    all_cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the tables."""
    if args.paper == all_cli.ALL:
        if args.runs or args.named or args.lengths:
            raise PlannerError(f"{all_cli.ALL} makes its runs itself, in --out")
        return all_cli.run(args)
    if args.out is not None:
        raise PlannerError(f"--out is of {all_cli.ALL}, not of {args.paper}")
    named: dict[str, list[str]] = {}
    for words in args.named:
        row, sign, folder = words.partition("=")
        if not sign or not folder:
            raise PlannerError(f"--as {words}: expected ROW=RUN")
        named.setdefault(row, []).append(folder)
    others = [folder for folders in named.values() for folder in folders]
    folders = dict.fromkeys([*map(str, args.runs), *others])
    improved = [folder for folder in folders if (Path(folder) / CURVE).is_file()]
    curves = [read_curve(Path(folder)) for folder in improved]
    runs = [Run.read(folder) for folder in folders if folder not in improved]
    paper = TABLES.get(args.paper)
    if paper.lines_with_curves is not None:
        lengths = Lengths(*args.lengths) if args.lengths else Lengths()
        lines = paper.lines_with_curves(runs, named, curves, lengths)
        read = (read_improved(Path(folder)) for folder in improved)
        if gained := gains([run for run in read if run is not None]):
            lines += ["", *gain_lines(gained)]
    elif curves or args.lengths:
        raise PlannerError(f"{args.paper} has no curves of policy improvement, and no lengths")
    else:
        lines = paper.table_lines(runs, named)
    print("\n".join(lines))
    return 0


def _rows() -> str:
    papers = TABLES.usable().items()
    return "; ".join(f"of {name} {', '.join(tables.row_keys())}" for name, tables in papers)
