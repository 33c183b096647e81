"""The floor as habitat-sim's navigation mesh has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from planner.world.agents import default_bodies
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from sim_bridge.embedded.world import HouseGround, Way
from sim_bridge.habitat.dataset.records import HabitatDataset
from sim_bridge.habitat.footprints import write_footprints
from sim_bridge.habitat.options import NavMesh
from sim_bridge.habitat.process import HabitatError
from sim_bridge.habitat.scene import Sandbox

Point = tuple[float, float]
# Nearer than this to where a step was to end, it ended there: habitat-sim reckons with 32 bits.
_SAME_M = 2e-3
# Ways keep so much farther off walls and furniture than need be, where there is such a way: the
# other simulators' floor of coarse cells has no narrower passages either, but by chance.
_SHY_M = 0.025


class NavMeshGround(HouseGround):
    """A house's floor: who may stand where, and the ways, are the navigation mesh's.

    Where to stand is chosen among the middles of the floor grid's cells, so that it is chosen
    as in the other simulators of the house; of those only cells on the mesh count.
    """

    def __init__(
        self,
        house: House,
        dataset: HabitatDataset,
        sandbox: Callable[[], Sandbox],
        options: NavMesh,
    ) -> None:
        """Makes nothing yet; `sandbox` gives the habitat-sim that is alive."""
        super().__init__(house)
        self._dataset, self._sandbox, self._options = dataset, sandbox, options
        self._on_mesh: dict[float, FloorGrid] = {}
        self._made: set[tuple[int, str]] = set()

    def starts(self, radius_m: float) -> FloorGrid:
        """As in the other simulators of the house."""
        return super().grid(radius_m)

    def grid(self, radius_m: float) -> FloorGrid:
        """The cells whose middles are on the mesh."""
        grid = self._on_mesh.get(radius_m)
        if grid is None:
            whole = super().grid(radius_m)
            asked = [(x, -y) for x, y in whole.free_points_m.tolist()]
            reply = self._ask("navigable", radius_m, points=asked)
            islands = cast(Sequence[int], reply["islands"])
            free = np.zeros_like(whole.free)
            free.flat[np.flatnonzero(whole.free)] = np.array(islands) >= 0
            if not free.any():
                raise HabitatError(f"{self.house.name}: the navigation mesh has no floor")
            grid = self._on_mesh[radius_m] = FloorGrid(free, whole.origin_m, whole.cell_m)
        return grid

    def way(self, radius_m: float, start_m: Point, goal: int) -> Way:
        """The mesh's shortest way from a place to a cell of the grid."""
        end = self.grid(radius_m).point(goal)
        way = self._found(radius_m + _SHY_M, start_m, end)
        return way if way.corners else self._found(radius_m, start_m, end)

    def _found(self, radius_m: float, start_m: Point, end_m: Point) -> Way:
        """The way of a body of some radius."""
        reply = self._ask("path", radius_m, start=_across(start_m), end=_across(end_m))
        points = [_across(p) for p in cast(Sequence[Point], reply["points"])]
        length_m = cast(float | None, reply["length_m"])
        near_m = self.grid_slack_m + _SHY_M
        if not points or length_m is None or math.dist(points[-1], end_m) > near_m:
            return Way([], math.inf)
        return Way([*points[1:-1], end_m], length_m)

    @property
    def grid_slack_m(self) -> float:
        """How far off the goal a way may end: the mesh's own coarseness."""
        return 2 * self._options.cell_size

    def stepped(self, radius_m: float, start_m: Point, end_m: Point) -> Point:
        """Where a straight step ends, which slides along the mesh's edge.

        The shortest ways lie on that very edge, so a step to where the mesh is, but for its
        coarseness, is no step off it.
        """
        reply = self._ask("step", radius_m, start=_across(start_m), end=_across(end_m))
        point = _across(cast(Point, reply["point"]))
        off_m = cast(float, reply["off_m"])
        if off_m <= self.grid_slack_m or math.dist(point, end_m) <= _SAME_M:
            return end_m
        return point

    def _ask(self, request: str, radius_m: float, **what: object) -> dict[str, object]:
        box = self._sandbox()
        name = f"{self._dataset.directory}:{radius_m}"
        if (box.process.pid, name) not in self._made:
            box.open(self._dataset)
            bodies = default_bodies().values()
            height_m = max(body.height_m for body in bodies)
            settings = self._options.model_dump()
            settings |= {"agent_radius": radius_m, "agent_height": height_m}
            taken = write_footprints(self.house, self._dataset.directory)
            box.process.ask("mesh", name=name, settings=settings, taken=str(taken))
            self._made.add((box.process.pid, name))
        return dict(box.process.ask(request, name=name, **what))


def _across(point: Sequence[float]) -> Point:
    """(x, y) of our floor as (x, z) of Habitat's, and back."""
    return (point[0], -point[1])
