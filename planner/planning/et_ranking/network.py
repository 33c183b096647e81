"""The ranking model's network: embedded nouns, three small towers, and their products.

The vector of a noun that the catalogue knows is its class's row of the table plus the mean of its
kind's rows; that of another one is the mean of its spelling's rows, and of its kind's if its last
word has one. A target's tower meets the tower of each room, of each place in a room (a piece of
furniture and how it holds things), and of "not in this room". Scores are logits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from planner.planning.et_ranking.words import BUCKETS, Features, Noun, features

Array = NDArray[np.float32]
Weights = Mapping[str, Array]
WIDTH, HIDDEN = 24, 48


class Hold(IntEnum):
    """How a place holds things: on it, in what is always open, in what is closed."""

    ON = 0
    OPEN = 1
    CLOSED = 2


def shapes() -> dict[str, tuple[int, ...]]:
    """The shape of each array of weights."""
    tower = {
        "target": {"noun": WIDTH},
        "room": {"noun": WIDTH, "furniture": WIDTH},
        "place": {"noun": WIDTH, "room": WIDTH, "hold": len(Hold)},
        "absent": {"room": WIDTH, "furniture": WIDTH},
    }
    found: dict[str, tuple[int, ...]] = {"table": (BUCKETS, WIDTH)}
    for name, inputs in tower.items():
        found |= {f"{name}.{given}": (size, HIDDEN) for given, size in inputs.items()}
        found[f"{name}.bias"] = (HIDDEN,)
        if name != "target":
            found |= {f"{name}.product": (HIDDEN, HIDDEN), f"{name}.own": (HIDDEN,)}
    found["absent.level"] = (1,)
    return found


def parameter_count() -> int:
    """The number of weights."""
    return sum(int(np.prod(shape)) for shape in shapes().values())


def embed(weights: Weights, found: Sequence[Features]) -> Array:
    """(n, WIDTH) vectors of nouns."""
    table = weights["table"]
    rows = np.zeros((len(found), WIDTH), np.float32)
    for row, noun in zip(rows, found, strict=True):
        for part in (() if noun.identity else noun.spelling, noun.kind, noun.identity):
            if part:
                row += table[list(part)].mean(axis=0)
    return rows


def embed_names(weights: Weights, names: Sequence[str], noun: Noun) -> Array:
    """(n, WIDTH) vectors of nouns by name."""
    return embed(weights, [features(name, noun) for name in names])


def tower(weights: Weights, name: str, inputs: Mapping[str, Array]) -> Array:
    """(n, HIDDEN) one tower's output for n inputs of each kind."""
    total = weights[f"{name}.bias"]
    for given, values in inputs.items():
        total = total + values @ weights[f"{name}.{given}"]
    # A straight target: one that was never trained is then between those whose groups it shares.
    made: Array = total if name == "target" else np.maximum(total, 0.0)
    return made


def meet(weights: Weights, name: str, targets: Array, others: Array) -> Array:
    """(targets, others) logits of two towers' outputs."""
    logits: Array = (targets @ weights[f"{name}.product"]) @ others.T + others @ weights[
        f"{name}.own"
    ]
    return logits


def one_hot(holds: Sequence[Hold]) -> Array:
    """(n, 3) the ways of holding as vectors."""
    made: Array = np.eye(len(Hold), dtype=np.float32)[list(holds)]
    return made


def log_softmax(logits: Array) -> Array:
    """Along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    made: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return made
