"""What every reader of shipped weights has to refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from planner.world.errors import FileError
from planner.world.weights_file import read_weights, write_weights


def check_damage(path: Path, read: Callable[[Path], object], folder: Path) -> None:
    """A file is read, and with any part of it damaged refused, which names the part."""
    assert read(path) is not None
    weights, metadata = read_weights(path)
    broken = folder / "broken.safetensors"
    for name in sorted(weights)[:3]:
        halves = {**weights, name: np.full_like(weights[name], np.nan)}
        write_weights(broken, halves, metadata)
        with pytest.raises(FileError, match="not finite"):
            read(broken)
        write_weights(broken, {**weights, name: np.ones((1, 7, 1), np.float32)}, metadata)
        with pytest.raises(FileError, match="expected the shape"):
            read(broken)
        write_weights(broken, {n: w for n, w in weights.items() if n != name}, metadata)
        with pytest.raises(FileError, match="is missing"):
            read(broken)
    values = ("5", '"x"', "[1]", "{}", "null", "NaN", "[", "[" * 5000, "1e999")
    for key in ("vocabulary", "features", "classes", "least_probability", "space"):
        for value in values if key in metadata else ():
            write_weights(broken, weights, {**metadata, key: value})
            with pytest.raises(FileError) as error:
                read(broken)
            assert key in error.value.field
