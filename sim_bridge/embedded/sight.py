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
from sim_bridge.embedded.renderer import View, intrinsics_of
from sim_bridge.embedded.scene import GROUP_HIDDEN, Scene
from sim_bridge.embedded.sensing import camera_on_base
from sim_bridge.embedded.world import KinematicWorld

# Where a box is looked at, as shares of its half extents: the middle and near each face.
_PROBES = np.array(
    [(0, 0, 0), (0.7, 0, 0.7), (-0.7, 0, 0.7), (0, 0.7, 0.7), (0, -0.7, 0.7), (0, 0, 0.9)]
)
_CORNERS = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
_POINTS = np.concatenate([_PROBES, _CORNERS])
# Of a projected box, what shapes like cups and lamps cover.
_FILL = 0.7
_GROUPS = np.array([1, 1, 1, 1, 0, 0], np.uint8)


class Sight:
    """The boxes of everything in a world, kept up to date, and the looks at them.

    A row is a thing, a piece of furniture or an agent. `_points` are each box's probes and
    then its corners in the map.
    """

    def __init__(self, world: KinematicWorld, scene: Scene) -> None:
        """Takes up every box of the world of a scene."""
        self._world, self._scene = world, scene
        pieces, agents = list(world.pieces.values()), list(world.agents.values())
        self._names = [*world.things, *world.pieces, *world.agents]
        self._rows = {name: row for row, name in enumerate(self._names)}
        count = len(self._names)
        self._instances = np.array([world.entity(n).instance_id for n in self._names], np.int32)
        sizes = [thing.size_m for thing in world.things.values()]
        sizes += [piece.record.size_m for piece in pieces]
        # A body is slimmer than the disc it needs.
        sizes += [(r, r, a.body.height_m) for a in agents for r in (1.2 * a.body.radius_m,)]
        self._halves = np.array(sizes, float).reshape(-1, 3) / 2
        # A centre may lie outside of the picture by half of its box's radius.
        self._slacks = 0.5 * np.linalg.norm(self._halves, axis=1)
        self._centers = np.zeros((count, 3))
        self._points = np.zeros((count, len(_POINTS), 3))
        self._may_show = np.ones(count, np.bool_)
        self._always = np.arange(count) >= count - len(agents)
        self._places: dict[str, tuple[float, float, float, float]] = {}
        self._scenery = -1
        for piece in pieces:
            record = piece.record
            half_m = record.size_m[2] / 2
            self._put(record.name, (record.x_m, record.y_m, half_m, record.yaw_rad))

    def sightings(
        self, agent: Agent, farthest_m: float, least_fraction: float = 0.0
    ) -> list[Sighting]:
        """The things, furniture and agents in an agent's hand camera, nearest first.

        Args:
            agent: who looks.
            farthest_m: horizontal distance beyond which only other agents are looked for.
            least_fraction: of the view; what certainly fills less is left out.
        """
        self._follow()
        view = _view(agent)
        eye, rotation = np.asarray(view.pose.position_m), view.pose.rotation()
        optical = (self._centers - eye) @ rotation
        kept = np.flatnonzero(self._in_frustum(view, eye, optical, farthest_m))
        kept = kept[kept != self._rows[agent.name]]
        points = self._points[kept] - eye
        fractions = _FILL * _image_share(view, points[:, len(_PROBES) :] @ rotation)
        large = fractions >= least_fraction
        kept, fractions = kept[large], fractions[large]
        if not len(kept):
            return []
        rays = points[large, : len(_PROBES)].reshape(-1, 3)
        hits = self._first_hits(agent, view, eye, rays).reshape(len(kept), -1)
        shares = (hits == self._instances[kept, None]).mean(axis=1)
        lens, found = view.intrinsics, []
        for i in np.flatnonzero(shares > 0).tolist():
            row = int(kept[i])
            x, y, z = optical[row].tolist()
            cx, cy, cz = self._centers[row].tolist()
            pixel = (x / z * lens.fx_px + lens.cx_px, y / z * lens.fy_px + lens.cy_px)
            fraction = float(fractions[i] * shares[i])
            found.append(Sighting(self._names[row], fraction, z, pixel, (cx, cy, cz)))
        return sorted(found, key=lambda s: (s.distance_m, s.name))

    # Keeping up

    def _follow(self) -> None:
        """Brings the boxes of what moved up to date."""
        world = self._world
        if self._scenery != world.scenery_revision:
            self._scenery = world.scenery_revision
            for thing in world.things.values():
                self._put(thing.name, (*thing.center_m, thing.yaw_rad))
                self._may_show[self._rows[thing.name]] = _may_show(world, thing)
        for agent in world.agents.values():
            height_m = agent.body.height_m
            self._put(agent.name, (agent.x_m, agent.y_m, height_m / 2, agent.yaw_rad))
            if agent.holding is not None:
                # What is carried is no scenery.
                thing = world.things[agent.holding]
                self._put(thing.name, (*thing.center_m, thing.yaw_rad))

    def _put(self, name: str, place: tuple[float, float, float, float]) -> None:
        """Puts a box's middle at x, y, z of the map, turned by a yaw."""
        if self._places.get(name) == place:
            return
        self._places[name] = place
        row = self._rows[name]
        x, y, z, yaw = place
        c, s = math.cos(yaw), math.sin(yaw)
        self._centers[row] = x, y, z
        turn = np.array([(c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)])
        self._points[row] = (self._halves[row] * _POINTS) @ turn + self._centers[row]

    # Looking

    def _in_frustum(
        self, view: View, eye: FloatArray, optical: FloatArray, farthest_m: float
    ) -> NDArray[np.bool_]:
        """Whether a row's centre is in the picture, give or take half of its box's radius."""
        lens = view.intrinsics
        x, y, z = optical.T
        away = self._centers[:, :2] - eye[:2]
        inside: NDArray[np.bool_] = (away * away).sum(axis=1) <= farthest_m**2
        inside |= self._always
        inside &= self._may_show
        inside &= (z > view.near_m) & (z < view.far_m)
        inside &= np.abs(x) < z * (lens.width_px / 2 / lens.fx_px) + self._slacks
        inside &= np.abs(y) < z * (lens.height_px / 2 / lens.fy_px) + self._slacks
        return inside

    def _first_hits(
        self, agent: Agent, view: View, eye: FloatArray, rays: FloatArray
    ) -> NDArray[np.int32]:
        """The instance that is met first along each of (n, 3) rays; -1 for none."""
        scene = self._scene
        scene.sync()
        rays = rays / np.sqrt((rays * rays).sum(axis=1, keepdims=True))
        hits = np.empty(len(rays), np.int32)
        # Rays go to points in the picture only, so geoms outside of it cannot be in the way.
        scene.model.geom_group[:] = np.where(_near_view(scene, view), scene.groups, GROUP_HIDDEN)
        scene.cast(eye, rays, _GROUPS, hits, np.empty(len(rays)), view.far_m, agent.name)
        met: NDArray[np.int32] = np.where(hits >= 0, scene.instance_of_geom[hits], -1)
        return met


