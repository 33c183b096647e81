"""What makes real scenes hard to read is read, and what is left out is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hssd_layout import MODELS, SCENE, STAND_MODEL, handle
from nasty_layout import ASIDE_AT, ASIDE_M, ASIDE_MODEL, edit, write_nasty

from planner.cli import main
from planner.world.catalogue import default_catalogue
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.habitat.dataset.writer import export_habitat
from sim_bridge.habitat.hssd.dataset import HssdDataset
from sim_bridge.habitat.hssd.scene import HssdScene, read_scene
from sim_bridge.habitat.hssd_export import export_hssd


@pytest.fixture(scope="module")
def folder(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_nasty(tmp_path_factory.mktemp("hssd"), small_house)


@pytest.fixture(scope="module")
def scene(folder: Path) -> HssdScene:
    return read_scene(HssdDataset(folder), SCENE, default_catalogue())


def test_a_mirrored_body_lies_on_the_other_side(scene: HssdScene, small_house: House) -> None:
    aside = scene.house.furniture_by_name[scene.furniture[f"{ASIDE_MODEL}_:0000"]]
    assert (aside.x_m, aside.y_m) == pytest.approx((ASIDE_AT[0] - ASIDE_M, ASIDE_AT[1]), abs=1e-3)
    assert aside.surfaces[0].size == pytest.approx((0.4, 0.4), abs=1e-3)
    for name in ("sink_0", "couch_0"):
        piece = scene.house.furniture_by_name[scene.furniture[handle(name)]]
        original = small_house.furniture_by_name[name]
        assert (piece.x_m, piece.y_m) == pytest.approx((original.x_m, original.y_m), abs=0.04)
        assert piece.size_m == pytest.approx(original.size_m, abs=0.06)


def test_a_label_that_no_class_has_is_a_room_by_its_name(
    scene: HssdScene, small_house: House, tmp_path: Path
) -> None:
    room = scene.house.rooms_by_name["chef_s_2nd_wine_cellar_0"]
    assert room.shape.equals(small_house.rooms[0].shape)
    assert scene.regions.by_name["Chef's_2nd_wine_cellar_0"] == room.name
    path = tmp_path / "house.json"
    path.write_text(scene.house.model_dump_json(), encoding="utf-8")
    assert load_house(path).rooms_by_name[room.name].class_name == "chef_s_2nd_wine_cellar"
    # The simulators draw it as well.
    export_habitat(scene.house, tmp_path / "habitat")


def test_an_outline_that_crosses_itself_is_repaired(scene: HssdScene, small_house: House) -> None:
    room, original = scene.house.rooms_by_name["living_room_0"], small_house.rooms[1]
    assert room.shape.symmetric_difference(original.shape).area < 0.1
    assert any(
        "'living room' (region_annotations.1): its outline crosses itself and was repaired" in text
        for text in scene.left_out
    )


def test_joints_that_are_closed_elsewhere_open_as_far(
    scene: HssdScene, small_house: House, folder: Path, tmp_path: Path
) -> None:
    for name in ("chest_of_drawers_0", "cabinet_0"):
        piece = scene.house.furniture_by_name[scene.furniture[handle(name)]]
        original = small_house.furniture_by_name[name]
        assert (piece.x_m, piece.y_m) == pytest.approx((original.x_m, original.y_m), abs=0.04)
        assert [abs(joint.travel) for joint in piece.joints] == pytest.approx(
            [abs(joint.travel) for joint in original.joints], abs=1e-3
        )
    dataset = export_hssd(scene.house, folder, tmp_path / "theirs")
    chest = dataset.furniture["chest_of_drawers_0"]
    urdf = (chest.config.parent / f"{chest.name}.urdf").read_text("utf-8")
    assert urdf.count('lower="0"') == len(chest.joints)


def test_each_storey_is_a_house(scene: HssdScene, folder: Path) -> None:
    assert scene.house.name == f"hssd-{SCENE}"
    assert "storey 1, with its floor at 3.15 m, is a house of its own" in scene.left_out
    assert "1 pieces of furniture stand on other storeys" in scene.left_out
    upstairs = read_scene(HssdDataset(folder), SCENE, default_catalogue(), 1)
    assert upstairs.house.name == f"hssd-{SCENE}.storey_1"
    (table,) = upstairs.house.furniture
    assert [room.name for room in upstairs.house.rooms] == ["bedroom_0"]
    assert upstairs.furniture[f"{MODELS['table_0']}_:0001"] == table.name
    below = scene.house.furniture_by_name[scene.furniture[handle("table_0")]]
    assert table.size_m == pytest.approx(below.size_m, abs=1e-3)
    assert upstairs.regions.by_id == {"region.2": "bedroom_0"}
    # Names count through the whole scene, as PARTNR's do.
    assert upstairs.furniture == scene.furniture


def test_classes_keep_their_case_as_partnr_counts_them(scene: HssdScene) -> None:
    called, ours = scene.called, scene.furniture
    assert called[handle("table_0")] == "Table_0"
    assert called[handle("table_1")] == ours[handle("table_1")] == "table_0"
    assert called[f"{ASIDE_MODEL}_:0000"] == ours[f"{ASIDE_MODEL}_:0000"] == "table_1"
    assert ours[handle("table_0")] == "table_2"
    assert scene.house.furniture_by_name["table_2"].class_name == "table"


def test_a_mesh_in_another_format_and_a_tiny_region_are_left_out(scene: HssdScene) -> None:
    assert any(
        text.startswith(f"{STAND_MODEL}_:0000: ") and text.endswith(".obj: is not a GLB file")
        for text in scene.left_out
    )
    assert any("'closet'" in text and "0.5 m2 or more" in text for text in scene.left_out)


def test_the_table_says_what_was_read(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(folder, tmp_path / "hssd")
    scenes = copy / "scenes-partnr-filtered"
    document = json.loads((scenes / f"{SCENE}.scene_instance.json").read_text("utf-8"))
    document["object_instances"][0]["template_name"] = "gone"
    (scenes / "7.scene_instance.json").write_text(json.dumps(document), encoding="utf-8")
    regions = copy / "semantics/scenes"
    shutil.copy(regions / f"{SCENE}.semantic_config.json", regions / "7.semantic_config.json")
    out = tmp_path / "houses"
    assert main(["houses", "import", "hssd", str(copy), "--all", "-o", str(out)]) == 1
    told = capsys.readouterr().out
    lines = told.splitlines()
    assert any(line.startswith(f"hssd-{SCENE} ") and "in part  2 rooms" in line for line in lines)
    assert any(line.startswith(f"hssd-{SCENE}.storey_1 ") for line in lines)
    assert any(line.startswith("7 ") and "refused" in line for line in lines)
    assert "object_instances.gone_:0000: there is no object 'gone'" in told
    assert lines[-1] == "2 scenes, 3 houses: 0 whole, 2 in part, 1 refused"
    written = sorted(path.name for path in out.iterdir())
    assert written == [f"hssd-{SCENE}.json", f"hssd-{SCENE}.storey_1.json"]
    assert all(load_house(path).foreign for path in out.iterdir())
    assert main(["houses", "import", str(copy), SCENE, "--all"]) == 2


def test_a_scale_of_nothing_is_refused_by_its_field(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "hssd")
    path = copy / "scenes-partnr-filtered" / f"{SCENE}.scene_instance.json"
    edit(path, lambda d: d["object_instances"][0].update(non_uniform_scale=[1.0, 0.0, 1.0]))
    with pytest.raises(Exception, match=r"object_instances\.0\.non_uniform_scale.*a scale of 0"):
        read_scene(HssdDataset(copy), SCENE, default_catalogue())
