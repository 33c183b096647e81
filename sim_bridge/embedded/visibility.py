"""What a camera would see: boxes in its view, and rays instead of a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from planner.world.agents import CameraMount
from planner.world.geometry import Box, FloatArray, Vec3
from planner.world.observation import Sighting
from sim_bridge.embedded.entities import Agent, Stance, Thing
from sim_bridge.embedded.house_ground import (
    Screens,
    contains,
    ffi,
    flags,
    floats,
    indices,
    lib,
    numbers,
)
from sim_bridge.embedded.scene import GROUP_AGENT, GROUP_HIDDEN, Scene
from sim_bridge.embedded.sensing import intrinsics_of
from sim_bridge.embedded.world import KinematicWorld

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Boxes, Eye, Integers, Lens, Look, Pointer


# Finds the boxes in a camera's view; the arithmetic is in looks.c.

Rows = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
PointerT = TypeVar("PointerT", bound="Pointer")

# Sample points of a box, as shares of its half extents: the centre and near each face.
_PROBES = [(0, 0, 0), (0.7, 0, 0.7), (-0.7, 0, 0.7), (0, 0.7, 0.7), (0, -0.7, 0.7), (0, 0, 0.9)]
_CORNERS = [(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
_POINTS = np.array([*_PROBES, *_CORNERS], float)
_GROUPS = np.array([1, 1, 1, 1, 0, 0], np.uint8)
_NO_GROUP = -1
_NO_ROWS = np.empty(0, np.intp)
NOTHING_HIDDEN = ffi.NULL


@dataclass(frozen=True, slots=True)
class BoxRows:
    """The boxes that can be seen; their owner may write to the arrays and call `place`.

    Attributes:
        halves_m: (rows, 3) half extents.
        slacks_m: (rows,) how far outside the picture a centre may be.
        may_show: (rows,) False for contents of something closed.
        regions: (rows,) the region of the screens that a box is entirely in; the number of regions
            if in none.
        instances: (rows,) the instance ids.
        agents_from: the first row of agents.
    """

    halves_m: FloatArray
    slacks_m: FloatArray
    may_show: BoolArray
    regions: Rows
    instances: NDArray[np.int32]
    agents_from: int


class Query(NamedTuple):
    """The rows that are searched for, in C's form.

    Attributes:
        own: the observer's own row, which is skipped.
    """

    rows: Integers
    number: int
    own: int

    @classmethod
    def of(cls, rows: Rows, own: int) -> Query:
        """Some rows except the observer's own."""
        return cls(indices(rows), len(rows), own)


class Limits(NamedTuple):
    """Limits of a search.

    Attributes:
        max_distance_m: along the floor; beyond it only agents are searched for.
        min_fraction: of the picture; `BoxView.met` leaves out what certainly has less.
    """

    max_distance_m: float
    min_fraction: float


class Hit(NamedTuple):
    """A row that rays hit, its share of the picture, and its centre.

    Attributes:
        distance_m: of the centre, along the view axis.
        pixel: column and row of the centre.
    """

    row: int
    fraction: float
    distance_m: float
    pixel: tuple[float, float]


def lens_of(mount: CameraMount) -> Lens:
    """The intrinsics of a camera."""
    lens, seen = cast("Lens", ffi.new("Lens *")), intrinsics_of(mount)
    lens.fx_px, lens.fy_px, lens.cx_px, lens.cy_px = seen.fx_px, seen.fy_px, seen.cx_px, seen.cy_px
    lens.width_px, lens.height_px = seen.width_px, seen.height_px
    lens.near_m, lens.far_m = mount.near_m, mount.far_m
    return lens