def _view(agent: Agent) -> View:
    mount = agent.body.cameras["hand"]
    base = Pose.planar(agent.x_m, agent.y_m, agent.yaw_rad)
    return View(
        pose=base.compose(camera_on_base(agent, "hand", mount)),
        intrinsics=intrinsics_of(mount),
        near_m=mount.near_m,
        far_m=mount.far_m,
    )


def _may_show(world: KinematicWorld, thing: Thing) -> bool:
    return thing.relation is not Relation.WITHIN or not world.is_enclosed(thing)


def _near_view(scene: Scene, view: View) -> NDArray[np.bool_]:
    """Which geoms' bounding spheres meet the frustum; `renderer.visible_geoms`, but for rays."""
    lens = view.intrinsics
    radius = scene.model.geom_rbound
    relative = scene.data.geom_xpos - np.asarray(view.pose.position_m)
    x, y, z = view.pose.rotation().T @ relative.T
    near: NDArray[np.bool_] = z > view.near_m - radius
    for across, slope in (
        (x, lens.width_px / 2 / lens.fx_px),
        (y, lens.height_px / 2 / lens.fy_px),
    ):
        near &= np.abs(across) < z * slope + radius * math.hypot(1.0, slope)
    return near


def _image_share(view: View, optical: FloatArray) -> FloatArray:
    """The share of the image that boxes' outlines cover, cut at its edges.

    `optical` are (n, 8, 3) corners in the camera's optical frame.
    """
    lens = view.intrinsics
    z = np.maximum(optical[..., 2], view.near_m)
    u = np.clip(optical[..., 0] / z * lens.fx_px + lens.cx_px, 0, lens.width_px - 1)
    v = np.clip(optical[..., 1] / z * lens.fy_px + lens.cy_px, 0, lens.height_px - 1)
    area: FloatArray = (u.max(axis=1) - u.min(axis=1)) * (v.max(axis=1) - v.min(axis=1))
    return area / (lens.width_px * lens.height_px)
