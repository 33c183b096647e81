"""A policy that drives a body by depth pictures: its space, network, file and one act."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import FileError, PlannerError
from planner.world.observation import CameraFrame, DepthImage, Intrinsics, Observation
from planner.world.primitive import Capabilities, Drive, DriveLimits, Primitive, PrimitiveName
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind
from planner.world.weights_file import header_value, read_weights, require_shapes, write_weights

if TYPE_CHECKING:
    from pathlib import Path

    from planner.skills.attempt import Attempt, Motion


# The form of what a policy observes and does: planes of cells, some numbers, and numbered acts.

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


# The network of a policy, in NumPy: three convolutions and two layers.

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


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A trained policy.

    Attributes:
        space: what it observes and does.
        body: the kind of body that it drives.
        weights: float32, by the names of `network_shapes`.
        notes: how it was trained, for the record.
    """

    space: PolicySpace
    weights: Mapping[str, Floats]
    notes: Mapping[str, str] = field(default_factory=dict)
    body: str = AgentKind.ROBOT.value


def shipped_policy(space: PolicySpace) -> Path:
    """The policy that comes with the package, of a robot."""
    return config_dir() / "models" / f"{space.skill}.safetensors"


def write_policy(path: Path, policy: PolicyFile) -> None:
    """Writes a policy, in half precision.

    Raises:
        FileError: where it cannot be written.
    """
    metadata = {
        **policy.notes,
        policy.space.header_key: policy.space.version,
        "body": policy.body,
        "space": json.dumps(dict(policy.space.described)),
    }
    write_weights(path, policy.weights, metadata)


def read_policy(path: Path, space: PolicySpace) -> PolicyFile:
    """Reads a policy.

    Raises:
        FileError: where it is missing, of another kind or version, or of another space.
    """
    weights, metadata = read_weights(path)
    key = space.header_key
    version = metadata.pop(key, None)
    if version is None:
        raise FileError(path, key, f"is missing: this is not a policy of {space.skill}")
    if version != space.version:
        raise FileError(path, key, f"expected version {space.version}, got {version}")
    written = header_value(path, metadata, "space")
    for name, value in space.described.items():
        got = written.get(name) if isinstance(written, dict) else None
        if got != value:
            raise FileError(path, f"space.{name}", f"expected {value}, got {got}")
    body = metadata.pop("body", "")
    if body not in {kind.value for kind in AgentKind}:
        raise FileError(path, "body", f"expected a kind of body, got {body!r}")
    require_shapes(path, weights, network_shapes(space))
    return PolicyFile(space, weights, metadata, body)


@lru_cache(maxsize=4)
def cached_policy(path: Path, space: PolicySpace) -> PolicyFile:
    """As `read_policy`, read once a process."""
    return read_policy(path, space)


# What skills with a policy share: waiting for a picture, and one act of driving.

Sensing = Generator[tuple[str, float], None, Observation]

# How often senses are asked before a body counts as blind.
_MAX_BLIND = 600


def check_body(
    path: Path, policy: PolicyFile, camera: str, agent: str, capabilities: Capabilities
) -> None:
    """Refuses a body that a policy was not made for.

    Raises:
        FileError: for a policy of another body.
        PlannerError: for a body without the policy's camera.
    """
    if policy.body != capabilities.kind:
        reason = f"is of a {policy.body}, and {agent} is a {capabilities.kind}"
        raise FileError(path, "body", reason)
    if camera not in capabilities.cameras:
        raise PlannerError(f"skill_kind learned: {agent} has no camera {camera!r}")


def speeds(declared: DriveLimits | None, attempt: Attempt) -> DriveLimits:
    """The limits that the body has declared, or, over ROS, those of its kind.

    Raises:
        PlannerError: where neither is known.
    """
    from planner.world.agents import body_of

    if declared is not None:
        return declared
    kind = attempt.scene.capabilities.kind
    body = body_of(kind)
    limits = None if body is None else body.capabilities(drives=True).drive
    if limits is None:
        raise PlannerError(f"skill_kind learned: how fast is a {kind} driven?")
    return limits


def sense(attempt: Attempt, camera: str, phase: str) -> Sensing:
    """What the body senses; waits for pictures that have not come yet.

    Raises:
        PlannerError: where none come.
    """
    for _ in range(_MAX_BLIND):
        attempt.end_if_out_of_time()
        seen = attempt.scene.port.observe((camera,))
        # Over ROS pictures come later than results: one of before the last act is no use.
        if seen is not None and camera in seen.cameras and seen.stamp_s >= attempt.ended_s:
            return seen
        yield phase, attempt.share(0.0)
    raise PlannerError(f"{attempt.scene.agent}: no pictures of its camera {camera!r} come")


def driven(attempt: Attempt, drive: Drive, phase: str) -> Motion:
    """Drives for one act."""
    return (yield from attempt.carry_out(Primitive(PrimitiveName.DRIVE, drive=drive), phase))


def shrunk(frame: CameraFrame, picture_px: int) -> tuple[DepthImage, Intrinsics]:
    """A picture with so many pixels a side, as policies were trained with."""
    height, width = frame.depth_m.shape
    rows = ((np.arange(picture_px) + 0.5) * height / picture_px).astype(np.intp)
    columns = ((np.arange(picture_px) + 0.5) * width / picture_px).astype(np.intp)
    depth_m = np.nan_to_num(frame.depth_m[np.ix_(rows, columns)], nan=0.0)
    camera, x, y = frame.intrinsics, picture_px / width, picture_px / height
    # Pixel k of the small picture is pixel rows[k] of the large one.
    return depth_m, Intrinsics(
        picture_px,
        picture_px,
        camera.fx_px * x,
        camera.fy_px * y,
        (camera.cx_px - float(columns[0])) * x,
        (camera.cy_px - float(rows[0])) * y,
    )
