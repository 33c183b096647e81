"""`planner instruct`: sends an instruction to running nodes and prints its story."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from planner import namespace
from planner.environment import ros_environment
from planner.instruct.request import InstructRequest
from planner.narrator.story import Event, Kind
from planner.world.errors import PlannerError
from planner.world.instruct import one_line

WAIT_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner instruct`."""
    parser.add_argument("instruction", help="instruction; empty = that of the loaded episode")
    parser.add_argument("--agents", default="", metavar="A,B", help="agents to use; default all")
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="TEXT",
        help="answer to a question of the planner, repeatable; default: ask on the terminal",
    )
    parser.add_argument(
        "--simulated-person",
        action="store_true",
        help="answer questions by what the evaluator says is not as the episode's goal wants it",
    )
    parser.add_argument(
        "--max-calls", type=int, default=0, help="planner calls allowed; 0 = the planner's default"
    )
    parser.add_argument(
        "--timeout", type=float, default=0.0, metavar="S", help="cancel after this time; 0 = never"
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT_S,
        metavar="S",
        help="timeout for a task planner, seconds",
    )
    namespace.add_argument(parser)
    parser.add_argument("--quiet", action="store_true", help="print only questions and the end")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each event")


def run(args: argparse.Namespace) -> int:
    """Send the instruction and print its story.

    Returns:
        0 if the planner is done, 1 if not, 130 after Ctrl-C.

    Raises:
        PlannerError: if no task planner answers.
    """
    request = read_request(args, interactive=sys.stdin is not None and sys.stdin.isatty())
    # Must be set before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    from planner.instruct.node import send_instruction

    return send_instruction(request, printer(quiet=args.quiet, as_json=args.json)).exit_status


def read_request(args: argparse.Namespace, *, interactive: bool) -> InstructRequest:
    """Validate the arguments.

    Raises:
        PlannerError: naming the argument.
    """
    if not 0 <= args.max_calls < 2**32:
        raise PlannerError(f"--max-calls: expected 0 to {2**32 - 1}, got {args.max_calls}")
    for name, value in (("--timeout", args.timeout), ("--wait", args.wait)):
        if not 0 <= value < 1e9:
            raise PlannerError(f"{name}: expected seconds, got {value:g}")
    agents = tuple(name.strip() for name in args.agents.split(",") if name.strip())
    return InstructRequest(
        instruction=args.instruction,
        agents=agents,
        answers=tuple(args.answer),
        max_calls=args.max_calls,
        timeout_s=args.timeout,
        wait_s=args.wait,
        simulated_person=args.simulated_person,
        interactive=interactive and not args.simulated_person,
        namespace=args.namespace,
    )


def print_line(line: str) -> None:
    """Prints a line and flushes it."""
    print(line, flush=True)


def printer(
    *, quiet: bool, as_json: bool, out: Callable[[str], None] = print_line
) -> Callable[[Event], None]:
    """A function that passes the events of a story to `out`, one line each."""
    ends = (Kind.QUESTION, Kind.VERDICT, Kind.END)

    def show(event: Event) -> None:
        if quiet and event.kind not in ends:
            return
        if as_json:
            out(event.as_json())
        elif event.line:
            out(sanitized(event.line))

    return show


def sanitized(line: str) -> str:
    """A line of the story without control characters, columns kept."""
    return line if line.isprintable() else one_line(line)
