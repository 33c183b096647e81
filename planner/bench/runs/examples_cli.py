"""`planner bench examples RUN... --store FILE`: solved episodes as examples for `partnr_rag`."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.bench.runs.solved import HELDOUT, Collected, Evaluated, examples_of
from planner.planning.trace_store import TraceStore
from planner.world.embedding import SentenceEncoder


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments common to commands that learn from runs."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="runs' directories")
    parser.add_argument(
        "--keep-out",
        action="append",
        default=[],
        metavar="SUITE",
        help=f"whose instructions are for evaluation only, beside {HELDOUT}; repeatable",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_runs(parser)
    parser.add_argument(
        "--store", type=Path, required=True, metavar="FILE", help="made or added to"
    )
    parser.add_argument("--encoder", type=Path, help="sentence transformer that finds them")


def run(args: argparse.Namespace) -> int:
    """Adds examples that the store lacks, and removes those that are used for evaluation."""
    evaluated, collected = Evaluated.of(args.keep_out), Collected()
    tasks = [task for run in args.runs for task in examples_of(run, evaluated, collected)]
    encoder = SentenceEncoder(args.encoder) if args.encoder else None
    with TraceStore(args.store, encoder) as store:
        removed = store.keep_out(evaluated.instructions)
        added = store.add(tasks)
        print(f"solved episodes: {collected}")
        note = f", {removed} of an evaluation removed" if removed else ""
        print(f"{args.store}: {added} added{note}, {len(store)} examples now")
    return 0
