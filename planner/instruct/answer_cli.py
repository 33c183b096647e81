"""`planner answer`: answers the question of the instruction that is being followed."""

from __future__ import annotations

import argparse
import os

from planner import environment
from planner.environment import ros_environment
from planner.supervision import EXIT_OK
from planner.world.errors import PlannerError
from planner.world.topics import one_line

WAIT_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner answer`."""
    parser.add_argument("text", help="the answer")
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT_S,
        metavar="S",
        help="timeout for a task planner, seconds",
    )
    environment.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Send the answer.

    Returns:
        0 once the task planner has received it.

    Raises:
        PlannerError: if the answer is empty, or no task planner receives it in time.
    """
    text = one_line(args.text)
    if not text:
        raise PlannerError("text: expected an answer, got nothing")
    if not 0 <= args.wait < 1e9:
        raise PlannerError(f"--wait: expected seconds, got {args.wait:g}")
    # Must be set before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    from planner.instruct.node import send_answer

    send_answer(text, args.wait, args.namespace)
    print(f"answer: {text}", flush=True)
    return EXIT_OK
