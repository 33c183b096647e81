"""What a camera would see, told by rays instead of a picture.

For runs without images: a few points of each thing in the frustum are tried,
and the share of the image is estimated from the projected box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Box, FloatArray, Vec3
from planner.world.observation import Intrinsics, Sighting
from planner.world.vocabulary import Relation
from sim_bridge.embedded.entities import Agent, Stance, Thing
from sim_bridge.embedded.scene import GROUP_AGENT, GROUP_HIDDEN, Scene
from sim_bridge.embedded.screens import Screens, contains
from sim_bridge.embedded.sensing import optical_rotation
from sim_bridge.embedded.views import intrinsics_of
from sim_bridge.embedded.world import KinematicWorld

Rows = NDArray[np.intp]

# Where a box is looked at, as shares of its half extents: the middle and near each face.
_PROBES = np.array(
    [(0, 0, 0), (0.7, 0, 0.7), (-0.7, 0, 0.7), (0, 0.7, 0.7), (0, -0.7, 0.7), (0, 0, 0.9)]
)
_CORNERS = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
_POINTS = np.concatenate([_PROBES, _CORNERS])
# Of a projected box, what shapes like cups and lamps cover.
_FILL = 0.7
_NONE = np.empty(0)
_GROUPS = np.array([1, 1, 1, 1, 0, 0], np.uint8)
# How far off the outermost ray's slope a geom still counts as near: rounding.
_ASIDE = 1e-6


@dataclass(frozen=True, slots=True)
class _Eye:
    """A camera: where its lens is in the map, its optical frame's (3, 3) rotation, its lens."""

    position_m: FloatArray
    rotation: FloatArray
    lens: Intrinsics
    near_m: float
    far_m: float


