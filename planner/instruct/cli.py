"""`planner instruct`: an instruction to running nodes, and its story until the end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from planner import namespace
from planner.environment import ros_environment
from planner.instruct.order import Order
from planner.narrator.story import Event, Kind, one_line
from planner.world.errors import PlannerError

WAIT_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner instruct`."""
    parser.add_argument("instruction", help="what is asked; empty = that of the loaded episode")
    parser.add_argument("--agents", default="", metavar="A,B", help="who does it; default all")
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="TEXT",
        help="to a question of the planner, again for the next one; else the terminal is asked",
    )
    parser.add_argument("--max-calls", type=int, default=0, help="planning cycles; 0 = as many")
    parser.add_argument("--timeout", type=float, default=0.0, metavar="S", help="then cancel it")
    parser.add_argument(
        "--wait", type=float, default=WAIT_S, metavar="S", help="for a task planner, seconds"
    )
    namespace.add_argument(parser)
    parser.add_argument("--quiet", action="store_true", help="only questions and the end")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each event")


def run(args: argparse.Namespace) -> int:
    """Give the instruction and tell its story.

    Returns:
        0 where the planner is done, 1 where it is not, 130 after Ctrl-C.

    Raises:
        PlannerError: where no task planner answers.
    """
    order = read_order(args, asks=sys.stdin is not None and sys.stdin.isatty())
    # Before ROS is loaded, so that it is found from any shell.
    os.environ.update(ros_environment(os.environ))
    from planner.instruct.node import give

    return give(order, printer(quiet=args.quiet, as_json=args.json)).exit_status


def read_order(args: argparse.Namespace, *, asks: bool) -> Order:
    """The order that the arguments give.

    Raises:
        PlannerError: naming the argument.
    """
    if not 0 <= args.max_calls < 2**32:
        raise PlannerError(f"--max-calls: {args.max_calls} is not between 0 and {2**32 - 1}")
    for name, value in (("--timeout", args.timeout), ("--wait", args.wait)):
        if not 0 <= value < 1e9:
            raise PlannerError(f"{name}: {value:g} is not a number of seconds")
    agents = tuple(name.strip() for name in args.agents.split(",") if name.strip())
    return Order(
        instruction=args.instruction,
        agents=agents,
        answers=tuple(args.answer),
        max_calls=args.max_calls,
        timeout_s=args.timeout,
        wait_s=args.wait,
        asks=asks,
        namespace=args.namespace,
    )


def say(line: str) -> None:
    """Prints a line at once."""
    print(line, flush=True)


def printer(
    *, quiet: bool, as_json: bool, out: Callable[[str], None] = say
) -> Callable[[Event], None]:
    """What tells `out` the events of a story as the user wants them, a line each."""
    ends = (Kind.QUESTION, Kind.VERDICT, Kind.END)

    def show(event: Event) -> None:
        if quiet and event.kind not in ends:
            return
        if as_json:
            out(event.as_json())
        elif event.line:
            out(one_line_kept(event.line))

    return show


def one_line_kept(line: str) -> str:
    """A line of the story with its columns, without what a terminal would obey."""
    return line if line.isprintable() else one_line(line)
