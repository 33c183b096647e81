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
        _add_flag(group, option, f"of {', '.join(users[option.name])}: {option.help}")


def add_flags(group: argparse._ArgumentGroup, options: Iterable[Option]) -> None:
    """Declares a flag for each option that is of no part; flags that are not given are None."""
    for option in options:
        among = f"; one of {', '.join(filter(None, option.choices))}" if option.choices else ""
        _add_flag(group, option, f"{option.help}{among} (default: {option.default or 'none'})")


def _add_flag(group: argparse._ArgumentGroup, option: Option, about: str) -> None:
    flag = f"--{option.name.replace('_', '-')}"
    group.add_argument(flag, metavar=option.name.upper(), help=about)


def read_flags(args: argparse.Namespace, options: Iterable[Option]) -> dict[str, OptionValue]:
    """The options that were given as flags of `add_flags`; paths become absolute.

    Raises:
        OptionError: for an invalid value.
    """
    return {
        option.name: _read(option, text)
        for option in options
        if (text := getattr(args, option.name)) is not None
    }


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
        found[name] = _read(own[name], text)
    return found


def _read(option: Option, text: str) -> OptionValue:
    value = option.read(text)
    return str(Path(text).resolve()) if option.is_path and text else value
