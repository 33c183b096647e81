"""Sensors that err: depth, colours, poses and hands, and files that are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import Intrinsics, Observation
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from sim_bridge.backend import Drawn, make_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import (
    ERRORS,
    CalibrationErrors,
    ColourErrors,
    DepthErrors,
    EmbeddedOptions,
    LocalisationErrors,
    Noise,
    SensorModel,
    read_sensors,
    sensor_names,
)
from sim_bridge.embedded.sensor_model import measured_depth, taken_colours
from sim_bridge.opening import bare_episode

LENS = Intrinsics(200, 160, 150.0, 150.0, 99.5, 79.5)
GRAY = np.full((160, 200, 3), 128, np.uint8)


def depths(errors: DepthErrors, true_m: np.ndarray, *, shiny=None, rgb=GRAY) -> np.ndarray:
    rng = np.random.default_rng(1)
    return measured_depth(true_m, rgb, LENS, shiny, errors, rng)


def wall(far_m: float) -> np.ndarray:
    return np.full((160, 200), far_m, np.float32)


def box_before_wall() -> np.ndarray:
    true_m = wall(2.0)
    true_m[40:120, 50:150] = 1.0
    return true_m


@pytest.mark.parametrize(("far_m", "deviation_m"), [(1.0, 0.0012 + 0.0019 * 0.36), (4.0, 0.0258)])
def test_noise_of_depth_grows_with_the_distance(far_m: float, deviation_m: float) -> None:
    """The published 0.0012 + 0.0019 (z - 0.4)^2."""
    errors = DepthErrors(noise_m=0.0012, noise_per_m2=0.0019, noise_from_m=0.4)
    off_m = depths(errors, wall(far_m)) - far_m
    assert np.std(off_m) == pytest.approx(deviation_m, rel=0.03)
    assert abs(np.mean(off_m)) < deviation_m / 20


def test_depth_comes_in_steps_that_grow_with_the_distance() -> None:
    """As by a disparity in whole steps: 7 cm at 5 m, 3 mm at 1 m."""
    far = depths(
        DepthErrors(disparity_step=0.00285),
        np.linspace(4.8, 5.2, 32000).reshape(160, 200).astype(np.float32),
    )
    near = depths(
        DepthErrors(disparity_step=0.00285),
        np.linspace(0.98, 1.02, 32000).reshape(160, 200).astype(np.float32),
    )
    assert np.mean(np.diff(np.unique(far))) == pytest.approx(0.071, rel=0.03)
    assert np.mean(np.diff(np.unique(near))) == pytest.approx(0.00285, rel=0.05, abs=0)


def test_holes_are_at_steps_of_depth_only() -> None:
    """A floor that recedes evenly has none."""
    found = depths(DepthErrors(edge_holes=1.0, edge_px=2), box_before_wall())
    assert (found[38:42, 60:140] == 0).all()
    assert (found[60:100, 70:130] == 1.0).all()
    assert (found[:30] == 2.0).all()
    rows = np.arange(160, dtype=np.float32)[:, None]
    floor = np.broadcast_to(1.2 * 150.0 / (rows + 20.0), (160, 200)).astype(np.float32)
    assert (depths(DepthErrors(edge_holes=1.0), floor) > 0).all()


def test_dark_and_shiny_surfaces_have_holes() -> None:
    """Each by its own share."""
    rgb = GRAY.copy()
    rgb[:80] = 20
    dark = depths(DepthErrors(dark_holes=0.5), wall(1.0), rgb=rgb) == 0
    assert dark[:80].mean() == pytest.approx(0.5, abs=0.06)
    assert not dark[80:].any()
    shiny = np.zeros((160, 200), bool)
    shiny[:, :100] = True
    holes = depths(DepthErrors(shiny_holes=1.0), wall(1.0), shiny=shiny) == 0
    assert np.array_equal(holes, shiny)


def test_surfaces_turned_away_are_not_measured() -> None:
    """A floor seen from 1.2 m, beyond the distance at which the ray is 75 degrees from upright."""
    rows = np.arange(160, dtype=np.float32)[:, None]
    floor = np.broadcast_to(1.2 * 150.0 / np.maximum(rows - 79.5, 0.5), (160, 200)).astype(
        np.float32
    )
    floor = np.where(rows > 81, floor, 0).astype(np.float32)
    column = depths(DepthErrors(grazing_deg=75.0), floor)[:, 100]
    # At the end of the floor there is no surface on both sides.
    column[:84] = 0
    limit_m = 1.2 * math.tan(math.radians(75))
    measured = floor[:, 100][column > 0]
    assert measured.max() < limit_m < floor[84, 100]
    assert measured.max() > 0.8 * limit_m


def test_range_and_strength() -> None:
    """Nothing is measured out of range; at strength 0 all is as it is."""
    true_m = np.linspace(0.1, 9.0, 32000).reshape(160, 200).astype(np.float32)
    found = depths(DepthErrors(min_m=0.5, max_m=4.5), true_m)
    assert found[found > 0].min() >= 0.5
    assert found.max() <= 4.5
    off = read_sensors("consumer_rgbd").depth.model_copy(update={"strength": 0.0})
    assert depths(off, true_m) is true_m
    half = DepthErrors(noise_m=0.02, strength=0.5)
    assert np.std(depths(half, wall(1.0))) == pytest.approx(0.01, rel=0.05)


def test_colours_are_exposed_blurred_noisy_and_compressed() -> None:
    """Each alone changes the picture, and nothing does without errors."""
    board = np.kron(np.indices((20, 25)).sum(0) % 2, np.ones((8, 8)))[..., None] * [200, 120, 60]
    board = board.astype(np.uint8)
    rng = np.random.default_rng(1)
    assert taken_colours(board, ColourErrors(), rng) is board
    bright = {taken_colours(GRAY, ColourErrors(exposure_stops=0.5), rng)[0, 0, 0] for _ in range(9)}
    assert len(bright) > 5
    blurred = taken_colours(board, ColourErrors(blur_px=2.0), rng)
    assert blurred.std() < 0.8 * board.std()
    noisy = taken_colours(GRAY, ColourErrors(noise=5.0), rng)
    assert noisy.std() == pytest.approx(5.0, rel=0.05)
    packed = taken_colours(board, ColourErrors(jpeg_quality=20), rng)
    assert not np.array_equal(packed, board)
    assert not taken_colours(board, ColourErrors(black=1.0), rng).any()


def backend(house: House, sensors: SensorModel, *, seed: int = 3) -> EmbeddedBackend:
    made = EmbeddedBackend(EmbeddedOptions(renderer="rays", sensors=sensors))
    made.reset(house, bare_episode(house, 1), seed)
    return made


def seen(house: House, sensors: SensorModel, seed: int = 3) -> Observation:
    world = backend(house, sensors, seed=seed)
    try:
        return world.observe("agent_0", ("body",))
    finally:
        world.close()


def test_pictures_are_the_same_again_and_others_at_another_step(small_house: House) -> None:
    """All that errs is a function of seed, agent, camera and step, and each part is its own."""
    model = read_sensors("consumer_rgbd")
    first, again = (seen(small_house, model).cameras["body"] for _ in range(2))
    assert np.array_equal(first.depth_m, again.depth_m)
    assert np.array_equal(first.rgb, again.rgb)
    plain = seen(small_house, SensorModel()).cameras["body"]
    world = backend(small_house, SensorModel(depth=DepthErrors(noise_m=0.01)))
    noisy = world.observe("agent_0", ("body",)).cameras["body"]
    world.step(0.1)
    later = world.observe("agent_0", ("body",)).cameras["body"]
    world.close()
    assert np.std(noisy.depth_m - plain.depth_m) == pytest.approx(0.01, rel=0.05)
    assert np.std(later.depth_m - noisy.depth_m) == pytest.approx(0.014, rel=0.05)
    assert np.array_equal(noisy.rgb, plain.rgb)


def test_a_camera_off_its_calibration_sees_what_is_beside(small_house: House) -> None:
    """The picture is turned, the pose that goes with it is not."""
    errors = SensorModel(calibration=CalibrationErrors(yaw_deg=5.0))
    true, off = seen(small_house, SensorModel()), seen(small_house, errors)
    assert off.cameras["body"].pose == true.cameras["body"].pose
    assert off.optical == true.optical
    assert not np.array_equal(off.cameras["body"].depth_m, true.cameras["body"].depth_m)
    world = backend(small_house, errors)
    agent = world._loaded().agents["agent_0"]
    errs = world._loaded().errs
    assert errs is not None
    on_base = true.optical["body"]
    ahead = errs.camera(agent, on_base).rotation()[:, 2]
    believed = true.base.compose(on_base).rotation()[:, 2]
    assert math.degrees(math.acos(float(ahead @ believed))) == pytest.approx(5.0)
    world.close()


def test_pictures_are_late(small_house: House) -> None:
    """By where the body was so long ago at its speed."""
    world = backend(small_house, SensorModel(picture_late_s=0.05))
    agent, errs = world._loaded().agents["agent_0"], world._loaded().errs
    assert errs is not None
    on_base = Pose((0.2, 0.0, 1.0))
    now = errs.camera(agent, on_base)
    agent.linear_m_s = 1.0
    assert math.dist(errs.camera(agent, on_base).position_m, now.position_m) == pytest.approx(0.05)
    agent.linear_m_s, agent.angular_rad_s = 0.0, 2.0
    turned = errs.camera(agent, on_base)
    assert turned.yaw_rad == pytest.approx(now.yaw_rad - 0.1)
    world.close()


def test_localisation_drifts_and_jumps_back(small_house: House) -> None:
    """It is off by 5 cm and 2 degrees before each correction, and right after it."""
    errors = LocalisationErrors(drift_m=0.05, drift_deg=2.0, corrected_every_m=5.0)
    world = backend(small_house, SensorModel(localisation=errors))
    agent = world._loaded().agents["agent_0"]
    off_m, off_deg = [], []
    for walked_m in np.linspace(0.0, 9.99, 200):
        agent.walked_m = float(walked_m)
        base = world.observe("agent_0", ()).base
        off_m.append(math.dist(base.position_m[:2], (agent.x_m, agent.y_m)))
        off_deg.append(abs(math.degrees(base.yaw_rad - agent.yaw_rad)))
    assert max(off_m) == pytest.approx(0.05, rel=0.02)
    assert max(off_deg) == pytest.approx(2.0, rel=0.02)
    assert off_m[0] == pytest.approx(0.0, abs=1e-6)
    assert min(off_m[100:102]) < 0.002
    assert world.localised_position("agent_0").position_m[:2] == base.position_m[:2]
    world.close()


def test_walking_is_measured(small_house: House) -> None:
    """Drift grows with the way, not with time."""
    world = backend(small_house, read_sensors("consumer_rgbd"))
    agent = world._loaded().agents["agent_0"]
    grid = world._loaded().ground.grid(agent.body.radius_m)
    free = [grid.point(int(cell)) for cell in np.flatnonzero(grid.components.ravel() > 0)]
    goal = max(free, key=lambda p: math.dist(p, (agent.x_m, agent.y_m)))
    world.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (*goal, 0.0)))
    for _ in range(60):
        world.step(1 / 30)
    assert agent.walked_m > 0.5
    world.close()


@pytest.mark.parametrize("name", sensor_names())
def test_shipped_models_work(name: str, small_house: House) -> None:
    """Each gives pictures of the usual kinds and sizes, with their sources named."""
    model = read_sensors(name)
    assert model.about
    frame = seen(small_house, model).cameras["body"]
    assert frame.depth_m.dtype == np.float32
    assert frame.rgb.dtype == np.uint8
    assert frame.rgb.shape[:2] == frame.depth_m.shape
    assert (frame.depth_m > 0).mean() > 0.3
    assert model.is_perfect == (name == "perfect")


def test_by_default_nothing_errs(small_house: House) -> None:
    """With the shipped settings pictures are those of the model `perfect`, to the last bit."""
    made = EmbeddedBackend(EmbeddedOptions(renderer="rays"))
    assert not made.is_noisy
    made.reset(small_house, bare_episode(small_house, 1), 3)
    usual = made.observe("agent_0", ("body",))
    made.close()
    perfect = seen(small_house, read_sensors("perfect"))
    assert np.array_equal(usual.cameras["body"].depth_m, perfect.cameras["body"].depth_m)
    assert np.array_equal(usual.cameras["body"].rgb, perfect.cameras["body"].rgb)
    assert usual.base == perfect.base


def test_hands_slip_by_the_sensors_and_else_by_the_world() -> None:
    """What the sensors name replaces the world's own noise, the rest stays."""
    own = EmbeddedOptions(noise=Noise(failed_grasps=0.1, dropped_frames=0.2))
    slips = own.model_copy(update={"sensors": SensorModel(noise=Noise(failed_grasps=0.5))})
    assert own.noise_with_sensors() == own.noise
    assert slips.noise_with_sensors() == Noise(failed_grasps=0.5, dropped_frames=0.2)
    assert read_sensors("consumer_rgbd:0").noise.failed_grasps == 0.0
    assert read_sensors("consumer_rgbd:2").noise.failed_grasps == 0.1


