"""The printed markers, and a recorded map: its waypoints, edges and routes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from bosdyn.api.graph_nav import map_pb2

from planner.world.geometry import Pose, Vec3
from sim_bridge.spot.convert import pose_message, pose_of

# The printed markers that the emulated robot sees, with frames as the SDK's documents define them.
#
# Who looks at the page sees x point up, y left and z out of the page, at the viewer
# (geometry_and_frames.md, "Frames in the Spot robot world"; map_processing.proto,
# WorldObjectAnchorHint).


def on_wall(position_m: Vec3, faces_rad: float) -> Pose:
    """The frame of an upright page whose printed side faces `faces_rad` in the map."""
    out = np.array([math.cos(faces_rad), math.sin(faces_rad), 0.0])
    up = np.array([0.0, 0.0, 1.0])
    return Pose.from_matrix(np.array(position_m), np.stack([up, np.cross(out, up), out], axis=1))


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker as detected.

    Attributes:
        tag: its number.
        in_map: the page's frame.
        age_s: how long ago it was last detected.
        status: of the raw pose, a name of the SDK's AprilTagPoseStatus.
        filtered_status: of the filtered pose.
    """

    tag: int
    in_map: Pose
    age_s: float = 0.0
    status: str = "STATUS_OK"
    filtered_status: str = "STATUS_OK"


# On the wall at the map's origin, facing +x; by it clients localise in recorded maps.
FIDUCIAL, FIDUCIAL_IN_MAP = 500, on_wall((0.0, 0.0, 1.0), 0.0)


class RecordedGraph:
    """The uploaded or recorded map, and whether the robot is localised in it."""

    def __init__(self) -> None:
        self.graph = map_pb2.Graph()
        self.waypoint_snapshots: dict[str, Any] = {}
        self.edge_snapshots: dict[str, Any] = {}
        self.localized = False
        # The map's own frame in the house, if found by other means than the marker.
        self.seed_found: Pose | None = None

    def forget(self) -> None:
        """Clears the map; snapshots stay cached, which the SDK allows."""
        self.graph = map_pb2.Graph()
        self.localized, self.seed_found = False, None

    def merge(self, graph: Any, *, replace: bool) -> None:
        """Adds waypoints, edges and anchors to the map, or replaces it.

        The robot stays localised if nothing that existed before was changed.
        """
        before = self.graph.SerializeToString(deterministic=True)
        merged = map_pb2.Graph()
        if not replace:
            merged.CopyFrom(self.graph)
        _put(merged.waypoints, graph.waypoints, lambda waypoint: waypoint.id)
        _put(merged.edges, graph.edges, lambda edge: (edge.id.from_waypoint, edge.id.to_waypoint))
        _put(merged.anchoring.anchors, graph.anchoring.anchors, lambda anchor: anchor.id)
        _put(merged.anchoring.objects, graph.anchoring.objects, lambda known: known.id)
        self.graph = merged
        if merged.SerializeToString(deterministic=True) != before:
            self.localized, self.seed_found = False, None

    def anchor_along_edges(self) -> None:
        """A new anchoring: the first waypoint is the map's frame, the edges give the others."""
        neighbours: dict[str, list[tuple[str, Pose]]] = {w.id: [] for w in self.graph.waypoints}
        for edge in self.graph.edges:
            one, other, step = edge.id.from_waypoint, edge.id.to_waypoint, edge.from_tform_to
            neighbours[one].append((other, pose_of(step)))
            neighbours[other].append((one, pose_of(step).inverse()))
        del self.graph.anchoring.anchors[:]
        seen: dict[str, Pose] = {}
        for waypoint in self.graph.waypoints:
            waiting = [] if seen else [(waypoint.id, Pose((0.0, 0.0, 0.0)))]
            while waiting:
                name, pose = waiting.pop()
                if name not in seen:
                    seen[name] = pose
                    waiting += [(to, pose.compose(step)) for to, step in neighbours[name]]
        for name, pose in seen.items():
            anchor = self.graph.anchoring.anchors.add(id=name)
            anchor.seed_tform_waypoint.CopyFrom(pose_message(pose))

    def anchored(self) -> dict[str, Pose]:
        """Each anchored waypoint in the map's own frame."""
        return {a.id: pose_of(a.seed_tform_waypoint) for a in self.graph.anchoring.anchors}

    def seed_by_marker(self) -> Pose | None:
        """The map's own frame in the house, by the marker that the robot sees."""
        for known in self.graph.anchoring.objects:
            if known.id == str(FIDUCIAL):
                return FIDUCIAL_IN_MAP.compose(pose_of(known.seed_tform_object).inverse())
        return None

    def seed(self) -> Pose | None:
        """The map's own frame in the house, as localised."""
        return self.seed_found or self.seed_by_marker()

    def places(self) -> dict[str, Pose]:
        """Each waypoint in the house; none before the map's frame is known there."""
        seed = self.seed()
        if seed is None:
            return {}
        return {name: seed.compose(pose) for name, pose in self.anchored().items()}

    def joined(self, one: str, other: str) -> bool:
        """Whether an edge joins two waypoints, in either direction."""
        return any(
            {edge.id.from_waypoint, edge.id.to_waypoint} == {one, other}
            for edge in self.graph.edges
        )

    def route(self, start: str, goal: str, places: dict[str, Pose]) -> list[str]:
        """The shortest route over the edges, in either direction; empty if there is none."""
        neighbours: dict[str, set[str]] = {name: set() for name in places}
        for edge in self.graph.edges:
            a, b = edge.id.from_waypoint, edge.id.to_waypoint
            if a in neighbours and b in neighbours:
                neighbours[a].add(b)
                neighbours[b].add(a)
        heap: list[tuple[float, str, list[str]]] = [(0.0, start, [start])]
        seen: set[str] = set()
        while heap:
            cost, here, way = heapq.heappop(heap)
            if here == goal:
                return way
            if here in seen:
                continue
            seen.add(here)
            for there in sorted(neighbours[here] - seen):
                gap = math.dist(places[here].position_m, places[there].position_m)
                heapq.heappush(heap, (cost + gap, there, [*way, there]))
        return []


def nearest(places: dict[str, Pose], pose: Pose) -> str:
    """The waypoint nearest to a pose on the ground."""
    here = pose.position_m[:2]
    return min(places, key=lambda name: math.dist(places[name].position_m[:2], here))


def _put(field: Any, added: Iterable[Any], key: Any) -> None:
    """Adds messages to a field; replaces those with the same key."""
    known = {key(each): each for each in field}
    for each in added:
        if key(each) in known:
            known[key(each)].CopyFrom(each)
        else:
            field.add().CopyFrom(each)
