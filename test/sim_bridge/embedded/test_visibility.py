"""What rays tell of a view agrees with what a picture of it shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from planner.world.agents import CameraMount
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.geometry import FloatArray
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.house_ground import HouseGround, Screens, flags
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.scene import GROUP_HIDDEN, Scene, house_spec
from sim_bridge.embedded.sensing import intrinsics_of, optical_rotation
from sim_bridge.embedded.visibility import (
    _POINTS,
    NOTHING_HIDDEN,
    BoxRows,
    BoxView,
    Limits,
    Query,
    Visibility,
    lens_of,
)
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.geometry import wall_segments
from sim_bridge.opening import bare_episode


@pytest.mark.parametrize("target", ["cup_0", "book_0", "sink_0", "chest_of_drawers_0"])
def test_sightings_are_what_the_picture_shows(
    small_house: House, small_episode: Episode, target: str
) -> None:
    backend = EmbeddedBackend()
    backend.reset(small_house, small_episode, 0)
    state = backend.world_state()
    assert state is not None
    center = state.entities[target].box.center_m
    for name in (PrimitiveName.NAVIGATE, PrimitiveName.LOOK):
        handle = backend.start("agent_0", Primitive(name, center))
        while not backend.poll(handle).done:
            backend.step(1 / 30)
    frame = backend.observe("agent_0").cameras["hand"]
    state = backend.world_state()
    assert state is not None
    assert frame.instances is not None
    total = frame.instances.size
    told = {s.name: s for s in backend.sightings("agent_0")}
    drawn = {
        e.name: float((frame.instances == e.instance_id).sum()) / total
        for e in state.entities.values()
        if e.instance_id > 0
    }
    assert target in told
    for name, share in drawn.items():
        if share > 0.01:
            assert name in told
            assert 0.2 < told[name].fraction / share < 5
    for sighting in told.values():
        if sighting.fraction > 0.01:
            assert drawn[sighting.name] > 0.001
    rows, columns = np.nonzero(frame.instances == state.entities[target].instance_id)
    u, v = told[target].pixel
    assert columns.min() - 1 <= u <= columns.max() + 1
    assert rows.min() - 1 <= v <= rows.max() + 1
    for name in (e.name for e in state.entities.values() if e.instance_id > 0):
        shown = name in told and told[name].fraction >= 0.001
        assert name == "agent_0" or backend.sees_any("agent_0", [name], 6.0, 0.001) == shown
    assert not backend.sees_any("agent_0", [], 6.0, 0.001)
    backend.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train_3", "heldout_2"])
def test_what_walls_are_said_to_hide_no_ray_meets(name: str) -> None:
    house = load_house(name)
    options = EmbeddedOptions(renderer="none")
    ground = HouseGround(house)
    world = KinematicWorld(ground, bare_episode(house, agents=2), 0, default_catalogue(), options)
    for piece in world.pieces.values():
        for joint in piece.opening:
            world.set_opening(piece, joint, 0.8)
    scene = Scene(world, house_spec(house, default_catalogue()), default_catalogue())
    screens = Screens(house, wall_segments(house))
    behind, open_plan = Visibility(world, scene, screens), Visibility(world, scene)
    agent = world.agents["agent_0"]
    rng = np.random.default_rng(0)
    cells = ground.grid(agent.body.radius_m).free_points_m
    left_out = 0
    for x, y in cells[rng.permutation(len(cells))[:60]].tolist():
        world.move_agent(agent, x, y, float(rng.uniform(-3.1, 3.1)))
        seen = open_plan.sightings(agent, 6.0, 0.0)
        assert behind.sightings(agent, 6.0, 0.0) == seen
        names = [thing for thing in world.things if rng.random() < 0.5]
        large = {s for s in seen if s.name in names and s.fraction >= 0.001}
        glimpsed = {
            s for s in behind.sightings_among(agent, names, 6.0, 0.001) if s.fraction >= 0.001
        }
        assert {s for s in glimpsed if s.name in names} == large
        # Besides these only what they are on or in.
        parents = {world.things[name].parent for name in names}
        assert {s.name for s in glimpsed} <= {*names, *parents}
        left_out += int(screens.hidden_from(x, y).sum())
    assert left_out > 60


def test_what_is_said_not_to_show_does_not_show_then(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    state = backend.world_state()
    assert state is not None
    names = [e.name for e in state.entities.values() if e.instance_id > 0]
    names = [name for name in names if name not in backend.agents]
    counts = {True: 0, False: 0}
    for target in names[::2]:
        center = state.entities[target].box.center_m
        handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, center))
        while not backend.poll(handle).done:
            steps = backend.steady_steps(1 / 30, ["agent_0"])
            ahead = {
                (name, step): backend.looks_seeing_none([name], [step / 30], 6.0, 0.001) == 0
                for name in names
                for step in range(3, min(steps, 30), 9)
            }
            looks = [step / 30 for step in range(3, min(steps, 30), 9)]
            for name in names:
                each = [ahead[name, round(look * 30)] for look in looks]
                first = each.index(True) if True in each else len(each)
                assert backend.looks_seeing_none([name], looks, 6.0, 0.001) == first
            for step in range(1, min(steps, 30) + 1):
                backend.step(1 / 30)
                for name in names:
                    expected = ahead.get((name, step))
                    if expected is None:
                        continue
                    shown = any(
                        backend.sees_any(agent, [name], 6.0, 0.001) for agent in backend.agents
                    )
                    assert expected or not shown, (name, step)
                    counts[expected] += 1
    # It is no excuse to say of all that it may show.
    assert counts[False] > counts[True] > 20


PROBES = 6
FILL = 0.7


@dataclass(frozen=True)
class Room:
    """A world's boxes where they are, some of them hidden."""

    view: BoxView
    rows: BoxRows
    scene: Scene
    mount: CameraMount
    hidden: NDArray[np.bool_]
    centers_m: FloatArray
    points_m: FloatArray


