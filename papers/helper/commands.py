"""`planner programs`, with suites at hand for `keep-out`, which the memory does not know.

What it does is imported when it is called: `planner --help` reads its record.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from planner.parts.command import CommandPart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As `papers.helper.programs_cli`."""
    from papers.helper import programs_cli

    programs_cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `papers.helper.programs_cli`."""
    from papers.helper import programs_cli

    return programs_cli.run(args, _instructions)


def _instructions(suites: Sequence[str]) -> Sequence[str]:
    from planner.bench.runs.manifest import find_suite

    return [entry.instruction for suite in suites for entry in find_suite(suite)]


PROGRAMS = CommandPart("what robots were taught to do", add_arguments, run)
