"""One option of a part, from which its ROS parameter and its command-line flag are made."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.world.errors import PlannerError

OptionValue = bool | int | float | str

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FLAGS = {"true": True, "false": False}


class OptionError(PlannerError):
    """An invalid option or value."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"option {name}: {reason}")


@dataclass(frozen=True, slots=True)
class Option:
    """An option; its type is the default's.

    Attributes:
        name: lower case with underscores; the flag has dashes.
        default: true or false, a whole number, a number or a text.
        help: one line; says the unit of a number.
        min_value: smallest allowed number.
        max_value: greatest allowed number.
        choices: allowed texts; empty = any.
        is_path: whether a text is a path, which command lines make absolute.
    """

    name: str
    default: OptionValue
    help: str
    min_value: float | None = None
    max_value: float | None = None
    choices: tuple[str, ...] = ()
    is_path: bool = False

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            OptionError: for an invalid name or default.
        """
        if not _NAME.fullmatch(self.name):
            raise OptionError(self.name, "expected lower-case letters, digits and underscores")
        self.check(self.default)

    def check(self, value: object) -> OptionValue:
        """Checks a value's type and bounds; integers are accepted as floats.

        Raises:
            OptionError: for an invalid value.
        """
        kind = type(self.default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind or not isinstance(value, OptionValue):
            expected = {
                bool: "true or false",
                int: "a whole number",
                float: "a number",
                str: "text",
            }
            raise OptionError(self.name, f"expected {expected[kind]}, got {value!r}")
        if isinstance(value, float) and not math.isfinite(value):
            raise OptionError(self.name, f"expected a finite number, got {value}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.min_value is not None and value < self.min_value:
                raise OptionError(self.name, f"{value} is less than {self.min_value:g}")
            if self.max_value is not None and value > self.max_value:
                raise OptionError(self.name, f"{value} is greater than {self.max_value:g}")
        if self.choices and value not in self.choices:
            raise OptionError(self.name, f"expected one of {', '.join(self.choices)}, got {value}")
        return value

    def read(self, text: str) -> OptionValue:
        """Parses a value, as on a command line.

        Raises:
            OptionError: for an invalid value.
        """
        value: object = text
        if isinstance(self.default, bool):
            value = _FLAGS.get(text.lower(), text)
        elif isinstance(self.default, int | float):
            try:
                value = int(text) if isinstance(self.default, int) else float(text)
            except ValueError:
                value = text
        return self.check(value)


def named_values(words: Iterable[str]) -> dict[str, str]:
    """What flags such as `--option wording=short` give, by name, as text.

    Raises:
        PlannerError: for one without a name or a value.
    """
    found = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise PlannerError(f"--option {word}: expected NAME=VALUE")
        found[name.replace("-", "_")] = value
    return found


def read_options(options: Iterable[Option], given: Mapping[str, object]) -> dict[str, OptionValue]:
    """The given values, completed by defaults.

    Raises:
        OptionError: for an unknown option or an invalid value.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            there = ", ".join(known) or "none"
            raise OptionError(name, f"unknown; available: {there}")
    return {
        name: option.check(given[name]) if name in given else option.default
        for name, option in known.items()
    }


class Options:
    """The base of requests for making a part, with the values of the options that it declares.

    Each method raises `OptionError` if the part declares no option of this name and kind.
    """

    __slots__ = ()
    options: Mapping[str, OptionValue]

    def flag(self, option: str) -> bool:
        """The value of an option that is true or false."""
        value = self.options.get(option)
        if not isinstance(value, bool):
            raise OptionError(option, "the part declares no flag of this name")
        return value

    def whole(self, option: str) -> int:
        """The value of a whole number."""
        value = self.options.get(option)
        if isinstance(value, bool) or not isinstance(value, int):
            raise OptionError(option, "the part declares no whole number of this name")
        return value

    def number(self, option: str) -> float:
        """The value of a number, whole or not."""
        value = self.options.get(option)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise OptionError(option, "the part declares no number of this name")
        return float(value)

    def text(self, option: str) -> str:
        """The value of a text."""
        value = self.options.get(option)
        if not isinstance(value, str):
            raise OptionError(option, "the part declares no text of this name")
        return value
