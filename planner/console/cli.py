"""`planner console`: serves the page of a running stack, or of a bag."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from planner import environment
from planner.console.access import DEFAULT_PORT, LOOPBACK, TOKEN, access_to
from planner.environment import ros_environment
from planner.models.ledger import read_prices
from planner.world.errors import PlannerError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner console`."""
    parser.add_argument("bag", nargs="?", type=Path, help="a bag; default: the running nodes")
    parser.add_argument("--host", default=LOOPBACK, help="address to listen on")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 = any free one")
    parser.add_argument("--read-only", action="store_true", help="no page may give orders")
    parser.add_argument(
        "--record", default="", metavar="FILE", help="append who did what, one JSON object a line"
    )
    parser.add_argument(
        "--prices", default="", metavar="FILE", help="what models cost; default: no cost is shown"
    )
    environment.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C or SIGTERM.

    Returns:
        0 after either.

    Raises:
        PlannerError: if the address, the bag or an argument cannot be used.
    """
    # Checked before anything is loaded; the node makes its own from the same words.
    token = os.environ.get(TOKEN, "")
    access = access_to(args.host, args.port, token, read_only=args.read_only)
    prices = read_prices(args.prices)
    if args.bag is not None:
        from planner.console.bag_console import serve_bag

        if args.record:
            raise PlannerError("--record: nothing is done in a bag that could be recorded")
        return serve_bag(args.bag, access, prices)
    # Must be set before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    from planner.console.node import run_console

    return run_console(access, args.record, args.prices, args.namespace)
