"""Readings that are given by hand."""

from __future__ import annotations

import numpy as np

from planner.planning.learned.network import MARKS, NUMBERS, Array, Reading
from planner.planning.learned.tokens import Token


def zeros(count: int) -> Reading:
    """Nothing is asked, of one thing each."""
    numbers = np.zeros((count, len(NUMBERS)), np.float32)
    numbers[:, 0] = 1
    square: Array = np.zeros((count, count), np.float32)
    return Reading(
        at=square.copy(),
        at_none=np.ones(count, np.float32),
        goes=np.zeros((3, count, count), np.float32),
        then=np.zeros((3, count, count), np.float32),
        next=square.copy(),
        same=square.copy(),
        before=square.copy(),
        marks=np.zeros((count, len(MARKS)), np.float32),
        numbers=numbers,
    )


def place_of(tokens: tuple[Token, ...], text: str) -> int:
    return next(i for i, token in enumerate(tokens) if token.text == text)
