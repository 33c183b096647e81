"""The form of what a policy observes and does: planes of cells, some numbers, and numbered acts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Planes of all policies are squares with so many cells a side.
CELLS = 64

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Acts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PolicySpace:
    """What one kind of policy observes and does.

    An observation is (CELLS, CELLS) bytes and (features,) numbers; `layers_of` makes of many of
    them what the network reads.

    Attributes:
        skill: as `planner train skill` names it.
        version: of the space; files of another one are refused.
        described: everything that has to be the same in a policy's file.
        max_code: the highest byte of an observation.
        layers: planes that the network reads.
        features: numbers beside them.
        actions: how many acts there are.
        layers_of: (n, layers, CELLS, CELLS) of (n, CELLS, CELLS) bytes and (n, features).
        mirrored: bytes, features and acts with left and right exchanged.
    """

    skill: str
    version: str
    described: Mapping[str, object]
    max_code: int
    layers: int
    features: int
    actions: int
    layers_of: Callable[[Bytes, Floats], Floats]
    mirrored: Callable[[Bytes, Floats, Acts], tuple[Bytes, Floats, Acts]]

    @property
    def header_key(self) -> str:
        """What says in a file's header that it has such a policy, with the version."""
        return f"planner_{self.skill}_policy"
