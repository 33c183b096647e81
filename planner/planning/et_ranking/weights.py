"""The file of a trained ranking: safetensors in half precision, its recipe in the header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from planner.planning.et_ranking.network import Weights, shapes
from planner.world.errors import FileError
from planner.world.files import read_bytes
from planner.world.share import config_dir
from planner.world.weights_file import (
    MAX_WEIGHTS_BYTES,
    header_value,
    read_weights,
    require_shapes,
    write_weights,
)

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
        least = header_value(path, metadata, _LEAST)
    except FileError as error:
        raise FileError(path, _LEAST, f"is not a number: {error.reason}") from None
    if not isinstance(least, float | int) or isinstance(least, bool):
        raise FileError(path, _LEAST, "is not a number")
    if not 0.0 <= least < 1.0:
        raise FileError(path, _LEAST, f"expected 0 to 1, got {least:g}")
    require_shapes(path, weights, shapes())
    digest = hashlib.sha256(read_bytes(path, MAX_WEIGHTS_BYTES)).hexdigest()[:12]
    return RankingFile(weights, float(least), metadata, digest)
