"""The arguments of `planner episodes lint`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from planner.parts.kinds import BACKENDS

# Runs a planner on an episode file; returns why it did not succeed, or "".
Solve = Callable[[Path], str]


def add_solver_flags(parser: argparse.ArgumentParser) -> None:
    """Declares in which simulator `--solve` runs."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS.names(),
        default="",
        help="with --solve: a simulator; default: the embedded one, or what the house needs",
    )
    parser.add_argument(
        "--backend-config", default="", metavar="FILE", help="its settings; default: the shipped"
    )


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
