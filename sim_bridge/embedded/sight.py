"""What a camera would see, told by rays instead of a picture.

For runs without images: a few points of each thing in the frustum are tried,
and the share of the image is estimated from the projected box.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import FloatArray, Pose
from planner.world.observation import Sighting
from planner.world.vocabulary import Relation
from sim_bridge.embedded.entities import Agent, Thing
from sim_bridge.embedded.renderer import View, intrinsics_of, visible_geoms
from sim_bridge.embedded.scene import GROUP_HIDDEN, Scene
from sim_bridge.embedded.sensing import camera_on_base
from sim_bridge.embedded.world import KinematicWorld

# Where a box is looked at, as shares of its half extents: the middle and near each face.
_PROBES = np.array(
    [(0, 0, 0), (0.7, 0, 0.7), (-0.7, 0, 0.7), (0, 0.7, 0.7), (0, -0.7, 0.7), (0, 0, 0.9)]
)
_CORNERS = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
# Of a projected box, what shapes like cups and lamps cover.
_FILL = 0.7
_GROUPS = np.array([1, 1, 1, 1, 0, 0], np.uint8)


def sightings(
    world: KinematicWorld, scene: Scene, agent: Agent, farthest_m: float
) -> list[Sighting]:
    """The things, furniture and agents in an agent's hand camera, nearest first."""
    view = _view(agent)
    names, centers, halves, yaws, instances = _candidates(world, agent, view, farthest_m)
    if not names:
        return []
    turned = _turned(halves, yaws, _PROBES)
    points = centers[:, None, :] + turned
    hits = _first_hits(scene, agent, view, points.reshape(-1, 3)).reshape(len(names), -1)
    shares = (hits == instances[:, None]).mean(axis=1)
    corners = centers[:, None, :] + _turned(halves, yaws, _CORNERS)
    fractions = _image_share(view, corners) * shares * _FILL
    seen = np.flatnonzero(shares > 0)
    optical = (centers - np.asarray(view.pose.position_m)) @ view.pose.rotation()
    found = []
    lens = view.intrinsics
    for i in seen:
        x, y, z = (float(v) for v in optical[i])
        pixel = (x / z * lens.fx_px + lens.cx_px, y / z * lens.fy_px + lens.cy_px)
        center = (float(centers[i, 0]), float(centers[i, 1]), float(centers[i, 2]))
        found.append(Sighting(names[i], float(fractions[i]), z, pixel, center))
    return sorted(found, key=lambda s: (s.distance_m, s.name))


def _view(agent: Agent) -> View:
    mount = agent.body.cameras["hand"]
    base = Pose.planar(agent.x_m, agent.y_m, agent.yaw_rad)
    return View(
        pose=base.compose(camera_on_base(agent, "hand", mount)),
        intrinsics=intrinsics_of(mount),
        near_m=mount.near_m,
        far_m=mount.far_m,
    )


def _candidates(
    world: KinematicWorld, agent: Agent, view: View, farthest_m: float
) -> tuple[list[str], FloatArray, FloatArray, FloatArray, NDArray[np.int32]]:
    """Names, centres, half extents, yaws and instances of what the frustum may hold."""
    rows: list[tuple[str, float, float, float, float, float, float, float, int]] = []
    ex, ey, _ = view.pose.position_m
    for thing in world.things.values():
        if math.hypot(thing.x_m - ex, thing.y_m - ey) <= farthest_m and _may_show(world, thing):
            x, y, z = thing.center_m
            hx, hy, hz = (s / 2 for s in thing.size_m)
            rows.append((thing.name, x, y, z, hx, hy, hz, thing.yaw_rad, thing.instance_id))
    for piece in world.pieces.values():
        record = piece.record
        if math.hypot(record.x_m - ex, record.y_m - ey) <= farthest_m:
            hx, hy, hz = (s / 2 for s in record.size_m)
            rows.append(
                (
                    record.name,
                    record.x_m,
                    record.y_m,
                    hz,
                    hx,
                    hy,
                    hz,
                    record.yaw_rad,
                    piece.instance_id,
                )
            )
    for other in world.agents.values():
        if other is not agent:
            r, half = other.body.radius_m * 0.6, other.body.height_m / 2
            rows.append(
                (
                    other.name,
                    other.x_m,
                    other.y_m,
                    half,
                    r,
                    r,
                    half,
                    other.yaw_rad,
                    other.instance_id,
                )
            )
    numbers = np.array([row[1:8] for row in rows], float).reshape(-1, 7)
    inside = _in_frustum(view, numbers[:, :3], np.linalg.norm(numbers[:, 3:6], axis=1))
    kept = np.flatnonzero(inside)
    return (
        [rows[i][0] for i in kept],
        numbers[kept, :3],
        numbers[kept, 3:6],
        numbers[kept, 6],
        np.array([rows[i][8] for i in kept], np.int32),
    )


def _may_show(world: KinematicWorld, thing: Thing) -> bool:
    return thing.relation is not Relation.WITHIN or not world.is_enclosed(thing)


def _in_frustum(view: View, centers: FloatArray, radii: FloatArray) -> NDArray[np.bool_]:
    """Whether a centre is in the picture, give or take half of a box's radius."""
    lens = view.intrinsics
    x, y, z = ((centers - np.asarray(view.pose.position_m)) @ view.pose.rotation()).T
    slack = 0.5 * radii
    inside: NDArray[np.bool_] = (z > view.near_m) & (z < view.far_m)
    inside &= np.abs(x) < z * (lens.width_px / 2 / lens.fx_px) + slack
    inside &= np.abs(y) < z * (lens.height_px / 2 / lens.fy_px) + slack
    return inside


def _turned(halves: FloatArray, yaws: FloatArray, shares: FloatArray) -> FloatArray:
    """(n, m, 3) offsets in the map of m points given as shares of n turned half extents."""
    local = halves[:, None, :] * shares[None, :, :]
    c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    x, y = local[..., 0], local[..., 1]
    return np.stack([x * c - y * s, x * s + y * c, local[..., 2]], axis=-1)


def _first_hits(scene: Scene, agent: Agent, view: View, points: FloatArray) -> NDArray[np.int32]:
    """The instance that is met first on the way to each point; -1 for none."""
    scene.sync()
    eye = np.asarray(view.pose.position_m, np.float64)
    rays = points - eye
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    hits = np.empty(len(rays), np.int32)
    # Rays go to points in the picture only, so geoms outside of it cannot be in the way.
    scene.model.geom_group[:] = np.where(visible_geoms(scene, view), scene.groups, GROUP_HIDDEN)
    scene.cast(eye, rays, _GROUPS, hits, np.empty(len(rays)), view.far_m, agent.name)
    met: NDArray[np.int32] = np.where(hits >= 0, scene.instance_of_geom[hits], -1)
    return met


def _image_share(view: View, corners: FloatArray) -> FloatArray:
    """The share of the image that the projected boxes' outlines cover, cut at its edges."""
    lens = view.intrinsics
    optical = (corners - np.asarray(view.pose.position_m)) @ view.pose.rotation()
    z = np.maximum(optical[..., 2], view.near_m)
    u = np.clip(optical[..., 0] / z * lens.fx_px + lens.cx_px, 0, lens.width_px - 1)
    v = np.clip(optical[..., 1] / z * lens.fy_px + lens.cy_px, 0, lens.height_px - 1)
    area: FloatArray = np.ptp(u, axis=1) * np.ptp(v, axis=1)
    return area / (lens.width_px * lens.height_px)
