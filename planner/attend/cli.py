"""`planner attend`: sends heartbeats for agents until Ctrl-C."""

from __future__ import annotations

import argparse
import os

from planner import environment
from planner.environment import ros_environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner attend`."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="for example agent_0")
    environment.add_argument(parser)
    parser.add_argument(
        "--skills",
        action="store_true",
        help="goals go to /AGENT/skill instead of /AGENT/primitive",
    )


def run(args: argparse.Namespace) -> int:
    """Send heartbeats until Ctrl-C or SIGTERM, then a goodbye.

    Returns:
        0, whichever signal ended it.
    """
    # Must be set before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    from planner.attend.node import attend

    agents = tuple(dict.fromkeys(args.agents))
    return attend(agents, through_skills=args.skills, namespace=args.namespace)
