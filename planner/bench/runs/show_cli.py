"""`planner bench show RUN`: the table of a run, also of one in progress."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.table import summarise, summary_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="a run's directory")
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    """Prints the table."""
    manifest = read_manifest(args.run_folder)
    rows = newest_rows(args.run_folder / ROWS_NAME).values()
    summary = summarise(rows)
    if args.json:
        document = {"manifest": manifest.model_dump(mode="json"), "summary": asdict(summary)}
        print(json.dumps(document, indent=2))
        return 0
    settings = manifest.settings.model_dump(mode="json", exclude_defaults=True)
    words = [f"planner {manifest.settings.planner}"]
    words += [f"{name} {value}" for name, value in settings.items() if name != "planner"]
    version = f" (version {manifest.suite_version})" if manifest.suite_version else ""
    print(f"{manifest.suite}{version}: {', '.join(words)}")
    if len(rows) < manifest.episodes:
        print(f"{manifest.episodes - len(rows)} of {manifest.episodes} episodes are not done yet")
    print("\n".join(summary_lines(summary)))
    return 0
