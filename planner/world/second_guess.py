"""What else a thing may be, where what was seen of it leaves that open."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Classes with how strongly the looks speak for each, relative to the class that the thing is taken
# for: 0 to 1, likeliest first.
Guesses = tuple[tuple[str, float], ...]

_STATE = re.compile(r"maybe_(\d{1,3})_(\w+)")


def guess_states(guesses: Guesses) -> dict[str, bool]:
    """Guesses as states of messages, as a look is: `maybe_57_pen` with its score in percent."""
    return {f"maybe_{round(100 * score)}_{name}": True for name, score in guesses}


def take_guesses(states: Mapping[str, bool]) -> tuple[dict[str, bool], Guesses]:
    """The states of a message without guesses, and the guesses."""
    rest: dict[str, bool] = {}
    guesses = []
    for state, value in states.items():
        match = _STATE.fullmatch(state) if value else None
        if match is None:
            rest[state] = value
        else:
            guesses.append((match[2], int(match[1]) / 100))
    guesses.sort(key=lambda guess: -guess[1])
    return rest, tuple(guesses)


def score_of(guesses: Guesses, class_name: str) -> float:
    """How strongly the looks speak for a class; 0 where it is no guess."""
    return next((score for name, score in guesses if name == class_name), 0.0)
