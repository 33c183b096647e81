"""Turns a goal that the second reading contradicts into a question."""

from __future__ import annotations

from collections.abc import Sequence

from planner.language.cross_reading.contradictions import contradictions
from planner.language.goal_form import Goal
from planner.language.reading import Ask
from planner.language.tokens import Token

MAX_WORDS = 3


def confirmed(text: str, goal: Goal, tokens: Sequence[Token]) -> Goal | Ask:
    """The goal, or a question about the first words on which two readings of a text disagree.

    Args:
        text: the instruction.
        goal: what it was read as.
        tokens: its words, with misspellings corrected.
    """
    found = contradictions(text, goal, tokens)
    if not found:
        return goal
    return Ask(words=tuple(dict.fromkeys(found[0].words))[:MAX_WORDS], reason=found[0].reason)
