"""The network: its inputs, its layers, and its ONNX model for OpenCV to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics

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


# The network as an ONNX model, for OpenCV to run.

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


# What the network is shown: a camera frame as numbers, and where its cells lie in space.

# Depth and height are scaled so that most values lie between 0 and 1; far ones are cut.
_DEPTH_UNIT_M, _MAX_DEPTH = 4.0, 2.0
_HEIGHT_UNIT_M, _HEIGHT_LIMITS = 2.0, (-0.5, 1.5)
# A cell stands for the pixel at its middle.
CELL_PIXEL = STRIDE // 2


def network_input(frame: CameraFrame) -> Array:
    """(INPUT_CHANNELS, h, w): red, green, blue, depth and height above the floor of `map`.

    Where there is no finite depth above 0, depth and height are 0.
    """
    height, width = frame.depth_m.shape
    depth = clean_depth(frame.depth_m)
    image = np.empty((INPUT_CHANNELS, height, width), np.float32)
    image[:3] = np.moveaxis(frame.rgb, 2, 0)
    image[:3] *= np.float32(1 / 255)
    image[:3] -= np.float32(0.5)
    np.minimum(depth * np.float32(1 / _DEPTH_UNIT_M), _MAX_DEPTH, out=image[3])
    low, high = _HEIGHT_LIMITS
    heights = _heights(frame.intrinsics, frame.pose, depth)
    image[4] = np.where(depth > 0, np.clip(heights / np.float32(_HEIGHT_UNIT_M), low, high), 0)
    return image


def clean_depth(depth_m: NDArray[np.float32]) -> Array:
    """Depth with 0 in place of what is not finite or not above 0."""
    clean: Array = np.where(np.isfinite(depth_m) & (depth_m > 0), depth_m, 0).astype(np.float32)
    return clean


def _heights(intrinsics: Intrinsics, pose: Pose, depth_m: Array) -> Array:
    """(h, w) heights of the pixels' points in `map`."""
    down = pose.rotation()[2]
    height, width = depth_m.shape
    across = (np.arange(width, dtype=np.float32) - intrinsics.cx_px) / intrinsics.fx_px * down[0]
    along = (np.arange(height, dtype=np.float32) - intrinsics.cy_px) / intrinsics.fy_px * down[
        1
    ] + down[2]
    slope = across.astype(np.float32)[None, :] + along.astype(np.float32)[:, None]
    heights: Array = depth_m * slope + np.float32(pose.position_m[2])
    return heights


def cell_points(intrinsics: Intrinsics, depth_m: Array) -> tuple[Array, NDArray[np.bool_]]:
    """(h / 4, w / 4, 3) points of the cells in the optical frame, and where there is depth."""
    cells = depth_m[CELL_PIXEL::STRIDE, CELL_PIXEL::STRIDE]
    rows, columns = cells.shape
    u = np.arange(columns, dtype=np.float32) * STRIDE + CELL_PIXEL
    v = np.arange(rows, dtype=np.float32) * STRIDE + CELL_PIXEL
    x = cells * ((u - np.float32(intrinsics.cx_px)) / np.float32(intrinsics.fx_px))[None, :]
    y = cells * ((v - np.float32(intrinsics.cy_px)) / np.float32(intrinsics.fy_px))[:, None]
    points: Array = np.stack([x, y, cells], axis=-1).astype(np.float32)
    return points, cells > 0
