"""Kinds of bounds for the numbers, texts, lists and stamps of incoming messages, and their limits.

Each can judge one value, or many at a time, which is far faster: `accepts`.
`planner.world.field_bounds` gives each field of a message one of these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

# Ten kilometres: far beyond any house, and far below values that break grids or rays.
MAX_COORDINATE_M = 10_000.0
MAX_STANDOFF_M = 100.0
# Several turns, so that angles need not be normalised.
MAX_ANGLE_RAD = 100.0
MAX_DURATION_S = 86_400.0
MAX_NAME_LENGTH = 256
MAX_TEXT_LENGTH = 10_000
MAX_PATH_LENGTH = 4096
# Of what models read and write, and of files within messages.
MAX_LONG_TEXT_LENGTH = 16_000_000
MAX_AGENTS = 64
# Far more than any house; a graph's list is walked several times a second.
MAX_THINGS = 50_000
# Of things in or on each other.
MAX_NESTING = 64
_ROS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from `low` to `high`; `free` also allows NaN for no value."""

    low: float
    high: float
    unit: str = ""
    free: bool = False

    def reason(self, value: float) -> str:
        """Why a value is refused; empty if it is not."""
        if math.isnan(value):
            return "" if self.free else "not a number"
        if self.low <= value <= self.high:
            return ""
        unit = f" {self.unit}" if self.unit else ""
        return f"{value:g} is outside {self.low:g} to {self.high:g}{unit}"

    def first_invalid(self, values: Sequence[float]) -> int | None:
        """The index of the first value that is refused."""
        numbers = np.asarray(values, np.float64)
        good = (numbers >= self.low) & (numbers <= self.high)
        if self.free:
            good |= np.isnan(numbers)
        bad = np.flatnonzero(~good)
        return int(bad[0]) if len(bad) else None

    def accepts(self, values: Sequence[float]) -> bool:
        """Whether no value is refused; there is at least one."""
        total = sum(values)
        # Minimum and maximum say nothing where NaN is among the values.
        if total != total or math.isinf(total):
            return self.first_invalid(values) is None
        return self.low <= min(values) and max(values) <= self.high


@dataclass(frozen=True, slots=True)
class Text:
    """A text with a maximum number of characters, without NUL, which is invalid in paths.

    With `names_topics` it is the name of an agent, below which there are topics.
    """

    max_length: int
    names_topics: bool = False

    def reason(self, value: str) -> str:
        """Why a value is refused; empty if it is not."""
        if len(value) > self.max_length:
            return f"{len(value)} characters, more than {self.max_length}"
        if "\0" in value:
            return "a NUL character"
        if self.names_topics and not _ROS_NAME.fullmatch(value):
            return f"{value!r} cannot name an agent: expected letters, digits and _, as agent_0"
        return ""

    def accepts(self, values: Collection[str]) -> bool:
        """Whether no value is refused; there is at least one."""
        if max(map(len, values)) > self.max_length or "\0" in "".join(values):
            return False
        return not self.names_topics or all(map(_ROS_NAME.fullmatch, values))


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words or numbers."""

    values: tuple[str | int, ...]

    def reason(self, value: str | int) -> str:
        """Why a value is refused; empty if it is not."""
        if value in self.values:
            return ""
        words = ", ".join(repr(each) for each in self.values)
        return f"{str(value)[:80]!r} is not one of {words}"

    def accepts(self, values: Collection[str | int]) -> bool:
        """Whether no value is refused."""
        return set(values).issubset(self.values)


@dataclass(frozen=True, slots=True)
class Items:
    """An array with a maximum number of items."""

    max_count: int

    def reason(self, count: int) -> str:
        """Why a number of items is refused; empty if it is not."""
        return f"{count} items, more than {self.max_count}" if count > self.max_count else ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time of the node's clock with a maximum age and lead; zero means now."""

    max_age_s: float
    max_ahead_s: float

    def reason(self, stamp_s: float, now_s: float) -> str:
        """Why a stamp is refused; empty if it is not."""
        if stamp_s == 0.0:
            return ""
        age_s = now_s - stamp_s
        if age_s > self.max_age_s:
            return f"{age_s:.1f} s old, more than {self.max_age_s:g} s; zero means now"
        if -age_s > self.max_ahead_s:
            return f"{-age_s:.1f} s ahead, more than {self.max_ahead_s:g} s; zero means now"
        return ""


@dataclass(frozen=True, slots=True)
class Unbounded:
    """Accepts every value of the field's type; `why` says what makes that safe."""

    why: str


Bound: TypeAlias = Number | Text | OneOf | Items | Stamp | Unbounded


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """A field of a message, by its path, that is out of bounds, and the reason."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


class UnboundedFieldError(LookupError):
    """A field of a message without a bound."""
