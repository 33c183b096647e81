"""Command `planner rooms HOUSE`: the names of a house's rooms."""

import argparse

from planner.parts.command import CommandPart


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("house", metavar="HOUSE", help="name or file")


def _run(args: argparse.Namespace) -> int:
    # What a command needs is imported when it is called: `planner --help` loads this module.
    from planner.world.house_checks import load_house

    print(", ".join(room.name for room in load_house(args.house).rooms))
    return 0


COMMAND = CommandPart("the rooms of a house", _add_arguments, _run)
