"""Both stages of the learned planner's training, on a few tasks and one trace."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from trace_toys import make

from planner.episodes.episode_file import read_pack, write_pack
from planner.planning.learned.chooser import read_planner, shipped_planner
from planner.planning.learned.network import reader_shapes
from planner.training.learned.reader import ReaderRecipe
from planner.training.learned.training import (
    CHECKPOINT,
    MODEL_FILE,
    ChooserRecipe,
    LearnedRecipe,
    train_learned,
    write_checkpoint,
)
from planner.training.traces.folder import TraceFolder
from planner.world.errors import FileError, PlannerError
from planner.world.share import config_dir

pytest.importorskip("torch")
RECIPE = LearnedRecipe(ReaderRecipe(steps=3, batch=2), ChooserRecipe(steps=2, batch=2))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("data")
    pack = read_pack(config_dir() / "suites" / "partnr_val.json.gz")
    write_pack(folder / "tasks.json.gz", pack.episodes[::200], pack.houses)
    traces = TraceFolder(folder / "traces", {"seed": 1}, 1)
    turns = [{"call": "ExploreFurniture[Object.100]", "result": "Successful execution!"}]
    traces.write(0, [make(turns=[*turns, {"call": "Done[]"}])])
    traces.finish()
    return folder / "tasks.json.gz", folder / "traces"


def test_both_stages_are_trained_and_the_model_is_read_back(
    data: tuple[Path, Path], tmp_path: Path
) -> None:
    tasks, traces = data
    lines: list[str] = []
    path = train_learned([tasks], [traces], tmp_path, RECIPE, lines.append)
    model = read_planner(path)
    assert model.notes["tasks"] == "5"
    # The trace's verbs do not have the other call.
    assert model.notes["calls"] == "1"
    # The same command goes on from the reader's checkpoint, and other data is refused.
    train_learned([tasks], [traces], tmp_path, RECIPE, lines.append)
    assert "reader: goes on at step 3" in lines
    other = LearnedRecipe(ReaderRecipe(steps=4, batch=2), RECIPE.chooser)
    with pytest.raises(FileError, match="is of another recipe or other data"):
        train_learned([tasks], [traces], tmp_path, other, lines.append)


def test_only_the_chooser_is_trained_where_a_reader_is_given(
    data: tuple[Path, Path], tmp_path: Path
) -> None:
    tasks, traces = data
    given = read_planner(shipped_planner())
    recipe = replace(RECIPE, reader_of=shipped_planner())
    model = read_planner(train_learned([tasks], [traces], tmp_path, recipe, print))
    assert model.vocabulary == given.vocabulary
    same = {name for name, w in model.weights.items() if np.array_equal(w, given.weights[name])}
    assert same == set(reader_shapes(len(given.vocabulary)))
    assert "reader_of" in model.notes
    assert not (tmp_path / CHECKPOINT).exists()


def test_no_data_is_one_error(data: tuple[Path, Path], tmp_path: Path) -> None:
    tasks, _ = data
    pack = read_pack(tasks)
    write_pack(tmp_path / "none.json.gz", [], pack.houses)
    with pytest.raises(PlannerError, match="no task to learn from"):
        train_learned([tmp_path / "none.json.gz"], [], tmp_path, RECIPE, print)


@pytest.mark.parametrize("keep", [0, 60, 4000])
def test_half_a_checkpoint_is_one_error(data: tuple[Path, Path], tmp_path: Path, keep: int) -> None:
    tasks, traces = data
    train_learned([tasks], [traces], tmp_path, RECIPE, print)
    checkpoint = tmp_path / CHECKPOINT
    checkpoint.write_bytes(checkpoint.read_bytes()[:keep])
    with pytest.raises(FileError, match=r"reader\.npz: cannot be read"):
        train_learned([tasks], [traces], tmp_path, RECIPE, print)


def test_a_full_disk_is_one_error_and_keeps_the_checkpoint(
    data: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, traces = data
    train_learned([tasks], [traces], tmp_path, RECIPE, print)
    model, kept = tmp_path / MODEL_FILE, (tmp_path / CHECKPOINT).read_bytes()
    before = model.read_bytes()

    def full(path: Path, **_arrays: object) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez", full)
        with pytest.raises(FileError, match=r"cannot be written: .*No space left on device"):
            write_checkpoint(tmp_path / CHECKPOINT, "key", 1, {}, {})
    assert (tmp_path / CHECKPOINT).read_bytes() == kept
    train_learned([tasks], [traces], tmp_path, RECIPE, print)
    assert model.read_bytes() == before