class Sight:
    """The boxes of everything in a world, kept up to date, and the looks at them.

    A row is a thing, a piece of furniture or an agent. `_points` are each box's probes and
    then its corners in the map.
    """

    def __init__(self, world: KinematicWorld, scene: Scene, screens: Screens | None = None) -> None:
        """Takes up every box of the world of a scene, and where known what walls hide."""
        self._world, self._scene, self._screens = world, scene, screens
        pieces, agents = list(world.pieces.values()), list(world.agents.values())
        self._lenses = {a.name: intrinsics_of(a.body.cameras["hand"]) for a in agents}
        self._names = [*world.things, *world.pieces, *world.agents]
        self._rows = {name: row for row, name in enumerate(self._names)}
        count = len(self._names)
        self._others = {a.name: np.delete(np.arange(count), self._rows[a.name]) for a in agents}
        self._instances = np.array([world.entity(n).instance_id for n in self._names], np.int32)
        self._geoms = [np.flatnonzero(scene.instance_of_geom == i) for i in self._instances]
        sizes = [thing.size_m for thing in world.things.values()]
        sizes += [piece.record.size_m for piece in pieces]
        # A body is slimmer than the disc it needs.
        sizes += [(r, r, a.body.height_m) for a in agents for r in (1.2 * a.body.radius_m,)]
        self._halves = np.array(sizes, float).reshape(-1, 3) / 2
        # A centre may lie outside of the picture by half of its box's radius.
        self._slacks = 0.5 * np.linalg.norm(self._halves, axis=1)
        self._slack_of: list[float] = self._slacks.tolist()
        self._first_agent = count - len(agents)
        self._centers = np.zeros((count, 3))
        self._points = np.zeros((count, len(_POINTS), 3))
        self._may_show = np.ones(count, np.bool_)
        self._always = np.arange(count) >= self._first_agent
        self._places: dict[str, tuple[float, float, float, float]] = {}
        # The number of the region of the screens that a row is all in; -1 for what is never hidden.
        self._regions = np.full(count, -1, np.intp)
        self._unhidden: dict[str, tuple[Sequence[str], object, list[str]]] = {}
        self._scenery = -1
        for piece in pieces:
            record = piece.record
            half_m = record.size_m[2] / 2
            self._put(record.name, (record.x_m, record.y_m, half_m, record.yaw_rad))
            if screens is not None:
                self._regions[self._rows[record.name]] = screens.index[record.name]

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
        eye = self._eye(agent, agent.stance)
        rows = self._unscreened(eye, self._others[agent.name])
        return self._told(eye, *self._shown(agent, eye, rows, farthest_m, least_fraction))

    def glimpse(
        self, agent: Agent, names: Sequence[str], farthest_m: float, least_fraction: float
    ) -> list[Sighting]:
        """What `sightings` has of some entities in the picture, and of what those are on or in."""
        self._follow_scenery()
        self._follow_hands()
        in_view = self._in_view(agent, agent.stance, names, farthest_m)
        if not in_view:
            return []
        eye = self._eye(agent, agent.stance)
        rows, fractions = self._met(agent, eye, np.array(in_view, np.intp), least_fraction)
        if not len(rows):
            return []
        things = self._world.things
        parents = {things[n].parent for n in map(self._names.__getitem__, in_view) if n in things}
        under = [r for r in map(self._rows.get, parents) if r is not None and r not in in_view]
        if under:
            more = self._shown(agent, eye, np.array(under, np.intp), farthest_m, least_fraction)
            rows = np.concatenate([rows, more[0]])
            fractions = np.concatenate([fractions, more[1]])
        return self._told(eye, rows, fractions)

    def misses(
        self,
        agent: Agent,
        stance: Stance,
        names: Sequence[str],
        farthest_m: float,
        least_fraction: float,
    ) -> bool:
        """Whether an agent that comes to a stance surely sees none of some entities.

        That is, as long as nothing but agents and what they hold moves until then: those are
        looked through, so that it does not matter where they are. `names` has none of them.
        """
        self._follow_scenery()
        self._follow_hands()
        in_view = self._in_view(agent, stance, names, farthest_m)
        if not in_view:
            return True
        eye, rows = self._eye(agent, stance), np.array(in_view, np.intp)
        _, fractions = self._met(agent, eye, rows, least_fraction, through_agents=True)
        return not bool((fractions >= least_fraction).any())

    def _told(self, eye: _Eye, rows: Rows, fractions: FloatArray) -> list[Sighting]:
        """Some rows that fill so much of the picture as sightings, nearest first."""
        lens, found = eye.lens, []
        centers = self._centers[rows]
        optical = (centers - eye.position_m) @ eye.rotation
        for row, fraction, (x, y, z), (cx, cy, cz) in zip(
            rows.tolist(), fractions.tolist(), optical.tolist(), centers.tolist(), strict=True
        ):
            pixel = (x / z * lens.fx_px + lens.cx_px, y / z * lens.fy_px + lens.cy_px)
            found.append(Sighting(self._names[row], fraction, z, pixel, (cx, cy, cz)))
        return sorted(found, key=lambda s: (s.distance_m, s.name))

    def _unscreened_names(self, names: Sequence[str], agent: str, eye_m: Vec3) -> Sequence[str]:
        """Those of some names that no wall hides; kept for the same names and the same square."""
        if self._screens is None:
            return [name for name in names if name != agent]
        hidden = self._screens.hidden_from(eye_m[0], eye_m[1])
        last = self._unhidden.get(agent)
        if last is None or last[0] is not names or last[1] is not hidden:
            regions, rows = self._regions, self._rows
            kept = [n for n in names if not hidden[regions[rows[n]]] and n != agent]
            last = (names, hidden, kept)
            self._unhidden[agent] = last
        return last[2]

    def _in_view(
        self, agent: Agent, stance: Stance, names: Sequence[str], farthest_m: float
    ) -> list[int]:
        """The rows of some names whose centre is in the picture, as `_in_frustum` has it.

        For the few names that are asked for many times, in which nearly always none is in view.
        """
        eye_m, heading = _lens_place(agent, stance)
        names = self._unscreened_names(names, agent.name, eye_m)
        lens, mount = self._lenses[agent.name], agent.body.cameras["hand"]
        across, up = lens.width_px / 2 / lens.fx_px, lens.height_px / 2 / lens.fy_px
        cp, sp = math.cos(heading), math.sin(heading)
        ct, st = math.cos(stance.tilt_rad), math.sin(stance.tilt_rad)
        rows = []
        for name in names:
            x, y, z, _ = self._places[name]
            dx, dy, dz = x - eye_m[0], y - eye_m[1], z - eye_m[2]
            ahead = dx * cp + dy * sp
            depth = ahead * ct - dz * st
            if not mount.near_m < depth < mount.far_m:
                continue
            row = self._rows[name]
            slack = self._slack_of[row]
            if (
                abs(dx * sp - dy * cp) < depth * across + slack
                and abs(ahead * st + dz * ct) < depth * up + slack
                and (row >= self._first_agent or dx * dx + dy * dy <= farthest_m**2)
                and self._may_show[row]
            ):
                rows.append(row)
        return rows

    # Keeping up

    def _follow(self) -> None:
        """Brings the boxes of what moved up to date."""
        self._follow_scenery()
        for agent in self._world.agents.values():
            height_m = agent.body.height_m
            self._put(agent.name, (agent.x_m, agent.y_m, height_m / 2, agent.yaw_rad))
        self._follow_hands()

    def _follow_scenery(self) -> None:
        world = self._world
        if self._scenery == world.scenery_revision:
            return
        self._scenery = world.scenery_revision
        for thing in world.things.values():
            if self._put(thing.name, (*thing.center_m, thing.yaw_rad)):
                self._regions[self._rows[thing.name]] = self._region(thing)
            self._may_show[self._rows[thing.name]] = _may_show(world, thing)
        self._unhidden.clear()

    def _follow_hands(self) -> None:
        # What is carried is no scenery.
        for agent in self._world.agents.values():
            if agent.holding is not None:
                thing = self._world.things[agent.holding]
                self._put(thing.name, (*thing.center_m, thing.yaw_rad))
                row = self._rows[thing.name]
                if self._regions[row] >= 0:
                    self._regions[row] = -1
                    self._unhidden.clear()

    def _region(self, thing: Thing) -> int:
        """The region that a thing is all in: its furniture's, else its room's, else none."""
        if self._screens is None:
            return -1
        box = Box.around(thing.center_m, thing.size_m, thing.yaw_rad)
        for name in (thing.parent, thing.room or ""):
            number = self._screens.index.get(name, -1)
            if number >= 0 and contains(self._screens.regions[number], box):
                return number
        return -1

    def _put(self, name: str, place: tuple[float, float, float, float]) -> bool:
        """Puts a box's middle at x, y, z of the map, turned by a yaw; whether it was elsewhere."""
        if self._places.get(name) == place:
            return False
        self._places[name] = place
        row = self._rows[name]
        x, y, z, yaw = place
        c, s = math.cos(yaw), math.sin(yaw)
        self._centers[row] = x, y, z
        turn = np.array([(c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)])
        self._points[row] = (self._halves[row] * _POINTS) @ turn + self._centers[row]
        return True

    # Looking

    def _unscreened(self, eye: _Eye, rows: Rows) -> Rows:
        """Those of some rows that no wall hides."""
        if self._screens is None:
            return rows
        x_m, y_m, _ = eye.position_m.tolist()
        return rows[~self._screens.hidden_from(x_m, y_m)[self._regions[rows]]]

    def _eye(self, agent: Agent, stance: Stance) -> _Eye:
        mount = agent.body.cameras["hand"]
        position_m, heading = _lens_place(agent, stance)
        return _Eye(
            np.array(position_m),
            optical_rotation(heading, stance.tilt_rad),
            self._lenses[agent.name],
            mount.near_m,
            mount.far_m,
        )

    def _shown(
        self, agent: Agent, eye: _Eye, rows: Rows, farthest_m: float, least_fraction: float
    ) -> tuple[Rows, FloatArray]:
        """Those of some rows in the picture that rays meet, and how much of it each fills."""
        relative = self._centers[rows] - eye.position_m
        kept = self._in_frustum(eye, rows, relative, farthest_m)
        return self._met(agent, eye, rows[kept], least_fraction)

    def _met(
        self,
        agent: Agent,
        eye: _Eye,
        rows: Rows,
        least_fraction: float,
        *,
        through_agents: bool = False,
    ) -> tuple[Rows, FloatArray]:
        """Those of some rows that rays meet, and the share of the image that each fills.

        Rays pass through who looks, and on demand through all agents and what they hold.
        """
        if not len(rows):
            return rows, _NONE
        points = self._points[rows] - eye.position_m
        optical = points @ eye.rotation
        fractions = _FILL * _image_share(eye.lens, eye.near_m, optical[:, len(_PROBES) :])
        large = fractions >= least_fraction
        if not large.all():
            rows, points, optical = rows[large], points[large], optical[large]
            if not len(rows):
                return rows, _NONE
            fractions = fractions[large]
        solid = self._solid() if through_agents else None
        hits = self._first_hits(agent, eye, rows, points, optical, solid)
        shares = np.add.reduce(hits == self._instances[rows, None], axis=1) / len(_PROBES)
        seen = shares > 0
        return rows[seen], fractions[seen] * shares[seen]

    def _in_frustum(
        self, eye: _Eye, rows: Rows, relative: FloatArray, farthest_m: float
    ) -> NDArray[np.bool_]:
        """Whether a row's centre is in the picture, give or take half of its box's radius."""
        lens, slacks = eye.lens, self._slacks[rows]
        x, y, z = eye.rotation.T @ relative.T
        inside: NDArray[np.bool_] = (z > eye.near_m) & (z < eye.far_m)
        inside &= np.abs(x) < z * (lens.width_px / 2 / lens.fx_px) + slacks
        inside &= np.abs(y) < z * (lens.height_px / 2 / lens.fy_px) + slacks
        inside &= self._may_show[rows]
        away = relative[:, :2]
        inside &= ((away * away).sum(axis=1) <= farthest_m**2) | self._always[rows]
        return inside

    def _solid(self) -> NDArray[np.bool_]:
        """Which geoms are not those of agents or of what they hold."""
        kept: NDArray[np.bool_] = self._scene.groups != GROUP_AGENT
        held = [a.holding for a in self._world.agents.values() if a.holding is not None]
        for name in held:
            kept[self._geoms[self._rows[name]]] = False
        return kept

    def _first_hits(
        self,
        agent: Agent,
        eye: _Eye,
        rows: Rows,
        points: FloatArray,
        optical: FloatArray,
        solid: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int32]:
        """(n, probes) the instance that is met first on the way to each probe; -1 for none.

        `points` are the rows' (n, k, 3) from the eye, in the map's axes, and `optical` the same
        in the camera's. Rays pass through all geoms that are not `solid`.
        """
        scene = self._scene
        scene.sync()
        count = len(_PROBES)
        rays = points[:, :count].reshape(-1, 3)
        rays = rays / np.sqrt(np.add.reduce(rays * rays, axis=1, keepdims=True))
        hits = np.empty(len(rays), np.int32)
        ranges_m = np.empty(len(rays))
        geoms = np.concatenate([self._geoms[row] for row in rows.tolist()])
        near = _near_rays(scene, eye, optical[:, :count], geoms)
        if solid is not None:
            near &= solid
        scene.model.geom_group[:] = np.where(near, scene.groups, GROUP_HIDDEN)
        scene.cast(eye.position_m, rays, _GROUPS, hits, ranges_m, eye.far_m, agent.name)
        met: NDArray[np.int32] = np.where(hits >= 0, scene.instance_of_geom[hits], -1)
        return met.reshape(-1, count)


