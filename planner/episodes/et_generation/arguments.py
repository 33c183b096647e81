"""The arguments of `planner episodes generate et-plan`."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.episodes.et_generation.categories import Category, Variant
from planner.episodes.et_plan.homes import HomeSplit
from planner.parts.kinds import BACKENDS

ALL = "all"
DEFAULT_WORLD = "graph"
RELATIONS = ("INSIDE", "ON", "CLOSE", "FACING")


def add_et_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares them."""
    parser.add_argument(
        "--world",
        choices=BACKENDS.names(),
        default=DEFAULT_WORLD,
        help=f"the simulator in which plans are carried out (default {DEFAULT_WORLD})",
    )
    parser.add_argument(
        "--category",
        action="append",
        choices=(*Category, ALL),
        help="repeatable (default: all, each with its layout map or two arms as well)",
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        choices=tuple(Variant),
        help="only such tasks (repeatable); of --count tasks, occlusion keeps a fifth",
    )
    parser.add_argument(
        "--split",
        choices=tuple(HomeSplit),
        default=HomeSplit.TEST,
        help="its houses (default test)",
    )
    parser.add_argument(
        "--house",
        action="append",
        default=[],
        metavar="HOUSE",
        help="instead of a split's: et_train_3, a shipped one, a file, a graph's too (repeatable)",
    )
    parser.add_argument("--count", type=int, default=100, metavar="N", help="default 100")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    parser.add_argument(
        "--prior", choices=("P", "FP", "G"), help="what the robot knows (default P; FP with a map)"
    )
    parser.add_argument(
        "--max-actions", type=int, metavar="M", help="limit (default 20, 40 or 60 by category)"
    )
    parser.add_argument(
        "--relation",
        action="append",
        default=[],
        choices=RELATIONS,
        help="only tasks whose first relation is this (repeatable)",
    )
    parser.add_argument(
        "--room",
        action="append",
        default=[],
        metavar="CLASS",
        help="only tasks in such a room, such as kitchen (repeatable)",
    )
    parser.add_argument(
        "--model", default="", help="a chat model judges and words tasks, such as scripted:FILE"
    )
    parser.add_argument("--model-url", default="", help="base URL of its server, .../v1")
    parser.add_argument(
        "--records",
        type=Path,
        metavar="FILE",
        help="the paper's records as JSON lines (default: OUTPUT.records.jsonl)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR|FILE.json.gz",
        help="folder or pack",
    )
