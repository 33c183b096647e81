"""`planner bench`: a suite of episodes, comparisons of runs, claims, and scores of parts.

`planner bench SUITE ...` runs; any other first word is a subcommand of `SUBCOMMANDS`: a module with
`add_arguments(parser)` and `run(args)`, imported when it is called.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from planner.bench.suite import SUITES
from planner.command_line import CommandParser

_RUN = "planner.bench.runs.run_cli"


@dataclass(frozen=True, slots=True)
class Subcommand:
    """The module of a subcommand, and its help."""

    module: str
    summary: str


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "show": Subcommand("planner.bench.runs.manifest", "the table of a run"),
    "compare": Subcommand("planner.bench.runs.comparison", "two runs of the same episodes"),
    "failures": Subcommand(
        "planner.bench.runs.failures", "the tasks that a run fails, or only one of two"
    ),
    "parity": Subcommand("planner.bench.parity_cli", "whether two simulators show and do the same"),
    "partnr-val": Subcommand(
        "planner.bench.partnr_split", "PARTNR's own validation split, from its data set"
    ),
    "claims": Subcommand("planner.bench.runs.claims", "PARTNR's eight claims beside runs"),
    "table": Subcommand("planner.bench.runs.table_cli", "a paper's tables, or all planners in one"),
    "examples": Subcommand(
        "planner.bench.runs.solved", "solved episodes as examples for partnr_rag"
    ),
    "samples": Subcommand(
        "planner.bench.runs.samples", "solved episodes as samples for partnr_finetuned"
    ),
    "curves": Subcommand("planner.bench.runs.success_curves", "success by roll-outs, as a picture"),
    "memory": Subcommand("planner.bench.bench_cli", "scores of memory updaters"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments; the first word determines the others."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    width = max(map(len, SUBCOMMANDS))
    listed = "\n".join(f"  {name:{width}}  {sub.summary}" for name, sub in SUBCOMMANDS.items())
    suites = ", ".join(SUITES.names())
    parser.epilog = (
        f"SUITE is {suites}, a shipped episode, or a folder or file of episodes:\n"
        "`planner bench SUITE --help` lists its options. Other words:\n" + listed
    )
    parser.add_argument("what", metavar="SUITE|WORD", help="what to run, or one of the words below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="its options")


def run(args: argparse.Namespace) -> int:
    """Runs the suite or the subcommand."""
    known = SUBCOMMANDS.get(args.what)
    if known is None and not {"-h", "--help"}.intersection(args.rest):
        from planner.bench.runs.manifest import suite_places

        # Check the word first: if it is misspelled, the other arguments seem wrong too.
        suite_places(args.what, SUBCOMMANDS)
    module = importlib.import_module(known.module if known else _RUN)
    about = known.summary if known else "run a suite of episodes; resumes where it was stopped"
    parser = CommandParser(prog=f"planner bench {args.what}", description=about)
    module.add_arguments(parser)
    parsed = parser.parse_args(args.rest)
    parsed.suite = args.what
    status: int = module.run(parsed)
    return status
