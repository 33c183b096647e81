"""Draws ideas evenly: every relation and every class of targets as often as the others."""

from __future__ import annotations

import random
from collections.abc import Iterable

from planner.episodes.et_generation.house_facts import HouseFacts
from planner.episodes.et_generation.idea import Idea, Link


class Deck:
    """The ideas of a category that were not drawn yet."""

    def __init__(self, facts: HouseFacts, ideas: Iterable[Idea], rng: random.Random) -> None:
        self._rng = rng
        self._piles: dict[str, dict[str, list[Idea]]] = {}
        for idea in ideas:
            kind = _kind(facts, idea)
            classes = self._piles.setdefault(kind, {})
            classes.setdefault(facts.class_of(idea.target), []).append(idea)

    def draw(self) -> Idea | None:
        """The next one; None after the last."""
        if not self._piles:
            return None
        kind = self._rng.choice(list(self._piles))
        classes = self._piles[kind]
        cls = self._rng.choice(list(classes))
        pile = classes[cls]
        at = self._rng.randrange(len(pile))
        pile[at], pile[-1] = pile[-1], pile[at]
        idea = pile.pop()
        if not pile:
            del classes[cls]
        if not classes:
            del self._piles[kind]
        return idea


def _kind(facts: HouseFacts, idea: Idea) -> str:
    link = idea.source or idea.nest or idea.place
    if link is None:
        return "thing" if facts.entities[idea.target].is_thing else "furniture"
    return "room" if _is_room(facts, link) else link.relation


def _is_room(facts: HouseFacts, link: Link) -> bool:
    return link.name in facts.room_class
