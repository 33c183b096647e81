"""Half a dataset, another house's or another version's is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.world.errors import FileError
from planner.world.house import House
from sim_bridge.habitat.dataset.configs import layout_hash
from sim_bridge.habitat.dataset.writer import export_habitat, read_dataset


@pytest.fixture(scope="module")
def written(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_habitat(small_house, tmp_path_factory.mktemp("contents") / "small").directory


def _reason(directory: Path, house: House) -> str:
    with pytest.raises(FileError) as caught:
        read_dataset(directory, house)
    assert "\n" not in str(caught.value)
    assert "planner houses export habitat HOUSE -o DIR" in str(caught.value)
    return f"{caught.value.field}: {caught.value.reason}"


def test_what_was_written_is_read(written: Path, small_house: House, tmp_path: Path) -> None:
    assert read_dataset(written, small_house) == export_habitat(small_house, written)
    # Episodes bring their own things: they do not make it another house.
    assert read_dataset(written, small_house.layout).furniture


def test_a_wrong_place_is_reported(small_house: House, tmp_path: Path) -> None:
    assert "no such directory" in _reason(tmp_path / "nowhere", small_house)
    assert "has no dataset.json" in _reason(tmp_path, small_house)


def test_another_version_or_house_is_reported(written: Path, small_house: House) -> None:
    path = written / "dataset.json"
    good = path.read_text("utf-8")
    try:
        path.write_text(json.dumps({**json.loads(good), "version": 2}), encoding="utf-8")
        assert _reason(written, small_house).startswith("version: is 2")
    finally:
        path.write_text(good, encoding="utf-8")
    other = small_house.model_copy(update={"name": "other"})
    assert _reason(written, other).startswith("house: is 'small', not 'other'")
    emptier = small_house.model_copy(update={"furniture": small_house.furniture[1:]})
    assert _reason(written, emptier).startswith("sha256: is of another small")


@pytest.mark.parametrize(
    "name",
    [
        "semantics/scenes/small.semantic_config.json",
        "scenes/small.scene_instance.json",
        "stages/small.glb",
        "small.scene_dataset_config.json",
    ],
)
def test_a_missing_file_is_named(written: Path, small_house: House, name: str) -> None:
    kept = (written / name).read_bytes()
    (written / name).unlink()
    try:
        assert f"{name} is missing" in _reason(written, small_house)
    finally:
        (written / name).write_bytes(kept)


def test_a_file_elsewhere_is_refused(written: Path, small_house: House) -> None:
    path = written / "dataset.json"
    good = path.read_text("utf-8")
    try:
        path.write_text(json.dumps({**json.loads(good), "files": ["../x"]}), encoding="utf-8")
        with pytest.raises(FileError, match="is not within the dataset"):
            read_dataset(written, small_house)
    finally:
        path.write_text(good, encoding="utf-8")


def test_a_changed_copy_of_a_house_whose_layout_was_asked_for_has_another_hash(
    small_house: House,
) -> None:
    before = layout_hash(small_house)
    assert small_house.layout.furniture
    changed = small_house.model_copy(update={"furniture": small_house.furniture[1:]})
    assert layout_hash(changed) != before
    # Things are no part of it, as episodes replace them.
    assert layout_hash(small_house.model_copy(update={"objects": ()})) == before
