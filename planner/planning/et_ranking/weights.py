"""The file of a trained ranking: safetensors in half precision, its recipe in the header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from planner.planning.et_ranking.network import Weights, shapes
from planner.world.errors import FileError
from planner.world.share import config_dir
from planner.world.weights_file import read_weights, write_weights

VERSION = "1"
_KEY = "planner_ranking_model"
# In the header: the safety margin below which furniture is not searched, and the rest is told.
_LEAST = "least_probability"


@dataclass(frozen=True, slots=True)
class RankingFile:
    """A trained ranking.

    Attributes:
        weights: float32 by the names of `network.shapes`.
        least_probability: furniture that is less likely to hide the target is not proposed.
        notes: how it was trained, for the record.
        digest: the start of the file's SHA-256; "" before it is written.
    """

    weights: Weights
    least_probability: float
    notes: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""


def shipped_ranking() -> Path:
    """The ranking that comes with the package."""
    return config_dir() / "models" / "et_ranking.safetensors"


def write_ranking(path: Path, ranking: RankingFile) -> None:
    """Writes a ranking.

    Raises:
        FileError: where it cannot be written.
    """
    metadata = {**ranking.notes, _KEY: VERSION, _LEAST: json.dumps(ranking.least_probability)}
    write_weights(path, ranking.weights, metadata)


def read_ranking(path: Path) -> RankingFile:
    """Reads a ranking; a file that did not change is read once a process.

    Raises:
        FileError: where it is missing, cut off, of another kind or version, or does not fit.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise FileError(path, "", f"cannot be read: {error.strerror}") from None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, _changed_ns: int, _size: int) -> RankingFile:
    weights, metadata = read_weights(path)
    version = metadata.pop(_KEY, None)
    if version != VERSION:
        found = "is not a ranking model" if version is None else f"is of version {version!r}"
        raise FileError(path, _KEY, f"{found}; expected version {VERSION}")
    try:
        least = float(json.loads(metadata.pop(_LEAST)))
    except (KeyError, ValueError, TypeError):
        raise FileError(path, _LEAST, "is not a number") from None
    if not 0.0 <= least < 1.0:
        raise FileError(path, _LEAST, f"expected 0 to 1, got {least:g}")
    for name, shape in shapes().items():
        got = weights[name].shape if name in weights else None
        if got != shape:
            raise FileError(path, name, f"has shape {got}, not {shape}")
        if not np.isfinite(weights[name]).all():
            raise FileError(path, name, "has values that are not finite")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return RankingFile(weights, least, metadata, digest)
