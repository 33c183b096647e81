"""`planner approve`: what an agent asks its operator, and the answer to exactly that question."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from planner import namespace
from planner.approve.question import Place, Say
from planner.environment import ros_environment
from planner.world.errors import PlannerError

WAIT_S = 10.0
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# A pixel's number is unsigned.
_MAX_PIXEL = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asks of the command.

    Attributes:
        agent: whose question it is.
        said: the answer that was given with the command, and the question it is of; None asks.
        place: another place, where it is approved.
        picture: file for the picture of the question; None saves none.
        wait_s: for the bridge, wall seconds.
        asks: whether there is a terminal to ask on.
        namespace: of the bridge.
    """

    agent: str
    said: tuple[Say, str] | None
    place: Place
    picture: Path | None
    wait_s: float
    asks: bool
    namespace: str = "/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner approve`."""
    parser.add_argument("agent", help="whose question, such as agent_0")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--yes", metavar="ID", help="approve the question of this id")
    answer.add_argument("--no", metavar="ID", help="refuse the question of this id")
    answer.add_argument(
        "--kind", metavar="ID", help="approve it and later ones of its kind, within this claim"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--at", nargs=3, type=float, metavar=("X", "Y", "Z"), help="do it there instead, map, m"
    )
    place.add_argument(
        "--pixel",
        nargs=2,
        type=int,
        metavar=("COLUMN", "ROW"),
        help="do it at what this pixel of the picture shows instead",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="save the picture, the target marked"
    )
    parser.add_argument("--wait", type=float, default=WAIT_S, metavar="S", help="for the bridge")
    namespace.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Show what is asked and answer it.

    Returns:
        0 where the answer was taken, or there was no terminal to answer on; 1 where nothing is
        asked, the question is gone or the answer was refused; 130 after Ctrl-C.

    Raises:
        PlannerError: where no bridge answers, or the picture cannot be saved.
    """
    order = read_order(args, asks=sys.stdin is not None and sys.stdin.isatty())
    # Before ROS is loaded, so that it is found from any shell.
    os.environ.update(ros_environment(os.environ))
    from planner.approve.node import answer

    return answer(order)


def read_order(args: argparse.Namespace, *, asks: bool) -> Order:
    """The order that the arguments give.

    Raises:
        PlannerError: naming the argument.
    """
    given = ((Say.YES, args.yes), (Say.NO, args.no), (Say.KIND, args.kind))
    said = next(((say, str(of)) for say, of in given if of is not None), None)
    if not _NAME.fullmatch(args.agent):
        raise PlannerError(f"{args.agent!r} is no agent's name, such as agent_0")
    if said is not None and args.picture is not None:
        raise PlannerError("--picture: it comes with the question; leave out the answer")
    if said is not None and not said[1]:
        raise PlannerError(f"--{said[0].name.lower()}: the id is empty")
    if not 0 <= args.wait < 1e9:
        raise PlannerError(f"--wait: {args.wait:g} is not a number of seconds")
    if args.at is not None and not all(map(math.isfinite, args.at)):
        raise PlannerError("--at: expected three finite numbers")
    if args.pixel is not None and not all(0 <= value <= _MAX_PIXEL for value in args.pixel):
        raise PlannerError("--pixel: expected a column and a row, 0 or more")
    place = Place(
        target_m=None if args.at is None else (args.at[0], args.at[1], args.at[2]),
        pixel=None if args.pixel is None else (args.pixel[0], args.pixel[1]),
    )
    return Order(args.agent, said, place, args.picture, args.wait, asks, args.namespace)
