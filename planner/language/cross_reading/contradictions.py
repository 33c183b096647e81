"""Where a goal and a second, independent reading of its text disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from planner.language.cross_reading import (
    actors,
    amounts,
    consistency,
    effects,
    limits,
    looks,
    naming,
    places,
    pronouns,
    sequence,
    support,
)
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.findings import Contradiction
from planner.language.cross_reading.occurrences import GoalFacts
from planner.language.goal_form import Goal
from planner.language.tokens import Token, tokens_of

Check = Callable[[TextFacts, GoalFacts], Iterator[Contradiction]]

CHECKS: Mapping[str, Check] = {
    "consistency": consistency.check,
    "amounts": amounts.check,
    "naming": naming.check,
    "looks": looks.check,
    "places": places.check,
    "effects": effects.check,
    "sequence": sequence.check,
    "actors": actors.check,
    "limits": limits.check,
    "pronouns": pronouns.check,
    "support": support.check,
}


def contradictions(
    text: str, goal: Goal, tokens: Sequence[Token] | None = None
) -> tuple[Contradiction, ...]:
    """What a goal has that the text does not say, or lacks although the text is clear.

    Args:
        text: the instruction.
        goal: what it was read as.
        tokens: its words with misspellings corrected, if known.
    """
    facts = TextFacts(text, tokens_of(text) if tokens is None else tokens)
    found = GoalFacts(goal)
    return tuple(item for check in CHECKS.values() for item in check(facts, found))
