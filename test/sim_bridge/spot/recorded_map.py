"""A GraphNav map of a simulated house, in files as the tablet writes them."""

from __future__ import annotations

import math
from pathlib import Path

from bosdyn.api.graph_nav import map_pb2

from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Pose
from planner.world.house import House
from sim_bridge.embedded.house_ground import PathSearch
from sim_bridge.spot.convert import pose_message

# The map's own frame lies somewhere: it begins where the recording began.
SEED_IN_MAP = Pose.planar(1.0, 2.0, 0.5)
# On the wall at the origin, facing +x. Anchored as map_processing.proto defines it, as a quaternion
# (x, y, z, w): x up, y left and z out of the page for who looks at it.
MARKER, MARKER_IN_MAP = 500, Pose((0.0, 0.0, 1.0), (0.5**0.5, 0.0, 0.5**0.5, 0.0))
APART_M = 0.8
NEIGHBOURS_M = 1.8


def record(house: House, folder: Path, *, marker: int = MARKER) -> map_pb2.Graph:
    """Writes a map with a waypoint in every free square and edges where one sees the next."""
    grid = FloorGrid.of(house, 0.35)
    places: dict[tuple[int, int], tuple[float, float]] = {}
    for x, y in grid.free_points_m.tolist():
        places.setdefault((math.floor(x / APART_M), math.floor(y / APART_M)), (x, y))
    graph = map_pb2.Graph()
    names = {square: f"w_{square[0]}_{square[1]}" for square in places}
    for square, (x, y) in places.items():
        waypoint = graph.waypoints.add(id=names[square], snapshot_id=f"s_{names[square]}")
        in_seed = SEED_IN_MAP.inverse().compose(Pose.planar(x, y, 0.0))
        anchor = graph.anchoring.anchors.add(id=waypoint.id)
        anchor.seed_tform_waypoint.CopyFrom(pose_message(in_seed))
    _connect(graph, grid, places, names)
    known = graph.anchoring.objects.add(id=str(marker))
    known.seed_tform_object.CopyFrom(pose_message(SEED_IN_MAP.inverse().compose(MARKER_IN_MAP)))
    write(graph, folder)
    return graph


def _connect(
    graph: map_pb2.Graph,
    grid: FloorGrid,
    places: dict[tuple[int, int], tuple[float, float]],
    names: dict[tuple[int, int], str],
) -> None:
    ways, squares = PathSearch(grid), sorted(places)
    for index, one in enumerate(squares):
        for other in squares[index + 1 :]:
            a, b = places[one], places[other]
            if math.dist(a, b) > NEIGHBOURS_M:
                continue
            cell_a, cell_b = grid.cell(*a), grid.cell(*b)
            if cell_a is None or cell_b is None:
                continue
            # A straight way has no corner between its ends.
            if len(ways.corners(cell_a, cell_b).cells) in (1, 2):
                edge = graph.edges.add()
                edge.id.from_waypoint, edge.id.to_waypoint = names[one], names[other]


def write(graph: map_pb2.Graph, folder: Path) -> None:
    """Writes the graph and a snapshot for each waypoint."""
    snapshots = folder / "waypoint_snapshots"
    snapshots.mkdir(parents=True, exist_ok=True)
    (folder / "graph").write_bytes(graph.SerializeToString())
    for waypoint in graph.waypoints:
        snapshot = map_pb2.WaypointSnapshot(id=waypoint.snapshot_id)
        (snapshots / waypoint.snapshot_id).write_bytes(snapshot.SerializeToString())
