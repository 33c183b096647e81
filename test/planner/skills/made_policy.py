"""Policies written by hand: files that learned skills read, without training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from planner.skills.policy.navigation_space import ACTIONS, FEATURES, NAVIGATION
from planner.skills.policy.policy_file import Floats, PolicyFile, network_shapes, write_policy


def _blank() -> dict[str, Floats]:
    return {name: np.zeros(shape, np.float32) for name, shape in network_shapes(NAVIGATION).items()}


def blank_policy(path: Path, body: str = "robot") -> Path:
    """A file of weights that are all zero: it goes straight on."""
    write_policy(path, PolicyFile(NAVIGATION, _blank(), body=body))
    return path


def homing_policy(path: Path, body: str = "robot") -> Path:
    """A file whose policy turns to its goal and goes there, blind for what is between."""
    weights = _blank()
    sine = weights["hidden.weight"].shape[1] - FEATURES + 2
    cosine = sine + 1
    # The goal is to the left, to the right, behind.
    for unit, (column, sign) in enumerate(((sine, 1.0), (sine, -1.0), (cosine, -1.0))):
        weights["hidden.weight"][unit, column] = sign
    left, right = ACTIONS.index((0.0, 1.0)), ACTIONS.index((0.0, -1.0))
    weights["action.weight"][left, 0] = weights["action.weight"][right, 1] = 1.0
    weights["action.weight"][left, 2] = 2.0
    # Straight on while the goal is less than about 20 degrees to a side.
    weights["action.bias"][ACTIONS.index((1.0, 0.0))] = 0.35
    weights["action.bias"][[ACTIONS.index(act) for act in ACTIONS if act[0] > 0 and act[1]]] = -1.0
    write_policy(path, PolicyFile(NAVIGATION, weights, body=body))
    return path
