"""Classifies segments: a small perceptron on a segment's descriptor, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.memory.learned.network import OFFSET_UNIT_M, Array, Weights
from planner.memory.learned.segments import DESCRIPTION

HIDDEN = 192
# Outputs: "no thing", the classes, and the offset to the centre of the thing's box.
_OFFSET = 3


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The classifier's outputs.

    Attributes:
        chances: (n, 1 + classes); the first is "no movable thing".
        ways_m: (n, 3) from the centre of the segment's points to the thing's, optical frame.
    """

    probabilities: Array
    offsets_m: Array


def classifier_shapes(classes: int) -> dict[str, tuple[int, ...]]:
    """The classifier's weights by name."""
    return {
        "look.1.weight": (HIDDEN, DESCRIPTION),
        "look.1.bias": (HIDDEN,),
        "look.2.weight": (1 + classes + _OFFSET, HIDDEN),
        "look.2.bias": (1 + classes + _OFFSET,),
    }


def classify(weights: Weights, descriptions: Array) -> ClassScores:
    """The outputs for (n, DESCRIPTION) descriptors."""
    hidden = np.maximum(descriptions @ weights["look.1.weight"].T + weights["look.1.bias"], 0)
    made = hidden @ weights["look.2.weight"].T + weights["look.2.bias"]
    logits, offsets = made[:, :-_OFFSET], made[:, -_OFFSET:]
    logits = logits - logits.max(axis=1, keepdims=True)
    probabilities = np.exp(logits)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return ClassScores(
        probabilities.astype(np.float32), (offsets * OFFSET_UNIT_M).astype(np.float32)
    )
