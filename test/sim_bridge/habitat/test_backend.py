"""The backend against a stand-in for habitat-sim: its rules, and how it outlives its simulator."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import AgentKind
from sim_bridge.backend import make_backend
from sim_bridge.embedded.sensing import optical_rotation
from sim_bridge.habitat.backend import HabitatBackend, write_house_dataset
from sim_bridge.habitat.dataset.writer import read_dataset
from sim_bridge.habitat.footprints import write_footprints
from sim_bridge.habitat.options import HabitatOptions
from sim_bridge.habitat.process import HabitatError, HabitatGoneError
from sim_bridge.habitat.scene import camera_pose
from sim_bridge.runtime import Runtime

STAND_IN = Path(__file__).with_name("stand_in.py")
DT_S = 1 / 30


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("houses")


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "orders.json"
    path.write_text("{}")
    monkeypatch.setenv("STAND_IN_ORDERS", str(path))
    return path


@pytest.fixture
def backend(orders: Path, cache: Path) -> Iterator[HabitatBackend]:
    options = HabitatOptions(python=sys.executable, cache=str(cache), answer_timeout_s=20.0)
    made = HabitatBackend(options, worker=STAND_IN)
    yield made
    made.close()
    made.close()


def finish(
    backend: HabitatBackend, name: str, target: tuple[float, float, float]
) -> PrimitiveResult:
    handle = backend.start("agent_0", Primitive(name, target))
    for _ in range(3000):
        result = backend.poll(handle).result
        if result is not None:
            return result
        backend.step(DT_S)
    raise AssertionError("it never ended")


def a_thing(backend: HabitatBackend, house: House) -> Vec3:
    state = backend.world_state()
    assert state is not None
    names = [o.name for o in house.objects if o.parent in house.furniture_by_name]
    return state.entities[names[0]].box.center_m


def test_a_wrong_data_path_is_told_before_habitat_sim_is_started(
    orders: Path, tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    orders.write_text(json.dumps({"hello": "hang"}))
    options = HabitatOptions(python=sys.executable, dataset=str(tmp_path / "nowhere"))
    with pytest.raises(PlannerError, match="nowhere"):
        HabitatBackend(options, worker=STAND_IN).reset(small_house, small_episode, 3)


@pytest.mark.slow
def test_a_thing_is_walked_to_and_looked_at(
    backend: HabitatBackend, small_house: House, small_episode: Episode
) -> None:
    backend.reset(small_house, small_episode, 3)
    target = a_thing(backend, small_house)
    assert finish(backend, "navigate", target).succeeded
    seen = backend.observe("agent_0", ("hand", "body"))
    frame = seen.cameras["hand"]
    assert frame.rgb.shape == (384, 384, 3)
    assert frame.depth_m.dtype == np.float32
    assert (frame.depth_m == 2.0).all()
    first = small_house.furniture[0].name
    sighting = backend.sightings("agent_0", max_distance_m=100.0)[0]
    assert (sighting.name, sighting.fraction, sighting.distance_m) == (first, 1.0, 2.0)
    assert sighting.pixel == (191.5, 191.5)
    assert backend.sees_any("agent_0", [first], 100.0, 0.5)
    assert not backend.sees_any("agent_0", [small_house.furniture[1].name], 100.0, 0.5)


def test_nobody_slices_where_the_scene_is_fixed(
    backend: HabitatBackend, small_house: House, small_episode: Episode
) -> None:
    person = small_episode.agents[0].model_copy(update={"kind": AgentKind.HUMAN})
    episode = small_episode.model_copy(update={"agents": (person,)})
    backend.reset(small_house, episode, 0)
    able = backend.capabilities("agent_0").primitives
    assert "slice" not in able
    assert {"clean", "dust"} <= able
    result = finish(backend, "slice", a_thing(backend, small_house))
    assert (result.code, result.text) == (PrimitiveCode.NOT_ABLE, "a human cannot slice")


@pytest.mark.slow
def test_what_the_simulator_loses_is_reported_once_and_reset_finds_another(
    backend: HabitatBackend, small_house: House, small_episode: Episode, orders: Path
) -> None:
    backend.reset(small_house, small_episode, 3)
    walk = backend.start(
        "agent_0", Primitive(PrimitiveName.NAVIGATE, a_thing(backend, small_house))
    )
    orders.write_text(json.dumps({"step": "abort"}))
    for _ in range(300):
        backend.step(DT_S)
        if backend.poll(walk).done:
            break
    result = backend.poll(walk).result
    assert result is not None
    assert result.code is PrimitiveCode.BACKEND_FAULT
    assert "SIGABRT" in result.text
    assert "SIGABRT" in backend.fault
    before_s = backend.now_s()
    backend.step(0.5)
    assert backend.now_s() == before_s + 0.5
    with pytest.raises(PlannerError, match="SIGABRT"):
        backend.observe("agent_0")
    again = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (0.0, 0.0, 0.0)))
    refused = backend.poll(again).result
    assert refused is not None
    assert refused.code is PrimitiveCode.BACKEND_FAULT
    orders.write_text("{}")
    backend.reset(small_house, small_episode, 3)
    assert backend.fault == ""
    assert finish(backend, "navigate", a_thing(backend, small_house)).succeeded


@pytest.mark.slow
def test_a_load_that_fails_leaves_the_world_before(
    backend: HabitatBackend, small_house: House, small_episode: Episode, orders: Path
) -> None:
    backend.reset(small_house, small_episode, 3)
    before = backend.world_state()
    copy = small_house.model_copy(update={"seed": 77})
    orders.write_text(json.dumps({"open_house": "refuse"}))
    with pytest.raises(HabitatError, match="asked for open_house"):
        backend.reset(copy, small_episode, 3)
    orders.write_text(json.dumps({"open_house": "moved"}))
    with pytest.raises(HabitatError, match="the scene lacks"):
        backend.reset(copy, small_episode, 3)
    orders.write_text("{}")
    assert backend.world_state() == before
    assert backend.observe("agent_0").cameras["hand"].rgb.any()


@pytest.mark.slow
def test_an_abort_at_the_load_of_a_new_house_leaves_it_whole_or_not_at_all(
    small_house: House, small_episode: Episode, orders: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "new"
    options = HabitatOptions(python=sys.executable, cache=str(cache), answer_timeout_s=20.0)
    orders.write_text(json.dumps({"open_house": "abort"}))
    backend = HabitatBackend(options, worker=STAND_IN)
    with pytest.raises(HabitatGoneError) as gone:
        backend.reset(small_house, small_episode, 3)
    assert "SIGABRT" in str(gone.value)
    assert "\n" not in str(gone.value)
    layout = small_house.layout
    (written,) = [found for found in cache.iterdir() if found.name.startswith(small_house.name)]
    assert read_dataset(written, layout).stage.is_file()
    assert not list(cache.glob(".draft-*"))
    orders.write_text("{}")
    backend.reset(small_house, small_episode, 3)
    assert backend.fault == ""
    backend.close()


def test_a_simulator_that_has_things_elsewhere_is_reported(
    backend: HabitatBackend, small_house: House, small_episode: Episode, orders: Path
) -> None:
    orders.write_text(json.dumps({"put": "moved"}))
    with pytest.raises(HabitatError, match=r"1\.000 m from where it was put"):
        backend.reset(small_house, small_episode, 3)


def test_an_interpreter_without_habitat_sim_is_no_world(
    cache: Path, small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    backend = HabitatBackend(HabitatOptions(python=str(tmp_path), cache=str(cache)))
    with pytest.raises(HabitatError, match="not a program that can be run"):
        backend.reset(small_house, small_episode, 3)
    assert "not a program" in backend.fault
    backend.close()


def test_a_wrong_dataset_folder_is_reported(
    orders: Path, small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    options = HabitatOptions(python=sys.executable, dataset=str(tmp_path / "none"))
    backend = HabitatBackend(options, worker=STAND_IN)
    with pytest.raises(PlannerError, match="there is no such directory"):
        backend.reset(small_house, small_episode, 3)
    backend.close()


@pytest.mark.slow
def test_the_runtime_tells_of_the_loss_and_looks_again_after_a_load(
    backend: HabitatBackend, small_house: House, small_episode: Episode, orders: Path
) -> None:
    runtime = Runtime(backend)
    runtime.load(small_house, small_episode, 3)
    orders.write_text(json.dumps({"view": "abort"}))
    assert not runtime.sense("agent_0", ("hand",)).cameras
    assert "SIGABRT" in runtime.picture_fault
    assert "SIGABRT" in runtime.fault
    orders.write_text("{}")
    runtime.load(small_house, small_episode, 3)
    assert runtime.fault == ""
    assert runtime.sense("agent_0", ("hand",)).cameras


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    assert make_backend("habitat").agents == ()
    path = tmp_path / "habitat.yaml"
    path.write_text("version: 1\ngpu_device_id: -2\n")
    with pytest.raises(PlannerError, match="gpu_device_id"):
        make_backend("habitat", str(path))


@pytest.mark.parametrize(("pan", "tilt"), [(0.0, 0.0), (1.2, 0.4), (-2.0, -0.3)])
def test_a_camera_looks_in_habitat_where_it_looks_here(pan: float, tilt: float) -> None:
    pose = Pose.from_matrix(np.array([1.0, 2.0, 3.0]), optical_rotation(pan, tilt))
    position, (x, y, z, w) = camera_pose(pose)
    assert position == (1.0, 3.0, -2.0)
    turned = Pose((0.0, 0.0, 0.0), (x, y, z, w)).rotation()
    ahead, up = -turned[:, 2], turned[:, 1]
    forward, down = pose.rotation()[:, 2], pose.rotation()[:, 1]
    assert ahead == pytest.approx([forward[0], forward[2], -forward[1]])
    assert up == pytest.approx([-down[0], -down[2], down[1]])
    assert math.isclose(x * x + y * y + z * z + w * w, 1.0)


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
        patched.setattr("sim_bridge.habitat.backend.export_habitat", broken)
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
