"""The arguments of `planner episodes generate`."""

from __future__ import annotations

import argparse
from enum import StrEnum
from pathlib import Path

from planner.episodes.lint.arguments import add_solver_flags

ALL = "all"


class TaskType(StrEnum):
    """What a proposed task is made for; it may have properties of others as well (PARTNR-D5)."""

    REARRANGE = "rearrange"
    SPATIAL = "spatial"
    TEMPORAL = "temporal"
    HETEROGENEOUS = "heterogeneous"


def add_generate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner episodes generate partnr`."""
    parser.add_argument(
        "--house",
        action="append",
        required=True,
        metavar="HOUSE",
        help="a house's name or file, train or heldout for those, new:N to make N (repeatable)",
    )
    parser.add_argument(
        "--type", action="append", choices=(*TaskType, ALL), help="repeatable (default: all)"
    )
    parser.add_argument("--count", type=int, default=10, metavar="N", help="default 10")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    parser.add_argument("--split", choices=("train", "val", "test"), help="default: the house's")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    parser.add_argument(
        "--solve", action="store_true", help="keep only what the planner expert solves"
    )
    add_solver_flags(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR|FILE.json.gz",
        help="folder or pack",
    )
    parser.add_argument(
        "--model", default="", help="let a chat model propose, such as scripted:FILE or a server's"
    )
    parser.add_argument("--model-url", default="", help="base URL of its server, .../v1")
