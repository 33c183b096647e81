"""The record of a subcommand: of `planner`, of `planner bench` or of `planner train`."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Self

from planner.parts.catalog import Catalog
from planner.parts.option import Option

INTERFACE = 1
# Between the words of a subcommand of another command, such as `bench.claims`.
_DOT = "."


@dataclass(frozen=True, slots=True)
class CommandPart:
    """The record of a subcommand.

    Attributes:
        summary: its line in the help.
        add_arguments: declares its arguments.
        run: runs it; returns the exit status.
        options: none, its arguments are `add_arguments`'s.
        interface: the version of this record that it was written for.
    """

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE

    @classmethod
    def of_module(
        cls, module: str, summary: str, declaring: str = "add_arguments", running: str = "run"
    ) -> Self:
        """Two functions of a module, by their names, which is imported when it is called."""

        def add_arguments(parser: argparse.ArgumentParser) -> None:
            getattr(importlib.import_module(module), declaring)(parser)

        def run(args: argparse.Namespace) -> int:
            status: int = getattr(importlib.import_module(module), running)(args)
            return status

        return cls(summary, add_arguments, run)


# The core's words of `bench` and `train` are declared where they are dispatched.
COMMAND_PARTS: Catalog[CommandPart] = Catalog(
    "command",
    "planner.cli",
    "COMMANDS",
    f"{__name__}:CommandPart",
    INTERFACE,
    group="planner.commands",
)


def further_commands(taken: Collection[str], parent: str = "") -> dict[str, CommandPart]:
    """The subcommands of a command that are parts, by their own names.

    Args:
        taken: names of the core's, which no part gets.
        parent: the command, such as `bench`; "" = `planner` itself.
    """
    found = {}
    for name in COMMAND_PARTS.names():
        before, _, own = name.rpartition(_DOT)
        part = COMMAND_PARTS.find(name) if before == parent and own not in taken else None
        if part is not None:
            found[own] = part
    return found
