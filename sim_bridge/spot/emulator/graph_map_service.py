"""The map on the robot: upload, download, recording, loop closure and anchoring."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import data_chunk_pb2, lease_pb2
from bosdyn.api.graph_nav import graph_nav_pb2, map_pb2, map_processing_pb2, recording_pb2

from planner.world.geometry import Pose
from sim_bridge.spot.convert import pose_message, set_stamp
from sim_bridge.spot.emulator import service
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.recorded_graph import FIDUCIAL, FIDUCIAL_IN_MAP, RecordedGraph
from sim_bridge.spot.emulator.service import Handler, use_lease


class GraphMap:
    """Stores a map and returns it."""

    def __init__(self, graph: RecordedGraph) -> None:
        self._map = graph

    def methods(self) -> dict[str, Handler]:
        """The methods of GraphNavService that are about the map."""
        return {
            "ClearGraph": self._clear,
            "UploadGraph": self._upload,
            "UploadGraphStreaming": self._upload_streamed,
            "UploadWaypointSnapshot": self._keep_waypoint_snapshot,
            "UploadEdgeSnapshot": self._keep_edge_snapshot,
            "UploadSnapshots": self._keep_snapshots,
            "DownloadGraph": self._download,
            "DownloadGraphStreaming": self._download_streamed,
            "DownloadWaypointSnapshot": self._give_waypoint_snapshot,
            "DownloadEdgeSnapshot": self._give_edge_snapshot,
        }

    def _clear(self, machine: Machine, request: Any, response: Any) -> None:
        if map_lease(machine, request.lease, response.lease_use_result):
            self._map.forget()
            response.status = graph_nav_pb2.ClearGraphResponse.STATUS_OK

    def _upload(self, machine: Machine, request: Any, response: Any) -> None:
        if not map_lease(machine, request.lease, response.lease_use_result):
            return
        reply, graph = graph_nav_pb2.UploadGraphResponse, request.graph
        response.license_status = 1
        known = {waypoint.id for waypoint in graph.waypoints}
        if not request.replace_graph:
            known |= {waypoint.id for waypoint in self._map.graph.waypoints}
        ends = {end for e in graph.edges for end in (e.id.from_waypoint, e.id.to_waypoint)}
        if not known or not ends <= known:
            response.status = reply.STATUS_INVALID_GRAPH
            return
        self._map.merge(graph, replace=request.replace_graph)
        response.replaced_graph = request.replace_graph
        if request.generate_new_anchoring:
            self._map.anchor_along_edges()
        for kind, records, snapshots in (
            ("waypoint", graph.waypoints, self._map.waypoint_snapshots),
            ("edge", graph.edges, self._map.edge_snapshots),
        ):
            for record in records:
                if record.snapshot_id:
                    word = "loaded" if record.snapshot_id in snapshots else "unknown"
                    getattr(response, f"{word}_{kind}_snapshot_ids").append(record.snapshot_id)
        response.status = reply.STATUS_OK

    def _upload_streamed(self, machine: Machine, request: Any, response: Any) -> None:
        whole = graph_nav_pb2.UploadGraphRequest.FromString(request.chunk.data)
        self._upload(machine, whole, response)

    def _keep_waypoint_snapshot(self, machine: Machine, request: Any, response: Any) -> None:
        if map_lease(machine, request.lease, response.lease_use_result):
            snapshot = map_pb2.WaypointSnapshot.FromString(request.chunk.data)
            self._map.waypoint_snapshots[snapshot.id] = snapshot
            response.status = graph_nav_pb2.UploadWaypointSnapshotResponse.STATUS_OK

    def _keep_edge_snapshot(self, machine: Machine, request: Any, response: Any) -> None:
        if map_lease(machine, request.lease, response.lease_use_result):
            snapshot = map_pb2.EdgeSnapshot.FromString(request.chunk.data)
            self._map.edge_snapshots[snapshot.id] = snapshot

    def _keep_snapshots(self, machine: Machine, request: Any, response: Any) -> None:
        if map_lease(machine, request.lease, response.lease_use_result):
            several = graph_nav_pb2.UploadSnapshotsRequest.Snapshots.FromString(request.chunk.data)
            self._map.waypoint_snapshots.update({s.id: s for s in several.waypoint_snapshots})
            self._map.edge_snapshots.update({s.id: s for s in several.edge_snapshots})
            response.status = graph_nav_pb2.UploadSnapshotsResponse.STATUS_OK

    def _download(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.graph.CopyFrom(self._map.graph)

    def _download_streamed(self, _machine: Machine, _request: Any, response: Any) -> None:
        _fill_chunk(response, graph_nav_pb2.DownloadGraphResponse(graph=self._map.graph))

    def _give_waypoint_snapshot(self, _machine: Machine, request: Any, response: Any) -> None:
        snapshot = self._map.waypoint_snapshots.get(request.waypoint_snapshot_id)
        known = snapshot is not None
        reply = graph_nav_pb2.DownloadWaypointSnapshotResponse
        response.status = reply.STATUS_OK if known else reply.STATUS_SNAPSHOT_DOES_NOT_EXIST
        _fill_chunk(response, snapshot or map_pb2.WaypointSnapshot())

    def _give_edge_snapshot(self, _machine: Machine, request: Any, response: Any) -> None:
        snapshot = self._map.edge_snapshots.get(request.edge_snapshot_id)
        known = snapshot is not None
        reply = graph_nav_pb2.DownloadEdgeSnapshotResponse
        response.status = reply.STATUS_OK if known else reply.STATUS_SNAPSHOT_DOES_NOT_EXIST
        _fill_chunk(response, snapshot or map_pb2.EdgeSnapshot())


def map_lease(machine: Machine, lease: Any, result: Any) -> bool:
    """Whether a map may be changed with a lease.

    The SDK sends none with streamed data, so a missing lease is accepted; one that is sent must be
    valid.
    """
    if lease.resource or lease.sequence:
        return use_lease(machine, lease, result)
    result.status = lease_pb2.LeaseUseResult.STATUS_OK
    return True


def _fill_chunk(response: Any, whole: Any) -> None:
    data = whole.SerializeToString()
    response.chunk.CopyFrom(data_chunk_pb2.DataChunk(total_size=len(data), data=data))


# Map recording, and loop closure and anchoring of the result.
#
# A waypoint is made where recording starts, where a client requests one, and where it ends; a real
# robot makes more of them in between. Snapshots contain no sensor data.

# Loop closure joins waypoints that are this close.
_LOOP_M = 2.0


class Recording:
    """Adds waypoints to the map while it is on."""

    def __init__(self, graph: RecordedGraph) -> None:
        self._map = graph
        self._on = False
        self._last = ""

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods."""
        return {
            "bosdyn.api.graph_nav.GraphNavRecordingService": {
                "StartRecording": self._start,
                "StopRecording": self._stop,
                "CreateWaypoint": self._waypoint,
                "CreateEdge": self._edge,
                "SetRecordingEnvironment": _environment,
                "GetRecordStatus": self._status,
            },
            "bosdyn.api.graph_nav.MapProcessingService": {
                "ProcessTopology": self._join,
                "ProcessAnchoring": self._anchor,
            },
        }

    def _start(self, machine: Machine, request: Any, response: Any) -> None:
        if not map_lease(machine, request.lease, response.lease_use_result):
            return
        reply = recording_pb2.StartRecordingResponse
        if self._map.graph.waypoints and not self._map.localized:
            response.status = reply.STATUS_NOT_LOCALIZED_TO_EXISTING_MAP
            return
        response.license_status = 1
        if not self._map.graph.waypoints:
            # The map's frame is the origin of odometry.
            self._map.seed_found, self._map.localized = service.odom_in_map(machine), True
            marker = self._map.graph.anchoring.objects.add(id=str(FIDUCIAL))
            in_seed = self._in_seed().compose(FIDUCIAL_IN_MAP)
            marker.seed_tform_object.CopyFrom(pose_message(in_seed))
        self._on, self._last = True, ""
        response.created_waypoint.CopyFrom(self._add(machine, "")[0])
        response.status = reply.STATUS_OK

    def _stop(self, machine: Machine, request: Any, response: Any) -> None:
        if map_lease(machine, request.lease, response.lease_use_result):
            if self._on:
                self._add(machine, "")
            self._on = False
            response.status = recording_pb2.StopRecordingResponse.STATUS_OK

    def _waypoint(self, machine: Machine, request: Any, response: Any) -> None:
        if not map_lease(machine, request.lease, response.lease_use_result):
            return
        reply = recording_pb2.CreateWaypointResponse
        if not self._on:
            response.status = reply.STATUS_NOT_RECORDING
            return
        waypoint, edge = self._add(machine, request.waypoint_name)
        response.created_waypoint.CopyFrom(waypoint)
        if edge is not None:
            response.created_edge.CopyFrom(edge)
        response.license_status, response.status = 1, reply.STATUS_OK

    def _edge(self, machine: Machine, request: Any, response: Any) -> None:
        if not map_lease(machine, request.lease, response.lease_use_result):
            return
        reply, edge = recording_pb2.CreateEdgeResponse, request.edge
        known = {waypoint.id for waypoint in self._map.graph.waypoints}
        ends = (edge.id.from_waypoint, edge.id.to_waypoint)
        if not set(ends) <= known:
            response.status = reply.STATUS_UNKNOWN_WAYPOINT
        elif self._map.joined(*ends):
            response.status = reply.STATUS_EXISTS
        elif not edge.HasField("from_tform_to"):
            response.status = reply.STATUS_MISSING_TRANSFORM
        else:
            self._map.graph.edges.add().CopyFrom(edge)
            response.status = reply.STATUS_OK

    def _status(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.is_recording = self._on
        response.status = recording_pb2.GetRecordStatusResponse.STATUS_OK

    def _add(self, machine: Machine, name: str) -> tuple[Any, Any]:
        """Adds a waypoint at the robot's pose, and the edge to it from the previous one."""
        number = machine.next_number()
        body = machine.world.base.compose(service.body_in_base(machine))
        in_seed = self._in_seed().compose(body)
        graph = self._map.graph
        waypoint = graph.waypoints.add(id=f"recorded-{number}", snapshot_id=f"snapshot-{number}")
        waypoint.annotations.name = name or f"waypoint_{len(graph.waypoints) - 1}"
        set_stamp(waypoint.annotations.creation_time, machine.now_s + machine.skew_s)
        in_odom = service.odom_in_map(machine).inverse().compose(body)
        waypoint.waypoint_tform_ko.CopyFrom(pose_message(in_odom.inverse()))
        anchor = graph.anchoring.anchors.add(id=waypoint.id)
        anchor.seed_tform_waypoint.CopyFrom(pose_message(in_seed))
        snapshot = map_pb2.WaypointSnapshot(id=waypoint.snapshot_id)
        self._map.waypoint_snapshots[snapshot.id] = snapshot
        edge = self._link(self._last, waypoint.id) if self._last else None
        self._last = waypoint.id
        return waypoint, edge

    def _link(self, one: str, other: str) -> Any:
        anchored = self._map.anchored()
        edge = self._map.graph.edges.add()
        edge.id.from_waypoint, edge.id.to_waypoint = one, other
        step = anchored[one].inverse().compose(anchored[other])
        edge.from_tform_to.CopyFrom(pose_message(step))
        return edge

    def _in_seed(self) -> Pose:
        """The house in the map's own frame."""
        seed = self._map.seed()
        return Pose((0.0, 0.0, 0.0)) if seed is None else seed.inverse()

    # Map processing

    def _join(self, _machine: Machine, request: Any, response: Any) -> None:
        """Closes loops: adds an edge between any two waypoints that are close and not joined."""
        anchored = sorted(self._map.anchored().items())
        before = len(self._map.graph.edges)
        for index, (one, here) in enumerate(anchored):
            for other, there in anchored[index + 1 :]:
                near = math.dist(here.position_m, there.position_m) <= _LOOP_M
                if near and not self._map.joined(one, other):
                    self._link(one, other)
        added = list(self._map.graph.edges)[before:]
        response.new_subgraph.edges.extend(added)
        if not request.modify_map_on_server:
            del self._map.graph.edges[before:]
        response.map_on_server_was_modified = request.modify_map_on_server and bool(added)
        response.status = map_processing_pb2.ProcessTopologyResponse.STATUS_OK

    def _anchor(self, _machine: Machine, request: Any, response: Any) -> None:
        """Odometry is exact here, so the existing anchoring is optimal."""
        reply = map_processing_pb2.ProcessAnchoringResponse
        if not self._map.graph.waypoints:
            response.status = reply.STATUS_INVALID_GRAPH
            return
        if not self._map.graph.anchoring.anchors:
            self._map.anchor_along_edges()
            response.anchoring_on_server_was_modified = request.modify_anchoring_on_server
        response.waypoint_results.extend(self._map.graph.anchoring.anchors)
        response.world_object_results.extend(self._map.graph.anchoring.objects)
        response.iteration, response.final_iteration = 1, True
        response.status = reply.STATUS_OK


def _environment(machine: Machine, request: Any, response: Any) -> None:
    map_lease(machine, request.lease, response.lease_use_result)
