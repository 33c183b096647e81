"""The arguments of `planner episodes generate teach` and `routines`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_dialogue_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares them."""
    parser.add_argument(
        "--tasks", type=Path, metavar="FILE", help="tasks of your own in YAML (default: ours)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR|FILE.json.gz",
        help="folder or pack",
    )