class BoxView:
    """A camera, and what the latest view through it found."""

    def __init__(self, rows: BoxRows, scene: Scene) -> None:
        self._scene = scene
        self._eye = cast("Eye", ffi.new("Eye *"))
        # A view of C's memory.
        self._at_m = np.frombuffer(ffi.buffer(self._eye.at_m))
        rays = lib.PROBES * len(rows.instances)
        self._rays = np.empty((rays, 3))
        self._hits = np.empty(rays, np.int32)
        self._ranges_m = np.empty(rays)
        # C structures do not keep the arrays alive that they point to.
        self._kept: list[Pointer] = []
        self._hits_there = self._keep(numbers(self._hits))
        self._boxes = self._boxes_of(rows)
        self._look = self._room_for(len(rows.instances))

    def _keep(self, pointer: PointerT) -> PointerT:
        self._kept.append(pointer)
        return pointer

    def _boxes_of(self, rows: BoxRows) -> Boxes:
        boxes, scene = cast("Boxes", ffi.new("Boxes *")), self._scene
        of_geom = scene.instance_of_geom
        geoms = [np.flatnonzero(of_geom == number) for number in rows.instances]
        begins = np.cumsum([0, *map(len, geoms)], dtype=np.intp)
        boxes.agents_from, boxes.geoms = rows.agents_from, len(of_geom)
        count = len(rows.instances)
        boxes.shares = self._keep(floats(_POINTS))
        boxes.halves_m = self._keep(floats(rows.halves_m))
        boxes.points_m = self._keep(floats(np.zeros((count, len(_POINTS), 3))))
        boxes.centers_m = self._keep(floats(np.zeros((count, 3))))
        boxes.slacks_m = self._keep(floats(rows.slacks_m))
        boxes.may_show = self._keep(flags(rows.may_show))
        boxes.regions = self._keep(indices(rows.regions))
        boxes.instances = self._keep(numbers(rows.instances))
        boxes.geoms_from = self._keep(indices(begins))
        boxes.geoms_of = self._keep(indices(np.concatenate(geoms)))
        boxes.geom_at_m = self._keep(floats(scene.data.geom_xpos))
        boxes.geom_radius_m = self._keep(floats(scene.model.geom_rbound))
        boxes.groups = self._keep(numbers(scene.groups))
        boxes.instance_of_geom = self._keep(numbers(of_geom))
        boxes.shown = self._keep(numbers(scene.model.geom_group))
        return boxes

    def _room_for(self, rows: int) -> Look:
        look = cast("Look", ffi.new("Look *"))
        look.view = self._keep(indices(np.empty(rows, np.intp)))
        look.rows = self._keep(indices(np.empty(rows, np.intp)))
        look.fractions = self._keep(floats(np.empty(rows)))
        look.pixels = self._keep(floats(np.empty(2 * rows)))
        look.distances_m = self._keep(floats(np.empty(rows)))
        look.rays = self._keep(floats(self._rays))
        look.probes_m = self._keep(floats(np.empty_like(self._rays)))
        return look

    def place(self, row: int, place: tuple[float, float, float, float]) -> None:
        """Moves the centre of a row's box to x, y, z of the map, rotated by a yaw."""
        lib.place(self._boxes, row, *place)

    def glance(
        self,
        lens: Lens,
        lens_m: Vec3,
        heading_rad: float,
        tilt_rad: float,
        query: Query,
        hidden: Integers,
        limits: Limits,
    ) -> int:
        """Moves the camera, and counts the rows whose centre is then in the picture.

        That is, within their slack.

        Args:
            lens: intrinsics of the camera.
            lens_m: its position in the map.
            heading_rad: its direction, seen from above.
            tilt_rad: its downward tilt.
            query: the rows to search for.
            hidden: (regions + 1) whether walls hide a region; `NOTHING_HIDDEN` if none do.
            limits: of the search.
        """
        return lib.glance(
            self._boxes, self._eye, lens, *lens_m, heading_rad, tilt_rad,
            *query, hidden, *limits, self._look,
        )  # fmt: skip

    @property
    def in_view(self) -> list[int]:
        """The rows whose centre is in the picture."""
        return ffi.unpack(self._look.view, self._look.in_view)

    def met(self, without: str, held: Rows | None = None) -> list[Hit]:
        """The rows in view that rays hit.

        Args:
            without: an entity that rays pass through.
            held: if given, rays pass through all agents and these rows.
        """
        look = self._look
        if not look.count:
            return []
        if held is None:
            self._scene.sync()
        else:
            self._scene.sync_scenery()
        self._aim(held)
        rays = slice(lib.PROBES * look.count)
        hits, ranges_m, far_m = self._hits[rays], self._ranges_m[rays], self._eye.lens.far_m
        self._scene.cast(self._at_m, self._rays[rays], _GROUPS, hits, ranges_m, far_m, without)
        lib.tally(self._boxes, self._eye, self._hits_there, look)
        count = look.count
        pixels = ffi.unpack(look.pixels, 2 * count)
        columns = (
            ffi.unpack(look.rows, count),
            ffi.unpack(look.fractions, count),
            ffi.unpack(look.distances_m, count),
            zip(pixels[::2], pixels[1::2], strict=True),
        )
        return [Hit(*values) for values in zip(*columns, strict=True)]

    def _aim(self, held: Rows | None) -> None:
        """Prepares the rays, limited to the geoms that they may hit."""
        through = _NO_GROUP if held is None else GROUP_AGENT
        held = _NO_ROWS if held is None else held
        there = indices(held)
        lib.aim(self._boxes, self._eye, GROUP_HIDDEN, through, there, len(held), self._look)


