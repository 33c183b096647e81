"""`planner operate AGENT claim power_on stand`: calls an agent's Trigger services in order."""

from __future__ import annotations

import argparse
import os
import re

from planner import environment
from planner.environment import ros_environment
from planner.world.errors import PlannerError

# The Trigger services of an agent, as docs/bridge.md lists them.
COMMANDS = (
    "claim",
    "release",
    "power_on",
    "power_off",
    "stand",
    "sit",
    "stop",
    "estop/gentle",
    "estop/hard",
    "estop/release",
    "take_lease",
    "dock",
    "undock",
)
WAIT_S = 60.0
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner operate`."""
    parser.add_argument("agent", metavar="AGENT", help="for example agent_0")
    parser.add_argument(
        "commands", nargs="+", metavar="COMMAND", choices=COMMANDS, help=", ".join(COMMANDS)
    )
    parser.add_argument(
        "--wait", type=float, default=WAIT_S, metavar="S", help="for each answer (default 60)"
    )
    environment.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Call the services; each one only if the one before succeeded.

    Returns:
        0 if all succeeded; 1 if one was refused or did not answer.

    Raises:
        PlannerError: for an invalid argument.
    """
    if not _NAME.fullmatch(args.agent):
        raise PlannerError(f"expected an agent's name such as agent_0, got {args.agent!r}")
    if not 0 < args.wait < 1e6:
        raise PlannerError(f"--wait: expected seconds above 0, got {args.wait:g}")
    # Must be set before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    from planner.operate.node import operate

    return operate(args.agent, args.commands, wait_s=args.wait, namespace=args.namespace)
