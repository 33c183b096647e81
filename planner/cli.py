"""The command `planner`.

Each subcommand is a module with two functions:

    add_arguments(parser: argparse.ArgumentParser) -> None
    run(args: argparse.Namespace) -> int        # the exit status

registered in `COMMANDS` by one line: its name, the module and its line in `planner --help`; those
of papers, robots and other packages are parts (docs/parts.md). A module is imported only when its
command is called, so that `planner --help` is fast and a command without ROS needs no ROS.

Exit statuses: what `run` returns; 2 for a wrong argument or a `PlannerError`, reported in one
line; 130 after Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from planner.command_line import EXIT_INTERRUPTED, EXIT_USAGE, CommandParser, ShowVersion
from planner.parts.command import CommandPart, further_commands
from planner.world.errors import PlannerError

_of = CommandPart.of_module
COMMANDS: Mapping[str, CommandPart] = {
    "answer": _of(
        "planner.instruct.cli",
        "answer a question about an instruction",
        "add_answer_arguments",
        "run_answer",
    ),
    "approve": _of(
        "planner.operate.cli",
        "answer a robot's question to its operator",
        "add_approve_arguments",
        "run_approve_command",
    ),
    "attend": _of(
        "planner.operate.cli",
        "send heartbeats for goals that you send yourself",
        "add_attend_arguments",
        "run_attend",
    ),
    "bad-day": _of("planner.bad_day.cli", "runs under random fault schedules, with checks"),
    "bench": _of("planner.bench.runs.cli", "suites of episodes, comparisons, claims, scores"),
    "check": _of("planner.commands.check", "whether a part meets its interface"),
    "console": _of("planner.console.cli", "a page to see and steer running nodes, or a bag"),
    "demo": _of("planner.demo", "a robot at work on the embedded simulator"),
    "doctor": _of("planner.doctor", "what is installed, what is missing, how to get it"),
    "episodes": _of("planner.commands.episodes", "make, check, draw and review tasks"),
    "evaluate": _of("planner.replay.evaluate", "the verdict of a recorded bag"),
    "export": _of("planner.replay.export.cli", "a bag to Rerun, LeRobot, tables or a video"),
    "houses": _of("planner.commands.houses", "generate, check, draw, list, export houses"),
    "instruct": _of("planner.instruct.cli", "send running robots an instruction"),
    "keystore": _of("planner.security.cli", "keys and permissions for a network, SROS 2"),
    "memory": _of("planner.memory.cli", "query what the robots remember, and correct it"),
    "operate": _of("planner.operate.cli", "claim, power on, stand, stop: an operator's part"),
    "recover": _of("planner.replay.recover", "repair the bag of a killed recorder"),
    "replay": _of(
        "planner.replay.replay_cli", "publish a bag again, or run another memory or planner over it"
    ),
    "report": _of("planner.replay.report.cli", "a page about one or more bags"),
    "robot-emulator": _of(
        "sim_bridge.ros.emulator.cli", "an emulated robot with Nav2, MoveIt and ros2_control"
    ),
    "run": _of("planner.commands.run", "one episode in this process, without ROS"),
    "train": _of("planner.commands.training", "data sets and models for the memory"),
    "serve": _of("planner.models.serve", "serve a language model on this machine's GPUs (vLLM)"),
    "up": _of("planner.up", "start the nodes and keep them running"),
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
    called = words[0] if words else ""
    # Other packages are asked only where it is no command of ours.
    known = COMMANDS if called in COMMANDS else {**COMMANDS, **further_commands(COMMANDS)}
    parser = CommandParser(
        prog="planner", description="Household robots that take instructions in words."
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in sorted(known.items()):
        subparser = commands.add_parser(name, help=command.summary, description=command.summary)
        if name == called:
            command.add_arguments(subparser)
            subparser.set_defaults(run=command.run)
    args = parser.parse_args(words)
    if is_process:
        # Loaded modules stay: keep them out of garbage collections.
        gc.freeze()
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