class Visibility:
    """The boxes of everything in a world, kept up to date, and views of them.

    A row is a thing, a piece of furniture or an agent.
    """

    def __init__(self, world: KinematicWorld, scene: Scene, screens: Screens | None = None) -> None:
        """Takes every box of the world of a scene, and if known what walls hide."""
        self._world, self._screens = world, screens
        pieces, agents = list(world.pieces.values()), list(world.agents.values())
        self._lenses = {a.name: lens_of(a.body.cameras["hand"]) for a in agents}
        self._names = [*world.things, *world.pieces, *world.agents]
        self._rows = {name: row for row, name in enumerate(self._names)}
        self._all = np.arange(len(self._names), dtype=np.intp)
        sizes = [thing.size_m for thing in world.things.values()]
        sizes += [piece.record.size_m for piece in pieces]
        # A body is slimmer than the disc that it needs.
        sizes += [(r, r, a.body.height_m) for a in agents for r in (1.2 * a.body.radius_m,)]
        self._halves = np.array(sizes, float).reshape(-1, 3) / 2
        self._nowhere = 0 if screens is None else len(screens.regions)
        self._boxes = self._no_boxes(len(agents))
        self._view = BoxView(self._boxes, scene)
        self._places: dict[str, tuple[float, float, float, float]] = {}
        # Each agent's last query.
        self._queries: dict[str, tuple[Sequence[str], Query]] = {}
        self._missed: dict[str, tuple[tuple[object, ...], Sequence[str], bool]] = {}
        self._scenery = -1
        for piece in pieces:
            record = piece.record
            half_m = record.size_m[2] / 2
            self._put(record.name, (record.x_m, record.y_m, half_m, record.yaw_rad))
            if screens is not None:
                self._boxes.regions[self._rows[record.name]] = screens.index[record.name]

    def _no_boxes(self, agents: int) -> BoxRows:
        count = len(self._names)
        instances = [self._world.entity(name).instance_id for name in self._names]
        return BoxRows(
            halves_m=self._halves,
            # A centre may be outside the picture by half of its box's diagonal.
            slacks_m=0.5 * np.linalg.norm(self._halves, axis=1),
            may_show=np.ones(count, np.bool_),
            regions=np.full(count, self._nowhere, np.intp),
            instances=np.array(instances, np.int32),
            agents_from=count - agents,
        )

    def sightings(
        self, agent: Agent, max_distance_m: float, min_fraction: float = 0.0
    ) -> list[Sighting]:
        """The things, furniture and agents in an agent's hand camera, nearest first.

        Args:
            agent: the observer.
            max_distance_m: horizontal distance beyond which only other agents are reported.
            min_fraction: minimum share of the view; only what certainly has less is left out.
        """
        self._follow()
        query = Query.of(self._all, self._rows[agent.name])
        self._glance(agent, agent.stance, query, Limits(max_distance_m, min_fraction))
        return self._sightings(self._view.met(agent.name))

    def sightings_among(
        self, agent: Agent, names: Sequence[str], max_distance_m: float, min_fraction: float
    ) -> list[Sighting]:
        """The part of `sightings` about some entities and what those are on or in."""
        self._follow_scenery()
        self._follow_hands()
        query, limits = self._query(agent, names), Limits(max_distance_m, min_fraction)
        if not self._glance(agent, agent.stance, query, limits):
            return []
        view, things = self._view, self._world.things
        in_view = view.in_view
        found = view.met(agent.name)
        if not found:
            return []
        parents = {things[n].parent for n in map(self._names.__getitem__, in_view) if n in things}
        under = [r for r in map(self._rows.get, parents) if r is not None and r not in in_view]
        if under:
            beneath = Query.of(np.array(under, np.intp), query.own)
            self._glance(agent, agent.stance, beneath, limits)
            found += view.met(agent.name)
        return self._sightings(found)

    def surely_sees_none(
        self, agent: Agent, stance: Stance, names: Sequence[str], limits: Limits
    ) -> bool:
        """Whether an agent at a future stance certainly sees none of some entities.

        That is, as long as only agents and what they hold move until then: rays pass through those,
        so their positions do not matter. `names` must not include them.
        """
        agents = self._world.agents.values()
        held = tuple(self._rows[t.name] for a in agents for t in self._world.carried_by(a))
        key = (stance, self._world.scenery_revision, held, limits)
        known = self._missed.get(agent.name)
        # The result is unchanged while the agent stands still.
        if known is None or known[0] != key or known[1] is not names:
            missed = self._search_stance(agent, stance, names, held, limits)
            known = self._missed[agent.name] = (key, names, missed)
        return known[2]

    def _search_stance(
        self,
        agent: Agent,
        stance: Stance,
        names: Sequence[str],
        held: tuple[int, ...],
        limits: Limits,
    ) -> bool:
        self._follow_scenery()
        if not self._glance(agent, stance, self._query(agent, names), limits):
            return True
        found = self._view.met(agent.name, np.array(held, np.intp))
        return all(met.fraction < limits.min_fraction for met in found)

    def _glance(self, agent: Agent, stance: Stance, query: Query, limits: Limits) -> int:
        """Looks through an agent's hand camera at a stance; returns the number of candidates."""
        # The hand swings around the body's vertical axis, as the body itself turns.
        heading = stance.yaw_rad + stance.pan_rad
        c, s = math.cos(heading), math.sin(heading)
        x, y, z = agent.body.cameras["hand"].position_m
        x, y = stance.x_m + x * c - y * s, stance.y_m + x * s + y * c
        hidden = NOTHING_HIDDEN if self._screens is None else self._screens.flags_from(x, y)
        lens = self._lenses[agent.name]
        return self._view.glance(lens, (x, y, z), heading, stance.tilt_rad, query, hidden, limits)

    def _query(self, agent: Agent, names: Sequence[str]) -> Query:
        """The rows of some names, cached as names are often the same."""
        known = self._queries.get(agent.name)
        if known is None or known[0] is not names:
            rows = np.array([self._rows[name] for name in names], np.intp)
            known = self._queries[agent.name] = (names, Query.of(rows, self._rows[agent.name]))
        return known[1]

    def _sightings(self, found: list[Hit]) -> list[Sighting]:
        """Rows hit by rays as sightings, nearest first."""
        sightings = [
            Sighting(
                self._names[row], fraction, distance_m, pixel, self._places[self._names[row]][:3]
            )
            for row, fraction, distance_m, pixel in found
        ]
        return sorted(sightings, key=lambda s: (s.distance_m, s.name))

    # Updates

    def _follow(self) -> None:
        """Updates the boxes of everything that moved."""
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
                self._boxes.regions[self._rows[thing.name]] = self._region(thing)
            self._boxes.may_show[self._rows[thing.name]] = not world.is_enclosed(thing)

    def _follow_hands(self) -> None:
        # Carried things are not part of the scenery.
        for agent in self._world.agents.values():
            for thing in self._world.carried_by(agent):
                self._put(thing.name, (*thing.center_m, thing.yaw_rad))
                row = self._rows[thing.name]
                self._boxes.regions[row] = self._nowhere

    def _region(self, thing: Thing) -> int:
        """The region that a thing is entirely in: its furniture's, else its room's, else none."""
        if self._screens is None:
            return self._nowhere
        box = Box.around(thing.center_m, thing.size_m, thing.yaw_rad)
        for name in (self._world.base_of(thing).parent, thing.room or ""):
            number = self._screens.index.get(name)
            if number is not None and contains(self._screens.regions[number], box):
                return number
        return self._nowhere

    def _put(self, name: str, place: tuple[float, float, float, float]) -> bool:
        """Moves a box's centre to x, y, z of the map with a yaw; returns whether it moved."""
        if self._places.get(name) == place:
            return False
        self._places[name] = place
        self._view.place(self._rows[name], place)
        return True