def test_a_slip_is_the_result_of_a_grasp(small_house: House) -> None:
    """With hands that always slip, nothing is taken."""
    world = backend(small_house, SensorModel(noise=Noise(failed_grasps=1.0)))
    assert world.is_noisy
    thing = next(iter(world._loaded().things.values()))
    agent = world._loaded().agents["agent_0"]
    handle = world.start("agent_0", Primitive(PrimitiveName.NAVIGATE, thing.center_m))
    while not world.poll(handle).done:
        world.step(0.2)
    handle = world.start("agent_0", Primitive(PrimitiveName.PICK, thing.center_m))
    while not world.poll(handle).done:
        world.step(0.2)
    result = world.poll(handle).result
    assert result is not None
    assert result.code is PrimitiveCode.GRASP_FAILED
    assert agent.holding is None
    world.close()


@pytest.mark.parametrize(
    ("content", "field", "reason"),
    [
        ({"depth": {"noise_m": -0.1}}, "depth.noise_m", "greater than or equal to 0"),
        ({"colour": {"sharpness": 1}}, "colour.sharpness", "Extra inputs"),
        ({"calibration": {"yaw_deg": 180.0}}, "calibration.yaw_deg", "mirrored"),
        ({"calibration": {"roll_deg": 20.0}}, "calibration.roll_deg", "another mounting"),
        ({"depth": {"edge_holes": 1.5}}, "depth.edge_holes", "less than or equal to 1"),
        ({"colour": {"jpeg_quality": "high"}}, "colour.jpeg_quality", ""),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    content: dict[str, object], field: str, reason: str, tmp_path: Path
) -> None:
    """The file, the field and the reason, before anything begins."""
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"version": 1, **content}), encoding="utf-8")
    with pytest.raises(PlannerError) as caught:
        make_backend("embedded", "", Drawn(sensors=str(path)))
    text = str(caught.value)
    assert str(path) in text
    assert field in text
    assert reason in text
    assert "\n" not in text


