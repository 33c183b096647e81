"""The arguments of `planner episodes lint` and of all forms of `planner episodes generate`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from planner.command_line import add_backend_flags, add_model_flags
from planner.episodes.et_generation.categories import Category, HomeSplit, Variant
from sim_bridge.part import BACKENDS

# Runs a planner on an episode file; returns why it did not succeed, or "".
Solve = Callable[[Path], str]


def add_solver_flags(parser: argparse.ArgumentParser) -> None:
    """Declares in which simulator `--solve` runs."""
    about = "with --solve: a simulator; default: the embedded one, or what the house needs"
    add_backend_flags(parser, BACKENDS.names(), about)


def add_lint_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner episodes lint`."""
    parser.add_argument(
        "places",
        nargs="*",
        type=Path,
        metavar="FILE|DIR",
        help="episode files or folders of them (default: the shipped ones)",
    )
    parser.add_argument(
        "--solve",
        action="store_true",
        help="also let the planner expert solve each sound episode, in this process",
    )
    add_solver_flags(parser)
    parser.add_argument(
        "--body",
        action="store_true",
        help="carry reference plans out by skills and the robot's body, on the embedded simulator",
    )
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")
    parser.add_argument("--json", action="store_true", help="for programs (docs/episodes.md)")
    parser.add_argument("--rules", action="store_true", help="list the rules and do nothing else")
    parser.add_argument(
        "--processes",
        type=int,
        default=0,
        metavar="N",
        help="default: one for each core, if many files",
    )


# The arguments of `planner episodes generate`.

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
    _add_output(parser)
    add_model_flags(parser, "let a chat model propose, such as scripted:FILE or a server's")


# The arguments of `planner episodes generate et-plan`.

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
    add_model_flags(parser, "a chat model judges and words tasks, such as scripted:FILE")
    parser.add_argument(
        "--records",
        type=Path,
        metavar="FILE",
        help="the paper's records as JSON lines (default: OUTPUT.records.jsonl)",
    )
    _add_output(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Declares where the episodes go, as all generators do."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR|FILE.json.gz",
        help="folder or pack",
    )


# The arguments of `planner episodes generate llamar`, `teach` and `routines`.


def add_task_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares them."""
    parser.add_argument(
        "--tasks", type=Path, metavar="FILE", help="tasks of your own in YAML (default: ours)"
    )
    _add_output(parser)
