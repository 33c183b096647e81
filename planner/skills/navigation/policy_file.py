"""The file of a navigation policy: safetensors, with what it observes and does in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from planner.skills.navigation.network import network_shapes
from planner.skills.navigation.space import (
    ACT_S,
    ACTIONS,
    CAMERA,
    CELL_M,
    CELLS,
    FEATURES,
    LAYERS,
    PICTURE_PX,
    Floats,
)
from planner.world.errors import FileError
from planner.world.vocabulary import AgentKind

KIND = "planner_navigation_policy"
VERSION = "1"


def described_space() -> dict[str, object]:
    """What this version's policies observe and do, as their files say it."""
    return {
        "camera": CAMERA,
        "picture_px": PICTURE_PX,
        "cells": CELLS,
        "cell_m": CELL_M,
        "layers": list(LAYERS),
        "features": FEATURES,
        "actions": [list(action) for action in ACTIONS],
        "act_s": ACT_S,
    }


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A trained policy.

    Attributes:
        body: the kind of body that it drives.
        weights: float32, by the names of `network_shapes`.
        notes: how it was trained, for the record.
    """

    body: str
    weights: Mapping[str, Floats]
    notes: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(
        weights: Mapping[str, Floats], notes: Mapping[str, str], body: str = AgentKind.ROBOT.value
    ) -> PolicyFile:
        """A policy of this version's space."""
        return PolicyFile(body, weights, notes)


def write_policy(path: Path, policy: PolicyFile) -> None:
    """Writes a policy, in half precision.

    Raises:
        FileError: where it cannot be written.
    """
    from safetensors.numpy import save

    metadata = {
        **policy.notes,
        KIND: VERSION,
        "body": policy.body,
        "space": json.dumps(described_space()),
    }
    halves = {n: np.ascontiguousarray(w, np.float16) for n, w in policy.weights.items()}
    aside = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(save(halves, metadata))
        aside.replace(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error}") from None


def read_policy(path: Path) -> PolicyFile:
    """Reads a policy.

    Raises:
        FileError: where it is missing, of another kind or version, or of another space.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="np") as file:
            metadata: dict[str, str] = dict(file.metadata() or {})
            weights = {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    version = metadata.pop(KIND, None)
    if version is None:
        raise FileError(path, KIND, "is missing: this is no navigation policy")
    if version != VERSION:
        raise FileError(path, KIND, f"expected version {VERSION}, got {version}")
    try:
        space = json.loads(metadata.pop("space", "{}"))
    except ValueError:
        raise FileError(path, "space", "is not JSON") from None
    for name, value in described_space().items():
        got = space.get(name) if isinstance(space, dict) else None
        if got != value:
            raise FileError(path, f"space.{name}", f"expected {value}, got {got}")
    body = metadata.pop("body", "")
    if body not in {kind.value for kind in AgentKind}:
        raise FileError(path, "body", f"expected a kind of body, got {body!r}")
    for name, shape in network_shapes().items():
        if name not in weights:
            raise FileError(path, name, "is missing")
        if weights[name].shape != shape:
            raise FileError(path, name, f"expected the shape {shape}, got {weights[name].shape}")
        if not np.isfinite(weights[name]).all():
            raise FileError(path, name, "has a number that is not finite")
    return PolicyFile(body, weights, metadata)


@lru_cache(maxsize=2)
def cached_policy(path: Path) -> PolicyFile:
    """As `read_policy`, read once a process."""
    return read_policy(path)
