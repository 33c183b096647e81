"""Instances of a class: `Drawer_3` is of `Drawer`, and which of them a text means."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[0-9]{1,4}")


def class_of(name: str) -> str:
    """The class of an instance name; the whole name if it has no number."""
    own, _, number = name.rpartition("_")
    return own if own and number.isdecimal() else name


def number_of(name: str) -> int:
    """The number of an instance name; 0 if it has none."""
    _, _, number = name.rpartition("_")
    return int(number) if number.isdecimal() else 0


def numbers_in(text: str) -> list[int]:
    """The numbers that a text contains, in order."""
    return [int(number) for number in _NUMBER.findall(text)]


def instance_for(names: Sequence[str], numbers: Sequence[int]) -> str | None:
    """The instance that a text means among those of one class (LLAMAR-2.6).

    With exactly one number in the text, that instance, or the nearest number that there is; else
    the first.

    Args:
        names: of one class, `Drawer_1` first; if they are of several, the first one's is meant.
        numbers: in the text.
    """
    if not names:
        return None
    own = [name for name in names if class_of(name) == class_of(names[0])]
    if len(numbers) != 1:
        return own[0]
    return min(own, key=lambda name: (abs(number_of(name) - numbers[0]), number_of(name)))
