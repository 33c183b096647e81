"""Options of parts as command-line flags."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from planner.parts.catalog import Part
from planner.parts.option import Option, OptionError, OptionValue


def add_option_flags(group: argparse._ArgumentGroup, parts: Mapping[str, Part]) -> None:
    """Declares a flag for each option of the parts; flags that are not given are None."""
    users: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    for name, part in parts.items():
        for option in part.options:
            options.setdefault(option.name, option)
            users.setdefault(option.name, []).append(name)
    for option in options.values():
        group.add_argument(
            f"--{option.name.replace('_', '-')}",
            metavar=option.name.upper(),
            help=f"of {', '.join(users[option.name])}: {option.help}",
        )


def read_option_flags(
    args: argparse.Namespace, options: Iterable[Option], parts: Mapping[str, Part]
) -> dict[str, OptionValue]:
    """The options of one part that were given as flags; paths become absolute.

    Raises:
        OptionError: for an invalid value, or an option of other parts.
    """
    own = {option.name: option for option in options}
    found: dict[str, OptionValue] = {}
    for name in dict.fromkeys(option.name for part in parts.values() for option in part.options):
        text = getattr(args, name)
        if text is None:
            continue
        if name not in own:
            raise OptionError(name, "the chosen part has no such option")
        value = own[name].read(text)
        found[name] = str(Path(text).resolve()) if own[name].is_path and text else value
    return found
