"""A recorded GraphNav map: its files, its frame, and the nearest waypoint."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bosdyn.api.graph_nav import map_pb2
from google.protobuf.message import DecodeError
from shapely.geometry import LineString

from planner.world.errors import FileError
from planner.world.files import read_bytes
from planner.world.geometry import Pose, Vec3
from sim_bridge.safety.options import Zone
from sim_bridge.spot.convert import pose_of
from sim_bridge.spot.layout import Fiducial
from sim_bridge.spot.marker_fit import Pair, align, contradiction, name_markers

# Uncertainty of an anchored marker together with that of the tape measure.
_ANCHORED_M, _ANCHORED_RAD = 0.05, 0.05


@dataclass(frozen=True, slots=True)
class GraphMap:
    """A map in a folder as the tablet and the SDK write it: `graph`, and folders of snapshots.

    `waypoints` are poses in the map; `seed_in_map` is the anchoring's frame there.
    """

    folder: Path
    graph: Any
    seed_in_map: Pose
    waypoints: dict[str, Pose]

    def nearest(self, point_m: Vec3) -> tuple[str, float]:
        """The waypoint nearest to a point of the map, on the ground, and its distance."""
        gaps = {w: math.dist(p.position_m[:2], point_m[:2]) for w, p in self.waypoints.items()}
        best = min(gaps, key=lambda name: (gaps[name], name))
        return best, gaps[best]

    @property
    def markers(self) -> dict[str, Pose]:
        """The frames of its markers in the map, by their names."""
        return {
            each.id: self.seed_in_map.compose(pose_of(each.seed_tform_object))
            for each in self.graph.anchoring.objects
        }

    @property
    def edges_m(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """The ends of each edge on the ground of the map."""
        place = {name: pose.position_m[:2] for name, pose in self.waypoints.items()}
        return [
            (place[edge.id.from_waypoint], place[edge.id.to_waypoint]) for edge in self.graph.edges
        ]

    def snapshots(self) -> Iterator[tuple[str, Any]]:
        """Each snapshot with its kind, waypoint or edge.

        Raises:
            FileError: if one is missing or damaged.
        """
        for waypoint in self.graph.waypoints:
            if waypoint.snapshot_id:
                path = self.folder / "waypoint_snapshots" / waypoint.snapshot_id
                yield "waypoint", _parse(path, map_pb2.WaypointSnapshot)
        for edge in self.graph.edges:
            if edge.snapshot_id:
                path = self.folder / "edge_snapshots" / edge.snapshot_id
                yield "edge", _parse(path, map_pb2.EdgeSnapshot)


def read_graph(
    folder: Path, fiducials: Sequence[Fiducial], zones: Sequence[Zone], margin_m: float
) -> GraphMap:
    """Reads a map and aligns it with the layout by all their common markers.

    Raises:
        FileError: if it cannot be read, has no anchoring, shares no marker with the layout or
            contradicts it, goes over stairs (rule 10) or past a keep-out zone (rule 11).
    """
    path = folder / "graph"
    graph = _parse(path, map_pb2.Graph)
    if not graph.waypoints:
        raise FileError(path, "waypoints", "the map has none")
    seed = _seed_in_map(path, graph, fiducials)
    places = {
        anchor.id: seed.compose(pose_of(anchor.seed_tform_waypoint))
        for anchor in graph.anchoring.anchors
    }
    for index, waypoint in enumerate(graph.waypoints):
        if waypoint.id not in places:
            raise FileError(
                path,
                f"waypoints.{index}",
                f"{waypoint.id} has no anchor; run the anchoring optimization on the tablet",
            )
    _check_edges(path, graph, places, zones, margin_m)
    return GraphMap(folder, graph, seed, places)


def _seed_in_map(path: Path, graph: Any, fiducials: Sequence[Fiducial]) -> Pose:
    known = {str(fiducial.tag): fiducial for fiducial in fiducials}
    pairs = [
        Pair(
            known[each.id].tag,
            pose_of(each.seed_tform_object),
            known[each.id].in_map,
            _ANCHORED_M,
            _ANCHORED_RAD,
        )
        for each in graph.anchoring.objects
        if each.id in known
    ]
    text = contradiction(pairs)
    if text:
        raise FileError(path, "anchoring.objects", text)
    seed = align(pairs)
    if seed is not None:
        return seed
    if pairs:
        text = f"{name_markers(pairs)} of the map lies flat, so that its direction is unknown"
        raise FileError(path, "anchoring.objects", text)
    wanted = ", ".join(sorted(known)) or "none"
    seen = ", ".join(sorted(a.id for a in graph.anchoring.objects)) or "none"
    raise FileError(
        path,
        "anchoring.objects",
        f"the map's markers ({seen}) are none of the layout's ({wanted}); record the map where it "
        "sees one of them, and run the anchoring optimization",
    )


def _check_edges(
    path: Path, graph: Any, places: dict[str, Pose], zones: Sequence[Zone], margin_m: float
) -> None:
    stairs = map_pb2.AnnotationState.Value("ANNOTATION_STATE_SET")
    for index, edge in enumerate(graph.edges):
        name = f"edges.{index}"
        ends = (edge.id.from_waypoint, edge.id.to_waypoint)
        if not all(end in places for end in ends):
            raise FileError(path, name, f"{ends[0]} to {ends[1]}: no such waypoint")
        if edge.annotations.stairs.state == stairs:
            raise FileError(path, name, "it goes over stairs, which are prohibited (rule 10)")
        line = LineString([places[end].position_m[:2] for end in ends])
        for zone in zones:
            if line.distance(zone.shape) < margin_m:
                raise FileError(
                    path,
                    name,
                    f"it passes the keep-out zone {zone.name!r} (rule 11); delete the edge from "
                    "the map, or record one that keeps away",
                )


def _parse(path: Path, kind: Any) -> Any:
    try:
        return kind.FromString(read_bytes(path))
    except DecodeError:
        raise FileError(path, "", f"is no {kind.DESCRIPTOR.name} of GraphNav") from None
