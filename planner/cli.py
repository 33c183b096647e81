"""The command `planner`.

Each subcommand is a module with two functions:

    add_arguments(parser: argparse.ArgumentParser) -> None
    run(args: argparse.Namespace) -> int        # the exit status

registered in `COMMANDS` by one line: its name, the module and its line in `planner --help`. A
module is imported only when its command is called, so that `planner --help` is fast and a command
without ROS needs no ROS.

Exit statuses: what `run` returns; 2 for a wrong argument or a `PlannerError`, reported in one
line; 130 after Ctrl-C.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.command_line import CommandParser, ShowVersion
from planner.supervision import EXIT_INTERRUPTED, EXIT_USAGE
from planner.world.errors import PlannerError


@dataclass(frozen=True, slots=True)
class Command:
    """The module and summary of a subcommand."""

    module: str
    summary: str


COMMANDS: Mapping[str, Command] = {
    "answer": Command("planner.instruct.answer_cli", "answer a question about an instruction"),
    "approve": Command("planner.approve.cli", "answer a robot's question to its operator"),
    "attend": Command("planner.attend.cli", "send heartbeats for goals that you send yourself"),
    "bad-day": Command("planner.bad_day.cli", "runs under random fault schedules, with checks"),
    "bench": Command("planner.bench.runs.cli", "suites of episodes, comparisons, claims, scores"),
    "check": Command("planner.commands.check", "whether a part meets its interface"),
    "console": Command("planner.console.cli", "a page to see and steer running nodes, or a bag"),
    "demo": Command("planner.demo", "a robot at work on the embedded simulator"),
    "demo-spot": Command(
        "sim_bridge.spot.demo", "four tasks on an emulated Spot, with success rates"
    ),
    "doctor": Command("planner.doctor", "what is installed, what is missing, how to get it"),
    "episodes": Command("planner.commands.episodes", "make, check, draw and review tasks"),
    "evaluate": Command("planner.replay.evaluate", "the verdict of a recorded bag"),
    "export": Command("planner.replay.export.cli", "a bag to Rerun, LeRobot, tables or a video"),
    "houses": Command("planner.commands.houses", "generate, check, draw, list, export houses"),
    "instruct": Command("planner.instruct.cli", "send running robots an instruction"),
    "keystore": Command("planner.security.cli", "keys and permissions for a network, SROS 2"),
    "layout": Command("sim_bridge.spot.layout_cli", "check or draw the layout of a real house"),
    "memory": Command("planner.memory.cli", "query what the robots remember, and correct it"),
    "operate": Command("planner.operate.cli", "claim, power on, stand, stop: an operator's part"),
    "programs": Command("planner.commands.programs", "what robots were taught to do"),
    "recover": Command("planner.replay.recover", "repair the bag of a killed recorder"),
    "replay": Command(
        "planner.replay.replay_cli", "publish a bag again, or run another memory or planner over it"
    ),
    "report": Command("planner.replay.report.cli", "a page about one or more bags"),
    "robot-emulator": Command(
        "sim_bridge.ros.emulator.cli", "an emulated robot with Nav2, MoveIt and ros2_control"
    ),
    "run": Command("planner.commands.run", "one episode in this process, without ROS"),
    "spot-emulator": Command(
        "sim_bridge.spot.emulator.cli", "an emulated Spot: its protocol, over TLS"
    ),
    "spot-run": Command("sim_bridge.spot.run_program", "run a program of the SDK on the emulator"),
    "spot-look": Command("sim_bridge.spot.status_cli", "show the state of a Spot; moves nothing"),
    "train": Command("planner.commands.training", "data sets and models for the memory"),
    "serve": Command(
        "planner.models.serve", "serve a language model on this machine's GPUs (vLLM)"
    ),
    "up": Command("planner.up", "start the nodes and keep them running"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; `argv` defaults to the process's arguments."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(words, is_process=argv is None)
    except PlannerError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Python would complain again when it
        # flushes at exit, so redirect that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(words: list[str], *, is_process: bool) -> int:
    called = words[0] if words and words[0] in COMMANDS else None
    parser = CommandParser(
        prog="planner", description="Household robots that take instructions in words."
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.summary, description=command.summary)
        if name == called:
            module = importlib.import_module(command.module)
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    args = parser.parse_args(words)
    if is_process:
        # Loaded modules stay: keep them out of garbage collections.
        gc.freeze()
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
