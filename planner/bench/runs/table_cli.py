"""`planner bench table PAPER RUN...`: a paper's tables, row by row with our runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.bench.runs import llamar_tables, teach_tables
from planner.bench.runs.llamar_tables import Run
from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.world.errors import PlannerError

# By paper: the names of its rows, and its tables with runs beside them.
PAPERS = {
    "helper": (teach_tables.row_keys, teach_tables.table_lines),
    "llamar": (llamar_tables.row_keys, llamar_tables.table_lines),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("paper", choices=PAPERS, metavar="PAPER", help=", ".join(PAPERS))
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="runs' directories; none: the paper's"
    )
    parser.add_argument(
        "--as",
        action="append",
        default=[],
        dest="named",
        metavar="ROW=RUN",
        help=f"puts a run beside a row whatever its settings: {_rows()}",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the tables."""
    named: dict[str, list[str]] = {}
    for words in args.named:
        row, sign, folder = words.partition("=")
        if not sign or not folder:
            raise PlannerError(f"--as {words}: expected ROW=RUN")
        named.setdefault(row, []).append(folder)
    others = [folder for folders in named.values() for folder in folders]
    folders = dict.fromkeys([*map(str, args.runs), *others])
    _, table_lines = PAPERS[args.paper]
    print("\n".join(table_lines([_read(folder) for folder in folders], named)))
    return 0


def _rows() -> str:
    return "; ".join(f"of {paper} {', '.join(keys())}" for paper, (keys, _) in PAPERS.items())


def _read(folder: str) -> Run:
    manifest = read_manifest(Path(folder))
    rows = tuple(newest_rows(Path(folder) / ROWS_NAME).values())
    return Run(folder, manifest.suite, manifest.settings, rows)
