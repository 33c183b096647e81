"""A house of HSSD for Habitat: HSSD's own meshes, at their places, under our names and ids."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from dataset_reading import read, read_scene
from hssd_layout import MODELS, SCENE, write_hssd
from nasty_layout import ajar

from planner.cli import main
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.habitat.dataset.writer import export_habitat, read_dataset
from sim_bridge.habitat.hssd_export import export_hssd


@pytest.fixture(scope="module")
def places(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The download, and the house file made of its scene."""
    top = tmp_path_factory.mktemp("hssd_export")
    (top / "hssd").mkdir()
    scenes = write_hssd(top / "hssd", small_house)
    file = top / "house.json"
    assert main(["houses", "import", str(scenes), SCENE, "-o", str(file)]) == 0
    return scenes, file


@pytest.mark.slow
def test_the_command_writes_what_shows_their_meshes(
    places: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenes, file = places
    out = tmp_path / "out"
    words = ["houses", "export", "habitat", str(file), "--scenes", str(scenes), "-o", str(out)]
    assert main(words) == 0
    assert "6 pieces of furniture of which 2 open" in capsys.readouterr().out
    house = load_house(file)
    dataset = read_dataset(out, house)
    table = read(dataset.furniture["table_0"].config)
    assert Path(table["render_asset"]).is_relative_to(scenes.resolve())
    assert table["semantic_id"] == dataset.furniture["table_0"].semantic_id
    chest = dataset.furniture["chest_of_drawers_0"]
    urdf = (chest.config.parent / f"{chest.name}.urdf").read_text("utf-8")
    for joint in chest.joints:
        assert f'<joint name="{joint.name}"' in urdf
        assert f'<child link="{joint.link}"' in urdf


@pytest.mark.slow
@pytest.mark.parametrize(("opened", "low"), [(False, 0.0), (True, 0.0), (False, 0.2), (True, 0.2)])
def test_everything_is_where_it_is_in_a_dataset_of_our_own(
    places: tuple[Path, Path], small_house: House, tmp_path: Path, opened: bool, low: float
) -> None:
    scenes, file = places
    house = load_house(file)
    if low:
        # Joints that are closed at another position than 0.
        scenes = shutil.copytree(scenes, tmp_path / "hssd")
        for name in ("chest_of_drawers_0", "cabinet_0"):
            ajar(scenes / "urdf" / MODELS[name] / f"{MODELS[name]}.urdf", low)
    theirs = export_hssd(house, scenes, tmp_path / "theirs")
    ours = export_habitat(small_house, tmp_path / "ours")
    shown = read_scene(theirs.directory, theirs.empty_scene, opened=opened)
    made = read_scene(ours.directory, ours.empty_scene, opened=opened)
    renamed = {"table_0": "table_1", "table_1": "table_0"}
    for piece in small_house.furniture:
        name = renamed.get(piece.name, piece.name)
        seen = [b.corners for b in shown if b.semantic_id == theirs.furniture[name].semantic_id]
        want = [b.corners for b in made if b.semantic_id == ours.furniture[piece.name].semantic_id]
        for edge in (np.min, np.max):
            assert edge(np.concatenate(seen), axis=0) == pytest.approx(
                edge(np.concatenate(want), axis=0), abs=1e-4
            )
    # The stage, the box of a class that we have not and the plant are structure.
    assert sum(body.semantic_id == 0 for body in shown) > 2


def test_another_house_is_refused(
    places: tuple[Path, Path], small_house: House, tmp_path: Path
) -> None:
    scenes, file = places
    with pytest.raises(FileError, match="is not of this data set, whose houses are hssd"):
        export_hssd(small_house, scenes, tmp_path / "a")
    changed = load_house(file).model_copy(update={"furniture": ()})
    with pytest.raises(FileError, match="import it anew"):
        export_hssd(changed, scenes, tmp_path / "b")
    words = ["houses", "export", "mujoco", str(file), "--scenes", str(scenes)]
    assert main([*words, "-o", str(tmp_path / "c")]) == 2
