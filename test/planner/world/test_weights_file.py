"""Files of trained weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.world.errors import FileError
from planner.world.weights_file import read_weights, write_weights

WEIGHTS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3).T, "a": np.ones(2, np.float32)}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "weights.safetensors"
    write_weights(path, WEIGHTS, {"kind": "test", "notes": "ä"})
    weights, metadata = read_weights(path)
    assert metadata == {"kind": "test", "notes": "ä"}
    assert {name: w.dtype for name, w in weights.items()} == {"a": np.float32, "b": np.float32}
    for name, expected in WEIGHTS.items():
        np.testing.assert_array_equal(weights[name], expected)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_equal_contents_are_equal_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_weights(one, WEIGHTS, {"x": "1", "y": "2"})
    write_weights(two, dict(reversed(WEIGHTS.items())), {"y": "2", "x": "1"})
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("keep", [0, 4, 20, -1])
def test_a_file_that_is_cut_off_is_one_error(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "weights"
    write_weights(path, WEIGHTS, {})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FileError, match="cannot be read"):
        read_weights(path)


def test_a_place_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        write_weights(tmp_path / "file" / "weights", WEIGHTS, {})
