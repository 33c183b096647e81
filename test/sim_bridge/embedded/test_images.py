"""Images agree with the geometry, with each other, and from run to run."""

from __future__ import annotations

import gc
import hashlib
import math
from collections import Counter
from weakref import ref

import numpy as np
import pytest

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.observation import CameraFrame
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.shapes import Color, Look, Material, color_of
from planner.world.state import EntityState
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions, Noise


def looking_at(house: House, episode: Episode, name: str, renderer: str = "auto") -> CameraFrame:
    backend = EmbeddedBackend(EmbeddedOptions(renderer=renderer))
    backend.reset(house, episode, 0)
    center = entity(backend, name).box.center_m
    run(backend, Primitive(PrimitiveName.NAVIGATE, center))
    run(backend, Primitive(PrimitiveName.LOOK, center))
    frame = backend.observe("agent_0").cameras["hand"]
    backend.close()
    return frame


def run(backend: EmbeddedBackend, primitive: Primitive) -> None:
    handle = backend.start("agent_0", primitive)
    while not backend.poll(handle).done:
        backend.step(1 / 30)
    result = backend.poll(handle).result
    assert result is not None
    assert result.succeeded, result


def entity(backend: EmbeddedBackend, name: str) -> EntityState:
    state = backend.world_state()
    assert state is not None
    return state.entities[name]


def pixel_of(frame: CameraFrame, point: tuple[float, float, float]) -> tuple[int, int, float]:
    x, y, z = frame.pose.inverse().apply(point)
    lens = frame.intrinsics
    return (
        round(y / z * lens.fy_px + lens.cy_px),
        round(x / z * lens.fx_px + lens.cx_px),
        z,
    )


@pytest.mark.parametrize("color", [Color.RED, Color.BLUE, Color.GREEN])
def test_a_thing_is_seen_in_the_colour_that_its_episode_says(
    small_house: House, small_episode: Episode, color: Color
) -> None:
    things = tuple(
        item.model_copy(update={"color": color}) if item.name == "cup_0" else item
        for item in small_episode.objects
    )
    episode = small_episode.model_copy(update={"objects": things})
    backend = EmbeddedBackend()
    backend.reset(small_house, episode, 0)
    cup = entity(backend, "cup_0")
    backend.close()
    assert cup.look == Look(color, Material.CERAMIC)
    frame = looking_at(small_house, episode, "cup_0")
    assert frame.instances is not None
    pixels = frame.rgb[frame.instances == cup.instance_id]
    words = Counter(color_of((r / 255, g / 255, b / 255)) for r, g, b in pixels.tolist())
    # The inside is dark in every colour.
    words.pop(Color.BLACK, None)
    assert words.most_common(1)[0][0] is color


