"""A scene of HSSD's layout becomes the house that it was made of."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hssd_layout import (
    CUP_MODEL,
    FLOOR_M,
    MODELS,
    SCENE,
    STAND_MODEL,
    handle,
    write_hssd,
    write_movables,
)

from planner.cli import main
from planner.world.catalogue import default_catalogue
from planner.world.house import Furniture, House
from planner.world.house_checks import load_house
from planner.world.vocabulary import Relation
from sim_bridge.habitat.hssd.dataset import HssdDataset
from sim_bridge.habitat.hssd.scene import HssdScene, read_scene
from sim_bridge.habitat.hssd.urdf import Movables


@pytest.fixture(scope="module")
def folder(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hssd(tmp_path_factory.mktemp("hssd"), small_house)


@pytest.fixture(scope="module")
def scene(folder: Path) -> HssdScene:
    return read_scene(HssdDataset(folder), SCENE, default_catalogue())


def _read(scene: HssdScene, original: str) -> Furniture:
    return scene.house.furniture_by_name[scene.furniture[handle(original)]]


def test_rooms_have_their_polygons_and_both_names(scene: HssdScene, small_house: House) -> None:
    assert scene.house.name == f"hssd-{SCENE}"
    assert scene.floor_m == FLOOR_M
    assert [room.name for room in scene.house.rooms] == ["kitchen_0", "living_room_0"]
    for room, original in zip(scene.house.rooms, small_house.rooms, strict=True):
        assert room.shape.equals(original.shape)
    assert scene.regions.by_id == {"region.0": "kitchen_0", "region.1": "living_room_0"}
    assert scene.regions.by_name == {"kitchen_0": "kitchen_0", "living_room_0": "living_room_0"}


def test_furniture_is_numbered_as_partnr_does_it(scene: HssdScene) -> None:
    # Rigid bodies by handle, then articulated ones; the class that we have not counts as well.
    assert scene.furniture == {
        handle("table_1"): "table_0",
        handle("table_0"): "table_1",
        handle("sink_0"): "sink_0",
        handle("couch_0"): "couch_0",
        f"{STAND_MODEL}_:0000": "stand_0",
        handle("cabinet_0"): "cabinet_0",
        handle("chest_of_drawers_0"): "chest_of_drawers_0",
    }


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_piece_stands_where_it_stood(scene: HssdScene, small_house: House, name: str) -> None:
    piece, original = _read(scene, name), small_house.furniture_by_name[name]
    assert piece.class_name == original.class_name
    assert piece.room == original.room
    turn = math.remainder(piece.yaw_rad - original.yaw_rad, 2 * math.pi)
    assert turn == pytest.approx(0.0, abs=1e-4)
    # Boxes are of meshes: handles stick out a little.
    assert piece.size_m == pytest.approx(original.size_m, abs=0.06)
    assert (piece.x_m, piece.y_m) == pytest.approx((original.x_m, original.y_m), abs=0.04)


def test_receptacles_are_surfaces_and_hollows(scene: HssdScene, small_house: House) -> None:
    table, original = _read(scene, "table_0"), small_house.furniture_by_name["table_0"]
    for mine, theirs in zip(table.surfaces, original.surfaces, strict=True):
        assert mine.size == pytest.approx(theirs.size, abs=1e-3)
        center = original.pose.apply(theirs.center)
        assert table.pose.apply(mine.center) == pytest.approx(center, abs=2e-3)
    chest = _read(scene, "chest_of_drawers_0")
    drawers = small_house.furniture_by_name["chest_of_drawers_0"]
    assert len(chest.interiors) == len(drawers.interiors)
    assert all(hollow.moves for hollow in chest.interiors)
    cabinet = _read(scene, "cabinet_0")
    assert cabinet.interiors
    assert not any(hollow.moves for hollow in cabinet.interiors)
    whole = f"{handle('table_0')}|receptacle_mesh_{original.surfaces[0].name}.0000"
    assert scene.parts[whole] == (table.name, Relation.ON, table.surfaces[0].name)


def test_what_the_filter_excludes_is_no_place(scene: HssdScene, small_house: House) -> None:
    couch = _read(scene, "couch_0")
    assert len(couch.surfaces) == len(small_house.furniture_by_name["couch_0"].surfaces)
    assert not any("out_of_reach" in name for name in scene.parts)


def test_doors_and_drawers_open_as_far_and_the_same_way(
    scene: HssdScene, small_house: House
) -> None:
    for name in ("cabinet_0", "chest_of_drawers_0"):
        piece, original = _read(scene, name), small_house.furniture_by_name[name]
        assert len(piece.joints) == len(original.joints)
        for mine, theirs in zip(piece.joints, original.joints, strict=True):
            assert mine.kind == theirs.kind
            assert abs(mine.travel) == pytest.approx(abs(theirs.travel), abs=1e-3)
            reach = math.dist(mine.handle, theirs.handle)
            assert reach < 0.35
        assert {part.joint for part in piece.parts} >= {joint.name for joint in piece.joints}


def test_a_gap_in_the_walls_is_a_passage(scene: HssdScene, small_house: House) -> None:
    (door,) = scene.house.doors
    (original,) = small_house.doors
    assert set(door.rooms) == set(original.rooms)
    assert door.center_m == pytest.approx(original.center_m, abs=0.06)
    assert door.width_m == pytest.approx(original.width_m, abs=0.15)


def test_what_is_left_out_is_reported(scene: HssdScene) -> None:
    assert scene.left_out == (
        "stand_0 has no class of ours",
        "1 bodies without receptacles are not in our house",
    )


def test_movables_have_their_own_size(tmp_path: Path) -> None:
    movables = Movables([write_movables(tmp_path)])
    assert movables.size_of(CUP_MODEL) == (0.1, 0.1, 0.12)
    assert movables.size_of("unknown") is None


def test_the_command_writes_a_house_that_loads(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["houses", "import", str(folder)]) == 0
    assert capsys.readouterr().out == f"{SCENE}\n"
    output = tmp_path / "house.json"
    assert main(["houses", "import", str(folder), SCENE, "-o", str(output)]) == 0
    assert "2 rooms" in capsys.readouterr().out
    assert load_house(output).foreign
