"""The file of a policy: safetensors, with what it observes and does in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from planner.skills.policy.network import network_shapes
from planner.skills.policy.space import Floats, PolicySpace
from planner.world.errors import FileError
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind
from planner.world.weights_file import (
    header_value,
    read_weights,
    require_shapes,
    write_weights,
)


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
