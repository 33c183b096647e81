"""The network, written once over abstract operations: PyTorch trains it, OpenCV runs it.

It reads colours, depth and height and tells for every fourth pixel whether a movable thing is
there, where the middle of that thing's box is, and whether a piece of furniture stands open. All
of it is convolutions, so that pictures of any size (in multiples of 16) do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Array = NDArray[np.float32]
Weights = Mapping[str, Array]

STRIDE = 4
INPUT_CHANNELS = 5
FEATURES = 48
# Of the heads: whether a thing is there, whether furniture is open (both before the sigmoid),
# and the way to the middle of the thing's box in the optical frame, in units of OFFSET_UNIT_M.
HEADS = 5
OFFSET_UNIT_M = 0.1


@dataclass(frozen=True, slots=True)
class ConvSpec:
    """A convolution with as much padding as keeps the size at stride 1.

    `scaled` ones are followed by a normalisation in training, which is folded into the weights
    afterwards.
    """

    name: str
    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    relu: bool = True
    scaled: bool = True

    @property
    def padding(self) -> int:
        """Pixels added at each side."""
        return self.kernel // 2 if self.stride < self.kernel else 0


class Operations(Protocol[T]):
    """What the network is made of."""

    def conv(self, spec: ConvSpec, x: T) -> T:
        """A convolution."""

    def add(self, x: T, y: T) -> T:
        """The sum, negative values cut."""

    def double(self, x: T) -> T:
        """Twice as high and wide by repeating."""


def network(ops: Operations[T], x: T) -> tuple[T, T]:
    """(features, heads) of an input of (n, INPUT_CHANNELS, h, w): a fourth of h and w each."""
    fine = ops.conv(ConvSpec("stem", INPUT_CHANNELS, 32, kernel=4, stride=4), x)
    fine = _residual(ops, "fine", fine, 32)
    middle = ops.conv(ConvSpec("middle.in", 32, 64, stride=2), fine)
    middle = _residual(ops, "middle", middle, 64)
    coarse = ops.conv(ConvSpec("coarse.in", 64, 96, stride=2), middle)
    coarse = _residual(ops, "coarse", coarse, 96)
    back = ops.conv(ConvSpec("coarse.out", 96, 64, kernel=1, relu=False), coarse)
    middle = ops.add(middle, ops.double(back))
    back = ops.conv(ConvSpec("middle.out", 64, 32, kernel=1, relu=False), middle)
    fine = ops.add(fine, ops.double(back))
    features = ops.conv(ConvSpec("features", 32, FEATURES), fine)
    heads = ops.conv(
        ConvSpec("heads", FEATURES, HEADS, kernel=1, relu=False, scaled=False), features
    )
    return features, heads


def _residual(ops: Operations[T], name: str, x: T, channels: int) -> T:
    inner = ops.conv(ConvSpec(f"{name}.1", channels, channels), x)
    return ops.add(x, ops.conv(ConvSpec(f"{name}.2", channels, channels, relu=False), inner))


class _Listing:
    """Runs the network for the list of its convolutions."""

    def __init__(self) -> None:
        self.specs: list[ConvSpec] = []

    def conv(self, spec: ConvSpec, x: None) -> None:  # noqa: ARG002 - nothing is computed
        """Notes the convolution."""
        self.specs.append(spec)

    def add(self, x: None, y: None) -> None:
        """Nothing to note."""

    def double(self, x: None) -> None:
        """Nothing to note."""


def convolutions() -> tuple[ConvSpec, ...]:
    """All of the network's convolutions in order."""
    listing = _Listing()
    network(listing, None)
    return tuple(listing.specs)


def network_shapes() -> dict[str, tuple[int, ...]]:
    """The network's weights by name."""
    shapes: dict[str, tuple[int, ...]] = {}
    for spec in convolutions():
        shapes[f"{spec.name}.weight"] = (spec.outputs, spec.inputs, spec.kernel, spec.kernel)
        shapes[f"{spec.name}.bias"] = (spec.outputs,)
    return shapes
