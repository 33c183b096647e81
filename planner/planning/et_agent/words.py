"""Which classes of things a word of a task means: by its spelling, then by the catalogue."""

from __future__ import annotations

import re
from functools import lru_cache

from planner.world.catalogue import default_catalogue
from planner.world.word_meanings import default_word_meanings

_NO_LETTER = re.compile(r"[^0-9a-z]+")


@lru_cache(maxsize=4096)
def spelled(word: str) -> str:
    """The letters and digits of a word, so that `Living room` and `livingroom` are the same."""
    return _NO_LETTER.sub("", word.casefold())


@lru_cache(maxsize=4096)
def meant(word: str) -> frozenset[str]:
    """The spellings of all classes that a word means.

    A class of the catalogue, or a word that it does not know, means itself; other words what the
    catalogue says, such as `sofa` a couch, and then also what is spelled like them.
    """
    own = spelled(word)
    if own in _catalogued():
        return frozenset({own})
    found = default_word_meanings().find(word)
    if found is None:
        return frozenset({own, *_singulars(own)})
    classes = found.objects | found.furniture | found.rooms
    return frozenset({own, *map(spelled, classes)})


def is_meant(class_name: str, word: str) -> bool:
    """Whether an entity of a class is what a word means."""
    return spelled(class_name) in meant(word)


def is_room_word(word: str) -> bool:
    """Whether a word means a kind of room, as far as the catalogue knows."""
    return not meant(word).isdisjoint(_room_classes())


@lru_cache
def _catalogued() -> frozenset[str]:
    catalogue = default_catalogue()
    names = (*catalogue.objects, *catalogue.furniture, *catalogue.rooms)
    return frozenset(spelled(name) for name in names)


@lru_cache
def _room_classes() -> frozenset[str]:
    return frozenset(spelled(name) for name in default_catalogue().rooms)


def _singulars(word: str) -> frozenset[str]:
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    return frozenset(word.removesuffix(e) + new for e, new in endings if word.endswith(e))
