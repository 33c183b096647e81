"""The network as an ONNX model, for OpenCV to run."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from planner.memory.learned.network import (
    FEATURES,
    HEADS,
    INPUT_CHANNELS,
    STRIDE,
    ConvSpec,
    Weights,
    network,
)

FEATURES_OUTPUT, HEADS_OUTPUT = "features", "heads"
_INPUT, _SCALES = "image", "double"
_IR_VERSION, _OPSET = 8, 13


def onnx_model(weights: Weights, height_px: int, width_px: int) -> bytes:
    """The serialised model for one picture of a size; outputs are `features` and `heads`."""
    writer = _Writer(weights)
    outputs = dict(zip(network(writer, _INPUT), (FEATURES_OUTPUT, HEADS_OUTPUT), strict=True))
    for node in writer.nodes:
        for names in (node.input, node.output):
            names[:] = [outputs.get(name, name) for name in names]
    size = (height_px // STRIDE, width_px // STRIDE)
    graph = helper.make_graph(
        writer.nodes,
        "memory",
        [_value(_INPUT, INPUT_CHANNELS, height_px, width_px)],
        [_value(FEATURES_OUTPUT, FEATURES, *size), _value(HEADS_OUTPUT, HEADS, *size)],
        writer.tensors,
    )
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, ir_version=_IR_VERSION, opset_imports=[opset])
    content: bytes = model.SerializeToString()
    return content


class _Writer:
    """Runs the network over the names of its intermediate values."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self.nodes: list[NodeProto] = []
        self.tensors = [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), _SCALES)]

    def conv(self, spec: ConvSpec, x: str) -> str:
        """A convolution, and negative values cut where asked."""
        names = [f"{spec.name}.{part}" for part in ("weight", "bias")]
        self.tensors += [numpy_helper.from_array(self._weights[name], name) for name in names]
        made = self._node(
            "Conv",
            [x, *names],
            kernel_shape=[spec.kernel] * 2,
            strides=[spec.stride] * 2,
            pads=[spec.padding] * 4,
        )
        return self._node("Relu", [made]) if spec.relu else made

    def add(self, x: str, y: str) -> str:
        """The sum, negative values cut."""
        return self._node("Relu", [self._node("Add", [x, y])])

    def double(self, x: str) -> str:
        """Twice as high and wide by repeating."""
        return self._node(
            "Resize",
            [x, "", _SCALES],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )

    def _node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output


def _value(name: str, channels: int, height: int, width: int) -> ValueInfoProto:
    shape = (1, channels, height, width)
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
