"""Files of trained weights."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from damaged_weights import check_damage
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from planner.memory.learned.segments import read_model_file, shipped_model
from planner.planning.learned.chooser import read_planner, shipped_planner
from planner.skills.policy.handling import MANIPULATION
from planner.skills.policy.navigation_space import NAVIGATION
from planner.skills.policy.policy_file import read_policy, shipped_policy
from planner.world.errors import FileError
from planner.world.weights_file import header_names, read_weights, require_shapes, write_weights

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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_what_is_not_finite_is_refused_by_name(
    tmp_path: Path, value: float, kind: type[np.floating]
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(save({"good": np.ones(2, kind), "stem.bias": np.array([0.0, value], kind)}))
    with pytest.raises(FileError) as error:
        read_weights(path)
    assert str(error.value) == f"{path}: stem.bias: has values that are not finite"


def test_what_is_too_large_for_single_precision_is_not_finite(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(save({"a": np.array([1e300])}))
    with pytest.raises(FileError, match="a: has values that are not finite"):
        read_weights(path)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.bool_])
def test_numbers_of_another_type_are_refused(tmp_path: Path, kind: type[np.generic]) -> None:
    path = tmp_path / "weights"
    path.write_bytes(save({"a": np.ones(2, kind)}))
    with pytest.raises(FileError, match="a: has numbers of the type"):
        read_weights(path)


def _file(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


_BF16 = {"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 64,
        (2**63).to_bytes(8, "little") + b"{}",
        _file(b"[" * 200_000),
        _file([]),
        _file({"__metadata__": 5}),
        _file({"__metadata__": {"a": 5}}),
        _file({"__metadata__": {"a": {"b": "c"}}}),
        _file({"a": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
        _file({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)),
        _file({"a": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 4]}}, bytes(4)),
        _file({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
        _file(_BF16, bytes(2)),
    ],
)
def test_a_hostile_file_is_one_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights"
    path.write_bytes(content)
    with pytest.raises(FileError) as error:
        read_weights(path)
    assert str(error.value).startswith(f"{path}: ")


def test_only_a_regular_file_of_its_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    os.mkfifo(path)
    for other in (path, Path("/dev/zero"), tmp_path):
        with pytest.raises(FileError, match="not a regular file"):
            read_weights(other)
    path.unlink()
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(FileError, match="has more than"):
        read_weights(path)


@given(st.binary(max_size=200), st.integers(0, 10_000), st.integers(0, 255))
def test_a_changed_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, extra: bytes, at: int, byte: int
) -> None:
    path = tmp_path_factory.mktemp("mutated") / "weights"
    write_weights(path, WEIGHTS, {"kind": "test"})
    content = bytearray(path.read_bytes())
    content[at % len(content)] = byte
    path.write_bytes(bytes(content) + extra)
    said = ""
    try:
        weights, _ = read_weights(path)
        assert all(np.isfinite(array).all() for array in weights.values())
    except FileError as error:
        said = str(error)
    assert said == "" or said.startswith(f"{path}: ")


def test_shapes_are_compared(tmp_path: Path) -> None:
    require_shapes(tmp_path, WEIGHTS, {"a": (2,)})
    with pytest.raises(FileError, match=r"a: expected the shape \(3,\), got \(2,\)"):
        require_shapes(tmp_path, WEIGHTS, {"a": (3,)})
    with pytest.raises(FileError, match="c: is missing"):
        require_shapes(tmp_path, WEIGHTS, {"c": (3,)})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "is missing"),
        ("5", "is not a list of names"),
        ('"ab"', "is not a list of names"),
        ("[1]", "is not a list of names"),
        ('["a", "a"]', "has a name twice"),
        ("[", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("NaN", "is not JSON"),
        (json.dumps([str(n) for n in range(100_001)]), "has more than 100000 names"),
    ],
)
def test_a_header_that_has_no_names_is_refused(
    tmp_path: Path, text: str | None, reason: str
) -> None:
    metadata = {} if text is None else {"words": text}
    with pytest.raises(FileError, match=f"words: .*{reason}"):
        header_names(tmp_path, metadata, "words")


READERS: dict[str, tuple[Path, Callable[[Path], object]]] = {
    "memory": (shipped_model(), read_model_file),
    "planner": (shipped_planner(), read_planner),
    **{
        space.skill: (shipped_policy(space), lambda path, space=space: read_policy(path, space))
        for space in (MANIPULATION, NAVIGATION)
    },
}


@pytest.mark.parametrize(("path", "read"), READERS.values(), ids=READERS)
def test_what_ships_is_read_and_every_damage_to_it_refused(
    tmp_path: Path, path: Path, read: Callable[[Path], object]
) -> None:
    check_damage(path, read, tmp_path)
