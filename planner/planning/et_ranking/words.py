"""What the ranking model reads of a noun: its letters, its words, and what the catalogue says.

Every feature is hashed into one of `BUCKETS` rows of the model's table, so that nouns that were
never trained still share features with known ones. Of the catalogue only names, groups,
affordances of furniture, heights and hollows are read. Its usual places are not: they are what the
house generator places things by, and would be the answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from planner.world.catalogue import Catalogue, FurnitureClass, ObjectClass, default_catalogue
from planner.world.word_meanings import default_word_meanings

# Rows of the table for letters, for classes and for kinds: a class that was never trained must not
# share its row with letters that were.
_SPELLINGS, _IDENTITIES, _KINDS = 8192, 4096, 1024
BUCKETS = _SPELLINGS + _IDENTITIES + _KINDS
_NUMBER = re.compile(r"[_ ]\d+$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_SHORTEST, _LONGEST = 3, 5


class Noun(StrEnum):
    """What a noun names; a target is anything that is searched for, an object or furniture."""

    TARGET = "target"
    FURNITURE = "furniture"
    ROOM = "room"


@dataclass(frozen=True, slots=True)
class Features:
    """Rows of the table.

    Attributes:
        spelling: of the noun's letters and words; never empty.
        identity: of the class that the catalogue knows it as; empty or one.
        kind: of a thing's groups, or of what furniture is like; empty if the catalogue has none.
    """

    spelling: tuple[int, ...]
    identity: tuple[int, ...]
    kind: tuple[int, ...]


def class_text(name: str) -> str:
    """A name as text: `kitchen_table_3`, `KitchenTable` and `kitchen table` are alike."""
    spaced = _CAMEL.sub(" ", _NUMBER.sub("", name.strip()))
    return _NOT_LETTERS.sub(" ", spaced.lower()).strip()


@lru_cache(maxsize=8192)
def features(name: str, noun: Noun) -> Features:
    """The features of a noun, given by name or as text."""
    text = class_text(name)
    identity, kind = _known(text, noun)
    return Features(
        _rows(_spelling(text), 0, _SPELLINGS),
        _rows(identity, _SPELLINGS, _IDENTITIES),
        _rows(kind, _SPELLINGS + _IDENTITIES, _KINDS),
    )


def _rows(words: Iterable[str], first: int, count: int) -> tuple[int, ...]:
    return tuple(sorted({first + _hashed(word) % count for word in words}))


def _hashed(word: str) -> int:
    digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _spelling(text: str) -> list[str]:
    words = text.split() or [""]
    found = [f"word {word}" for word in words]
    # Run together as well: VirtualHome writes kitchencabinet.
    for part in {*words, "".join(words)}:
        padded = f"<{part}>"
        for length in range(_SHORTEST, _LONGEST + 1):
            found += [padded[i : i + length] for i in range(len(padded) - length + 1)]
    return found


def _known(text: str, noun: Noun) -> tuple[list[str], list[str]]:
    """What the catalogue says: the class, and what it is like."""
    catalogue, joined = default_catalogue(), text.replace(" ", "")
    if noun is Noun.ROOM:
        room = catalogue.room_name(text) or _run_together()[Noun.ROOM].get(joined)
        return ([f"room {room}"] if room else []), []
    if noun is Noun.TARGET:
        thing = catalogue.object_name(text) or _run_together()[Noun.TARGET].get(joined)
        if thing is not None:
            return [f"object {thing}"], _object_kind(catalogue.objects[thing])
    piece = _furniture_class(text)
    if piece is not None:
        return [f"furniture {piece}"], _furniture_kind(catalogue.furniture[piece])
    return [], _shared_kind(text, catalogue) if noun is Noun.TARGET else []


def _shared_kind(text: str, catalogue: Catalogue) -> list[str]:
    """What all classes have in common that a phrase, or its last word, may mean."""
    meanings = default_word_meanings()
    meaning = meanings.find(text) or meanings.find(text.rpartition(" ")[2])
    if meaning is None or not meaning.objects:
        return []
    kinds = [set(_object_kind(catalogue.objects[name])) for name in meaning.objects]
    return sorted(set.intersection(*kinds))


def _object_kind(thing: ObjectClass) -> list[str]:
    return [f"group {group}" for group in thing.groups]


def _furniture_kind(piece: FurnitureClass) -> list[str]:
    found = [f"can be {affordance}" for affordance in piece.affordances]
    found += [f"holds {relation}" for relation in holding(piece)]
    return [*found, f"height {round(piece.size_max_m[2] * 2)}"]


def holding(piece: FurnitureClass) -> tuple[str, ...]:
    """How a class of furniture holds things: `on`, `open`, `closed`."""
    found = ["on"] if piece.surfaces else []
    found += ["open"] if any(hollow.joint is None for hollow in piece.interiors) else []
    found += ["closed"] if any(hollow.joint is not None for hollow in piece.interiors) else []
    return tuple(found)


def holding_of(name: str) -> tuple[str, ...] | None:
    """How a piece of furniture holds things; None if the catalogue does not know it."""
    piece = _furniture_class(class_text(name))
    return None if piece is None else holding(default_catalogue().furniture[piece])


def is_thing(name: str) -> bool:
    """Whether the catalogue knows a noun as a movable thing, and not as furniture."""
    text = class_text(name)
    joined = text.replace(" ", "")
    return _furniture_class(text) is None and (
        default_catalogue().object_name(text) is not None or joined in _run_together()[Noun.TARGET]
    )


def _furniture_class(text: str) -> str | None:
    joined = text.replace(" ", "")
    return default_catalogue().furniture_name(text) or _run_together()[Noun.FURNITURE].get(joined)


@lru_cache(maxsize=1)
def _run_together() -> dict[Noun, dict[str, str]]:
    """Classes by their names and aliases without spaces."""
    catalogue = default_catalogue()
    objects, furniture = catalogue.objects.values(), catalogue.furniture.values()
    listed = {
        Noun.TARGET: [(item.name, item.aliases) for item in objects],
        Noun.FURNITURE: [(item.name, item.aliases) for item in furniture],
        Noun.ROOM: [(item.name, item.aliases) for item in catalogue.rooms.values()],
    }
    return {
        noun: {
            class_text(word).replace(" ", ""): name
            for name, aliases in items
            for word in (*aliases, name)
        }
        for noun, items in listed.items()
    }
