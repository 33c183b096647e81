"""The arguments of `planner episodes lint`, and those that generators share with it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from planner.command_line import add_backend_flags
from sim_bridge.backend import BACKENDS

# Runs a planner on an episode file; returns why it did not succeed, or "".
Solve = Callable[[Path], str]


def add_solver_flags(parser: argparse.ArgumentParser) -> None:
    """Declares in which simulator `--solve` runs."""
    about = "with --solve: a simulator; default: the embedded one, or what the house needs"
    add_backend_flags(parser, BACKENDS.names(), about)


def add_world_flag(parser: argparse.ArgumentParser, default: str) -> None:
    """Declares in which simulator plans are carried out."""
    parser.add_argument(
        "--world",
        choices=BACKENDS.names(),
        default=default,
        help=f"the simulator in which plans are carried out (default {default})",
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
