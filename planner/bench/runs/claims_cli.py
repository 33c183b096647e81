"""`planner bench claims RUN...`: PARTNR's eight claims, the paper's values beside the runs'."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.bench.runs.claims import Role, assigned, claim_lines, fill
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.world.errors import PlannerError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="runs' directories")
    parser.add_argument(
        "--as",
        action="append",
        default=[],
        dest="roles",
        metavar="ROLE=RUN",
        help=f"names a run's role instead of its settings: {', '.join(Role)}",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the claims."""
    named = dict(_role(words) for words in args.roles)
    folders = dict.fromkeys([*map(str, args.runs), *named.values()])
    runs = {folder: newest_rows(Path(folder) / ROWS_NAME) for folder in folders}
    roles = assigned(runs, named)
    print("\n".join(claim_lines(fill(runs, roles), roles)))
    return 0


def _role(words: str) -> tuple[Role, str]:
    name, sign, folder = words.partition("=")
    if not sign or name not in list(Role) or not folder:
        raise PlannerError(
            f"--as {words}: expected ROLE=RUN with one of the roles {', '.join(Role)}"
        )
    return Role(name), folder
