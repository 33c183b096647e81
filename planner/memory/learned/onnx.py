"""The network as an ONNX model, for OpenCV to run: no library but this writes it.

Of ONNX's protocol buffers only the few messages that our operations need are written, by their
field numbers in onnx.proto (https://onnx.ai, opset 13).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from planner.memory.learned.network import (
    FEATURES,
    HEADS,
    INPUT_CHANNELS,
    STRIDE,
    Array,
    ConvSpec,
    Weights,
    network,
)

FEATURES_OUTPUT, HEADS_OUTPUT = "features", "heads"
_INPUT = "image"
_FLOAT, _STRING, _INTS = 1, 3, 7
_IR_VERSION, _OPSET = 8, 13


def onnx_model(weights: Weights, height_px: int, width_px: int) -> bytes:
    """The serialised model for one picture of a size; outputs are `features` and `heads`."""
    writer = _Writer(weights)
    features, heads = network(writer, _INPUT)
    writer.rename(features, FEATURES_OUTPUT)
    writer.rename(heads, HEADS_OUTPUT)
    size = (height_px // STRIDE, width_px // STRIDE)
    graph = b"".join(
        [
            *(_message(1, node) for node in writer.nodes()),
            _text(2, "memory"),
            *(_message(5, tensor) for tensor in writer.tensors),
            _message(11, _value(_INPUT, (1, INPUT_CHANNELS, height_px, width_px))),
            _message(12, _value(FEATURES_OUTPUT, (1, FEATURES, *size))),
            _message(12, _value(HEADS_OUTPUT, (1, HEADS, *size))),
        ]
    )
    opset = _text(1, "") + _number(2, _OPSET)
    return _number(1, _IR_VERSION) + _message(7, graph) + _message(8, opset)


class _Writer:
    """Runs the network over the names of its intermediate values."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[tuple[str, list[str], str, bytes]] = []
        self._names: dict[str, str] = {}
        self.tensors = [_tensor("double", np.array([1, 1, 2, 2], np.float32))]

    def conv(self, spec: ConvSpec, x: str) -> str:
        """A convolution, and what is negative cut where asked."""
        for part in ("weight", "bias"):
            name = f"{spec.name}.{part}"
            self.tensors.append(_tensor(name, self._weights[name]))
        attributes = (
            _ints("kernel_shape", [spec.kernel] * 2)
            + _ints("strides", [spec.stride] * 2)
            + _ints("pads", [spec.padding] * 4)
        )
        inputs = [x, f"{spec.name}.weight", f"{spec.name}.bias"]
        made = self._node("Conv", inputs, attributes)
        return self._node("Relu", [made]) if spec.relu else made

    def add(self, x: str, y: str) -> str:
        """The sum, negative values cut."""
        return self._node("Relu", [self._node("Add", [x, y])])

    def double(self, x: str) -> str:
        """Twice as high and wide by repeating."""
        attributes = (
            _string("mode", "nearest")
            + _string("coordinate_transformation_mode", "asymmetric")
            + _string("nearest_mode", "floor")
        )
        return self._node("Resize", [x, "", "double"], attributes)

    def rename(self, value: str, name: str) -> None:
        """Gives an output its name."""
        self._names[value] = name

    def nodes(self) -> Iterable[bytes]:
        """The serialised nodes in order."""
        for kind, inputs, output, attributes in self._nodes:
            named = b"".join(_text(1, self._names.get(name, name)) for name in inputs)
            made = self._names.get(output, output)
            yield named + _text(2, made) + _text(3, made) + _text(4, kind) + attributes

    def _node(self, kind: str, inputs: list[str], attributes: bytes = b"") -> str:
        output = f"v{len(self._nodes)}"
        self._nodes.append((kind, inputs, output, attributes))
        return output


def _tensor(name: str, values: Array) -> bytes:
    dims = b"".join(_number(1, size) for size in values.shape)
    raw = np.ascontiguousarray(values, "<f4").tobytes()
    return dims + _number(2, _FLOAT) + _text(8, name) + _message(9, raw)


def _value(name: str, shape: tuple[int, ...]) -> bytes:
    dims = b"".join(_message(1, _number(1, size)) for size in shape)
    tensor = _number(1, _FLOAT) + _message(2, dims)
    return _text(1, name) + _message(2, _message(1, tensor))


def _ints(name: str, values: list[int]) -> bytes:
    numbers = b"".join(_number(8, value) for value in values)
    return _message(5, _text(1, name) + numbers + _number(20, _INTS))


def _string(name: str, value: str) -> bytes:
    return _message(5, _text(1, name) + _text(4, value) + _number(20, _STRING))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
