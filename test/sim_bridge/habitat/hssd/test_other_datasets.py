"""Scene data sets without HSSD's tables are read as far as their annotations go."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hssd_layout import FLOOR_M, MODELS, PLANT_MODEL, SCENE, STAND_MODEL, write_hssd
from nasty_layout import edit

from planner.cli import main
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.habitat.dataset.writer import read_dataset
from sim_bridge.habitat.hssd.dataset import HssdDataset, class_by_name
from sim_bridge.habitat.hssd.scene import HssdScene, read_scene

NAMES = {
    MODELS["table_0"]: "frl_apartment_table_01",
    MODELS["table_1"]: "frl_apartment_table_02",
    MODELS["sink_0"]: "frl_apartment_sink_01",
    MODELS["couch_0"]: "frl_apartment_sofa",
    MODELS["cabinet_0"]: "kitchen_cabinet",
    MODELS["chest_of_drawers_0"]: "chest_of_drawers",
    STAND_MODEL: "frl_apartment_choppingboard_02",
    PLANT_MODEL: "frl_apartment_indoor_plant_01",
}


def write_replica_cad(folder: Path, house: House) -> Path:
    """The layout of ReplicaCAD: names for hashes, URDFs listed, no rooms, tables or filters."""
    write_hssd(folder, house)
    for gone in ("metadata", "semantics", "scene_filter_files"):
        shutil.rmtree(folder / gone)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.suffix in (".json", ".urdf"):
            text = path.read_text("utf-8")
            for model, name in NAMES.items():
                text = text.replace(model, name)
            path.write_text(text, encoding="utf-8")
        named = next((m for m in NAMES if m in path.name), None)
        if named is not None:
            path.rename(path.with_name(path.name.replace(named, NAMES[named])))
    (folder / "hssd-hab-partnr.scene_dataset_config.json").unlink()
    config = {
        "stages": {"paths": {".json": ["stages/*.json"]}},
        "objects": {"paths": {".json": ["objects/*"]}},
        "articulated_objects": {"paths": {".urdf": ["urdf/*/*.urdf"]}},
        "scene_instances": {"paths": {".json": ["scenes-partnr-filtered/*.json"]}},
    }
    (folder / "replicaCAD.scene_dataset_config.json").write_text(json.dumps(config))
    scene = folder / "scenes-partnr-filtered" / f"{SCENE}.scene_instance.json"
    document = json.loads(scene.read_text("utf-8"))
    del document["user_defined"]
    scene.write_text(json.dumps(document))
    return folder


@pytest.fixture(scope="module")
def folder(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_replica_cad(tmp_path_factory.mktemp("replica"), small_house)


@pytest.fixture(scope="module")
def scene(folder: Path) -> HssdScene:
    return read_scene(HssdDataset(folder, is_partnr=False), SCENE, default_catalogue())


def test_the_stage_is_one_room_on_its_floor(scene: HssdScene, small_house: House) -> None:
    (room,) = scene.house.rooms
    assert scene.house.name == f"replicaCAD-{SCENE}"
    assert scene.floor_m == pytest.approx(FLOOR_M, abs=0.01)
    inside = sum(one.shape.area for one in small_house.rooms)
    assert room.shape.area == pytest.approx(inside, rel=0.1)
    assert "the data set has no rooms: the whole stage is one" in scene.left_out


def test_furniture_has_the_class_of_its_name(scene: HssdScene, small_house: House) -> None:
    found = {piece.class_name for piece in scene.house.furniture}
    assert found == {piece.class_name for piece in small_house.furniture}
    table = scene.house.furniture_by_name[scene.furniture["frl_apartment_table_01_:0000"]]
    original = small_house.furniture_by_name["table_0"]
    assert table.size_m == pytest.approx(original.size_m, abs=0.06)
    assert (table.x_m, table.y_m) == pytest.approx((original.x_m, original.y_m), abs=0.04)
    chest = next(p for p in scene.house.furniture if p.class_name == "chest_of_drawers")
    assert len(chest.joints) == len(small_house.furniture_by_name["chest_of_drawers_0"].joints)
    assert any("choppingboard_02_:0000 is of no class" in text for text in scene.left_out)
    assert "the scene names no filter file: all receptacles are taken" in scene.left_out


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("frl_apartment_table_01", "table"),
        ("Chest-Of-Drawers_2", "chest_of_drawers"),
        ("abc", None),
        ("0123", None),
    ],
)
def test_a_name_has_a_class_in_it_or_not(model: str, name: str | None) -> None:
    assert class_by_name(model, default_catalogue()) == name


def test_the_command_reads_them_all(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "houses"
    assert main(["houses", "import", "scenes", str(folder), "--all", "-o", str(out)]) == 0
    assert "1 scenes, 1 houses: 0 whole, 1 in part, 0 refused" in capsys.readouterr().out
    assert load_house(out / f"replicaCAD-{SCENE}.json").foreign
    # HSSD's own branch is not read without its tables.
    assert main(["houses", "import", "hssd", str(folder), SCENE]) == 2
    assert "HSSD is not here" in capsys.readouterr().err


def test_an_urdf_without_a_configuration_is_scenery(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "replica")
    next(copy.glob("urdf/*/kitchen_cabinet.ao_config.json")).unlink()
    found = read_scene(HssdDataset(copy, is_partnr=False), SCENE, default_catalogue())
    assert not any(piece.class_name == "cabinet" for piece in found.house.furniture)
    assert "2 bodies without receptacles are not in our house" in found.left_out


CONFIG = "replicaCAD.scene_dataset_config.json"
SCENE_FILE = f"scenes-partnr-filtered/{SCENE}.scene_instance.json"


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(folder, tmp_path / "replica")


def _read(folder: Path) -> HssdScene:
    return read_scene(HssdDataset(folder, is_partnr=False), SCENE, default_catalogue())


def test_templates_are_found_by_a_part_of_their_handles(copy: Path, scene: HssdScene) -> None:
    """As habitat-sim finds them: a stage of `configs`, and names that are parts of paths."""

    def name_otherwise(document: dict[str, Any]) -> None:
        document["stage_instance"]["template_name"] = "modified_test_stage"
        for entry in document["object_instances"]:
            entry["template_name"] = entry["template_name"].replace("frl_apartment_T", "T")
        document["object_instances"][0]["template_name"] = "APARTMENT_TABLE_01"

    edit(copy / SCENE_FILE, name_otherwise)
    with pytest.raises(FileError, match="there is no stage 'modified_test_stage'"):
        _read(copy)

    def configure(document: dict[str, Any]) -> None:
        document["stages"]["default_attributes"] = {"up": [0, 0, 1], "margin": 0.1}
        document["stages"]["configs"] = [
            {
                "original_file": f"stages/{SCENE}.stage_config.json",
                "template_handle": "modified_test_stage_0",
                "attributes": {"up": [0, 1, 0]},
            },
            {"original_file": "stages/nothing.json", "attributes": {}},
        ]
        # habitat-sim's own test data has such a path.
        document["articulated_objects"]["paths"][".urdf"].append("../../urdf/*")

    edit(copy / CONFIG, configure)
    found = _read(copy)
    assert found.house.rooms == scene.house.rooms
    assert "../../urdf/* leads out of the data set and is not read" in found.left_out
    assert len(found.house.furniture) == len(scene.house.furniture)


@pytest.mark.parametrize("named", ["new_test_stage", "bare"])
def test_a_stage_may_be_a_mesh_alone(copy: Path, scene: HssdScene, named: str) -> None:
    """By attributes without a file, whose assets are in the data set's folder, or by its path."""
    edit(copy / SCENE_FILE, lambda d: d["stage_instance"].update(template_name=named))
    shutil.copy(copy / f"stages/{SCENE}.glb", copy / "stages/bare.glb")
    entry = {
        "template_handle": "new_test_stage",
        "attributes": {"render_asset": f"stages/{SCENE}.glb"},
    }

    def configure(document: dict[str, Any]) -> None:
        document["stages"]["configs"] = [entry]
        document["stages"]["paths"][".glb"] = ["stages/bare*.glb"]

    edit(copy / CONFIG, configure)
    assert _read(copy).house.rooms == scene.house.rooms