@pytest.fixture(scope="module")
def room(small_house: House, small_episode: Episode) -> Room:
    catalogue = default_catalogue()
    options = EmbeddedOptions(renderer="none")
    world = KinematicWorld(HouseGround(small_house), small_episode, 0, catalogue, options)
    scene = Scene(world, house_spec(small_house, catalogue), catalogue)
    sight = Visibility(world, scene)
    sight._follow()
    rows, rng = sight._boxes, np.random.default_rng(0)
    rows.may_show[::7] = False
    rows.regions[:] = rng.integers(0, 4, len(rows.regions))
    places = [sight._places[name] for name in sight._names]
    for row in range(0, len(places), 2):
        # Nothing in this house stands askew.
        places[row] = (*places[row][:3], float(rng.uniform(-3, 3)))
        sight._view.place(row, places[row])
    centers_m, points_m = _boxes(places, rows.halves_m)
    mount = world.agents["agent_0"].body.cameras["hand"]
    hidden = np.array([False, True, False, False])
    return Room(sight._view, rows, scene, mount, hidden, centers_m, points_m)


def _boxes(
    places: list[tuple[float, float, float, float]], halves_m: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n, 3) middles and (n, 14, 3) probes and corners of boxes at x, y, z, yaw."""
    centers_m, points_m = [], []
    for (x, y, z, yaw), half in zip(places, halves_m, strict=True):
        c, s = np.cos(yaw), np.sin(yaw)
        turn = np.array([(c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)])
        centers_m.append((x, y, z))
        points_m.append((half * _POINTS) @ turn + (x, y, z))
    return np.array(centers_m), np.array(points_m)


eyes = st.tuples(
    st.floats(0, 8), st.floats(0, 4), st.floats(0.2, 2), st.floats(-4, 4), st.floats(-0.5, 1.2)
)


def _glance(
    room: Room,
    eye: tuple[float, float, float, float, float],
    asked: Query,
    limits: Limits,
    hidden: NDArray[np.bool_] | None = None,
) -> int:
    """Looks from x, y, z along a heading and down by a tilt; how many are in the picture."""
    x, y, z, heading, tilt = eye
    screen = NOTHING_HIDDEN if hidden is None else flags(hidden)
    lens = lens_of(room.mount)
    return room.view.glance(lens, (x, y, z), heading, tilt, asked, screen, limits)


@given(eyes, st.floats(0.0, 8.0), st.sampled_from([0.0, 0.001, 0.05]), st.booleans())
def test_what_is_in_view_is_what_the_formula_says(
    room: Room,
    eye: tuple[float, float, float, float, float],
    max_distance_m: float,
    min_fraction: float,
    screened: bool,
) -> None:
    x, y, z, heading, tilt = eye
    rows = room.rows
    every = np.arange(len(rows.instances), dtype=np.intp)
    hidden = room.hidden if screened else None
    count = _glance(room, eye, Query.of(every, 2), Limits(max_distance_m, min_fraction), hidden)
    found = room.view.in_view
    assert len(found) == count
    optical = (room.centers_m - (x, y, z)) @ optical_rotation(heading, tilt)
    lens = intrinsics_of(room.mount)
    depth = optical[:, 2]
    wide = depth * lens.width_px / 2 / lens.fx_px + rows.slacks_m - np.abs(optical[:, 0])
    high = depth * lens.height_px / 2 / lens.fy_px + rows.slacks_m - np.abs(optical[:, 1])
    near = max_distance_m - np.hypot(*(room.centers_m - (x, y, z))[:, :2].T)
    near[rows.agents_from :] = np.inf
    margins = np.stack([depth - room.mount.near_m, room.mount.far_m - depth, wide, high, near])
    may = rows.may_show & (every != 2)
    if hidden is not None:
        may &= ~hidden[rows.regions]
    # What is within rounding of an edge may be in or out.
    surely = set(np.flatnonzero(may & (margins > 1e-9).all(axis=0)).tolist())
    perhaps = set(np.flatnonzero(may & (margins > -1e-9).all(axis=0)).tolist())
    assert surely <= set(found) <= perhaps


# At this one's edge of the picture an agent fills nothing of it.
@example(eye=(5.5, 1.25, 1.0, 0.0, 0.0), min_fraction=0.0)
@given(eyes, st.sampled_from([0.0, 0.001, 0.05]))
def test_what_rays_meet_is_what_the_formula_says(
    room: Room, eye: tuple[float, float, float, float, float], min_fraction: float
) -> None:
    x, y, z, heading, tilt = eye
    rows, at_m, turn = room.rows, np.array((x, y, z)), optical_rotation(heading, tilt)
    every = np.arange(len(rows.instances), dtype=np.intp)
    _glance(room, eye, Query.of(every, -1), Limits(8.0, min_fraction))
    in_view = np.array(room.view.in_view, np.intp)
    met = {found.row: found for found in room.view.met("agent_0")}
    shares = _shares(room, (room.points_m[in_view] - at_m) @ turn)
    lens = intrinsics_of(room.mount)
    for row, share in zip(in_view.tolist(), shares.tolist(), strict=True):
        fraction = share * _part_met(room, row, at_m, turn)
        if share < min_fraction - 1e-9 or fraction == 0.0:
            assert row not in met
        elif share > min_fraction + 1e-9:
            across, down, depth = (room.centers_m[row] - at_m) @ turn
            assert met[row].fraction == pytest.approx(fraction, rel=1e-6)
            assert met[row].distance_m == pytest.approx(depth)
            expected = (
                lens.cx_px + lens.fx_px * across / depth,
                lens.cy_px + lens.fy_px * down / depth,
            )
            assert met[row].pixel == pytest.approx(expected, abs=1e-6)


def test_rays_pass_through_what_is_held_and_meet_the_rest(room: Room) -> None:
    every = np.arange(len(room.rows.instances), dtype=np.intp)
    rng, met, passed = np.random.default_rng(0), 0, 0
    for _ in range(100):
        x, y, heading = rng.uniform((0, 0, -3), (8, 4, 3)).tolist()
        asked, limits = Query.of(every, -1), Limits(8.0, 0.0)
        _glance(room, (x, y, 1.2, heading, 0.5), asked, limits)
        whole = {found.row for found in room.view.met("agent_0")}
        held = sorted(whole)[:2]
        _glance(room, (x, y, 1.2, heading, 0.5), asked, limits)
        without = {found.row for found in room.view.met("agent_0", np.array(held, np.intp))}
        assert not without & {*held, *range(room.rows.agents_from, len(every))}
        assert without >= {row for row in whole if row < room.rows.agents_from} - set(held)
        met, passed = met + len(whole), passed + len(held)
    assert met > 100
    assert passed > 50


def _shares(room: Room, optical: FloatArray) -> FloatArray:
    """Of the picture, by the outlines of boxes with (n, 14, 3) points in the optical frame."""
    lens = intrinsics_of(room.mount)
    corners = optical[:, PROBES:]
    slopes = corners[..., :2] / np.maximum(corners[..., 2:], room.mount.near_m)
    pixels = slopes * (lens.fx_px, lens.fy_px) + (lens.cx_px, lens.cy_px)
    inside = np.clip(pixels, 0, (lens.width_px - 1, lens.height_px - 1))
    spans = inside.max(axis=1) - inside.min(axis=1)
    share: FloatArray = FILL * spans.prod(axis=1) / (lens.width_px * lens.height_px)
    return share


def _part_met(room: Room, row: int, at_m: FloatArray, turn: FloatArray) -> float:
    """Of a row's probes, the part whose rays meet its instance first of all in the picture."""
    scene = room.scene
    scene.model.geom_group[:] = np.where(
        _in_picture(room, (scene.data.geom_xpos - at_m) @ turn), scene.groups, GROUP_HIDDEN
    )
    rays = room.points_m[row, :PROBES] - at_m
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    hits, ranges_m = np.empty(PROBES, np.int32), np.empty(PROBES)
    groups = np.array([1, 1, 1, 1, 0, 0], np.uint8)
    scene.cast(at_m, rays, groups, hits, ranges_m, room.mount.far_m, "agent_0")
    met = (hits >= 0) & (scene.instance_of_geom[hits] == room.rows.instances[row])
    return float(met.mean())


def _in_picture(room: Room, optical: FloatArray) -> NDArray[np.bool_]:
    """Which geoms' bounding spheres meet the frustum, wherever rays go; (n, 3) are their middles.

    Geoms out of the picture hide nothing: rays to a box that is half in it may go there.
    """
    lens, radius = intrinsics_of(room.mount), room.scene.model.geom_rbound
    across, down, depth = optical.T
    met: NDArray[np.bool_] = depth > room.mount.near_m - radius
    for off, slope in (
        (across, lens.width_px / 2 / lens.fx_px),
        (down, lens.height_px / 2 / lens.fy_px),
    ):
        met &= np.abs(off) < depth * slope + radius * np.hypot(1.0, slope)
    return met
