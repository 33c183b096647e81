"""Plurals of English nouns."""

from __future__ import annotations

_IRREGULAR = (("mouse", "mice"), ("shelf", "shelves"), ("knife", "knives"), ("loaf", "loaves"))


def plural_of(phrase: str) -> str:
    """The English plural of a phrase's head: its last word, or the one before "of"."""
    head, of, tail = phrase.partition(" of ")
    for singular, plural in _IRREGULAR:
        if head.endswith(singular):
            return head.removesuffix(singular) + plural + of + tail
    if head.endswith(("s", "x", "z", "ch", "sh", "ato", "ero")):
        return head + "es" + of + tail
    if head.endswith("y") and head[-2:-1] not in "aeiou":
        return head[:-1] + "ies" + of + tail
    return head + "s" + of + tail
