"""The map on the robot: upload and download, whole, streamed or by snapshot."""

from __future__ import annotations

from typing import Any

from bosdyn.api import data_chunk_pb2, lease_pb2
from bosdyn.api.graph_nav import graph_nav_pb2, map_pb2

from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.recorded_graph import RecordedGraph
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
