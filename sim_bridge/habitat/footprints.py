"""The floor: what furniture covers, and what habitat-sim's navigation mesh leaves free."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from planner.world.agents import default_bodies
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from sim_bridge.embedded.house_ground import HouseGround, Way
from sim_bridge.habitat.dataset import configs
from sim_bridge.habitat.dataset.configs import HabitatDataset
from sim_bridge.habitat.dataset.meshes import Solid, box_triangles, write_file, write_meshes
from sim_bridge.habitat.options import NavMesh
from sim_bridge.habitat.process import HabitatError
from sim_bridge.habitat.scene import Sandbox

# Too high to step on, too low to matter elsewhere.
_HEIGHT_M = 1.0
_GREY = (0.5, 0.5, 0.5)


def write_footprints(house: House, directory: Path) -> Path:
    """Writes the object config of one body of all footprints, with the map's origin.

    Written into a dataset's directory unless it exists.

    Raises:
        FileError: if it cannot be written.
    """
    config = directory / "floor" / "footprints.object_config.json"
    if config.is_file():
        return config
    solids = []
    for piece in house.furniture:
        half_m = (piece.size_m[0] / 2, piece.size_m[1] / 2, _HEIGHT_M / 2)
        box = box_triangles(half_m).turned(piece.yaw_rad)
        solids.append(Solid(box.shifted((piece.x_m, piece.y_m, _HEIGHT_M / 2)), _GREY))
    meshes = write_meshes(solids, config.parent / "footprints")
    write_file(config, configs.json_bytes(configs.object_config(meshes, config.parent, 0, {})))
    return config


# The floor according to habitat-sim's navigation mesh.

Point = tuple[float, float]
# A step that ends this close to its goal reached it: habitat-sim uses 32-bit floats.
_SAME_M = 2e-3
# Additional clearance of paths to walls and furniture, where there is room: the coarse floor grids
# of the other simulators have no narrower passages either, except by chance.
_SHY_M = 0.025


class NavMeshGround(HouseGround):
    """A house's floor: free space and paths are those of the navigation mesh.

    Standing positions are chosen among the cell centres of the floor grid, as in the other
    simulators of the house, limited to cells on the mesh.
    """

    def __init__(
        self,
        house: House,
        dataset: HabitatDataset,
        sandbox: Callable[[], Sandbox],
        options: NavMesh,
    ) -> None:
        """Builds nothing yet; `sandbox` returns the running habitat-sim."""
        super().__init__(house)
        self._dataset, self._sandbox, self._options = dataset, sandbox, options
        self._on_mesh: dict[float, FloorGrid] = {}
        self._made: set[tuple[int, str]] = set()

    def starts(self, radius_m: float) -> FloorGrid:
        """As in the other simulators of the house."""
        return super().grid(radius_m)

    def grid(self, radius_m: float) -> FloorGrid:
        """The cells whose centres are on the mesh."""
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
        """The mesh's shortest path from a point to a cell of the grid."""
        end = self.grid(radius_m).point(goal)
        way = self._found(radius_m + _SHY_M, start_m, end)
        return way if way.corners else self._found(radius_m, start_m, end)

    def _found(self, radius_m: float, start_m: Point, end_m: Point) -> Way:
        """The path for a body of this radius."""
        reply = self._ask("path", radius_m, start=_across(start_m), end=_across(end_m))
        points = [_across(p) for p in cast(Sequence[Point], reply["points"])]
        length_m = cast(float | None, reply["length_m"])
        near_m = self.grid_slack_m + _SHY_M
        if not points or length_m is None or math.dist(points[-1], end_m) > near_m:
            return Way([], math.inf)
        return Way([*points[1:-1], end_m], length_m)

    @property
    def grid_slack_m(self) -> float:
        """How far from the goal a path may end: the mesh's own resolution."""
        return 2 * self._options.cell_size

    def stepped(self, radius_m: float, start_m: Point, end_m: Point) -> Point:
        """Where a straight step ends, which slides along the mesh's edge.

        The shortest paths are on that very edge, so a step to within the mesh's resolution counts
        as on it.
        """
        reply = self._ask("step", radius_m, start=_across(start_m), end=_across(end_m))
        point = _across(cast(Point, reply["point"]))
        off_m = cast(float, reply["off_m"])
        if off_m <= self.grid_slack_m or math.dist(point, end_m) <= _SAME_M:
            return end_m
        return point

    def off_m(self, radius_m: float, point_m: Point) -> float:
        """Horizontal distance of a point to the mesh."""
        at = _across(point_m)
        return cast(float, self._ask("step", radius_m, start=at, end=at)["off_m"])

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
