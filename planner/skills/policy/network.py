"""The network of a policy, in NumPy: three convolutions and two layers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.skills.policy.space import CELLS, Floats, PolicySpace

# Channels, kernel and stride of each convolution, and units of the hidden layer.
CONVOLUTIONS = ((16, 5, 2), (32, 3, 2), (32, 3, 2))
HIDDEN = 128


def network_shapes(space: PolicySpace) -> dict[str, tuple[int, ...]]:
    """The weights by name."""
    shapes: dict[str, tuple[int, ...]] = {}
    channels, side = space.layers, CELLS
    for number, (out, kernel, stride) in enumerate(CONVOLUTIONS):
        shapes[f"convolution.{number}.weight"] = (out, channels, kernel, kernel)
        shapes[f"convolution.{number}.bias"] = (out,)
        channels, side = out, side // stride
    shapes["hidden.weight"] = (HIDDEN, channels * side * side + space.features)
    shapes["hidden.bias"] = (HIDDEN,)
    shapes["action.weight"] = (space.actions, HIDDEN)
    shapes["action.bias"] = (space.actions,)
    return shapes


def scores(weights: Mapping[str, Floats], layers: Floats, features: Floats) -> Floats:
    """(n, actions) logarithms of how good each act is, up to a constant."""
    x = layers
    for number, (_, kernel, stride) in enumerate(CONVOLUTIONS):
        weight = weights[f"convolution.{number}.weight"]
        x = _convolved(x, weight, kernel, stride)
        x += weights[f"convolution.{number}.bias"][:, None, None]
        np.maximum(x, 0.0, out=x)
    flat = np.concatenate([x.reshape(len(x), -1), features], axis=1)
    hidden = np.maximum(flat @ weights["hidden.weight"].T + weights["hidden.bias"], 0.0)
    found: Floats = hidden @ weights["action.weight"].T + weights["action.bias"]
    return found


def _convolved(x: Floats, weight: Floats, kernel: int, stride: int) -> Floats:
    edge = kernel // 2
    padded = np.pad(x, ((0, 0), (0, 0), (edge, edge), (edge, edge)))
    # Of the shape n, channels, rows, columns, kernel, kernel.
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    count, channels, rows, columns = windows.shape[:4]
    flat = windows.transpose(0, 2, 3, 1, 4, 5).reshape(count * rows * columns, -1)
    out = flat @ weight.reshape(len(weight), channels * kernel * kernel).T
    return np.ascontiguousarray(out.reshape(count, rows, columns, -1).transpose(0, 3, 1, 2))
