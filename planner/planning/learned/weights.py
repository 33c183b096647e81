"""The file of a trained planner: safetensors, half precision, with its vocabulary in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from planner.planning.learned.call_features import FEATURES
from planner.planning.learned.chooser import chooser_shapes
from planner.planning.learned.matches import Array
from planner.planning.learned.network import reader_shapes
from planner.world.errors import FileError
from planner.world.share import config_dir
from planner.world.weights_file import (
    header_names,
    read_weights,
    require_shapes,
    write_weights,
)

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
    words = sorted(model.vocabulary, key=model.vocabulary.__getitem__)
    metadata = {
        **model.notes,
        "planner_learned_model": VERSION,
        "vocabulary": json.dumps(words),
        "features": json.dumps([str(name) for name in FEATURES]),
    }
    write_weights(path, model.weights, metadata)


def read_planner(path: Path) -> PlannerModel:
    """Reads a model.

    Raises:
        FileError: where it is missing, of another kind or version, or does not fit this network.
    """
    weights, metadata = read_weights(path)
    if metadata.pop("planner_learned_model", "") != VERSION:
        raise FileError(path, "planner_learned_model", f"is not a planner of version {VERSION}")
    words = header_names(path, metadata, "vocabulary")
    if header_names(path, metadata, "features") != tuple(str(name) for name in FEATURES):
        raise FileError(path, "features", "are others than this version ranks calls by")
    require_shapes(path, weights, {**reader_shapes(len(words)), **chooser_shapes()})
    return PlannerModel({word: i for i, word in enumerate(words)}, weights, metadata)


@lru_cache(maxsize=2)
def cached_planner(path: Path) -> PlannerModel:
    """As `read_planner`, read once a process."""
    return read_planner(path)
