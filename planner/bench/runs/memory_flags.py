"""Command-line flags for the memory that reads images."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TypedDict

from planner.bench.runs.settings import MemoryKind
from planner.parts.flags import add_option_flags, read_option_flags
from planner.parts.kinds import UPDATERS
from planner.parts.option import OptionValue


class MemorySettings(TypedDict):
    """The fields of `RunSettings` that these flags set."""

    memory_model: str
    memory_url: str
    memory_second: str
    memory_options: Mapping[str, OptionValue]


def add_memory_flags(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    group = parser.add_argument_group("of a memory that reads pictures")
    group.add_argument("--memory-model", default="", help="a folder, or a server's name for it")
    group.add_argument("--memory-url", default="", help="the server's, .../v1")
    group.add_argument("--memory-second", default="", help="folder of the second model")
    add_option_flags(group, UPDATERS.usable())


def read_memory_flags(args: argparse.Namespace) -> MemorySettings:
    """Reads the flags.

    Raises:
        OptionError: for an option that the chosen memory does not have, or an invalid value.
    """
    declared = () if args.memory in [*MemoryKind] else UPDATERS.get(args.memory).options
    return MemorySettings(
        memory_model=args.memory_model,
        memory_url=args.memory_url,
        memory_second=args.memory_second,
        memory_options=read_option_flags(args, declared, UPDATERS.usable()),
    )
