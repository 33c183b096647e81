"""Suggests the nearest existing name for a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# Minimum similarity (0 to 1) that counts as a misspelling.
_CUTOFF = 0.6


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Text to append to an error about an unknown name; "" if no known one is similar."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(given.lower(), names, n=1, cutoff=_CUTOFF)
    return f"; did you mean {names[near[0]]!r}?" if near else ""
