"""`planner bench`: a suite of episodes, comparisons of runs, claims, and scores of parts.

`planner bench SUITE ...` runs; any other first word is a subcommand of `SUBCOMMANDS` or a part
(docs/parts.md): a module with `add_arguments(parser)` and `run(args)`, imported when it is called.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from planner.bench.suite import SUITES
from planner.command_line import CommandParser
from planner.parts.command import CommandPart, further_commands

_of = CommandPart.of_module
_RUN = _of("planner.bench.runs.run_cli", "run a suite of episodes; resumes where it was stopped")

SUBCOMMANDS: Mapping[str, CommandPart] = {
    "show": _of("planner.bench.runs.manifest", "the table of a run"),
    "compare": _of("planner.bench.runs.comparison", "two runs of the same episodes"),
    "failures": _of(
        "planner.bench.runs.comparison",
        "the tasks that a run fails, or only one of two",
        "add_failures",
        "run_failures",
    ),
    "parity": _of("planner.bench.parity_cli", "whether two simulators show and do the same"),
    "table": _of("planner.bench.runs.paper", "a paper's tables, or all planners in one"),
    "curves": _of("planner.bench.runs.success_curves", "success by roll-outs, as a picture"),
    "memory": _of("planner.bench.bench_cli", "scores of memory updaters"),
    "speed": _of("planner.bench.speed", "what things cost, beside the committed values"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments; the first word determines the others."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    words = _words()
    width = max(map(len, words))
    listed = "\n".join(f"  {name:{width}}  {sub.summary}" for name, sub in words.items())
    suites = ", ".join(SUITES.names())
    parser.epilog = (
        f"SUITE is {suites}, a shipped episode, or a folder or file of episodes:\n"
        "`planner bench SUITE --help` lists its options. Other words:\n" + listed
    )
    parser.add_argument("what", metavar="SUITE|WORD", help="what to run, or one of the words below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="its options")


def _words() -> dict[str, CommandPart]:
    return {**SUBCOMMANDS, **further_commands(SUBCOMMANDS, "bench")}


def run(args: argparse.Namespace) -> int:
    """Runs the suite or the subcommand."""
    words = _words()
    if args.what not in words and not {"-h", "--help"}.intersection(args.rest):
        from planner.bench.runs.manifest import suite_places

        # Check the word first: if it is misspelled, the other arguments seem wrong too.
        suite_places(args.what, words)
    command = words.get(args.what, _RUN)
    parser = CommandParser(prog=f"planner bench {args.what}", description=command.summary)
    command.add_arguments(parser)
    parsed = parser.parse_args(args.rest)
    parsed.suite = args.what
    return command.run(parsed)
