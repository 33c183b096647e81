"""The parser of all commands, and Ctrl-C for commands that have to clean up."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from planner.supervision import EXIT_USAGE
from planner.world.errors import did_you_mean


class ShowVersion(argparse.Action):
    """Prints the installed version and ends the process."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        _option_string: str | None = None,
    ) -> None:
        """Ends the process with status 0."""
        # Not imported by every command.
        from importlib.metadata import version

        print(f"{parser.prog} {version('planner')}")
        parser.exit()


class CommandParser(argparse.ArgumentParser):
    """`argparse.ArgumentParser` without the usage message before an error.

    Subcommand parsers are of this class too, see `add_subparsers`.
    """

    def error(self, message: str) -> NoReturn:
        """Ends the process with a one-line message and `EXIT_USAGE`."""
        self.exit(EXIT_USAGE, f"error: {message} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As in argparse, but unknown arguments are an error here, where the options are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [option for action in self._actions for option in action.option_strings]
            near = did_you_mean(unknown[0].partition("=")[0], options)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{near}") from None


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns, as in a table."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


# Ctrl-C and SIGTERM for commands that have to clean up.


@contextmanager
def termination_requested() -> Iterator[Callable[[], bool]]:
    """Catches Ctrl-C and SIGTERM; yields a function that returns whether one came.

    Raises:
        KeyboardInterrupt: at the second.
    """
    received: list[int] = []

    def note(number: int, _frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
