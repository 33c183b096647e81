"""The dataset of a house shows what the embedded simulator shows of it."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
from dataset_reading import Body, read, read_scene
from numpy.typing import NDArray

from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.scene import Scene, house_spec
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.habitat.dataset.configs import HabitatDataset
from sim_bridge.habitat.dataset.writer import export_bodies, export_habitat, export_things

RAYS = 4000
FAR_M = 20.0


@pytest.fixture(scope="module")
def dataset(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> HabitatDataset:
    return export_habitat(small_house, tmp_path_factory.mktemp("dataset") / "small")


def _rays() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eyes in the free middle of both rooms, and directions all around."""
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(RAYS, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.array([(1.5, 2.0, 1.2), (6.0, 2.0, 0.9), (3.0, 1.9, 1.6)]), directions


def _embedded(
    house: House, episode: Episode
) -> tuple[mujoco.MjModel, mujoco.MjData, NDArray[np.int32]]:
    catalogue = default_catalogue()
    alone = episode.model_copy(update={"agents": episode.agents[:1]})
    world = KinematicWorld(HouseGround(house), alone, 0, catalogue, EmbeddedOptions())
    scene = Scene(world, house_spec(house, catalogue), catalogue)
    robot = world.entity("agent_0").instance_id
    scene.model.geom_group[scene.instance_of_geom == robot] = 5
    return scene.model, scene.data, scene.instance_of_geom


def _of_meshes(bodies: list[Body]) -> tuple[mujoco.MjModel, mujoco.MjData, NDArray[np.int32]]:
    spec = mujoco.MjSpec()
    for i, body in enumerate(bodies):
        mesh = spec.add_mesh(name=f"m{i}")
        mesh.uservert = body.corners.astype(np.float32).ravel()
        mesh.userface = body.faces.astype(np.int32).ravel()
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{i}", contype=0, conaffinity=0
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return model, data, np.array([body.semantic_id for body in bodies], np.int32)


def _cast(
    shown: tuple[mujoco.MjModel, mujoco.MjData, NDArray[np.int32]],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Distance and entity of each ray's first hit."""
    model, data, ids = shown
    eyes, directions = _rays()
    groups = np.array([1, 1, 1, 1, 1, 0], np.uint8)
    ranges, found = [], []
    for eye in eyes:
        for direction in directions:
            hit = np.full(1, -1, np.int32)
            ranges.append(mujoco.mj_ray(model, data, eye, direction, groups, 1, -1, hit))
            found.append(int(ids[hit[0]]) if hit[0] >= 0 else -1)
    return np.array(ranges), np.array(found, np.int32)


@pytest.mark.slow
@pytest.mark.parametrize("opened", [False, True])
def test_rays_meet_the_same_things_at_the_same_distance(
    dataset: HabitatDataset, small_house: House, small_episode: Episode, opened: bool
) -> None:
    opening = [piece.name for piece in small_house.furniture if piece.joints and opened]
    episode = small_episode.model_copy(update={"furniture": {}})
    changed = Episode.model_validate(
        {**episode.model_dump(), "furniture": {name: {"open": True} for name in opening}}
    )
    bodies = read_scene(dataset.directory, dataset.scene, opened=opened)
    ours, ours_ids = _cast(_embedded(small_house, changed))
    theirs, their_ids = _cast(_of_meshes(bodies))
    assert np.mean(np.abs(ours - theirs) < 0.02) > 0.999
    assert np.mean(ours_ids == their_ids) > 0.997
    assert len(set(ours_ids)) > len(small_house.furniture)


def test_ids_are_those_of_the_instance_images(dataset: HabitatDataset, small_house: House) -> None:
    names = [*(p.name for p in small_house.furniture), *(o.name for o in small_house.objects)]
    templates = {**dataset.furniture, **dataset.things}
    assert [templates[name].semantic_id for name in names] == list(range(1, len(names) + 1))
    for template in templates.values():
        assert read(template.config)["semantic_id"] == template.semantic_id
        assert template.config.name.startswith(f"{template.name}.")


def test_joints_keep_their_kind_and_travel(dataset: HabitatDataset, small_house: House) -> None:
    for piece in small_house.furniture:
        template = dataset.furniture[piece.name]
        assert [(j.name, j.kind, j.travel) for j in template.joints] == [
            (joint.name, joint.kind, abs(joint.travel)) for joint in piece.joints
        ]
        assert template.config.name.endswith(
            ".ao_config.json" if piece.joints else ".object_config.json"
        )


def test_rooms_are_regions(dataset: HabitatDataset, small_house: House) -> None:
    (path,) = dataset.directory.glob("semantics/scenes/*.semantic_config.json")
    regions = read(path)["region_annotations"]
    assert [(r["name"], r["label"]) for r in regions] == [
        (room.name, room.class_name) for room in small_house.rooms
    ]
    # (4, 0) to (8, 4) on our plan; y there is -z in Habitat.
    assert regions[1]["min_bounds"] == [4.0, 0.0, -4.0]
    assert regions[1]["max_bounds"] == [8.0, small_house.rooms[1].height_m, 0.0]
    assert [4.0, 0.0, -4.0] in regions[1]["poly_loop"]


def test_surfaces_and_hollows_are_receptacles(dataset: HabitatDataset, small_house: House) -> None:
    chest = next(p for p in small_house.furniture if p.class_name == "chest_of_drawers")
    notes = read(dataset.furniture[chest.name].config)["user_defined"]
    hollow = next(i for i in chest.interiors if i.moves)
    drawer = notes[f"receptacle_aabb_{hollow.name}"]
    assert drawer["parent_link"] == f"{hollow.joint}_link"
    assert drawer["scale"][1] == pytest.approx(hollow.size[2] / 2)
    top = notes[f"receptacle_aabb_{chest.surfaces[0].name}"]
    assert top["parent_link"] == "base"
    assert top["position"][1] == pytest.approx(chest.surfaces[0].center[2])
    table = read(dataset.furniture["table_0"].config)["user_defined"]
    assert all("parent_link" not in v for v in table.values() if isinstance(v, dict))


def test_what_is_touched_is_one_convex_mesh_a_part(
    dataset: HabitatDataset, small_house: House
) -> None:
    table = small_house.furniture[0]
    config = dataset.furniture[table.name].config
    document = read(config)
    assert not document["join_collision_meshes"]
    touched = trimesh.load(config.parent / document["collision_asset"], force="scene")
    assert len(touched.geometry) == len(table.parts)
    for mesh in touched.geometry.values():
        mesh.merge_vertices(merge_norm=True, merge_tex=True)
        assert mesh.is_convex
        assert mesh.is_watertight
    drawn = trimesh.load(config.parent / document["render_asset"], force="scene")
    assert len(drawn.geometry) == len({part.rgb for part in table.parts})


def test_the_same_house_gives_the_same_files(
    dataset: HabitatDataset, small_house: House, tmp_path: Path
) -> None:
    again = export_habitat(small_house, tmp_path / "again")
    names = sorted(p.relative_to(again.directory) for p in again.directory.rglob("*.*"))
    assert names == sorted(p.relative_to(dataset.directory) for p in dataset.directory.rglob("*.*"))
    for name in names:
        assert (again.directory / name).read_bytes() == (dataset.directory / name).read_bytes()


def test_an_older_export_is_replaced_and_nothing_else(small_house: House, tmp_path: Path) -> None:
    first = export_habitat(small_house, tmp_path)
    stale = first.directory / "objects/stale.object_config.json"
    stale.write_text("{}", encoding="utf-8")
    export_habitat(small_house.layout, tmp_path)
    assert not stale.exists()
    assert not (first.directory / "objects/cup_0.object_config.json").exists()
    full = tmp_path / "full"
    full.mkdir()
    (full / "photo.jpg").write_bytes(b"")
    with pytest.raises(FileError, match="is not empty"):
        export_habitat(small_house, full)
    assert (full / "photo.jpg").exists()
    with pytest.raises(FileError, match="is not a directory"):
        export_habitat(small_house, full / "photo.jpg")


def test_an_episodes_things_share_what_they_are_made_of(small_house: House, tmp_path: Path) -> None:
    cup = next(item for item in small_house.objects if item.class_name == "cup")
    other = cup.model_copy(update={"name": "cup_1"})
    book = next(item for item in small_house.objects if item.class_name == "book")
    made = export_things((cup, other, book), tmp_path, 7)
    assert [made[name].semantic_id for name in ("cup_0", "cup_1", "book_0")] == [7, 8, 9]
    assert made["cup_0"].config == made["cup_1"].config != made["book_0"].config
    assert read(made["cup_0"].config)["semantic_id"] == 0
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    assert export_things((cup, other, book), tmp_path, 7) == made
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")} == stamps


def test_bodies_are_as_tall_as_they_are(tmp_path: Path) -> None:
    made = export_bodies(default_bodies(), tmp_path)
    assert set(made) == set(AgentKind)
    for kind, template in made.items():
        mesh = trimesh.load(template.config.parent / read(template.config)["render_asset"])
        low, high = mesh.bounds
        parts = default_bodies()[kind].parts
        assert high[1] == pytest.approx(max(p.center[2] + p.size[2] / 2 for p in parts), abs=1e-5)
        assert low[1] == pytest.approx(min(p.center[2] - p.size[2] / 2 for p in parts), abs=1e-5)


def test_an_unknown_class_and_a_missing_library_are_reported(
    small_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = small_house.objects[0].model_copy(update={"class_name": "gryphon"})
    house = small_house.model_copy(update={"objects": (strange,)})
    with pytest.raises(FileError, match=r"small: objects\.0: class_name: unknown class 'gryphon'"):
        export_habitat(house, tmp_path / "a")
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    with pytest.raises(PlannerError, match=r"pip install -c constraints\.txt -e '\.\[habitat\]'"):
        export_habitat(small_house, tmp_path / "b")


def test_a_turn_of_ours_is_the_same_turn_in_habitat(
    dataset: HabitatDataset, small_house: House
) -> None:
    entry = next(
        e
        for e in read(dataset.directory / dataset.scene)["object_instances"]
        if "table_1" in e["template_name"]
    )
    table = small_house.furniture_by_name["table_1"]
    assert entry["translation"] == [table.x_m, 0.0, -table.y_m]
    half = table.yaw_rad / 2
    assert entry["rotation"] == pytest.approx([math.cos(half), 0.0, math.sin(half), 0.0])
