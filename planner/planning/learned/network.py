"""The reader: what an instruction says about its nouns and the entities that match them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.planning.learned.tokens import UNKNOWN, Token
from planner.world.process_resources import single_blas_thread

# Which words of an instruction may mean which entities, as matrices of 0 and 1.

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


WIDTH, HEADS, LAYERS, INNER, KEY = 64, 4, 3, 192, 32
# Relative positions beyond these count as these.
FAR = 24
# What one noun can be to another: where it is, what it is put on or in, or into which room, what it
# is put next to; that both go to the same piece, and that the one is done before the other; and
# what it is put on or in, or into which room, after it was brought somewhere first.
RELATIONS = (
    "at", "on", "within", "room", "next", "same", "before", "then on", "then within", "then room",
)  # fmt: skip
AT, ON, WITHIN, ROOM, NEXT, SAME, BEFORE, THEN_ON, THEN_WITHIN, THEN_ROOM = range(len(RELATIONS))
# What is said of a noun by itself: states, and that each goes to a piece of its own.
MARKS = ("clean", "filled", "powered_on", "powered_off", "apart")
# How many are asked for: one to four, or all.
NUMBERS = ("1", "2", "3", "4", "all")
_FAR_LOW = np.float32(-1e9)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an instruction of T tokens says, as likelihoods.

    Attributes:
        at: (T, T): token t's things are where u says; rows add up to 1 with `at_none`.
        at_none: (T,).
        goes: (3, T, T): t's things are to go on, into, or into the room u.
        then: (3, T, T): the same, after they were brought where `goes` says.
        next: (T, T): t's things are to be put next to u's.
        same, before: (T, T).
        marks: (T, MARKS).
        numbers: (T, NUMBERS), rows add up to 1.
    """

    at: Array
    at_none: Array
    goes: Array
    then: Array
    next: Array
    same: Array
    before: Array
    marks: Array
    numbers: Array


def reader_shapes(words: int) -> dict[str, tuple[int, ...]]:
    """The weights by name, for a vocabulary of so many words."""
    shapes: dict[str, tuple[int, ...]] = {
        "word": (words, WIDTH),
        "kind": (KINDS, WIDTH),
        "near": (LAYERS, HEADS, 2 * FAR + 1),
        "ask": (len(RELATIONS), WIDTH, KEY),
        "key": (len(RELATIONS), WIDTH, KEY),
        "near_relation": (len(RELATIONS), 2 * FAR + 1),
        "bias_relation": (len(RELATIONS),),
        "none": (WIDTH, 4),
        "mark": (WIDTH, len(MARKS)),
        "mark_bias": (len(MARKS),),
        "number": (WIDTH, len(NUMBERS)),
        "number_bias": (len(NUMBERS),),
        "last_scale": (WIDTH,),
        "last_shift": (WIDTH,),
    }
    for layer in range(LAYERS):
        for name, shape in (
            ("qkv", (WIDTH, 3 * WIDTH)),
            ("out", (WIDTH, WIDTH)),
            ("up", (WIDTH, INNER)),
            ("up_bias", (INNER,)),
            ("down", (INNER, WIDTH)),
            ("down_bias", (WIDTH,)),
            ("scale_1", (WIDTH,)),
            ("shift_1", (WIDTH,)),
            ("scale_2", (WIDTH,)),
            ("shift_2", (WIDTH,)),
        ):
            shapes[f"layer{layer}.{name}"] = shape
    return shapes


def word_ids(tokens: Sequence[Token], vocabulary: Mapping[str, int]) -> NDArray[np.int64]:
    """(T,): the network's numbers of the words."""
    unknown = vocabulary[UNKNOWN]
    return np.array([vocabulary.get(token.word, unknown) for token in tokens], np.int64)


@single_blas_thread
def read(
    weights: Mapping[str, Array], vocabulary: Mapping[str, int], tokens: Sequence[Token]
) -> Reading:
    """Reads an instruction."""
    kinds = kinds_of(tokens)
    x = weights["word"][word_ids(tokens, vocabulary)] + kinds @ weights["kind"]
    count = len(tokens)
    steps = np.clip(np.arange(count)[None, :] - np.arange(count)[:, None], -FAR, FAR) + FAR
    for layer in range(LAYERS):
        x = _layer(weights, f"layer{layer}.", weights["near"][layer][:, steps], x)
    x = _normal(x, weights["last_scale"], weights["last_shift"])
    asked = np.einsum("td,rdk->rtk", x, weights["ask"])
    keys = np.einsum("td,rdk->rtk", x, weights["key"])
    scores = np.einsum("rtk,ruk->rtu", asked, keys) / np.float32(np.sqrt(KEY))
    scores += weights["near_relation"][:, steps] + weights["bias_relation"][:, None, None]
    none = x @ weights["none"]
    thing, furniture, room, free = kinds[:, 0], kinds[:, 1], kinds[:, 2], kinds[:, 3]
    place = np.minimum(1, furniture + room + free)
    at, at_none = _choice(scores[AT : AT + 1], none[:, 0], place[None, None, :])
    pieces, rooms = np.minimum(1, furniture + free), np.minimum(1, room + free)
    places = np.stack([pieces, pieces, rooms])[:, None, :]
    goes, _ = _choice(scores[ON : ROOM + 1], none[:, 1], places)
    then, _ = _choice(scores[THEN_ON : THEN_ROOM + 1], none[:, 3], places)
    beside = np.minimum(1, thing + furniture + free)
    next_to, _ = _choice(scores[NEXT : NEXT + 1], none[:, 2], beside[None, None, :])
    return Reading(
        at[0],
        at_none,
        goes,
        then,
        next_to[0],
        _share(scores[SAME]),
        _share(scores[BEFORE]),
        _share(x @ weights["mark"] + weights["mark_bias"]),
        _shares(x @ weights["number"] + weights["number_bias"]),
    )


