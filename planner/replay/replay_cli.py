"""`planner replay BAG`: publishes a bag, or runs parts of the stack over it without ROS."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from planner.replay.bag import Bag
from planner.replay.player.options import add_play_arguments, options_of
from planner.replay.storage import printable
from planner.world.errors import PlannerError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="folder of the bag")
    parser.add_argument(
        "--start", type=float, default=0.0, metavar="S", help="seconds from the beginning"
    )
    parser.add_argument(
        "--duration", type=float, default=None, metavar="S", help="seconds of the bag to play"
    )
    add_play_arguments(parser.add_argument_group("publishing over ROS"))
    offline = parser.add_argument_group("without ROS")
    offline.add_argument(
        "--through",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME:=VALUE",
        help="run this part over the bag instead of publishing it: memory:=learned, evaluator",
    )
    offline.add_argument(
        "-o", "--output", type=Path, default=None, help="folder for the results of --through"
    )


def run(args: argparse.Namespace) -> int:
    """Publish the bag, or run what `--through` names over it."""
    if args.through:
        from planner.replay.through.cli import run_through

        return run_through(args)
    options = options_of(args)
    bag = Bag(args.bag)
    try:
        from planner.replay.player.node import play
    except ImportError as error:
        raise PlannerError(
            f"publishing needs ROS 2, which is not installed here ({error}); see docs/setup.md"
        ) from None
    for line in bag.lacks():
        print(printable(f"missing in {bag.folder}: {line}"), file=sys.stderr)
    return play(bag, options)