@pytest.mark.parametrize("error", ERRORS)
def test_one_error_alone_can_be_stronger(error: str) -> None:
    """All others stay, and 1 is as strong as they are."""
    usual, part = read_sensors("consumer_rgbd"), ERRORS[error][0]
    assert read_sensors(f"consumer_rgbd:{error}=1") == usual
    none, twice = (read_sensors(f"consumer_rgbd:{error}={s}") for s in (0, 2))
    for other in (none, twice):
        assert other != usual
        assert other.model_copy(update={part: getattr(usual, part)}) == usual
    assert SensorModel.model_validate(twice.model_dump(exclude_unset=True)) == twice


def test_names_that_are_none() -> None:
    """A model, a strength and a backend that do not exist are named."""
    with pytest.raises(PlannerError, match=r"no model 'consumer_rgb'.*consumer_rgbd"):
        read_sensors("consumer_rgb")
    with pytest.raises(PlannerError, match="strength is from 0 to 10, got -1"):
        read_sensors("consumer_rgbd:-1")
    with pytest.raises(PlannerError, match="no model 'consumer_rgbd:smell=2'"):
        read_sensors("consumer_rgbd:smell=2")
    with pytest.raises(PlannerError, match="backend graph has no model of sensors"):
        make_backend("graph", "", Drawn(sensors="consumer_rgbd"))


def test_settings_may_name_a_model(tmp_path: Path) -> None:
    """In the backend's file; what is used is recorded in full."""
    path = tmp_path / "world.yaml"
    path.write_text("version: 1\nrenderer: none\nsensors: spot_hand:0.5\n", encoding="utf-8")
    made = make_backend("embedded", str(path))
    assert isinstance(made, EmbeddedBackend)
    recorded = json.loads(made.sensors_json)
    assert recorded["depth"]["strength"] == 0.5
    assert recorded["depth"]["noise_m"] == 0.003
    assert SensorModel.model_validate(recorded) == read_sensors("spot_hand:0.5")