def test_a_looked_at_thing_is_where_the_camera_model_says(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend()
    backend.reset(small_house, small_episode, 0)
    cup = entity(backend, "cup_0")
    run(backend, Primitive(PrimitiveName.NAVIGATE, cup.box.center_m))
    run(backend, Primitive(PrimitiveName.LOOK, cup.box.center_m))
    frame = backend.observe("agent_0").cameras["hand"]
    assert frame.instances is not None
    rows, columns = np.nonzero(frame.instances == cup.instance_id)
    assert len(rows) > 50
    row, column, z = pixel_of(frame, cup.box.center_m)
    assert rows.min() <= row <= rows.max()
    assert columns.min() <= column <= columns.max()
    depths = frame.depth_m[rows, columns]
    radius = math.hypot(*cup.size_m) / 2
    assert np.all(np.abs(depths - z) <= radius + 0.01)
    backend.close()


def test_depth_is_metric_on_the_floor(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend()
    backend.reset(small_house, small_episode, 0)
    run(backend, Primitive(PrimitiveName.LOOK, (2.5, 1.8, 0.0)))
    frame = backend.observe("agent_0").cameras["hand"]
    row, column, z = pixel_of(frame, (2.5, 1.8, 0.0))
    assert frame.depth_m[row, column] == pytest.approx(z, abs=0.01)
    backend.close()


@pytest.mark.slow
def test_rays_and_opengl_see_the_same(small_house: House, small_episode: Episode) -> None:
    drawn = looking_at(small_house, small_episode, "cup_0", "auto")
    cast = looking_at(small_house, small_episode, "cup_0", "rays")
    assert drawn.instances is not None
    assert cast.instances is not None
    assert np.mean(drawn.instances == cast.instances) > 0.99
    assert np.mean(np.abs(drawn.depth_m - cast.depth_m) < 0.02) > 0.99


def test_the_same_calls_give_the_same_pixels(small_house: House, small_episode: Episode) -> None:
    def digest() -> str:
        frame = looking_at(small_house, small_episode, "cup_0")
        assert frame.instances is not None
        data = frame.rgb.tobytes() + frame.depth_m.tobytes() + frame.instances.tobytes()
        return hashlib.sha256(data).hexdigest()

    assert digest() == digest()


def test_a_closed_drawer_hides_its_things(small_house: House, small_episode: Episode) -> None:
    chest = small_house.furniture_by_name["chest_of_drawers_0"]
    # The top drawer, which the camera looks into from above.
    interior = max((i for i in chest.interiors if i.moves), key=lambda i: i.center[2])
    x, y, z = chest.pose.apply(
        (interior.center[0], interior.center[1], interior.center[2] - interior.size[2] / 2)
    )
    cup = small_episode.objects[1].model_copy(
        update={
            "pose": (x, y, z, 0.0),
            "parent": chest.name,
            "relation": "within",
            "part": interior.name,
        }
    )
    episode = small_episode.model_copy(update={"objects": (cup,)})
    backend = EmbeddedBackend()
    backend.reset(small_house, episode, 0)
    handle = chest.pose.apply(chest.joint(interior.joint or "").handle)

    def pixels() -> int:
        run(backend, Primitive(PrimitiveName.LOOK, handle))
        frame = backend.observe("agent_0").cameras["hand"]
        assert frame.instances is not None
        return int((frame.instances == entity(backend, cup.name).instance_id).sum())

    run(backend, Primitive(PrimitiveName.NAVIGATE, handle))
    assert pixels() == 0
    run(backend, Primitive(PrimitiveName.OPEN, handle))
    assert pixels() > 20
    run(backend, Primitive(PrimitiveName.CLOSE, handle))
    assert pixels() == 0
    backend.close()


def test_observing_changes_nothing(small_house: House, small_episode: Episode) -> None:
    noise = Noise(position_m=0.02, dropped_frames=0.5, depth_m=0.01)
    backend = EmbeddedBackend(EmbeddedOptions(noise=noise))
    backend.reset(small_house, small_episode, 3)
    state = backend.world_state()
    first, second = backend.observe("agent_0"), backend.observe("agent_0")
    assert first.base == second.base
    assert set(first.cameras) == set(second.cameras)
    assert backend.world_state() == state
    backend.close()


def test_frames_are_dropped_and_noise_is_added_only_when_asked(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(noise=Noise(dropped_frames=1.0)))
    backend.reset(small_house, small_episode, 0)
    assert backend.observe("agent_0").cameras == {}
    backend.close()


def test_without_a_renderer_the_error_says_so(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    with pytest.raises(PlannerError, match="need a renderer"):
        backend.observe("agent_0")
    assert backend.observe("agent_0", ()).cameras == {}


def test_an_unknown_camera_is_named(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend()
    backend.reset(small_house, small_episode, 0)
    with pytest.raises(PlannerError, match="has no camera 'left'; it has hand, body"):
        backend.observe("agent_0", ("left",))
    backend.close()


def test_a_world_that_stands_still_is_drawn_once_and_a_changed_one_again(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend()
    backend.reset(small_house, small_episode, 0)
    run(backend, Primitive(PrimitiveName.NAVIGATE, entity(backend, "cup_0").box.center_m))
    run(backend, Primitive(PrimitiveName.LOOK, entity(backend, "cup_0").box.center_m))
    first = backend.observe("agent_0").cameras["hand"]
    backend.step(1 / 30)
    second = backend.observe("agent_0").cameras["hand"]
    assert second.rgb is first.rgb
    with pytest.raises(ValueError, match="read-only"):
        first.rgb[0, 0, 0] = 0
    number = entity(backend, "cup_0").instance_id
    run(backend, Primitive(PrimitiveName.PICK, entity(backend, "cup_0").box.center_m))
    run(backend, Primitive(PrimitiveName.LOOK, entity(backend, "table_0").box.center_m))
    third = backend.observe("agent_0").cameras["hand"]
    assert first.instances is not None
    assert third.instances is not None
    assert (third.instances != first.instances).any()
    assert (first.instances == number).any()
    backend.close()


def test_without_instances_colours_and_depth_are_the_same(
    small_house: House, small_episode: Episode
) -> None:
    frames = []
    for told in (True, False):
        backend = EmbeddedBackend(EmbeddedOptions(instances=told))
        backend.reset(small_house, small_episode, 0)
        frames.append(backend.observe("agent_0").cameras["hand"])
        backend.close()
    whole, spare = frames
    assert whole.instances is not None
    assert spare.instances is None
    np.testing.assert_array_equal(whole.rgb, spare.rgb)
    np.testing.assert_array_equal(whole.depth_m, spare.depth_m)


def test_a_world_that_is_no_more_is_not_kept(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend(EmbeddedOptions())
    backend.reset(small_house, small_episode, seed=1)
    backend.observe("agent_0")
    before = [ref(backend._lazy_scene()), ref(backend._loaded())]
    backend.reset(small_house, small_episode, seed=2)
    gc.collect()
    assert [each() for each in before] == [None, None]
    backend.close()
