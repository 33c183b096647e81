"""A file of ranking weights is read, or refused with one error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from planner.planning.et_ranking.network import shapes
from planner.planning.et_ranking.weights import (
    VERSION,
    RankingFile,
    read_ranking,
    shipped_ranking,
    write_ranking,
)
from planner.world.errors import FileError


def some() -> RankingFile:
    rng = np.random.default_rng(1)
    weights = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes().items()}
    return RankingFile(weights, 0.05, {"recipe": "none"})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "ranking.safetensors"
    write_ranking(path, some())
    read = read_ranking(path)
    assert read.least_probability == 0.05
    assert read.notes == {"recipe": "none"}
    assert len(read.digest) == 12
    for name, weights in some().weights.items():
        assert np.allclose(read.weights[name], weights, atol=4e-3), name


def test_a_file_that_is_cut_off_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes(shipped_ranking().read_bytes()[:-1000])
    with pytest.raises(FileError, match=r"cut\.safetensors: cannot be read"):
        read_ranking(path)
    with pytest.raises(FileError, match="cannot be read"):
        read_ranking(tmp_path / "missing.safetensors")


def header(**changes: str) -> dict[str, str]:
    return {"planner_ranking_model": VERSION, "least_probability": "0.1", **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"planner_ranking_model": "0"}, "is of version '0'; expected version 1"),
        ({"least_probability": "often"}, "least_probability: is not a number"),
        ({"least_probability": "1.5"}, "expected 0 to 1, got 1.5"),
    ],
)
def test_another_header_is_one_error(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes(save(load(shipped_ranking().read_bytes()), header(**changes)))
    with pytest.raises(FileError, match=words):
        read_ranking(path)


def test_weights_of_something_else_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "else.safetensors"
    path.write_bytes(save({"look": np.zeros(3, np.float16)}))
    with pytest.raises(FileError, match="is not a ranking model"):
        read_ranking(path)
    weights = {**load(shipped_ranking().read_bytes()), "room.own": np.zeros(3, np.float16)}
    path.write_bytes(save(weights, header()))
    with pytest.raises(FileError, match=r"room\.own: expected the shape \(48,\), got \(3,\)"):
        read_ranking(path)
    weights["room.own"] = np.full(48, np.nan, np.float16)
    path.write_bytes(save(weights, header()))
    with pytest.raises(FileError, match="not finite"):
        read_ranking(path)
