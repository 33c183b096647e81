"""Walking along a recorded map: upload, localisation by a marker, routes over waypoints.

Emulated are the graph, its anchoring and the routes; not emulated is how well a real robot
recognises a place. The map's seed frame is found by the markers that the anchoring names.
"""

from __future__ import annotations

import heapq
import math
from typing import Any

from bosdyn.api import data_chunk_pb2
from bosdyn.api.graph_nav import graph_nav_pb2, map_pb2

from planner.world.geometry import Pose
from sim_bridge.spot.convert import pose_message, pose_of, seconds_of, set_stamp
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.machine import (
    MOST_SPEED_M_S,
    MOST_TURN_RAD_S,
    Machine,
    Motors,
    Posture,
    Walk,
)
from sim_bridge.spot.emulator.sensing_services import FIDUCIAL, FIDUCIAL_IN_MAP
from sim_bridge.spot.emulator.service import Handler, use_lease

_MOST_AHEAD_S = 3600.0


class GraphNav:
    """One map, and the walks along it by number."""

    def __init__(self) -> None:
        self._graph = map_pb2.Graph()
        self._waypoint_snapshots: dict[str, Any] = {}
        self._edge_snapshots: dict[str, Any] = {}
        self._localized = False
        self._walks: dict[int, Walk] = {}
        self._latest = 0

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.graph_nav.GraphNavService": {
                "ClearGraph": self._clear,
                "UploadGraph": self._upload,
                "UploadGraphStreaming": self._upload_streamed,
                "UploadWaypointSnapshot": self._keep_waypoint_snapshot,
                "UploadEdgeSnapshot": self._keep_edge_snapshot,
                "DownloadGraph": self._download,
                "DownloadGraphStreaming": self._download_streamed,
                "DownloadWaypointSnapshot": self._give_waypoint_snapshot,
                "DownloadEdgeSnapshot": self._give_edge_snapshot,
                "SetLocalization": self._localize,
                "GetLocalizationState": self._state,
                "NavigateTo": self._navigate,
                "NavigateToAnchor": self._navigate_to_anchor,
                "NavigationFeedback": self._feedback,
            }
        }

    # The map

    def _clear(self, machine: Machine, request: Any, response: Any) -> None:
        if use_lease(machine, request.lease, response.lease_use_result):
            self.__init__()  # type: ignore[misc]
            response.status = graph_nav_pb2.ClearGraphResponse.STATUS_OK

    def _upload(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        reply, graph = graph_nav_pb2.UploadGraphResponse, request.graph
        response.license_status = 1
        known = {waypoint.id for waypoint in graph.waypoints}
        ends = {end for e in graph.edges for end in (e.id.from_waypoint, e.id.to_waypoint)}
        if not known or not ends <= known:
            response.status = reply.STATUS_INVALID_GRAPH
            return
        self._graph, self._localized = graph, False
        for waypoint in graph.waypoints:
            kept = waypoint.snapshot_id in self._waypoint_snapshots
            ids = "loaded_waypoint_snapshot_ids" if kept else "unknown_waypoint_snapshot_ids"
            getattr(response, ids).append(waypoint.snapshot_id)
        response.status = reply.STATUS_OK

    def _upload_streamed(self, machine: Machine, request: Any, response: Any) -> None:
        whole = graph_nav_pb2.UploadGraphRequest.FromString(request.chunk.data)
        self._upload(machine, whole, response)

    def _keep_waypoint_snapshot(self, machine: Machine, request: Any, response: Any) -> None:
        if use_lease(machine, request.lease, response.lease_use_result):
            snapshot = map_pb2.WaypointSnapshot.FromString(request.chunk.data)
            self._waypoint_snapshots[snapshot.id] = snapshot
            response.status = graph_nav_pb2.UploadWaypointSnapshotResponse.STATUS_OK

    def _keep_edge_snapshot(self, machine: Machine, request: Any, response: Any) -> None:
        if use_lease(machine, request.lease, response.lease_use_result):
            snapshot = map_pb2.EdgeSnapshot.FromString(request.chunk.data)
            self._edge_snapshots[snapshot.id] = snapshot

    def _download(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.graph.CopyFrom(self._graph)

    def _download_streamed(self, _machine: Machine, _request: Any, response: Any) -> None:
        whole = graph_nav_pb2.DownloadGraphResponse(graph=self._graph)
        _fill_chunk(response, whole)

    def _give_waypoint_snapshot(self, _machine: Machine, request: Any, response: Any) -> None:
        snapshot = self._waypoint_snapshots.get(request.waypoint_snapshot_id)
        known = snapshot is not None
        reply = graph_nav_pb2.DownloadWaypointSnapshotResponse
        response.status = reply.STATUS_OK if known else reply.STATUS_SNAPSHOT_DOES_NOT_EXIST
        _fill_chunk(response, snapshot or map_pb2.WaypointSnapshot())

    def _give_edge_snapshot(self, _machine: Machine, request: Any, response: Any) -> None:
        snapshot = self._edge_snapshots.get(request.edge_snapshot_id)
        known = snapshot is not None
        reply = graph_nav_pb2.DownloadEdgeSnapshotResponse
        response.status = reply.STATUS_OK if known else reply.STATUS_SNAPSHOT_DOES_NOT_EXIST
        _fill_chunk(response, snapshot or map_pb2.EdgeSnapshot())

    # Where it is

    def _seed_in_map(self) -> Pose | None:
        for known in self._graph.anchoring.objects:
            if known.id == str(FIDUCIAL):
                return FIDUCIAL_IN_MAP.compose(pose_of(known.seed_tform_object).inverse())
        return None

    def _in_map(self) -> dict[str, Pose]:
        seed = self._seed_in_map()
        anchors = self._graph.anchoring.anchors
        return (
            {}
            if seed is None
            else {a.id: seed.compose(pose_of(a.seed_tform_waypoint)) for a in anchors}
        )

    def _localize(self, machine: Machine, request: Any, response: Any) -> None:
        reply = graph_nav_pb2.SetLocalizationResponse
        if not self._graph.waypoints:
            response.status = reply.STATUS_NO_MAP_LOADED
        elif (
            request.fiducial_init == graph_nav_pb2.SetLocalizationRequest.FIDUCIAL_INIT_NO_FIDUCIAL
        ):
            response.status = reply.STATUS_VISUAL_ALIGNMENT_FAILED
        elif self._seed_in_map() is None:
            response.status = reply.STATUS_NO_MATCHING_FIDUCIAL
        else:
            self._localized = True
            response.status = reply.STATUS_OK
            self._fill_localization(machine, response.localization)

    def _state(self, machine: Machine, _request: Any, response: Any) -> None:
        frames.fill(response.robot_kinematics.transforms_snapshot, machine)
        if self._localized:
            self._fill_localization(machine, response.localization)

    def _fill_localization(self, machine: Machine, shown: Any) -> None:
        seed, places = self._seed_in_map(), self._in_map()
        if seed is None:
            return
        body = machine.world.base.compose(frames.body_in_base(machine))
        near = min(places, key=lambda name: math.dist(places[name].position_m, body.position_m))
        shown.waypoint_id = near
        shown.waypoint_tform_body.CopyFrom(pose_message(places[near].inverse().compose(body)))
        shown.seed_tform_body.CopyFrom(pose_message(seed.inverse().compose(body)))
        set_stamp(shown.timestamp, machine.now_s + machine.skew_s)

    # Walking

    def _navigate(self, machine: Machine, request: Any, response: Any) -> None:
        places, goal = self._in_map(), request.destination_waypoint_id
        last = None
        if goal in places:
            offset = request.destination_waypoint_tform_body_goal
            turned = Pose.planar(offset.position.x, offset.position.y, offset.angle)
            last = goal, places[goal].compose(turned)
        self._go(machine, request, response, places, last)

    def _navigate_to_anchor(self, machine: Machine, request: Any, response: Any) -> None:
        """A pose of the map's own frame: along the route to the waypoint nearest to it."""
        places, seed = self._in_map(), self._seed_in_map()
        last = None
        if places and seed is not None:
            pose = seed.compose(pose_of(request.seed_tform_goal))
            near = min(places, key=lambda name: math.dist(places[name].position_m, pose.position_m))
            last = near, pose
        self._go(machine, request, response, places, last)

    def _go(
        self,
        machine: Machine,
        request: Any,
        response: Any,
        places: dict[str, Pose],
        last: tuple[str, Pose] | None,
    ) -> None:
        """Begins or prolongs a walk to a waypoint and the pose there; None: there is no such."""
        reply = type(response)
        results = response.lease_use_results
        # Each lease leaves its result, the good ones too.
        used = [use_lease(machine, lease, results.add()) for lease in request.leases]
        if not all(used):
            return
        ends_s = seconds_of(request.end_time) - machine.skew_s
        if ends_s <= machine.now_s:
            response.status = reply.STATUS_EXPIRED
        elif ends_s > machine.now_s + _MOST_AHEAD_S:
            response.status = reply.STATUS_TOO_DISTANT
        elif machine.motors is not Motors.ON or machine.behavior_faults:
            response.status = reply.STATUS_ROBOT_IMPAIRED
        elif not self._localized:
            response.status = reply.STATUS_NOT_LOCALIZED_TO_MAP
        elif request.command_id and request.command_id == self._latest:
            self._again(machine, request.command_id, ends_s)
            response.command_id, response.status = request.command_id, reply.STATUS_OK
        elif last is None:
            anchorless = reply is graph_nav_pb2.NavigateToAnchorResponse
            response.status = (
                reply.STATUS_NO_ANCHORING if anchorless else reply.STATUS_UNKNOWN_WAYPOINT
            )
        else:
            self._begin(machine, request, response, (ends_s, places, *last))

    def _again(self, machine: Machine, number: int, ends_s: float) -> None:
        walk = self._walks[number]
        walk.ends_s = ends_s
        if machine.walk is None and not walk.arrived:
            walk.ended, machine.walk = False, walk

    def _begin(
        self,
        machine: Machine,
        request: Any,
        response: Any,
        way: tuple[float, dict[str, Pose], str, Pose],
    ) -> None:
        ends_s, places, goal, last = way
        here = machine.world.base.position_m
        start = min(places, key=lambda name: math.dist(places[name].position_m[:2], here[:2]))
        route = self._route(start, goal, places)
        if not route:
            response.status = response.STATUS_NO_PATH
            return
        limit = request.travel_params.velocity_limit.max_vel
        steps = [*(places[name] for name in route[:-1]), last]
        if machine.walk is not None:
            machine.walk.ended = True
        if machine.posture is Posture.SITTING:
            machine.pose(stand=True)
        goals = [_flat(pose) for pose in steps]
        walk = Walk(
            ends_s=ends_s,
            goal=goals[0],
            further=tuple(goals[1:]),
            speed_m_s=min(limit.linear.x or MOST_SPEED_M_S, MOST_SPEED_M_S),
            turn_rad_s=min(limit.angular or MOST_TURN_RAD_S, MOST_TURN_RAD_S),
        )
        number = response.command_id = self._latest = machine.next_number()
        machine.walk = self._walks[number] = walk
        response.status = response.STATUS_OK

    def _route(self, start: str, goal: str, places: dict[str, Pose]) -> list[str]:
        """The shortest way over the edges, which can be walked both ways; empty for none."""
        neighbours: dict[str, set[str]] = {name: set() for name in places}
        for edge in self._graph.edges:
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

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        reply = graph_nav_pb2.NavigationFeedbackResponse
        number = request.command_id or self._latest
        walk = self._walks.get(number)
        response.command_id = number
        if walk is None:
            response.status = reply.STATUS_NO_ROUTE
        elif walk.arrived:
            response.status = reply.STATUS_REACHED_GOAL
        elif walk is machine.walk:
            response.status = reply.STATUS_FOLLOWING_ROUTE
        elif number != self._latest:
            response.status = reply.STATUS_COMMAND_OVERRIDDEN
        else:
            response.status = reply.STATUS_COMMAND_TIMED_OUT


def _flat(pose: Pose) -> Pose:
    x, y, _ = pose.position_m
    return Pose.planar(x, y, pose.yaw_rad)


def _fill_chunk(response: Any, whole: Any) -> None:
    data = whole.SerializeToString()
    response.chunk.CopyFrom(data_chunk_pb2.DataChunk(total_size=len(data), data=data))
