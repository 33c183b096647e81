"""`planner instruct` sends an instruction and prints its story; `planner answer` its answers."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from planner import environment
from planner import environment as namespace
from planner.command_line import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from planner.environment import ros_environment
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import feedback
from planner.narrator.story import Event, Kind
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_json
from planner.world.topics import InstructionCode, one_line

# The arguments of `planner instruct`, and how an instruction ended. No ROS here.


@dataclass(frozen=True, slots=True)
class InstructRequest:
    """One instruction to running nodes.

    Attributes:
        agents: agents to use; empty = all.
        answers: to the planner's questions, in turn.
        max_calls: planner calls allowed; 0 = the planner's default.
        timeout_s: wall seconds after which it is canceled; 0 = never.
        wait_s: wall seconds until a task planner has to answer.
        simulated_person: whether questions are answered from the evaluator's progress once
            `answers` are used up.
        interactive: whether to prompt on the terminal once `answers` are used up.
        namespace: of the stack.
    """

    instruction: str
    agents: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    max_calls: int = 0
    timeout_s: float = 0.0
    wait_s: float = 10.0
    simulated_person: bool = False
    interactive: bool = False
    namespace: str = "/"


class CancelReason(StrEnum):
    """Why this client canceled its instruction."""

    INTERRUPT = "interrupted"
    TIMEOUT = "the time is over"


@dataclass(frozen=True, slots=True)
class InstructionEnd:
    """How an instruction ended; `stopped` if this client canceled it."""

    code: int
    text: str
    question: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)
    stopped: CancelReason | None = None

    @property
    def exit_status(self) -> int:
        """0 if it was done, 130 if the user interrupted it, else 1."""
        if self.code == InstructionCode.DONE:
            return EXIT_OK
        return EXIT_INTERRUPTED if self.stopped is CancelReason.INTERRUPT else EXIT_FAILED


# The answer of a simulated person who sees the evaluator's progress. No ROS here (HELPER-D83).


def answer_from(goal: str, satisfied: Sequence[bool] | None) -> str:
    """Says "done", or what is not as the goal wants it.

    Args:
        goal: the structured goal as JSON, as in /instruct/status; "" = there is none.
        satisfied: of each proposition, from /evaluation; None = nothing was heard.

    Raises:
        PlannerError: if there is no goal or no progress of it, so that nobody can say.
    """
    if satisfied is None:
        raise PlannerError("the simulated person has heard nothing from the evaluator")
    try:
        document = parse_json(goal, "the instruction", "goal") if goal else {}
    except FileError as error:
        raise PlannerError(f"the goal of the instruction is no JSON: {error.reason}") from None
    if not isinstance(document, dict) or "propositions" not in document:
        raise PlannerError("the simulated person knows only the goal of an episode")
    propositions = read_evaluation(document, "the instruction", "goal").propositions
    if len(propositions) != len(satisfied):
        raise PlannerError(
            f"the evaluator judges {len(satisfied)} propositions, the goal has {len(propositions)}"
        )
    return feedback(propositions, satisfied)


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


# `planner answer`: answers the question of the instruction that is being followed.

ANSWER_WAIT_S = 10.0


def add_answer_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `planner answer`."""
    parser.add_argument("text", help="the answer")
    parser.add_argument(
        "--wait",
        type=float,
        default=ANSWER_WAIT_S,
        metavar="S",
        help="timeout for a task planner, seconds",
    )
    environment.add_argument(parser)


def run_answer(args: argparse.Namespace) -> int:
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
