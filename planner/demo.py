"""`planner demo`: a robot at work on the embedded simulator, over the real ROS topics."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.bringup import Arguments, node_list
from planner.up import run_nodes

DEFAULT_HOUSE = "train_0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the demo's arguments."""
    parser.add_argument("--house", default=DEFAULT_HOUSE, help="name or file of the house")
    parser.add_argument("--backend", default="embedded", help="the world behind the bridge")
    parser.add_argument("--seed", default="0", help="seed of everything random")
    parser.add_argument(
        "-o", "--output", default="demo_output", help="folder that gets the picture"
    )


def run(args: argparse.Namespace) -> int:
    """Start the bridge and a tour through the house, and wait for its end."""
    arguments = Arguments.from_text(
        {
            "backend": args.backend,
            "house": args.house,
            "seed": args.seed,
            "planner": "tour",
            "record": str(Path(args.output).resolve()),
        }
    )
    return run_nodes(node_list(arguments))
