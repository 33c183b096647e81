"""The parts of a list that are to be done in turn."""

from __future__ import annotations

import copy

from planner.language.drafts import Act, Do, Noun


def at_once(part: Do) -> bool:
    """Whether a part of a list asks for more than how all of it is arranged in the end."""
    return bool(part.to) or part.act is not Act.MOVE


def in_turn(do: Do) -> list[Do]:
    """One request for each part of a list that is to be done in turn."""
    later = set(do.later)
    for k, thing in enumerate(do.things):
        if isinstance(thing, Noun) and thing.in_turn:
            later.add(k)
            # What is said of them afterwards is said of all at once.
            thing.in_turn = False
    cuts = [0, *sorted(later - {0}), len(do.things)]
    parts = [copy.copy(do) for _ in cuts[1:]]
    for part, start, end in zip(parts, cuts, cuts[1:], strict=False):
        part.things, part.to, part.arrangement = do.things[start:end], list(do.to), None
    if len(parts) < 2:
        return [do]
    if do.arrangement is not None:
        parts.append(copy.copy(do))
        parts[-1].to = []
    return parts
