"""`planner recover BAG`: writes a complete bag next to one whose recorder was killed."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.replay.recovery import recover


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="folder of a bag; not modified")
    parser.add_argument(
        "-o", "--out", type=Path, help="folder of the new bag; default: BAG_recovered"
    )


def run(args: argparse.Namespace) -> int:
    """Recover the bag and print a summary."""
    kept = recover(args.bag, args.out)
    seconds = (kept.end_ns - kept.start_ns) / 1e9
    lost = f"; left out {kept.damaged} damaged records" if kept.damaged else ""
    print(
        f"{kept.folder}: kept {kept.messages} messages on {kept.topics} topics, "
        f"{seconds:.1f} s{lost}"
    )
    return 0
