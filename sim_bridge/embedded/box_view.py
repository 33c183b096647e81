"""Finds the boxes in a camera's view; the arithmetic is in looks.c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from planner.world.agents import CameraMount
from planner.world.geometry import FloatArray, Vec3
from sim_bridge.embedded.compiled import ffi, flags, floats, indices, lib, numbers
from sim_bridge.embedded.scene import GROUP_AGENT, GROUP_HIDDEN, Scene
from sim_bridge.embedded.views import intrinsics_of

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Boxes, Eye, Integers, Lens, Look, Pointer

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
        """Takes boxes and the scene in which rays are cast."""
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
