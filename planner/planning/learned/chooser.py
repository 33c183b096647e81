"""The chooser: ranks an agent's possible calls by their features, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from planner.planning.learned.call_features import FEATURES
from planner.planning.learned.matches import Array
from planner.world.blas_threads import single_blas_thread
from planner.world.skill import SkillName

HIDDEN = (96, 64)


def chooser_shapes() -> dict[str, tuple[int, ...]]:
    """The weights by name."""
    sizes = (len(FEATURES), *HIDDEN, 1)
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (before, after) in enumerate(pairwise(sizes)):
        shapes[f"choose{i}.weight"] = (before, after)
        shapes[f"choose{i}.bias"] = (after,)
    return shapes


def best(verbs: Sequence[str], ranks: Array) -> int:
    """The index of the call to make: the most likely one, where all looks count as one.

    A search has many looks that are each as good as the next; one unlikely call of another verb
    must not win because they share what speaks for searching. Of walks it is otherwise: where a
    thing can be put down at many pieces, all of them together must not lead away from the one that
    it was brought to.

    Args:
        verbs: of each call.
        ranks: (C,) as of `rank`, logarithms of likelihoods.
    """
    weights = np.exp(ranks - ranks.max())
    looks = [i for i, verb in enumerate(verbs) if verb == SkillName.EXPLORE_FURNITURE]
    others = [i for i, verb in enumerate(verbs) if verb != SkillName.EXPLORE_FURNITURE]
    other = max(others, key=lambda i: float(ranks[i]), default=None)
    if looks and (other is None or float(weights[looks].sum()) > float(weights[other])):
        return max(looks, key=lambda i: float(ranks[i]))
    assert other is not None  # noqa: S101 - there is always a call
    return other


@single_blas_thread
def rank(weights: Mapping[str, Array], features: Array) -> Array:
    """(C,): the score of each call; the highest is chosen."""
    x = features
    for i in range(len(HIDDEN)):
        x = np.maximum(0, x @ weights[f"choose{i}.weight"] + weights[f"choose{i}.bias"])
    last = len(HIDDEN)
    scores: Array = (x @ weights[f"choose{last}.weight"] + weights[f"choose{last}.bias"])[:, 0]
    return scores
