"""The chooser: ranks an agent's possible calls by their features, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from planner.planning.learned.choices import FEATURES
from planner.planning.learned.matches import Array

HIDDEN = (96, 64)


def chooser_shapes() -> dict[str, tuple[int, ...]]:
    """The weights by name."""
    sizes = (len(FEATURES), *HIDDEN, 1)
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (before, after) in enumerate(pairwise(sizes)):
        shapes[f"choose{i}.weight"] = (before, after)
        shapes[f"choose{i}.bias"] = (after,)
    return shapes


def rank(weights: Mapping[str, Array], features: Array) -> Array:
    """(C,): the score of each call; the highest is chosen."""
    x = features
    for i in range(len(HIDDEN)):
        x = np.maximum(0, x @ weights[f"choose{i}.weight"] + weights[f"choose{i}.bias"])
    last = len(HIDDEN)
    scores: Array = (x @ weights[f"choose{last}.weight"] + weights[f"choose{last}.bias"])[:, 0]
    return scores