def _layer(weights: Mapping[str, Array], name: str, near: Array, x: Array) -> Array:
    count = len(x)
    inside = _normal(x, weights[name + "scale_1"], weights[name + "shift_1"])
    split = (inside @ weights[name + "qkv"]).reshape(count, 3, HEADS, WIDTH // HEADS)
    q, k, v = split.transpose(1, 2, 0, 3)
    scores = (q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS) + near).astype(np.float32)
    mixed = (_shares(scores) @ v).transpose(1, 0, 2).reshape(count, WIDTH)
    x = np.add(x, mixed @ weights[name + "out"], dtype=np.float32)
    inside = _normal(x, weights[name + "scale_2"], weights[name + "shift_2"])
    inner = np.maximum(0, inside @ weights[name + "up"] + weights[name + "up_bias"])
    found: Array = x + inner @ weights[name + "down"] + weights[name + "down_bias"]
    return found


def _normal(x: Array, scale: Array, shift: Array) -> Array:
    middle = x.mean(-1, keepdims=True)
    spread = ((x - middle) ** 2).mean(-1, keepdims=True)
    found: Array = (x - middle) / np.sqrt(spread + np.float32(1e-5)) * scale + shift
    return found


def _choice(scores: Array, none: Array, allowed: Array) -> tuple[Array, Array]:
    """One of (R, T, T) choices for each t, or none: shares, and that of none."""
    masked = np.where(allowed > 0, scores, _FAR_LOW)
    flat = masked.transpose(1, 0, 2).reshape(len(none), -1)
    shares = _shares(np.concatenate([flat, none[:, None]], 1))
    return shares[:, :-1].reshape(len(none), *scores.shape[::2]).transpose(1, 0, 2), shares[:, -1]


def _shares(scores: Array) -> Array:
    scaled = np.exp(scores - scores.max(-1, keepdims=True))
    found: Array = scaled / scaled.sum(-1, keepdims=True)
    return found


def _share(scores: Array) -> Array:
    found: Array = np.reciprocal(1 + np.exp(-scores), dtype=np.float32)
    return found


# What the instruction says of known entities: a reading, carried over by the matches.
#
# All values are likelihoods; the same formulas are in `planner.training.learned.reader`, where they
# are differentiated.


@dataclass(frozen=True, slots=True)
class Grounded:
    """F pieces of furniture, O things and T tokens.

    Attributes:
        furniture: (F, T): the token means the piece, with what is said of where it is.
        things: (O, T): the token means the thing, with what is said of where it was.
        goes: (3, O, F): it is to go on, into, or into the room of the piece.
        then: (3, O, F): the same, after it was brought where `goes` says.
        next_things: (O, O): it is to be put next to the other.
        next_furniture: (O, F).
    """

    furniture: Array
    things: Array
    goes: Array
    then: Array
    next_things: Array
    next_furniture: Array


def ground(reading: Reading, found: Matches) -> Grounded:
    """Grounds a reading."""
    none, at = reading.at_none[None, :], reading.at.T
    furniture = found.furniture * (none + found.in_room @ at)
    # A thing is where its furniture is, and in that room.
    where = found.thing_in_room
    if len(found.supports) and len(furniture):
        on = np.where(found.supports[:, None] >= 0, furniture[found.supports], np.float32(0))
        where = np.maximum(where, on)
    things = found.things * (none + where @ at)
    targets = (furniture, furniture, found.in_room)
    goes = np.stack([things @ reading.goes[k] @ target.T for k, target in enumerate(targets)])
    then = np.stack([things @ reading.then[k] @ target.T for k, target in enumerate(targets)])
    # Of two things of one noun either may be the one that is put next to the other, each by half;
    # and nothing is put next to itself.
    next_to = reading.next + np.diag(np.diagonal(reading.next))
    beside = things @ next_to @ things.T
    np.fill_diagonal(beside, 0)
    return Grounded(
        furniture,
        things,
        np.minimum(goes, 1),
        np.minimum(then, 1),
        np.minimum(beside, 1),
        np.minimum(things @ reading.next @ furniture.T, 1),
    )
