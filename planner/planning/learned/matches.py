"""Which words of an instruction may mean which entities, as matrices of 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.planning.learned.tokens import Token

Array = NDArray[np.float32]
# Of a noun: may be a thing, furniture, a room; known to no list; plural.
KINDS, OPEN_KIND = 5, 3


@dataclass(frozen=True, slots=True)
class Named:
    """An entity by its words.

    Attributes:
        class_name: `washer_dryer`.
        room: class of the room where it is, or for things was first known; "" = unknown.
        support: index of the furniture where a thing was first known; -1 = unknown.
    """

    class_name: str
    room: str = ""
    support: int = -1


@dataclass(frozen=True, slots=True)
class Matches:
    """By token: the furniture and things that it may mean, and those in a room that it may mean.

    Attributes:
        furniture, in_room: (F, T).
        things, thing_in_room: (O, T).
        supports: (O,), see `Named.support`.
    """

    furniture: Array
    in_room: Array
    things: Array
    thing_in_room: Array
    supports: NDArray[np.int64]


def match(tokens: Sequence[Token], furniture: Sequence[Named], things: Sequence[Named]) -> Matches:
    """Compares every token with every entity."""
    return Matches(
        _means(tokens, [f.class_name for f in furniture]),
        _rooms(tokens, [f.room for f in furniture]),
        _means(tokens, [t.class_name for t in things]),
        _rooms(tokens, [t.room for t in things]),
        np.array([t.support for t in things], np.int64),
    )


def kinds_of(tokens: Sequence[Token]) -> Array:
    """(T, KINDS): object, furniture, room, open noun, plural."""
    rows = [(bool(t.objects), bool(t.furniture), bool(t.rooms), t.open, t.plural) for t in tokens]
    return np.array(rows, np.float32).reshape(len(tokens), KINDS)


def _means(tokens: Sequence[Token], names: Sequence[str]) -> Array:
    known = {name: [float(token.means(name)) for token in tokens] for name in dict.fromkeys(names)}
    return np.array([known[name] for name in names], np.float32).reshape(len(names), len(tokens))


def _rooms(tokens: Sequence[Token], names: Sequence[str]) -> Array:
    known = {
        name: [float(token.means_room(name)) if name else 0.0 for token in tokens]
        for name in dict.fromkeys(names)
    }
    return np.array([known[name] for name in names], np.float32).reshape(len(names), len(tokens))
