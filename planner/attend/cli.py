"""`planner attend`: says to the bridge that somebody looks after an agent, until Ctrl-C."""

from __future__ import annotations

import argparse
import os

from planner import namespace
from planner.environment import ros_environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner attend`."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="for example agent_0")
    namespace.add_argument(parser)
    parser.add_argument(
        "--skills",
        action="store_true",
        help="goals go to /AGENT/skill; else they go to /AGENT/primitive",
    )


def run(args: argparse.Namespace) -> int:
    """Attend until Ctrl-C or SIGTERM, which says goodbye.

    Returns:
        0, however it was asked to end.
    """
    # Before ROS is loaded, so that it is found from any shell.
    os.environ.update(ros_environment(os.environ))
    from planner.attend.node import attend

    agents = tuple(dict.fromkeys(args.agents))
    return attend(agents, through_skills=args.skills, namespace=args.namespace)
