"""`planner bench table PAPER RUN...`: a paper's tables, row by row with our runs.

`planner bench table all` is a table of all planners instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs import (
    all_cli,
    claims,
    epm_tables,
    et_plan_tables,
    llamar_tables,
    teach_tables,
)
from planner.bench.runs.epm_tables import Lengths
from planner.bench.runs.llamar_tables import Run
from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.success_curves import gain_lines, gains, read_improved
from planner.training.improvement.journal import CURVE, Curve, read_curve
from planner.world.errors import PlannerError

Named = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper's tables.

    Attributes:
        row_keys: the names of its rows.
        table_lines: the tables with runs beside them, the second argument by row.
        lines_with_curves: likewise, with runs of policy improvement; None = it has no curves.
    """

    row_keys: Callable[[], tuple[str, ...]]
    table_lines: Callable[[Sequence[Run], Named], list[str]]
    lines_with_curves: (
        Callable[[Sequence[Run], Named, Sequence[Curve], Lengths], list[str]] | None
    ) = None


PAPERS: Mapping[str, Paper] = {
    "epm": Paper(epm_tables.row_keys, epm_tables.table_lines, epm_tables.table_lines),
    "et-plan": Paper(et_plan_tables.row_keys, et_plan_tables.table_lines),
    "helper": Paper(teach_tables.row_keys, teach_tables.table_lines),
    "llamar": Paper(llamar_tables.row_keys, llamar_tables.table_lines),
    "partnr": Paper(claims.row_keys, claims.table_lines),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    papers = [*PAPERS, all_cli.ALL]
    parser.add_argument("paper", choices=papers, metavar="PAPER", help=", ".join(papers))
    parser.add_argument(
        "runs",
        nargs="*",
        type=Path,
        metavar="RUN",
        help="runs' directories, for epm also those of planner train ddaft; none: the paper's",
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
        help="of epm: skill calls of medium episodes; default 13 26",
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
    runs = [_read(folder) for folder in folders if folder not in improved]
    paper = PAPERS[args.paper]
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
    return "; ".join(f"of {name} {', '.join(tables.row_keys())}" for name, tables in PAPERS.items())


def _read(folder: str) -> Run:
    manifest = read_manifest(Path(folder))
    rows = tuple(newest_rows(Path(folder) / ROWS_NAME).values())
    return Run(folder, manifest.suite, manifest.settings, rows)