def test_a_receptacle_of_another_format_leaves_the_others(copy: Path, scene: HssdScene) -> None:
    """ReplicaCAD's chairs have a mesh in .ply and a box for the same seat."""
    name = "frl_apartment_sofa"
    (config,) = copy.glob(f"objects/*/{name}.object_config.json")
    (config.parent / "seat.ply").write_text("ply\nformat ascii 1.0\nend_header\n")

    def add(document: dict[str, Any]) -> None:
        document["user_defined"]["receptacle_mesh_seat"] = {
            "position": [0, 0, 0],
            "scale": [1, 1, 1],
            "mesh_filepath": "seat.ply",
        }

    edit(config, add)
    found = _read(copy)
    assert len(found.house.furniture) == len(scene.house.furniture)
    (told,) = (text for text in found.left_out if "a receptacle" in text)
    assert told.startswith(f"{name}_:0000: a receptacle: receptacle_mesh_seat: ")


def test_a_house_made_from_scenes_is_exported_with_their_meshes(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where a template is an entry of the data set's file."""

    def configure(document: dict[str, Any]) -> None:
        document["objects"]["configs"] = [
            {
                "original_file": "frl_apartment_table_01.object_config.json",
                "template_handle": "a_modified_table",
                "attributes": {"mass": 3.5, "scale": [1.2, 1.0, 1.2]},
            }
        ]

    edit(copy / CONFIG, configure)
    edit(
        copy / SCENE_FILE,
        lambda d: [
            entry.update(template_name="a_modified_table")
            for entry in d["object_instances"]
            if entry["template_name"] == "frl_apartment_table_01"
        ],
    )
    file, out = tmp_path / "house.json", tmp_path / "out"
    assert main(["houses", "import", "scenes", str(copy), SCENE, "-o", str(file)]) == 0
    words = ["houses", "export", "habitat", str(file), "--scenes"]
    assert main([*words, str(copy), "-o", str(out)]) == 0
    assert "6 pieces of furniture of which 2 open" in capsys.readouterr().out
    house = load_house(file)
    written = read_dataset(out, house)
    name = _read(copy).furniture["a_modified_table_:0000"]
    table = json.loads(written.furniture[name].config.read_text("utf-8"))
    assert (table["mass"], table["scale"]) == (3.5, [1.2, 1.0, 1.2])
    assert Path(table["render_asset"]).is_file()
    other = copy / CONFIG
    renamed = other.rename(copy / "other.scene_dataset_config.json")
    assert main([*words, str(renamed), "-o", str(tmp_path / "x")]) == 2
    assert "is not of this data set, whose houses are other-SCENE" in capsys.readouterr().err


def test_a_folder_with_several_data_sets_or_none_says_which(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="there are: none"):
        HssdDataset(tmp_path, is_partnr=False)
    copy = shutil.copytree(folder, tmp_path / "replica")
    (copy / "other.scene_dataset_config.json").write_text("{}")
    with pytest.raises(PlannerError, match=re.escape("there are: other.scene_dataset_config.json")):
        HssdDataset(copy, is_partnr=False)
    empty = HssdDataset(copy / "other.scene_dataset_config.json", is_partnr=False)
    with pytest.raises(FileError, match="has no scene"):
        read_scene(empty, SCENE, default_catalogue())
