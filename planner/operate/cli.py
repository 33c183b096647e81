"""The operator's commands: `planner operate`, `planner attend` and `planner approve`."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from planner import environment
from planner import environment as namespace
from planner.environment import ros_environment
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3

# The Trigger services of an agent, as docs/bridge.md lists them.
COMMANDS = (
    "claim", "release", "power_on", "power_off", "stand", "sit", "stop", "estop/gentle",
    "estop/hard", "estop/release", "take_lease", "dock", "undock",
)  # fmt: skip
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


# `planner attend`: sends heartbeats for agents until Ctrl-C.


def add_attend_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner attend`."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="for example agent_0")
    environment.add_argument(parser)
    parser.add_argument(
        "--skills", action="store_true", help="goals go to /AGENT/skill instead of /AGENT/primitive"
    )


def run_attend(args: argparse.Namespace) -> int:
    """Send heartbeats until Ctrl-C or SIGTERM, then a goodbye.

    Returns:
        0, whichever signal ended it.
    """
    # Must be set before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    from planner.operate.node import attend

    agents = tuple(dict.fromkeys(args.agents))
    return attend(agents, through_skills=args.skills, namespace=args.namespace)


# `planner approve`: shows an agent's question to its operator and sends the answer to it.

# A question to the operator as `planner approve` shows it, and its possible answers. No ROS.

UNKNOWN_CLASS = "unknown to perception"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to an agent's operator.

    Attributes:
        question_id: the id that the answer refers to.
        agent: the agent that asks.
        primitive: what it wants to do, such as pick.
        thing_class: perceived class of the thing to pick; empty if unknown.
        why: the reason for asking.
        target_m: in the map frame.
        pixel: column and row of the target in the picture; None if it is not visible.
        has_picture: whether there is a picture.
        issued_s: in the world's time.
        expires_s: when the question expires, in the world's time.
    """

    question_id: str
    agent: str
    primitive: str
    thing_class: str
    why: str
    target_m: Vec3
    pixel: tuple[int, int] | None
    has_picture: bool
    issued_s: float
    expires_s: float

    def lines(self, now_s: float | None) -> list[str]:
        """The text shown; `now_s` is in the world's time, None if unknown."""
        left = "unknown" if now_s is None else f"{max(0.0, self.expires_s - now_s):.0f} s"
        x, y, z = self.target_m
        seen = "no picture" if not self.has_picture else "not in the picture"
        if self.pixel is not None:
            seen = "pixel {}, {} of the picture".format(*self.pixel)
        found = [
            f"{self.agent} asks: {self.primitive}",
            f"  why    {self.why}",
            f"  target {x:.2f}, {y:.2f}, {z:.2f} m in the map; {seen}",
            f"  left   {left}",
            f"  id     {self.question_id}",
        ]
        if self.primitive == "pick":
            found.insert(1, f"  class  {self.thing_class or UNKNOWN_CLASS}")
        return [line if line.isprintable() else ascii(line) for line in found]


class Answer(Enum):
    """The operator's answers, by the key typed."""

    YES = "y"
    NO = "n"
    KIND = "k"

    @property
    def approves(self) -> bool:
        """Whether it approves the action."""
        return self is not Answer.NO


@dataclass(frozen=True, slots=True)
class Place:
    """Another target than the one asked about: a point on the map, or a pixel."""

    target_m: Vec3 | None = None
    pixel: tuple[int, int] | None = None


def parse_answer(line: str) -> Answer | None:
    """The answer that a typed line stands for; None if none."""
    key = line.strip().lower()
    return next((answer for answer in Answer if key in (answer.value, answer.name.lower())), None)


READY_WAIT_S = 10.0
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Pixel coordinates are uint32.
_MAX_PIXEL = 2**32 - 1


@dataclass(frozen=True, slots=True)
class ApproveRequest:
    """The arguments of the command.

    Attributes:
        agent: the agent that asks.
        answer: the answer given on the command line and the id of its question; None = prompt.
        place: another target, if approved.
        picture: file for the picture of the question; None saves none.
        wait_s: timeout for the bridge, wall seconds.
        interactive: whether there is a terminal to prompt on.
        namespace: of the stack.
    """

    agent: str
    answer: tuple[Answer, str] | None
    place: Place
    picture: Path | None
    wait_s: float
    interactive: bool
    namespace: str = "/"


def add_approve_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner approve`."""
    parser.add_argument("agent", help="the agent that asks, such as agent_0")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--yes", metavar="ID", help="approve the question with this id")
    answer.add_argument("--no", metavar="ID", help="refuse the question with this id")
    answer.add_argument(
        "--kind", metavar="ID", help="approve it and later ones of its kind, within this claim"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--at", nargs=3, type=float, metavar=("X", "Y", "Z"), help="other target, map frame, m"
    )
    place.add_argument(
        "--pixel",
        nargs=2,
        type=int,
        metavar=("COLUMN", "ROW"),
        help="other target: what this pixel of the picture shows",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="save the picture with the target marked"
    )
    parser.add_argument(
        "--wait", type=float, default=READY_WAIT_S, metavar="S", help="bridge timeout"
    )
    namespace.add_argument(parser)


def run_approve_command(args: argparse.Namespace) -> int:
    """Show the question and answer it.

    Returns:
        0 if the answer was accepted, or there was no terminal to prompt on; 1 if there is no
        question, it is gone, or the answer was refused; 130 after Ctrl-C.

    Raises:
        PlannerError: if no bridge answers, or the picture cannot be saved.
    """
    request = read_request(args, interactive=sys.stdin is not None and sys.stdin.isatty())
    # Must be set before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    from planner.operate.node import run_approve

    return run_approve(request)


def read_request(args: argparse.Namespace, *, interactive: bool) -> ApproveRequest:
    """Validate the arguments.

    Raises:
        PlannerError: naming the argument.
    """
    given = ((Answer.YES, args.yes), (Answer.NO, args.no), (Answer.KIND, args.kind))
    answer = next(((say, str(of)) for say, of in given if of is not None), None)
    if not _ID.fullmatch(args.agent):
        raise PlannerError(f"expected an agent's name such as agent_0, got {args.agent!r}")
    if answer is not None and args.picture is not None:
        raise PlannerError("--picture: cannot be combined with an answer")
    if answer is not None and not answer[1]:
        raise PlannerError(f"--{answer[0].name.lower()}: the id is empty")
    if not 0 <= args.wait < 1e9:
        raise PlannerError(f"--wait: expected seconds, got {args.wait:g}")
    if args.at is not None and not all(map(math.isfinite, args.at)):
        raise PlannerError("--at: expected three finite numbers")
    if args.pixel is not None and not all(0 <= value <= _MAX_PIXEL for value in args.pixel):
        raise PlannerError("--pixel: expected a column and a row, 0 or more")
    place = Place(
        target_m=None if args.at is None else (args.at[0], args.at[1], args.at[2]),
        pixel=None if args.pixel is None else (args.pixel[0], args.pixel[1]),
    )
    return ApproveRequest(
        args.agent, answer, place, args.picture, args.wait, interactive, args.namespace
    )
