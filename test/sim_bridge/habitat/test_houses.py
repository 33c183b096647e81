"""Houses are written once, found again, and mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import FileError
from planner.world.house import House
from sim_bridge.habitat.footprints import write_footprints
from sim_bridge.habitat.houses import write_house_dataset


@pytest.mark.slow
def test_a_house_is_written_once_and_mended(small_house: House, tmp_path: Path) -> None:
    catalogue = default_catalogue()
    first = write_house_dataset(small_house, str(tmp_path), catalogue)
    assert first.things == {}
    assert set(first.furniture) == set(small_house.furniture_by_name)
    written = first.config.stat().st_mtime_ns
    again = write_house_dataset(small_house, str(tmp_path), catalogue)
    assert again.config == first.config
    assert again.config.stat().st_mtime_ns == written
    first.stage.unlink()
    assert write_house_dataset(small_house, str(tmp_path), catalogue).stage.is_file()
    assert [path.name for path in tmp_path.iterdir()] == [first.directory.name]
    moved = small_house.furniture[0].model_copy(update={"x_m": small_house.furniture[0].x_m + 0.01})
    other = small_house.model_copy(update={"furniture": (moved, *small_house.furniture[1:])})
    assert write_house_dataset(other, str(tmp_path), catalogue).directory != first.directory


def test_a_cache_that_cannot_be_written_is_reported(small_house: House, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        write_house_dataset(small_house, str(file), default_catalogue())


def test_an_export_that_breaks_off_leaves_nothing(
    small_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(house: House, directory: Path, catalogue: Catalogue) -> None:
        (directory / "stages").mkdir()
        raise FileError(directory, "", "cannot be written: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("sim_bridge.habitat.houses.export_habitat", broken)
        with pytest.raises(FileError, match="No space left"):
            write_house_dataset(small_house, str(tmp_path), default_catalogue())
    assert list(tmp_path.iterdir()) == []
    assert write_house_dataset(small_house, str(tmp_path), default_catalogue()).stage.is_file()


def test_footprints_are_written_beside_the_house(small_house: House, tmp_path: Path) -> None:
    config = write_footprints(small_house, tmp_path)
    assert config.is_file()
    assert list(config.parent.glob("*.glb"))
    written = config.stat().st_mtime_ns
    assert write_footprints(small_house, tmp_path).stat().st_mtime_ns == written
