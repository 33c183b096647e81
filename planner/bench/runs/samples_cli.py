"""`planner bench samples RUN... --out FILE`: training samples for PARTNR's fine-tuned planner."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from planner.bench.runs.examples_cli import add_runs
from planner.bench.runs.solved import Collected, Evaluated, samples_in
from planner.episodes.episode_file import write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_runs(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON lines")


def run(args: argparse.Namespace) -> int:
    """Writes one sample per line: the prompt, and the target, which alone has a loss."""
    evaluated, collected = Evaluated.of(args.keep_out), Collected()
    lines = [
        json.dumps(
            {
                "episode_id": row.episode_id,
                "seed": row.seed,
                "agent": row.agents[0],
                "prompt": sample.prompt,
                "target": sample.target,
            },
            ensure_ascii=False,
        )
        for run in args.runs
        for row, sample in samples_in(run, evaluated, collected)
    ]
    write_text(args.out, "".join(f"{line}\n" for line in lines))
    print(f"{args.out}: samples: {collected}")
    return 0
