"""The file of a trained model: safetensors, half precision, with its class list in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.memory.learned.classifier import classifier_shapes
from planner.memory.learned.network import Array, network_shapes
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
class Model:
    """Trained weights.

    Attributes:
        classes: names of the movable things it tells apart, in the network's order.
        weights: float32 by the names of `network_shapes` and `classifier_shapes`.
        notes: how it was trained, for the record.
    """

    classes: tuple[str, ...]
    weights: Mapping[str, Array]
    notes: Mapping[str, str]


def shipped_model() -> Path:
    """The model that comes with the package."""
    return config_dir() / "models" / "memory.safetensors"


def write_model(path: Path, model: Model) -> None:
    """Writes a model.

    Raises:
        FileError: where it cannot be written.
    """
    metadata = {
        **model.notes,
        "planner_memory_model": VERSION,
        "classes": json.dumps(model.classes),
    }
    write_weights(path, model.weights, metadata)


def read_model_file(path: Path) -> Model:
    """Reads a model.

    Raises:
        FileError: where it is missing, of another kind or version, or does not fit the network.
    """
    weights, metadata = read_weights(path)
    if metadata.pop("planner_memory_model", "") != VERSION:
        raise FileError(path, "planner_memory_model", f"is not a memory model of version {VERSION}")
    classes = header_names(path, metadata, "classes")
    require_shapes(path, weights, {**network_shapes(), **classifier_shapes(len(classes))})
    return Model(classes, weights, metadata)
