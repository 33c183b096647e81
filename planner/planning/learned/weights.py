"""The file of a trained planner: safetensors, half precision, with its vocabulary in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from planner.planning.learned.call_features import FEATURES
from planner.planning.learned.chooser import chooser_shapes
from planner.planning.learned.matches import Array
from planner.planning.learned.network import reader_shapes
from planner.world.errors import FileError
from planner.world.share import config_dir

VERSION = "1"


@dataclass(frozen=True, slots=True)
class PlannerModel:
    """Trained weights.

    Attributes:
        vocabulary: numbers of the words.
        weights: float32, by the names of `reader_shapes` and `chooser_shapes`.
        notes: how it was trained, for the record.
    """

    vocabulary: Mapping[str, int]
    weights: Mapping[str, Array]
    notes: Mapping[str, str]


def shipped_planner() -> Path:
    """The model that comes with the package."""
    return config_dir() / "models" / "planner.safetensors"


def write_planner(path: Path, model: PlannerModel) -> None:
    """Writes a model.

    Raises:
        FileError: where it cannot be written.
    """
    from safetensors.numpy import save

    words = sorted(model.vocabulary, key=model.vocabulary.__getitem__)
    metadata = {
        **model.notes,
        "planner_learned_model": VERSION,
        "vocabulary": json.dumps(words),
        "features": json.dumps([str(name) for name in FEATURES]),
    }
    halves = {n: np.ascontiguousarray(w, np.float16) for n, w in model.weights.items()}
    aside = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(_in_order(save(halves, metadata)))
        aside.replace(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error}") from None


def _in_order(content: bytes) -> bytes:
    """The file with its header in the order of names, so that equal models are equal files."""
    size = int.from_bytes(content[:8], "little")
    ordered = json.dumps(
        json.loads(content[8 : 8 + size]),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    header = ordered.encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def read_planner(path: Path) -> PlannerModel:
    """Reads a model.

    Raises:
        FileError: where it is missing, of another kind or version, or does not fit this network.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="np") as file:
            metadata: dict[str, str] = dict(file.metadata() or {})
            weights = {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    if metadata.pop("planner_learned_model", "") != VERSION:
        raise FileError(path, "planner_learned_model", f"is not a planner of version {VERSION}")
    words = json.loads(metadata.pop("vocabulary", "[]"))
    if json.loads(metadata.pop("features", "[]")) != [str(name) for name in FEATURES]:
        raise FileError(path, "features", "are others than this version ranks calls by")
    for name, shape in {**reader_shapes(len(words)), **chooser_shapes()}.items():
        if name not in weights:
            raise FileError(path, name, "is missing")
        if weights[name].shape != shape:
            raise FileError(path, name, f"expected the shape {shape}, got {weights[name].shape}")
    return PlannerModel({word: i for i, word in enumerate(words)}, weights, metadata)


@lru_cache(maxsize=2)
def cached_planner(path: Path) -> PlannerModel:
    """As `read_planner`, read once a process."""
    return read_planner(path)
