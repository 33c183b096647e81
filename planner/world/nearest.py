"""The nearest of the names that exist, for whoever has misspelled one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# Nearer than this (of 1) is taken for a slip of the keyboard.
_CUTOFF = 0.6


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """What to append to the message about a name that does not exist; "" where none is near."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(given.lower(), names, n=1, cutoff=_CUTOFF)
    return f"; did you mean {names[near[0]]!r}?" if near else ""