def _lens_place(agent: Agent, stance: Stance) -> tuple[Vec3, float]:
    """Where an agent's camera is in the map, and where it points seen from above."""
    # The hand swings around the body's upright axis, as the body itself turns.
    heading = stance.yaw_rad + stance.pan_rad
    c, s = math.cos(heading), math.sin(heading)
    x, y, z = agent.body.cameras["hand"].position_m
    return (stance.x_m + x * c - y * s, stance.y_m + x * s + y * c, z), heading


def _may_show(world: KinematicWorld, thing: Thing) -> bool:
    return thing.relation is not Relation.WITHIN or not world.is_enclosed(thing)


def _near_rays(
    scene: Scene, eye: _Eye, probes: FloatArray, targets: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which geoms rays may meet before, or on, what they go to; by the geoms' bounding spheres.

    Geoms out of the picture are left out, too: `renderer.visible_geoms`, but for rays. `probes`
    are the rays' ends in the optical frame, `targets` the geoms of what they go to.
    """
    lens, radius = eye.lens, scene.model.geom_rbound
    x, y, z = eye.rotation.T @ (scene.data.geom_xpos - eye.position_m).T
    depth_m = probes[..., 2]
    near: NDArray[np.bool_] = z > eye.near_m - radius
    behind = z + radius
    near &= z - radius <= np.maximum.reduce(behind[targets])
    # Rays that leave at right angles to the view have no slope.
    ahead = bool(np.minimum.reduce(depth_m, axis=None) > eye.near_m)
    for across, ends, slope in (
        (x, probes[..., 0], lens.width_px / 2 / lens.fx_px),
        (y, probes[..., 1], lens.height_px / 2 / lens.fy_px),
    ):
        low, high = -slope, slope
        if ahead:
            slopes = ends / depth_m
            low = max(low, float(np.minimum.reduce(slopes, axis=None)) - _ASIDE)
            high = min(high, float(np.maximum.reduce(slopes, axis=None)) + _ASIDE)
        near &= across < z * high + radius * math.hypot(1.0, high)
        near &= across > z * low - radius * math.hypot(1.0, low)
    return near


def _image_share(lens: Intrinsics, near_m: float, optical: FloatArray) -> FloatArray:
    """The share of the image that boxes' outlines cover, cut at its edges.

    `optical` are (n, 8, 3) corners in the camera's optical frame.
    """
    scale, middle, last = _pixels_of(lens)
    # NumPy's own functions for this take thrice the time for a few numbers.
    pixels = optical[..., :2] / np.maximum(optical[..., 2:], near_m) * scale + middle
    low, high = np.minimum.reduce(pixels, axis=1), np.maximum.reduce(pixels, axis=1)
    cut = np.minimum(np.maximum(high, 0), last) - np.minimum(np.maximum(low, 0), last)
    share: FloatArray = cut[:, 0] * cut[:, 1] / (lens.width_px * lens.height_px)
    return share


@lru_cache
def _pixels_of(lens: Intrinsics) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Each (2,), across and down: pixels for a slope of one, the middle, the last pixel."""
    return (
        np.array((lens.fx_px, lens.fy_px)),
        np.array((lens.cx_px, lens.cy_px)),
        np.array((lens.width_px - 1.0, lens.height_px - 1.0)),
    )
