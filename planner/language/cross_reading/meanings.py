"""What nouns mean in the catalogue, remembered."""

from __future__ import annotations

from functools import lru_cache

from planner.world.word_meanings import Meaning, default_word_meanings


@lru_cache(maxsize=4096)
def meaning(noun: str) -> Meaning | None:
    """The classes that a noun stands for; None if the catalogue does not know it."""
    return default_word_meanings().find(noun)


def is_room(noun: str) -> bool:
    """Whether some room is called that."""
    found = meaning(noun)
    return found is not None and bool(found.rooms)
