"""Sensing: units, frames and stamps, compared with the known geometry of the world."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import FloatArray, Pose
from planner.world.observation import CameraFrame, Observation
from planner.world.primitive import PrimitiveName
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind
from sim_bridge.backend import PictureSource, SightingSource
from sim_bridge.conformance_checks.trial import (
    Trial,
    UnsuitableError,
    expect,
    middle_m,
    moved_m,
    raises_planner_error,
)

# Tolerance for noise of localisation and depth.
POSE_TOLERANCE_M = 0.3
BOX_TOLERANCE_M = 0.08
MIN_PIXELS = 60
INSIDE_SHARE = 0.9
MIN_CHECKED_ENTITIES = 4
LOOK_ROUND = tuple((pan, 0.35) for pan in (0.0, 0.8, -0.8, 1.6, -1.6))


def observation_is_complete(trial: Trial) -> None:
    """Every field has its type, its range and the current stamp."""
    for agent in trial.backend.agents:
        can = trial.backend.capabilities(agent)
        seen = trial.backend.observe(agent, ())
        expect(seen.agent == agent, f"an observation of {agent} calls itself {seen.agent}")
        expect(not seen.cameras, f"{agent} sends pictures that nobody asked for")
        expect(set(seen.optical) == set(can.cameras), f"optical frames are {set(seen.optical)}")
        for name, pose in _poses(seen):
            expect(all(map(math.isfinite, (*pose.position_m, *pose.orientation))), f"{name}: NaN")
            length = math.hypot(*pose.orientation)
            expect(abs(length - 1) < 1e-6, f"{agent}: orientation of {name} has length {length}")
        expect(0.0 <= seen.gripper_opening <= 1.0, f"gripper opening is {seen.gripper_opening}")
        expect(all(map(math.isfinite, seen.joints.values())), f"{agent}: a joint is not finite")
        speeds = (seen.linear_m_s, seen.angular_rad_s)
        expect(speeds == (0.0, 0.0), f"{agent} starts with the speeds {speeds}")


def cameras_give_frames(trial: Trial) -> None:
    """Pictures have the size of their intrinsics, colours in bytes and depth in metres."""
    can = trial.can()
    cameras = _cameras(trial)
    raises_planner_error(
        lambda: trial.backend.observe(trial.agent, ("third_eye",)), "an unknown camera"
    )
    seen = trial.look(cameras)
    for name, frame in seen.cameras.items():
        intrinsics = frame.intrinsics
        shape = (intrinsics.height_px, intrinsics.width_px)
        expect(frame.rgb.shape == (*shape, 3), f"{name}: colours have the shape {frame.rgb.shape}")
        expect(frame.rgb.dtype == np.uint8, f"{name}: colours are {frame.rgb.dtype}")
        expect(frame.depth_m.shape == shape, f"{name}: depth has the shape {frame.depth_m.shape}")
        expect(frame.depth_m.dtype == np.float32, f"{name}: depth is {frame.depth_m.dtype}")
        good = bool(np.isfinite(frame.depth_m).all() and (frame.depth_m >= 0).all())
        expect(good, f"{name}: depth is negative or not finite; nothing measured is 0")
        expect(
            intrinsics.fx_px > 0 and intrinsics.fy_px > 0,
            f"{name}: the focal length is not above 0",
        )
        expect((frame.instances is not None) == can.ground_truth, f"{name}: instance ids")
        if frame.instances is not None:
            expect(frame.instances.shape == shape, f"{name}: ids are {frame.instances.shape}")
            expect(frame.instances.dtype == np.int32, f"{name}: ids are {frame.instances.dtype}")
    _check_own_pictures(trial, cameras)


def _check_own_pictures(trial: Trial, cameras: tuple[str, ...]) -> None:
    """Of a robot whose pictures come at their own times: each is of its moment, and new."""
    backend = trial.backend
    if not isinstance(backend, PictureSource):
        return
    fault = backend.picture_fault(trial.agent)
    expect(not fault, f"pictures came, and are said to be missing: {fault}")
    for name in cameras:
        first = backend.picture_after(trial.agent, name, -math.inf)
        if first is None:
            raise UnsuitableError(f"no picture of {name} came")
        expect(set(first.cameras) == {name}, f"{name}: its picture comes as {set(first.cameras)}")
        expect(first.stamp_s <= backend.now_s(), f"{name}: a picture is from the future")
        error_m = moved_m(first.base.compose(first.optical[name]), first.cameras[name].pose)
        expect(error_m < 1e-3, f"{name}: a picture is {error_m:.3f} m off base x optical")
        later = backend.picture_after(trial.agent, name, first.stamp_s)
        expect(later is None or later.stamp_s > first.stamp_s, f"{name}: one picture comes twice")
    raises_planner_error(
        lambda: backend.picture_after(trial.agent, "third_eye", -math.inf), "an unknown camera"
    )


def pictures_are_not_blank(trial: Trial) -> None:
    """A camera in a house shows something, and measures most of its pixels."""
    for name, frame in trial.look(_cameras(trial)).cameras.items():
        expect(int(frame.rgb.max()) > int(frame.rgb.min()), f"{name}: the picture has one colour")
        share = float((frame.depth_m > 0).mean())
        expect(share > 0.3, f"{name}: only {share:.0%} of the depth is measured")


def camera_hangs_on_the_body(trial: Trial) -> None:
    """The pose in a frame is base composed with the optical frame, moving or not.

    Pictures with times of their own are judged in `cameras_give_frames`.
    """
    if isinstance(trial.backend, PictureSource):
        raise UnsuitableError("its pictures are of other times than its base")
    cameras = _cameras(trial)
    for views in ((), LOOK_ROUND[1:2], LOOK_ROUND[2:3]):
        if views:
            trial.do(PrimitiveName.LOOK, (0.0, 0.0, 0.0), views_rad=views)
        seen = trial.look(cameras)
        for name, frame in seen.cameras.items():
            error_m = moved_m(seen.base.compose(seen.optical[name]), frame.pose)
            expect(error_m < 1e-3, f"{name}: a frame is {error_m:.3f} m off base x optical")


def truth_and_senses_agree(trial: Trial) -> None:
    """`base` is the agent's true pose, up to noise, and sightings match what exists.

    Before and after walking.
    """
    for _ in range(2):
        for agent in trial.backend.agents:
            true, believed = trial.truth().entities[agent].pose, trial.base(agent)
            error_m = moved_m(true, believed)
            expect(error_m < POSE_TOLERANCE_M, f"{agent} believes to be {error_m:.2f} m elsewhere")
            turn_rad = abs(math.remainder(true.yaw_rad - believed.yaw_rad, math.tau))
            expect(turn_rad < 0.3, f"{agent} believes to look {turn_rad:.2f} rad elsewhere")
            _check_sightings(trial, agent)
        trial.walk_to(trial.lying_open(), "object")


def _check_sightings(trial: Trial, agent: str) -> None:
    """Of a backend that says what its agents see instead of sending pictures."""
    if not isinstance(trial.backend, SightingSource):
        return
    there = trial.truth().entities
    for sighting in trial.backend.sightings_now(agent):
        name = sighting.name
        expect(name in there, f"{agent} sees {name}, which is not in the world's state")
        expect(name != agent, f"{agent} sees itself")
        in_range = 0.0 < sighting.distance_m < math.inf and 0.0 < sighting.fraction <= 1.0
        expect(in_range, f"{agent} sees {name} at {sighting.distance_m} m")


def odometry_follows_the_base(trial: Trial) -> None:
    """Odometry and localisation report the same walk, in steps without jumps."""
    target = middle_m(trial.far_thing())
    before = trial.backend.observe(trial.agent, ())
    walk = trial.start(PrimitiveName.NAVIGATE, target)
    last = before
    while not trial.backend.poll(walk).done:
        trial.step(0.03)
        now = trial.backend.observe(trial.agent, ())
        jump_m = moved_m(last.odometry, now.odometry)
        expect(jump_m < 0.2, f"odometry jumps by {jump_m:.2f} m in one tick")
        last = now
    by_odometry = before.odometry.inverse().compose(last.odometry)
    by_map = before.base.inverse().compose(last.base)
    length_m = moved_m(before.base, last.base)
    error_m = moved_m(by_odometry, by_map)
    allowed_m = 2 * POSE_TOLERANCE_M + 0.1 * length_m
    expect(error_m < allowed_m, f"odometry is {error_m:.2f} m off after {length_m:.1f} m")


def pixels_lie_where_things_are(trial: Trial) -> None:
    """Depth, intrinsics and pose put each thing's pixels into that thing's true box."""
    cameras = _cameras(trial)
    trial.walk_to(trial.lying_open(), "object")
    entities = {e.instance_id: e for e in trial.truth().entities.values() if e.instance_id}
    judged = 0
    for view in LOOK_ROUND:
        trial.do(PrimitiveName.LOOK, (0.0, 0.0, 0.0), views_rad=(view,))
        for name, frame in trial.look(cameras).cameras.items():
            for entity, points in _measured(frame, entities):
                share = float(_inside(points, entity).mean())
                judged += 1
                expect(
                    share >= INSIDE_SHARE,
                    f"{name}: {share:.0%} of the pixels of {entity.name} lie in its box: depth, "
                    "lens, pose or ids are wrong",
                )
    expect(judged >= MIN_CHECKED_ENTITIES, f"only {judged} things were seen when looking around")


def observing_changes_nothing(trial: Trial) -> None:
    """Observing changes nothing, and late observers get the same."""
    if not trial.backend.simulated:
        raise UnsuitableError("real time passes by itself, also between two observations")
    handle = trial.start(PrimitiveName.NAVIGATE, middle_m(trial.far_thing()))
    trial.step(0.5)
    before, now_s = trial.backend.world_state(), trial.backend.now_s()
    status = trial.backend.poll(handle)
    first = trial.look(trial.can().cameras)
    for agent in trial.backend.agents:
        trial.backend.observe(agent, ())
    second = trial.look(trial.can().cameras)
    expect(trial.backend.now_s() == now_s, "observing made time pass")
    expect(trial.backend.world_state() == before, "observing changed the world")
    expect(trial.backend.poll(handle) == status, "observing moved a primitive on")
    expect(first.base == second.base, "two observations of one instant differ in their base")
    for name in first.cameras.keys() & second.cameras.keys():
        a, b = first.cameras[name], second.cameras[name]
        same = np.array_equal(a.rgb, b.rgb) and np.array_equal(a.depth_m, b.depth_m)
        expect(same, f"two observations of one instant differ in the pixels of {name}")
    kept = first.cameras.get("hand")
    if kept is not None:
        copy = kept.rgb.copy()
        trial.step(1.0)
        trial.look(("hand",))
        expect(np.array_equal(kept.rgb, copy), "a later picture overwrote an earlier one")


def _cameras(trial: Trial) -> tuple[str, ...]:
    cameras = trial.can().cameras
    if not cameras:
        raise UnsuitableError("the agent has no camera")
    return cameras


def _poses(seen: Observation) -> Iterator[tuple[str, Pose]]:
    yield "base", seen.base
    yield "odometry", seen.odometry
    yield "hand", seen.hand
    yield from seen.optical.items()


def _measured(
    frame: CameraFrame, entities: dict[int, EntityState]
) -> Iterator[tuple[EntityState, FloatArray]]:
    """The entities in a frame with the points, in `map`, that their pixels measure."""
    if frame.instances is None:
        return
    for number in np.unique(frame.instances[frame.depth_m > 0]):
        entity = entities.get(int(number))
        rows, columns = np.nonzero((frame.instances == number) & (frame.depth_m > 0))
        # The box does not cover the moving parts of another agent.
        if entity is None or entity.kind is EntityKind.AGENT or len(rows) < MIN_PIXELS:
            continue
        yield entity, _points(frame, rows, columns)


def _points(frame: CameraFrame, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> FloatArray:
    intrinsics, z = frame.intrinsics, frame.depth_m[rows, columns].astype(np.float64)
    x = (columns - intrinsics.cx_px) / intrinsics.fx_px * z
    y = (rows - intrinsics.cy_px) / intrinsics.fy_px * z
    in_camera = np.stack([x, y, z], axis=1)
    points: FloatArray = in_camera @ frame.pose.rotation().T + np.asarray(frame.pose.position_m)
    return points


def _inside(points: FloatArray, entity: EntityState) -> NDArray[np.bool_]:
    own = (points - np.asarray(entity.pose.position_m)) @ entity.pose.rotation()
    half = np.asarray(entity.size_m) / 2
    centred = own - np.array([0.0, 0.0, half[2]])
    # Pixels at an outline may show the background, farther away the more.
    inside: NDArray[np.bool_] = (np.abs(centred) <= half + BOX_TOLERANCE_M).all(axis=1)
    return inside


CHECKS = (
    observation_is_complete, cameras_give_frames, pictures_are_not_blank,
    camera_hangs_on_the_body, truth_and_senses_agree, odometry_follows_the_base,
    pixels_lie_where_things_are, observing_changes_nothing,
)  # fmt: skip
